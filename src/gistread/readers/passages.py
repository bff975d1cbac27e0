"""The book's own text before the model, in passages: how they are ranked, and fitted into a number of tokens.

Passages that follow one another in the book are joined, gaps between them are marked. How large everything is, the
engine measures. Where a book is cut, `memory/passages.py` decides.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.memory.passages import Passage, cut
from gistread.search.ranked import ranker_of

GAP = "[…]"

Measure = Callable[[str], Awaitable[int]]
"""Tokens of the whole prompt, and its answer, with this as the text."""


def join(passages: Iterable[Passage], book: Book) -> list[Passage]:
    """The same places in the order of the book, those that touch (or have only white space between) as one."""
    joined: list[Passage] = []
    for start, end in sorted(passages):
        if joined and not book.text[joined[-1][1] : start].strip():
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def render(passages: Sequence[Passage], book: Book) -> str:
    """The passages (joined) one after the other, a mark wherever something of the book is left out."""
    pieces: list[str] = []
    at = 0
    for start, end in passages:
        if book.text[at:start].strip():
            pieces.append(GAP)
        pieces.append(book.text[start:end].strip())
        at = end
    if passages and book.text[at:].strip():
        pieces.append(GAP)
    return "\n\n".join(pieces)


async def ranked(question: str, passages: Sequence[Passage], book: Book) -> list[Passage]:
    """The passages that share a word with the question, the nearest first (BM25)."""

    def best() -> list[Passage]:
        texts = tuple(book.text[start:end] for start, end in passages)
        return [passages[index] for index in ranker_of(texts, book.language).top(question, len(texts))]

    return await asyncio.to_thread(best)


async def fill(
    wanted: Sequence[Passage], book: Book, room: int, count: Callable[[str], Awaitable[int]], measure: Measure
) -> list[Passage]:
    """As many of the `wanted` passages as `room` tokens take, the first ones first; joined.

    Tokens of pieces add up to about those of the whole, not exactly: the whole is measured at the end.
    """
    chosen: list[Passage] = []
    left = room
    for start, end in wanted:
        tokens = await count(book.text[start:end]) + 2
        if tokens > left:
            break
        left -= tokens
        chosen.append((start, end))
    while chosen and await measure(render(join(chosen, book), book)) > room:
        del chosen[-max(1, len(chosen) // 20) :]
    return join(chosen, book)


async def beginning(place: Passage, book: Book, fits: Callable[[str], Awaitable[bool]]) -> Passage | None:
    """As much of the start of a place as fits, in whole sentences or at least words where it can be; None: nothing."""
    start, end = place
    fitting, too_long = start, end
    while too_long - fitting > 1:
        middle = (fitting + too_long) // 2
        if await fits(render([(start, middle)], book)):
            fitting = middle
        else:
            too_long = middle
    shown = book.text[start:fitting]
    sentences = [until for _, until in sentence_spans(shown)][:-1]
    until = sentences[-1] if sentences else max(map(shown.rfind, " \n"))
    shown = shown[:until] if until > 0 else shown
    return (start, start + len(shown)) if shown.strip() else None


async def chunks(book: Book, most_tokens: int, count: Callable[[str], Awaitable[int]]) -> list[Passage]:
    """The whole book in pieces of at most `most_tokens` tokens, whole passages each, in order.

    A passage longer than that alone (a text without spaces) is cut in the middle, as often as it takes.
    """
    found: list[Passage] = []
    tokens = 0
    waiting = deque(cut(book))
    while waiting:
        start, end = waiting.popleft()
        size = await count(book.text[start:end]) + 2
        if size > most_tokens and end - start > 1:
            middle = (start + end) // 2
            waiting.extendleft([(middle, end), (start, middle)])
            continue
        if found and tokens + size <= most_tokens:
            found[-1] = found[-1][0], end
            tokens += size
        else:
            found.append((start, end))
            tokens = size
    return found
