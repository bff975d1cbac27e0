"""The book's own text before the model, in passages: how they are ranked, and fitted into a number of tokens.

How large everything is, the engine measures. Where a book is cut, and how it is shown, `memory/passages.py` decides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.memory.passages import Passage, join, render
from gistread.search.ranked import cached_ranker

Measure = Callable[[str], Awaitable[int]]
"""Tokens of the whole prompt, and its answer, with this as the text."""


async def ranked(question: str, passages: Sequence[Passage], book: Book) -> list[Passage]:
    """The passages that share a word with the question, the nearest first (BM25)."""

    def best() -> list[Passage]:
        texts = tuple(book.text[start:end] for start, end in passages)
        return [passages[index] for index in cached_ranker(texts, book.language).top(question, len(texts))]

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
