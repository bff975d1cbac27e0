"""What of a memory stands before the model: gists in the order of the book, expanded pages in place.

A memory that fits the model's window is shown whole. One that does not is never cut at its end: the gists
nearest to the question (BM25 over gists and pages) are shown, as many as leave room for expanded pages and the
answer, with the gaps marked. How large everything is, the engine measures; nothing is truncated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from gistread.engine.protocol import Engine
from gistread.errors import PromptTooLongError
from gistread.memory.model import Entry, GistMemory
from gistread.memory.sizes import PAGES_OPEN
from gistread.search.ranked import Ranker

_TAG_TOKENS = 16
"""A page's tag and the mark of the gap before it, rather more than less."""


@dataclass(slots=True)
class Window:
    """The pages before the model. `shown` grows by pages that the person pins and otherwise stays."""

    memory: GistMemory
    shown: set[int]
    opened: set[int] = field(default_factory=set)
    """Pages whose own text stands in place of their gist; all of them shown."""

    @property
    def whole(self) -> bool:
        """Whether every page that has been read is shown."""
        return len(self.shown) == len(self.memory.entries)

    def text(self, opened: Iterable[int] | None = None) -> str:
        """The memory as the model sees it, with these pages expanded, or those that are."""
        return render(self.memory, self.shown, self.opened if opened is None else set(opened))


def render(memory: GistMemory, shown: Iterable[int], opened: Iterable[int] = ()) -> str:
    """These pages in the order of the book, each under its tag; a line marks what is left out between them."""
    expanded = set(opened)
    pieces: list[str] = []
    last = 0
    for number in sorted(shown):
        pieces += _gap(last + 1, number - 1)
        entry = memory.entry(number)
        if number in expanded:
            pieces.append(f"(Page {number}, in full)\n{memory.text_of(entry.page)}")
        else:
            pieces.append(f"(Page {number})\n{entry.gist.text}")
        last = number
    pieces += _gap(last + 1, len(memory.entries))
    return "\n\n".join(pieces)


Measure = Callable[[str], Awaitable[int]]
"""Tokens of the whole prompt, and its answer, with this as the memory."""


async def lay_out(
    question: str, memory: GistMemory, pinned: Iterable[int], measure: Measure, engine: Engine, max_pages: int
) -> Window:
    """Decide which pages are shown for this question. The `pinned` ones are open from the start, if they fit.

    Raises PromptTooLongError when the question alone fills the window.
    """
    room = engine.info.context_tokens - await measure("")
    if room < 0:
        raise PromptTooLongError(engine.info.context_tokens - room, 0, engine.info.context_tokens)
    typical = await _typical_page_tokens(memory, engine)
    opened: set[int] = set()
    for number in sorted(pinned):
        needed = await engine.count(render(memory, [number], [number]))
        if needed <= room:
            opened.add(number)
            room -= needed
    others = [entry for entry in memory.entries if entry.page.number not in opened]
    least = min(max_pages, PAGES_OPEN) * typical
    if await _all_fit(others, room - least, memory, engine):
        return Window(memory, {entry.page.number for entry in memory.entries}, opened)
    order = await _nearest(question, others, memory)
    budget = room - min(max_pages * typical, room // 2)
    chosen: list[int] = []
    for entry in order:
        budget -= await engine.count(entry.gist.text) + _TAG_TOKENS
        if budget < 0:
            break
        chosen.append(entry.page.number)
    # Tokens of pieces add up to about those of the whole, not exactly: what counts is measured.
    while chosen and await measure(render(memory, {*chosen, *opened}, opened)) > engine.info.context_tokens:
        del chosen[-max(1, len(chosen) // 10) :]
    return Window(memory, {*chosen, *opened}, opened)


async def _all_fit(entries: list[Entry], room: int, memory: GistMemory, engine: Engine) -> bool:
    words = sum(entry.gist.words for entry in entries)
    # Two words a token is more than any vocabulary does: a long memory need not be counted to be known as long.
    if words / 2 > room:
        return False
    return await engine.count(render(memory, [entry.page.number for entry in entries])) <= room


async def _nearest(question: str, entries: list[Entry], memory: GistMemory) -> list[Entry]:
    """The pages by how much they have to do with the question; the earlier first where that is the same."""

    def ranked() -> list[Entry]:
        documents = [f"{entry.gist.text}\n{memory.text_of(entry.page)}" for entry in entries]
        scores = Ranker(documents, memory.book.language).scores(question)
        return [entry for _, entry in sorted(zip(scores, entries, strict=True), key=lambda pair: -pair[0])]

    return await asyncio.to_thread(ranked)


async def _typical_page_tokens(memory: GistMemory, engine: Engine) -> int:
    """Tokens of a page of this book: those of one in its middle, in proportion to the mean length."""
    mean = sum(entry.page.words for entry in memory.entries) / len(memory.entries)
    middle = memory.entries[len(memory.entries) // 2].page
    tokens = await engine.count(memory.text_of(middle))
    return round(tokens * mean / max(1, middle.words)) + _TAG_TOKENS


def _gap(first: int, last: int) -> list[str]:
    if first > last:
        return []
    return [f"(Page {first} not shown)" if first == last else f"(Pages {first}-{last} not shown)"]
