"""Lays out a memory for a prompt: pages by their gists or in full, at several levels if they outgrow the window."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gistread.engine.protocol import Engine
from gistread.errors import PromptTooLongError
from gistread.memory.levels import Segment, choose_segments, page_by_page, page_weights
from gistread.memory.model import GistMemory
from gistread.memory.sizes import PAGES_OPEN
from gistread.memory.tree import Node, current_tree
from gistread.search.ranked import Ranker

_TAG_TOKENS = 16  # Upper bound for the tag of a segment
_SAMPLED = 40  # Gists counted to estimate tokens per word
_TRIES = 12  # Attempts to fit the layout, each with at least a twentieth less


@dataclass(slots=True)
class Window:
    """The memory as shown to the model. Segments are fixed; pages open and close."""

    memory: GistMemory
    segments: Sequence[Segment]  # In the order of the book, covering every page read
    opened: set[int] = field(default_factory=set)  # Pages shown in full, instead of their gist or after their segment

    @property
    def whole(self) -> bool:
        return len(self.segments) == len(self.memory.entries) and not any(segment.line for segment in self.segments)

    @property
    def shown(self) -> set[int]:
        return {page for segment in self.segments for page in range(segment.first, segment.last + 1)} | self.opened

    @property
    def words(self) -> int:
        pages = sum(self.memory.entry(number).page.words for number in self.opened)
        return pages + sum(segment.words for segment in self.segments if not _is_open(segment, self.opened))

    @property
    def compression_rate(self) -> float:
        """100·(1 − words in context ÷ words read); ReadAgent, section 4.1."""
        read = sum(entry.page.words for entry in self.memory.entries)
        return 100.0 * (1.0 - self.words / read) if read else 0.0

    def text(self, opened: Iterable[int] | None = None) -> str:
        """The memory as the model sees it, with these pages open (default: `self.opened`)."""
        return render(self.memory, self.segments, self.opened if opened is None else opened)


def render(memory: GistMemory, segments: Iterable[Segment], opened: Iterable[int] = ()) -> str:
    """Write segments under tags with their page numbers, and open pages at their places."""
    left = sorted(opened, reverse=True)
    written: list[str] = []
    for segment in segments:
        if not _is_open(segment, left):
            written.append(f"{_tag(segment)}\n{segment.text}")
        while left and left[-1] <= segment.last:
            written.append(_in_full(memory, left.pop()))
    return "\n\n".join([*written, *(_in_full(memory, number) for number in reversed(left))])


Measure = Callable[[str], Awaitable[int]]  # Tokens of the whole prompt and its answer, with this text as the memory


async def lay_out(
    question: str,
    memory: GistMemory,
    pinned: Iterable[int],
    measure: Measure,
    engine: Engine,
    max_pages: int,
    here: int | None = None,
    *,
    answer_tokens: int = 0,
) -> Window:
    """Choose the level of every page, opening the `pinned` ones that fit. Raises PromptTooLongError."""
    room = engine.info.context_tokens - await measure("")
    if room < 0:
        context_tokens = engine.info.context_tokens
        raise PromptTooLongError(context_tokens - room - answer_tokens, answer_tokens, context_tokens)
    typical = await _typical_page_tokens(memory, engine)
    opened: set[int] = set()
    for number in sorted(pinned):
        needed = await engine.count(render(memory, (), [number]))
        if needed <= room:
            opened.add(number)
            room -= needed
    pages = page_by_page(memory)
    least = min(max_pages, PAGES_OPEN) * typical
    if await _all_fit([segment for segment in pages if segment.first not in opened], room - least, memory, engine):
        window = Window(memory, pages, opened)
        if not opened or await measure(window.text()) <= engine.info.context_tokens:
            return window
    if here is None and not memory.complete:
        here = len(memory.entries)  # favours the latest pages
    top, near = await asyncio.to_thread(_tree_and_weights, question, memory, here)
    per_word = await _tokens_per_word(memory, engine)

    def cost(segment: Segment) -> float:
        return 0.0 if _is_open(segment, opened) else segment.words * per_word + _TAG_TOKENS

    # First leave room for pages to open; in a small window, leave none.
    for budget in (room - min(max_pages * typical, room // 2), room):
        for _ in range(_TRIES):
            segments = choose_segments(top, near, budget, cost)
            if not segments:
                break
            # The token counts of segments add up only approximately, so the whole text is measured.
            over = await measure(render(memory, segments, opened)) - engine.info.context_tokens
            if over <= 0:
                return Window(memory, segments, opened)
            budget -= max(over, budget // 20, 1)
    while opened and await measure(render(memory, (), opened)) > engine.info.context_tokens:
        opened.remove(max(opened))
    return Window(memory, (), opened)


def _tree_and_weights(question: str, memory: GistMemory, here: int | None) -> tuple[Node, list[float]]:
    documents = [f"{entry.gist.text}\n{memory.text_of(entry.page)}" for entry in memory.entries]
    return current_tree(memory), page_weights(Ranker(documents, memory.book.language).scores(question), here)


async def _all_fit(segments: Sequence[Segment], room: int, memory: GistMemory, engine: Engine) -> bool:
    # No vocabulary reaches two words a token, so a very long memory need not be counted.
    if sum(segment.words for segment in segments) / 2 > room:
        return False
    return await engine.count(render(memory, segments)) <= room


async def _tokens_per_word(memory: GistMemory, engine: Engine) -> float:
    sample = memory.entries[:: max(1, len(memory.entries) // _SAMPLED)]
    tokens = await engine.count("\n\n".join(entry.gist.text for entry in sample))
    return tokens / max(1, sum(entry.gist.words for entry in sample))


async def _typical_page_tokens(memory: GistMemory, engine: Engine) -> int:
    mean = sum(entry.page.words for entry in memory.entries) / len(memory.entries)
    middle = memory.entries[len(memory.entries) // 2].page
    tokens = await engine.count(memory.text_of(middle))
    return round(tokens * mean / max(1, middle.words)) + _TAG_TOKENS


def _is_open(segment: Segment, opened: Iterable[int]) -> bool:
    return segment.first == segment.last and segment.first in opened


def _tag(segment: Segment) -> str:
    if segment.first == segment.last:
        return f"(Page {segment.first})"
    return f"(Pages {segment.first}-{segment.last}, shortened together)"


def _in_full(memory: GistMemory, number: int) -> str:
    return f"(Page {number}, in full)\n{memory.text_of(memory.entry(number).page)}"
