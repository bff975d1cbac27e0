"""One question over a gist memory, for readers that look up pages: layout, open pages, answer.

Pages are shown by their gists or in full; at several levels if they outgrow the window.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Prompt, Usage
from gistread.errors import PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.passages import join
from gistread.memory.sizes import PAGES_OPEN, TOKENS_PER_WORD
from gistread.memory.tree import (
    Node,
    choose_nodes,
    current_tree,
    one_line,
    page_by_page,
    page_weights,
)
from gistread.readers import events
from gistread.readers.answering import SAID_TOKENS, Asking, ReaderOptions
from gistread.readers.cost import FIRST_WORD_S, readable_tokens, whole_text_tokens
from gistread.readers.steering import Steering
from gistread.search.ranked import Ranker

_TAG_TOKENS = 16  # Upper bound for the tag of a segment
_TRIES = 12  # Attempts to fit the layout
_STEPS_TO_FIT = 20  # Each attempt has at least this part of the room less


def render(
    memory: GistMemory, segments: Iterable[Node], opened: Iterable[int] = ()
) -> str:
    """Write segments under tags with their page numbers, and open pages at their places."""
    left = sorted(opened, reverse=True)
    written: list[str] = []
    for segment in segments:
        if not _is_open(segment, left):
            written.append(f"({_label_of(segment)})\n{segment.summary.text}")
        while left and left[-1] <= segment.last:
            written.append(_in_full(memory, left.pop()))
    return "\n\n".join(
        [*written, *(_in_full(memory, number) for number in reversed(left))]
    )


def _label_of(segment: Node) -> str:
    if segment.first == segment.last:
        return f"Page {segment.first}"
    return f"Pages {segment.first}-{segment.last}, shortened together"


def _is_open(segment: Node, opened: Iterable[int]) -> bool:
    return segment.first == segment.last and segment.first in opened


def _in_full(memory: GistMemory, number: int) -> str:
    return f"(Page {number}, in full)\n{memory.text_of(memory.entry(number).page)}"


@dataclass(slots=True)
class Search(Asking):
    """A question over the memory as shown to the model.

    The segments are fixed, pages open and close.
    """

    segments: Sequence[Node] = ()  # In the order of the book, covering every page read
    # Pages shown in full, instead of their gist or after their segment
    opened: set[int] = field(default_factory=set)
    lookups: list[int] = field(default_factory=list)
    unfit: set[int] = field(default_factory=set)  # Pages found not to fit the window

    @property
    def whole(self) -> bool:
        return len(self.segments) == len(self.memory.entries) and not any(
            segment.line for segment in self.segments
        )

    @property
    def shown(self) -> set[int]:
        return {
            page
            for segment in self.segments
            for page in range(segment.first, segment.last + 1)
        } | self.opened

    @property
    def words(self) -> int:
        pages = sum(self.memory.entry(number).page.words for number in self.opened)
        return pages + sum(
            segment.summary.words
            for segment in self.segments
            if not _is_open(segment, self.opened)
        )

    def text(self) -> str:
        """The memory as the model sees it."""
        return render(self.memory, self.segments, self.opened)

    def prompt(self, name: str, *, must_answer: bool = False) -> Prompt:
        """The memory as shown now, then the task `name`."""
        text = self.text()
        shared = len(text) if self.whole and not self.opened else 0
        return self._prompt(name, text, self.opened, shared, must_answer=must_answer)

    def _prompt(
        self,
        name: str,
        text: str,
        opened: Collection[int],
        shared: int = 0,
        *,
        must_answer: bool = False,
    ) -> Prompt:
        """`shared`: characters at the text's beginning that prompts of other questions have too."""
        values = {
            "memory": text,
            "opened": ", ".join(map(str, sorted(opened))) or "none",
        }
        if name == "answer":
            return self.answer_prompt(
                name, cacheable_prefix=shared, must_answer=must_answer, **values
            )
        closed = sorted(self.steering.refused & self.shown)
        if closed and not self.options.wording:
            values["opened"] += (
                f"\nPages that may not be opened: {', '.join(map(str, closed))}"
            )
        template = prompts.load(name, self.options.wording)
        return (
            Message("user", template.fill(**values, question=self.question), shared),
        )

    async def tokens_needed(self, text: str, opened: Collection[int] = ()) -> int:
        """Tokens of the longest prompt and its answer, with this text as the memory."""
        lookup = await self.engine.measure(self._prompt("lookup_reason", text, opened))
        answer = await self.engine.measure(self._prompt("answer", text, opened))
        return max(lookup + SAID_TOKENS, answer + self.answer_tokens)

    async def fits(self, *pages: int) -> bool:
        opened = {*self.opened, *pages}
        text = render(self.memory, self.segments, opened)
        return await self.tokens_needed(text, opened) <= self.engine.info.context_tokens


