"""Readers that are shown the book's own text, and no gist: the baselines that every other reader is held against.

`bm25`: the pages nearest to the question, as in ReadAgent's tables (section 4). `dos`: passages by relevance until the
budget is full, shown in the order of the book (DOS RAG, arXiv 2506.03989). `full`: the whole text, or as much of
its start as fits. `closed-book`: nothing at all, so that one sees what the model knew before.

`dos`, `full` and `closed-book` need no gist memory: they can be asked before a model has read a page.
"""

from collections.abc import AsyncGenerator, Collection, Sequence

from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Engine, Prompt
from gistread.errors import BudgetTooSmallError, PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, render, split_into_passages
from gistread.readers import passages
from gistread.readers.answering import AnswerContext, answer_from, answer_prompt
from gistread.readers.citations import cite_passages
from gistread.readers.events import (
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Shown,
    Started,
    Steering,
    Stopped,
    StopReason,
    Unfit,
)
from gistread.readers.options import ReaderOptions
from gistread.readers.over_memory import over_memory

DOS_TOKENS = 4096
"""Of text that `dos` puts before the model where nobody says how much: more costs a laptop minutes."""


@over_memory("bm25")
async def bm25(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest to the question, in full. See `registry.Reader`."""
    pages = {(entry.page.start, entry.page.end): entry.page.number for entry in memory.entries}
    ranked = [pages[place] for place in await passages.ranked(question, list(pages), memory.book)]
    told = pages_in_full("bm25", question, ranked, memory, engine, steering, options, tell_share=True)
    async for event in told:
        yield event


async def pages_in_full(
    name: str,
    question: str,
    ranked: Sequence[int],
    memory: GistMemory,
    engine: Engine,
    steering: Steering,
    options: ReaderOptions,
    *,
    tell_share: bool = False,
) -> AsyncGenerator[ReaderEvent, None]:
    """The first `max_pages` of these pages, and those that the person pinned, in full, and the answer from them.

    `tell_share`: begin with `Started`, which has not been said then. Raises PromptTooLongError, BudgetTooSmallError.
    """
    places = {entry.page.number: (entry.page.start, entry.page.end) for entry in memory.entries}
    wanted = [number for number in ranked if number not in steering.refused | steering.pinned][: options.max_pages]
    pinned = [number for number in places if number in steering.pinned - steering.refused]
    text = BookText(name, question, memory, engine, options)
    shown = await text.fit([places[number] for number in (*pinned, *wanted)], options.budget_tokens)
    if tell_share:
        yield text.started(shown)
    for number in pinned:
        yield opened_or_not(number, places[number], shown, OpenedBy.PERSON)
    opened = [number for number in wanted if overlaps(shown, places[number])]
    for step, number in enumerate(opened, start=1):
        yield LookedUp(number, step, "")
        yield opened_or_not(number, places[number], shown, OpenedBy.AGENT)
    if len(opened) < len(wanted):
        reason = StopReason.WINDOW
    else:
        reason = StopReason.LIMIT if len(opened) == options.max_pages else StopReason.NOTHING_LEFT
    yield Stopped(reason)
    whole = {number for number in (*pinned, *opened) if share_of(places[number], shown) == 1.0}
    async for event in text.answer(shown, tuple(opened), whole):
        yield event


async def dos(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Passages nearest to the question, as many as the budget takes, in the order of the book."""
    text = BookText("dos", question, memory, engine, options)
    all_passages = split_into_passages(memory.book)
    pinned, refused = places_of(memory, steering.pinned - steering.refused), places_of(memory, steering.refused)
    ranked = await passages.ranked(question, all_passages, memory.book)
    # What shares no word with the question comes last, from the start: readers are compared at equal budgets.
    order = dict.fromkeys([*ranked, *all_passages])
    wanted = [place for place in order if not overlaps([*pinned, *refused], place)]
    shown = await text.fit([*pinned, *wanted], options.budget_tokens or DOS_TOKENS)
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW)
    async for event in text.answer(shown):
        yield event


