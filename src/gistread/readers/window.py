"""What of a memory stands before the model: gists in the order of the book, expanded pages in place.

A memory that fits the model's window is shown page by page. One that does not is never cut: it is told at several
levels (`memory/levels.py`), page by page where the question or the person is near, by chapters and parts where both are
far, so that every page that has been read stands for something. How large everything is, the engine measures; nothing
is truncated.
"""

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

_TAG_TOKENS = 16
"""A piece's tag, rather more than less."""
_SAMPLED = 40
"""Gists that are counted, to know how many tokens a word of them has."""
_TRIES = 12
"""Each leaves at least a twentieth more room than the one before."""


@dataclass(slots=True)
class Window:
    """What stands before the model. The pieces stay; pages open and close."""

    memory: GistMemory
    pieces: Sequence[Segment]
    """In the order of the book; of every page that has been read there is one that tells."""
    opened: set[int] = field(default_factory=set)
    """Pages whose own text stands in place of their gist, or behind the piece that tells of them."""

    @property
    def whole(self) -> bool:
        """Whether every page that has been read is told by its own gist."""
        return len(self.pieces) == len(self.memory.entries) and not any(piece.line for piece in self.pieces)

    @property
    def shown(self) -> set[int]:
        """The pages that are told of."""
        return {page for piece in self.pieces for page in range(piece.first, piece.last + 1)} | self.opened

    @property
    def detailed(self) -> set[int]:
        """The pages that are told by their own gist or stand open."""
        return {piece.first for piece in self.pieces if not piece.level and not piece.line} | self.opened

    @property
    def words(self) -> int:
        """In context: of the pieces, and of the open pages in place of their gists."""
        pages = sum(self.memory.entry(number).page.words for number in self.opened)
        return pages + sum(piece.words for piece in self.pieces if not _is_open(piece, self.opened))

    @property
    def compression_rate(self) -> float:
        """100·(1 − words in context ÷ words read); ReadAgent, section 4.1."""
        read = sum(entry.page.words for entry in self.memory.entries)
        return 100.0 * (1.0 - self.words / read) if read else 0.0

    def text(self, opened: Iterable[int] | None = None) -> str:
        """The memory as the model sees it, with these pages expanded, or those that are."""
        return render(self.memory, self.pieces, self.opened if opened is None else opened)


def render(memory: GistMemory, pieces: Iterable[Segment], opened: Iterable[int] = ()) -> str:
    """These pieces, each under a tag that names its pages, and the open pages where they belong."""
    left = sorted(opened, reverse=True)
    written: list[str] = []
    for piece in pieces:
        if not _is_open(piece, left):
            written.append(f"{_tag(piece)}\n{piece.text}")
        while left and left[-1] <= piece.last:
            written.append(_in_full(memory, left.pop()))
    return "\n\n".join([*written, *(_in_full(memory, number) for number in reversed(left))])


Measure = Callable[[str], Awaitable[int]]
"""Tokens of the whole prompt, and its answer, with this as the memory."""


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
    """Decide at which level every page is told for this question. The `pinned` ones are open, if they fit.

    `here` is the page where the person reads, `answer_tokens` what `measure` counts for the answer. There are no pieces
    when not even one line about the book fits. Raises PromptTooLongError when the question alone fills the window.
    """
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
    if await _all_fit([piece for piece in pages if piece.first not in opened], room - least, memory, engine):
        window = Window(memory, pages, opened)
        if not opened or await measure(window.text()) <= engine.info.context_tokens:
            return window
    if here is None and not memory.complete:
        here = len(memory.entries)  # what was read last is remembered best
    top, near = await asyncio.to_thread(_looked_at, question, memory, here)
    per_word = await _tokens_per_word(memory, engine)

    def cost(piece: Segment) -> float:
        return 0.0 if _is_open(piece, opened) else piece.words * per_word + _TAG_TOKENS

    # First with room for pages to open; in a window that is too small for that, without.
    for budget in (room - min(max_pages * typical, room // 2), room):
        for _ in range(_TRIES):
            pieces = choose_segments(top, near, budget, cost)
            if not pieces:
                break
            # Tokens of pieces add up to about those of the whole, not exactly: what counts is measured.
            over = await measure(render(memory, pieces, opened)) - engine.info.context_tokens
            if over <= 0:
                return Window(memory, pieces, opened)
            budget -= max(over, budget // 20, 1)
    while opened and await measure(render(memory, (), opened)) > engine.info.context_tokens:
        opened.remove(max(opened))
    return Window(memory, (), opened)


def _looked_at(question: str, memory: GistMemory, here: int | None) -> tuple[Node, list[float]]:
    """The tree as it stands, and how much each page matters for this question. For a thread."""
    documents = [f"{entry.gist.text}\n{memory.text_of(entry.page)}" for entry in memory.entries]
    return current_tree(memory), page_weights(Ranker(documents, memory.book.language).scores(question), here)


async def _all_fit(pieces: Sequence[Segment], room: int, memory: GistMemory, engine: Engine) -> bool:
    # Two words a token is more than any vocabulary does: a long memory need not be counted to be known as long.
    if sum(piece.words for piece in pieces) / 2 > room:
        return False
    return await engine.count(render(memory, pieces)) <= room


async def _tokens_per_word(memory: GistMemory, engine: Engine) -> float:
    """Of gists, from some of them all over the memory."""
    sample = memory.entries[:: max(1, len(memory.entries) // _SAMPLED)]
    tokens = await engine.count("\n\n".join(entry.gist.text for entry in sample))
    return tokens / max(1, sum(entry.gist.words for entry in sample))


async def _typical_page_tokens(memory: GistMemory, engine: Engine) -> int:
    """Tokens of a page of this book: those of one in its middle, in proportion to the mean length."""
    mean = sum(entry.page.words for entry in memory.entries) / len(memory.entries)
    middle = memory.entries[len(memory.entries) // 2].page
    tokens = await engine.count(memory.text_of(middle))
    return round(tokens * mean / max(1, middle.words)) + _TAG_TOKENS


def _is_open(piece: Segment, opened: Iterable[int]) -> bool:
    """Whether a page's own text stands in place of this piece, its gist."""
    return piece.first == piece.last and piece.first in opened


def _tag(piece: Segment) -> str:
    if piece.first == piece.last:
        return f"(Page {piece.first})"
    return f"(Pages {piece.first}-{piece.last}, shortened together)"


def _in_full(memory: GistMemory, number: int) -> str:
    return f"(Page {number}, in full)\n{memory.text_of(memory.entry(number).page)}"