async def start_search(asking: Asking, max_pages: int) -> Search:
    """Lay out the memory with room for `max_pages`. Raises PromptTooLongError."""
    search = Search.of(asking)
    memory = asking.memory
    answer_tokens = asking.answer_tokens
    search.segments, search.opened = await _lay_out(search, max_pages)
    if not search.segments and not search.opened:
        needed = await search.tokens_needed(
            render(memory, [one_line(current_tree(memory))])
        )
        raise PromptTooLongError(
            needed - answer_tokens, answer_tokens, search.engine.info.context_tokens
        )
    return search


async def _lay_out(search: Search, max_pages: int) -> tuple[Sequence[Node], set[int]]:
    """Choose the level of every page, and open the pinned ones that fit.

    Raises PromptTooLongError.
    """
    memory = search.memory
    engine = search.engine
    window = engine.info.context_tokens
    room = window - await search.tokens_needed("")
    if room < 0:
        answer_tokens = search.answer_tokens
        raise PromptTooLongError(window - room - answer_tokens, answer_tokens, window)
    opened: set[int] = set()
    for number in sorted(search.steering.pinned - search.steering.refused):
        if not 1 <= number <= len(memory.entries):
            continue
        needed = await engine.count(render(memory, (), [number]))
        if needed <= room:
            opened.add(number)
            room -= needed
    mean_words = sum(entry.page.words for entry in memory.entries) / len(memory.entries)
    page_tokens = round(TOKENS_PER_WORD * mean_words) + _TAG_TOKENS
    pages = page_by_page(memory)
    if await _leaves_room(
        search, pages, opened, room - min(max_pages, PAGES_OPEN) * page_tokens
    ):
        return pages, opened
    # First leave room for pages to open; in a small window, leave none.
    budgets = (room - min(max_pages * page_tokens, room // 2), room)
    segments = await _fitting_segments(search, opened, budgets)
    if not segments:
        while opened and await _measured(search, (), opened) > window:
            opened.remove(max(opened))
    return segments, opened


async def _measured(
    search: Search, segments: Sequence[Node], opened: Collection[int]
) -> int:
    return await search.tokens_needed(render(search.memory, segments, opened))


async def _leaves_room(
    search: Search, pages: Sequence[Node], opened: Collection[int], room: int
) -> bool:
    """Whether all gists fit, and the room for pages to open is left."""
    closed = [page for page in pages if page.first not in opened]
    if not await _all_fit(closed, room, search.memory, search.engine):
        return False
    if not opened:
        return True
    return await _measured(search, pages, opened) <= search.engine.info.context_tokens


async def _fitting_segments(
    search: Search, opened: Collection[int], budgets: Iterable[int]
) -> Sequence[Node]:
    """Segments over the whole memory that fit the window; empty if none do.

    Those near the question, or near where the user reads, have more detail.
    """
    memory = search.memory
    window = search.engine.info.context_tokens
    top = await asyncio.to_thread(current_tree, memory)
    near = page_weights(await asyncio.to_thread(_scores, search), _page_read(search))

    def cost(segment: Node) -> float:
        if _is_open(segment, opened):
            return 0.0
        return segment.summary.words * TOKENS_PER_WORD + _TAG_TOKENS

    for budget in budgets:
        for _ in range(_TRIES):
            segments = choose_nodes(top, near, budget, cost)
            if not segments:
                break
            # The token counts of segments add up only approximately, so the whole text is measured.
            over = await _measured(search, segments, opened) - window
            if over <= 0:
                return segments
            budget -= max(over, budget // _STEPS_TO_FIT, 1)
    return ()


def _scores(search: Search) -> Sequence[float]:
    """How near each page is to the question."""
    memory = search.memory
    documents = [
        f"{entry.gist.text}\n{memory.text_of(entry.page)}" for entry in memory.entries
    ]
    return Ranker(documents, memory.book.language).scores(search.question)


def _page_read(search: Search) -> int | None:
    """The page where the user reads; the last one by default, None for a complete memory."""
    memory = search.memory
    here = search.steering.here
    if here is None and memory.complete:
        return None
    page = None if here is None else memory.page_at(here)
    return page.number if page else len(memory.entries)


async def _all_fit(
    segments: Sequence[Node], room: int, memory: GistMemory, engine: Engine
) -> bool:
    # No vocabulary reaches two words a token, so a very long memory need not be counted.
    if sum(segment.summary.words for segment in segments) / 2 > room:
        return False
    return await engine.count(render(memory, segments)) <= room


async def begin(name: str, search: Search) -> events.ReaderEvents:
    """Report the layout of the memory, then apply steering."""
    memory = search.memory
    levels = [
        events.SegmentLevel(segment.first, segment.last, segment.level, segment.made)
        for segment in search.segments
        if not search.whole
    ]
    yield events.Started(
        name,
        len(memory.read_entries),
        memory.estimated_pages,
        memory.complete,
        tuple(levels),
    )
    for page in sorted(search.opened):
        yield events.Expanded(page, events.OpenedBy.PERSON)
    async for steered in apply_steering(search):
        yield steered


async def prepare(memory: GistMemory, engine: Engine) -> Usage:
    """Evaluate the common beginning of all questions in advance, if the memory fits the window."""
    readable = readable_tokens(engine.info, FIRST_WORD_S)
    if await whole_text_tokens(memory, engine, readable) is not None:
        return NO_USAGE  # Questions are shown the whole text instead.
    search = Search(
        "", memory, engine, Steering(), ReaderOptions(), page_by_page(memory)
    )
    if not memory.entries or not await search.fits():
        return NO_USAGE
    return await engine.prepare(search.prompt("lookup"))


async def apply_steering(search: Search) -> events.ReaderEvents:
    """Close pages that were refused since the last call, and open pinned pages that fit."""
    steering = search.steering
    if closed := search.opened & steering.refused:
        search.opened -= closed
        search.unfit.clear()  # there is room again
        yield events.Refused(tuple(sorted(closed)))
    for page in sorted(
        steering.pinned - steering.refused - search.opened - search.unfit
    ):
        if not 1 <= page <= len(search.memory.entries):
            continue
        if await search.fits(page):
            search.opened.add(page)
            yield events.Expanded(page, events.OpenedBy.PERSON)
        else:
            search.unfit.add(page)
            yield events.Unfit(page)


async def openable_pages(search: Search) -> list[int]:
    """The pages that probably still fit the window, by their words; a choice is measured."""
    unread = sorted(
        search.shown - search.opened - search.steering.refused - search.unfit
    )
    used = await search.tokens_needed(search.text(), search.opened)
    free = search.engine.info.context_tokens - used
    tokens_per_word = await search.engine.count(search.text()) / max(1, search.words)
    return [
        page
        for page in unread
        if search.memory.entry(page).page.words * tokens_per_word <= free
    ]


def answer(search: Search, *, must_answer: bool = False) -> events.ReaderEvents:
    """The answer over the memory as shown now; the last event is `Answered`.

    `must_answer`: see `answer_prompt`.
    """
    memory = search.memory
    shown = search.shown
    opened = search.opened
    read = sum(entry.page.words for entry in memory.entries)
    places = {
        number: (memory.entry(number).page.start, memory.entry(number).page.end)
        for number in shown
    }
    draft = events.Answered(
        # Of words in context and words read (ReadAgent, section 4.1)
        compression_rate=100.0 * (1.0 - search.words / read) if read else 0.0,
        seen=tuple(join((places[number] for number in opened), memory.book)),
        gists=tuple(sorted(shown - opened)),
        lookups=tuple(search.lookups),
        expanded=tuple(sorted(opened)),
    )
    numbered = search.to_cite(sorted(places.items()))
    prompt = search.prompt("answer", must_answer=must_answer)
    return search.answer_from(draft, search.text(), prompt, numbered)