async def full(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The whole book, or as much of its start as fits."""
    text = BookText("full", question, memory, engine, options)
    shown = await text.fit(split_into_passages(memory.book), options.budget_tokens)
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW)
    async for event in text.answer(shown):
        yield event


async def closed_book(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """No text: what the model knew before."""
    text = BookText("closed-book", question, memory, engine, options)
    yield text.started(None)
    yield Stopped(StopReason.NOTHING_LEFT)
    async for event in text.answer(None):
        yield event


class BookText:
    """One question over text of the book: what of it is shown, and the answer from that."""

    def __init__(
        self,
        name: str,
        question: str,
        memory: GistMemory,
        engine: Engine,
        options: ReaderOptions,
    ) -> None:
        self._name = name
        self._question = question
        self._memory = memory
        self._engine = engine
        self._options = options
        self.usage = NO_USAGE
        """Of answers that were given up."""

    async def fit(self, wanted: Sequence[Passage], budget: int = 0) -> list[Passage]:
        """As many of these passages as so many tokens (0: any number) and the window take; of a first one that does
        not fit, its beginning.

        Raises PromptTooLongError when not a word of it fits the window, BudgetTooSmallError when none fits the budget.
        """
        engine, answer_tokens = self._engine, self._options.answer_tokens
        window = engine.info.context_tokens
        least = await engine.measure(self._prompt("")) + answer_tokens
        if least > window:
            raise PromptTooLongError(least - answer_tokens, answer_tokens, window)
        room = min(window - least, budget or window)

        async def measure(text: str) -> int:
            return max(await engine.measure(self._prompt(text)) + answer_tokens - least, await engine.count(text))

        async def fits(text: str) -> bool:
            return await measure(text) <= room

        book = self._memory.book
        shown = await passages.fill(wanted, book, room, engine.count, measure)
        if shown or not wanted:
            return shown
        if (beginning := await passages.beginning(wanted[0], book, fits)) is not None:
            return [beginning]
        needed = await measure(render(wanted[:1], book))
        if least + needed > window:
            raise PromptTooLongError(least + needed - answer_tokens, answer_tokens, window)
        raise BudgetTooSmallError(needed, budget)

    def share(self, shown: Sequence[Passage] | None) -> float:
        """How much of the book's text is shown, from 0 to 1."""
        length = len(self._memory.book.text.strip())
        return min(1.0, sum(end - start for start, end in shown or ()) / length) if length else 1.0

    def started(self, shown: Sequence[Passage] | None) -> Started:
        memory = self._memory
        return Started(
            self._name, len(memory.entries), memory.estimated_pages, memory.complete, share_shown=self.share(shown)
        )

    async def answer(
        self,
        shown: Sequence[Passage] | None,
        lookups: tuple[int, ...] = (),
        opened: Collection[int] = (),
        *,
        insisting: bool = False,
    ) -> AsyncGenerator[ReaderEvent, None]:
        """The answer over these passages (None: over nothing), as events; the last is `Answered`.

        `opened`: the pages told of as open, the person's included. `insisting`: see `answer_prompt`.
        """
        memory = self._memory
        text = None if shown is None else render(shown, memory.book)
        seen = tuple(shown or ())
        yield Shown(seen)
        words = sum(count_words(memory.book.text[start:end]) for start, end in seen)
        basis = AnswerContext(
            text or "",
            100.0 * (1.0 - words / max(1, memory.book.words)),
            cite=lambda said, question: cite_passages(said, question, memory, seen),
            seen=seen,
            lookups=lookups,
            expanded=tuple(sorted(opened)),
            usage=self.usage,
        )
        prompt = self._prompt(text, insisting=insisting)
        async for event in answer_from(basis, prompt, self._question, self._engine, self._options):
            yield event

    def _prompt(self, text: str | None, *, insisting: bool = False) -> Prompt:
        """`text` None: the question alone."""
        if text is None:
            return answer_prompt("answer_closed", self._options, question=self._question)
        return answer_prompt("answer_passages", self._options, insisting=insisting, text=text, question=self._question)


def places_of(memory: GistMemory, numbers: set[int]) -> list[Passage]:
    """Of the pages with these numbers, as far as there are such."""
    pages = (memory.entry(number).page for number in sorted(numbers) if 1 <= number <= len(memory.entries))
    return [(page.start, page.end) for page in pages]


def overlaps(places: Sequence[Passage], place: Passage) -> bool:
    """Whether a place shares a character with one of several."""
    return any(start < place[1] and place[0] < end for start, end in places)


def share_of(place: Passage, shown: Sequence[Passage]) -> float:
    """How much of a place is shown, from 0 to 1."""
    start, end = place
    return sum(max(0, min(end, until) - max(start, since)) for since, until in shown) / max(1, end - start)


def opened_or_not(number: int, place: Passage, shown: Sequence[Passage], by: OpenedBy) -> Expanded | Unfit:
    """What is told of a page that was asked for."""
    share = share_of(place, shown)
    return Expanded(number, by) if share == 1.0 else Unfit(number, share)
