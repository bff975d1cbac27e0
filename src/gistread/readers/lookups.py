"""One question over a gist memory, for readers that look up pages: layout, open pages, answer.

Pages are shown by their gists or in full. If the gists do not fit the window, some pages are shown
by a summary of several.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Engine, Message, Prompt, Usage
from gistread.errors import PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, join
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
_STEPS_TO_FIT = 20  # Each attempt has at least a twentieth of the room less


def render(
    memory: GistMemory, segments: Iterable[Node], opened: Iterable[int] = ()
) -> str:
    """Write segments under tags with their page numbers, and open pages at their places."""
    to_open = deque(sorted(opened))
    written: list[str] = []
    for segment in segments:
        if not _is_open(segment, to_open):
            written.append(f"({_label_of(segment)})\n{segment.summary.text}")
        while to_open and to_open[0] <= segment.last:
            written.append(_in_full(memory, to_open.popleft()))
    written += [_in_full(memory, number) for number in to_open]
    return "\n\n".join(written)


def _label_of(segment: Node) -> str:
    if segment.first == segment.last:
        return f"Page {segment.first}"
    return f"Pages {segment.first}-{segment.last}, shortened together"


def _is_open(segment: Node, opened: Iterable[int]) -> bool:
    """Whether a segment is a single page that is shown in full."""
    return segment.first == segment.last and segment.first in opened


def _in_full(memory: GistMemory, number: int) -> str:
    return f"(Page {number}, in full)\n{memory.text_of(memory.entry(number).page)}"


@dataclass(slots=True)
class Search(Asking):
    """A question over the memory as it is shown to the model.

    The segments stay the same; pages are opened and closed.
    """

    segments: Sequence[Node] = ()  # In the order of the book, covering every page read
    # Pages shown in full, instead of their gist or after their segment
    opened: set[int] = field(default_factory=set)
    lookups: list[int] = field(default_factory=list)
    unfit: set[int] = field(default_factory=set)  # Pages found not to fit the window

    @property
    def shows_all_gists(self) -> bool:
        """Whether every page is shown by its own gist."""
        has_lines = any(segment.line for segment in self.segments)
        return len(self.segments) == len(self.memory.entries) and not has_lines

    @property
    def shown(self) -> set[int]:
        """The pages that are shown in any way."""
        pages = set(self.opened)
        for segment in self.segments:
            pages.update(range(segment.first, segment.last + 1))
        return pages

    @property
    def words(self) -> int:
        """The words of all that is shown."""
        words = sum(self.memory.entry(number).page.words for number in self.opened)
        for segment in self.segments:
            if not _is_open(segment, self.opened):
                words += segment.summary.words
        return words

    def text(self) -> str:
        """The memory as the model sees it."""
        return render(self.memory, self.segments, self.opened)

    def prompt(self, name: str, *, must_answer: bool = False) -> Prompt:
        """The memory as shown now, then the task `name`."""
        text = self.text()
        is_same_for_all = self.shows_all_gists and not self.opened
        shared = len(text) if is_same_for_all else 0
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
        """`shared`: how many characters at the beginning all questions have in common."""
        opened_pages = ", ".join(map(str, sorted(opened))) or "none"
        if name == "answer":
            return self.answer_prompt(
                name,
                cacheable_prefix=shared,
                must_answer=must_answer,
                memory=text,
                opened=opened_pages,
            )
        refused = sorted(self.steering.refused & self.shown)
        if refused and not self.options.wording:
            numbers = ", ".join(map(str, refused))
            opened_pages += f"\nPages that may not be opened: {numbers}"
        template = prompts.load(name, self.options.wording)
        filled = template.fill(memory=text, opened=opened_pages, question=self.question)
        return (Message("user", filled, shared),)

    async def tokens_needed(self, text: str, opened: Collection[int] = ()) -> int:
        """Tokens of the longest prompt and its answer, with this text as the memory."""
        lookup = await self.engine.measure(self._prompt("lookup_reason", text, opened))
        answer = await self.engine.measure(self._prompt("answer", text, opened))
        return max(lookup + SAID_TOKENS, answer + self.answer_tokens)

    async def fits(self, *pages: int) -> bool:
        """Whether these pages may be opened too."""
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
        shortest = render(memory, [one_line(current_tree(memory))])
        needed = await search.tokens_needed(shortest) - answer_tokens
        window = search.engine.info.context_tokens
        raise PromptTooLongError(needed, answer_tokens, window)
    return search


async def _lay_out(search: Search, max_pages: int) -> tuple[Sequence[Node], set[int]]:
    """Choose the level of every page, and open the pinned ones that fit.

    Raises PromptTooLongError.
    """
    memory = search.memory
    window = search.engine.info.context_tokens
    task_and_answer = await search.tokens_needed("")
    room = window - task_and_answer
    if room < 0:
        answer_tokens = search.answer_tokens
        task = task_and_answer - answer_tokens
        raise PromptTooLongError(task, answer_tokens, window)
    opened: set[int] = set()
    for number in sorted(search.steering.pinned - search.steering.refused):
        if not 1 <= number <= len(memory.entries):
            continue
        needed = await search.engine.count(render(memory, (), [number]))
        if needed <= room:
            opened.add(number)
            room -= needed
    page_tokens = _mean_page_tokens(memory)
    pages = page_by_page(memory)
    usual_pages = min(max_pages, PAGES_OPEN)
    if await _gists_fit(search, pages, opened, room - usual_pages * page_tokens):
        return pages, opened
    # First leave room for pages to open; in a small window, leave none.
    with_pages_to_open = room - min(max_pages * page_tokens, room // 2)
    segments = await _fitting_segments(search, opened, (with_pages_to_open, room))
    if not segments:
        # The pinned pages alone, as many as fit.
        while opened and await _measured(search, (), opened) > window:
            opened.remove(max(opened))
    return segments, opened


def _mean_page_tokens(memory: GistMemory) -> int:
    """About the tokens of an open page with its tag."""
    words = sum(entry.page.words for entry in memory.entries)
    mean_words = words / len(memory.entries)
    return round(TOKENS_PER_WORD * mean_words) + _TAG_TOKENS


async def _measured(
    search: Search, segments: Sequence[Node], opened: Collection[int]
) -> int:
    """Tokens of the longest prompt and its answer with this layout."""
    return await search.tokens_needed(render(search.memory, segments, opened))


async def _gists_fit(
    search: Search, pages: Sequence[Node], opened: Collection[int], room: int
) -> bool:
    """Whether the gists of all pages that are not opened fit this room, and all the window."""
    gists = [page for page in pages if page.first not in opened]
    if not await _all_fit(gists, room, search.memory, search.engine):
        return False
    if not opened:
        return True
    return await _measured(search, pages, opened) <= search.engine.info.context_tokens


async def _fitting_segments(
    search: Search, opened: Collection[int], budgets: Iterable[int]
) -> Sequence[Node]:
    """Segments over the whole memory that fit the window; empty if none do.

    `budgets` in tokens are tried in turn. Pages near the question, or near where the user reads,
    are shown in more detail.
    """
    memory = search.memory
    window = search.engine.info.context_tokens
    top = await asyncio.to_thread(current_tree, memory)
    scores = await asyncio.to_thread(_scores, search)
    weights = page_weights(scores, _page_read(search))

    def cost(segment: Node) -> float:
        if _is_open(segment, opened):
            return 0.0
        return segment.summary.words * TOKENS_PER_WORD + _TAG_TOKENS

    for budget in budgets:
        for _ in range(_TRIES):
            segments = choose_nodes(top, weights, budget, cost)
            if not segments:
                break
            # The token counts of segments add up only approximately, so the whole text is measured.
            surplus = await _measured(search, segments, opened) - window
            if surplus <= 0:
                return segments
            least_step = max(budget // _STEPS_TO_FIT, 1)
            budget -= max(surplus, least_step)
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
    last = len(memory.entries)
    if here is None:
        return last
    page = memory.page_at(here)
    return page.number if page else last


async def _all_fit(
    segments: Sequence[Node], room: int, memory: GistMemory, engine: Engine
) -> bool:
    # A token has less than two words, so a very long memory need not be counted.
    if sum(segment.summary.words for segment in segments) / 2 > room:
        return False
    return await engine.count(render(memory, segments)) <= room


async def begin(name: str, search: Search) -> events.ReaderEvents:
    """Report the layout of the memory, then apply steering."""
    memory = search.memory
    levels: list[events.SegmentLevel] = []
    if not search.shows_all_gists:
        levels = [
            events.SegmentLevel(
                segment.first, segment.last, segment.level, segment.made
            )
            for segment in search.segments
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
    # If the whole text fits, questions are answered from it.
    if await whole_text_tokens(memory, engine, readable) is not None:
        return NO_USAGE
    pages = page_by_page(memory)
    search = Search("", memory, engine, Steering(), ReaderOptions(), pages)
    if not memory.entries or not await search.fits():
        return NO_USAGE
    return await engine.prepare(search.prompt("lookup"))


async def apply_steering(search: Search) -> events.ReaderEvents:
    """Close pages that were refused since the last call, and open pinned pages that fit."""
    steering = search.steering
    refused = search.opened & steering.refused
    if refused:
        search.opened -= refused
        search.unfit.clear()  # There is room again.
        yield events.Refused(tuple(sorted(refused)))
    to_open = steering.pinned - steering.refused - search.opened - search.unfit
    for page in sorted(to_open):
        if not 1 <= page <= len(search.memory.entries):
            continue
        if await search.fits(page):
            search.opened.add(page)
            yield events.Expanded(page, events.OpenedBy.PERSON)
        else:
            search.unfit.add(page)
            yield events.Unfit(page)


async def openable_pages(search: Search) -> list[int]:
    """The unopened pages that probably fit the window.

    Their tokens are estimated from their words; `Search.fits` measures a page.
    """
    closed = search.shown - search.opened - search.steering.refused - search.unfit
    text = search.text()
    used = await search.tokens_needed(text, search.opened)
    free = search.engine.info.context_tokens - used
    tokens_per_word = await search.engine.count(text) / max(1, search.words)
    return [
        page
        for page in sorted(closed)
        if search.memory.entry(page).page.words * tokens_per_word <= free
    ]


def answer(search: Search, *, must_answer: bool = False) -> events.ReaderEvents:
    """The answer over the memory as shown now; the last event is `Answered`.

    `must_answer`: see `answer_prompt`.
    """
    memory = search.memory
    opened = search.opened
    places: dict[int, Passage] = {}
    for number in sorted(search.shown):
        page = memory.entry(number).page
        places[number] = (page.start, page.end)
    read_in_full = [places[number] for number in opened]
    draft = events.Answered(
        compression_rate=_compression_rate(search),
        seen=tuple(join(read_in_full, memory.book)),
        gists=tuple(sorted(search.shown - opened)),
        lookups=tuple(search.lookups),
        expanded=tuple(sorted(opened)),
    )
    numbered = search.to_cite(places.items())
    prompt = search.prompt("answer", must_answer=must_answer)
    return search.answer_from(draft, search.text(), prompt, numbered)


def _compression_rate(search: Search) -> float:
    """The share of the words read that the prompt leaves out, in percent.

    As ReadAgent, section 4.1.
    """
    words_read = sum(entry.page.words for entry in search.memory.entries)
    if words_read == 0:
        return 0.0
    return 100.0 * (1.0 - search.words / words_read)
