"""Readers that are shown the book's own text, and no gist: the baselines that every other reader is held against.

`bm25`: the pages nearest to the question, as in ReadAgent's tables (section 4). `dos`: passages by relevance until the
budget is full, shown in the order of the book (DOS RAG, arXiv 2506.03989). `full`: the whole text, or as much of
its start as fits. `closed-book`: nothing at all, so that one sees what the model knew before.

`dos`, `full` and `closed-book` need no gist memory: they can be asked before a model has read a page.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from gistread import prompts
from gistread.book.words import count_words
from gistread.engine.protocol import Engine, Message, Prompt
from gistread.errors import PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, cut
from gistread.readers import passages
from gistread.readers.answering import Written, stream_answer
from gistread.readers.citations import cite_passages
from gistread.readers.events import (
    Answered,
    Expanded,
    LookedUp,
    ReaderEvent,
    Shown,
    Started,
    Steering,
    Stopped,
    StopReason,
    Who,
)
from gistread.readers.lookups import nothing_read
from gistread.readers.options import ReaderOptions

DOS_TOKENS = 4096
"""Of text that `dos` puts before the model where nobody says how much: more costs a laptop minutes."""


async def bm25(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The `max_pages` pages nearest to the question, in full. See `registry.Reader`."""
    if not memory.entries:
        for said in nothing_read("bm25", memory):
            yield said
        return
    pages = [entry.page for entry in memory.entries]
    numbers = {(page.start, page.end): page.number for page in pages}
    wanted = await passages.ranked(question, list(numbers), memory.book)
    wanted = [place for place in wanted if numbers[place] not in steering.refused | steering.pinned]
    pinned = [place for place, number in numbers.items() if number in steering.pinned - steering.refused]
    text = _Text("bm25", question, memory, engine, options)
    shown = await text.fit([*pinned, *wanted[: options.max_pages]])
    yield text.started(shown)
    for place in pinned:
        yield Expanded(numbers[place], Who.PERSON)
    opened = [numbers[place] for place in wanted[: options.max_pages] if _holds(shown, place)]
    for step, number in enumerate(opened, start=1):
        yield LookedUp(number, step, "")
        yield Expanded(number, Who.AGENT)
    yield Stopped(StopReason.LIMIT if len(opened) == options.max_pages else StopReason.NOTHING_LEFT)
    async for event in text.answer(shown, tuple(opened), {numbers[place] for place in pinned if _holds(shown, place)}):
        yield event


async def dos(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Passages nearest to the question, as many as the budget takes, in the order of the book."""
    text = _Text("dos", question, memory, engine, options, usual_tokens=DOS_TOKENS)
    all_passages = cut(memory.book)
    pinned, refused = _pages(memory, steering.pinned - steering.refused), _pages(memory, steering.refused)
    ranked = await passages.ranked(question, all_passages, memory.book)
    # What shares no word with the question comes last, from the start: readers are compared at equal budgets.
    order = dict.fromkeys([*ranked, *all_passages])
    wanted = [place for place in order if not _overlaps([*pinned, *refused], place)]
    shown = await text.fit([*pinned, *wanted])
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW)
    async for event in text.answer(shown):
        yield event


async def full(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """The whole book, or as much of its start as fits."""
    text = _Text("full", question, memory, engine, options)
    shown = await text.fit(cut(memory.book))
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT if text.share(shown) == 1.0 else StopReason.WINDOW)
    async for event in text.answer(shown):
        yield event


async def closed_book(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """No text: what the model knew before."""
    text = _Text("closed-book", question, memory, engine, options)
    yield text.started(None)
    yield Stopped(StopReason.NOTHING_LEFT)
    async for event in text.answer(None):
        yield event


class _Text:
    """One question over text of the book."""

    def __init__(
        self,
        name: str,
        question: str,
        memory: GistMemory,
        engine: Engine,
        options: ReaderOptions,
        *,
        usual_tokens: int = 0,
    ) -> None:
        self._name = name
        self._question = question
        self._memory = memory
        self._engine = engine
        self._options = options
        self._budget = options.budget_tokens or usual_tokens

    async def fit(self, wanted: Sequence[Passage]) -> list[Passage]:
        """As many of these passages as the budget and the window take. Raises PromptTooLongError when the question
        alone fills the window."""
        window = self._engine.info.context_tokens
        least = await self._engine.measure(_prompt(self._question, "")) + self._options.answer_tokens
        if least > window:
            raise PromptTooLongError(least, self._options.answer_tokens, window)
        room = min(window - least, self._budget or window)

        async def measure(text: str) -> int:
            return await self._engine.measure(_prompt(self._question, text)) + self._options.answer_tokens - least

        count: Callable[[str], Awaitable[int]] = self._engine.count
        return await passages.fill(wanted, self._memory.book, room, count, measure)

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
        self, shown: Sequence[Passage] | None, lookups: tuple[int, ...] = (), pinned: set[int] | None = None
    ) -> AsyncGenerator[ReaderEvent, None]:
        """The answer over these passages (None: over nothing), as events; the last is `Answered`."""
        book = self._memory.book
        prompt = _prompt(self._question, None if shown is None else passages.render(shown, book))
        shown = shown or ()
        yield Shown(tuple(shown))
        async for event in stream_answer(prompt, self._engine, self._options.answer_tokens):
            if not isinstance(event, Written):
                yield event
                continue
            words = sum(count_words(book.text[start:end]) for start, end in shown)
            yield Answered(
                answer=event.text,
                found=event.found,
                citations=cite_passages(event.text, self._question, self._memory, shown) if event.found else (),
                lookups=lookups,
                expanded=tuple(sorted({*lookups, *(pinned or ())})),
                compression_rate=100.0 * (1.0 - words / max(1, book.words)),
                usage=event.usage,
            )


def _prompt(question: str, text: str | None) -> Prompt:
    """`text` None: the question alone."""
    words = " ".join(question.split())
    if text is None:
        return (Message("user", prompts.load("answer_closed").fill(question=words)),)
    return (Message("user", prompts.load("answer_passages").fill(text=text, question=words)),)


def _pages(memory: GistMemory, numbers: set[int]) -> list[Passage]:
    pages = (memory.entry(number).page for number in sorted(numbers) if 1 <= number <= len(memory.entries))
    return [(page.start, page.end) for page in pages]


def _overlaps(places: Sequence[Passage], place: Passage) -> bool:
    return any(start < place[1] and place[0] < end for start, end in places)


def _holds(places: Sequence[Passage], place: Passage) -> bool:
    return any(start <= place[0] and place[1] <= end for start, end in places)
