"""Our own reader: retrieval in the order of the book, by a better measure of what is near, and more of it in doubt.

It begins as DOS RAG does (arXiv 2506.03989), the strongest baseline at equal tokens: passages until the budget is
full, in the order of the book. What differs was found by measuring (docs/readers.md, `tests/benchmarks/recall.py`):
they are ranked with the help of those around them (`search/relevance.py`). When the answer is that the book does not
say, as many passages again are read beside them, as ReadAgent-S would open a further page, unless that were more than
was asked for. A model that chooses by chance says so by chance too: it is asked again over the same passages, which
costs next to nothing, and not offered that way out. An answer all of whose names are foreign to the book is not taken
for one of the book's. A question that names nothing to look for ("Summarise it.") is answered from the gists.

Needs no gist memory: over a book that is still being read it searches all of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gistread.engine.protocol import Engine, Usage
from gistread.memory.guard import Draft, foreign_names
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, split_into_passages
from gistread.readers.answering import says_not_found
from gistread.readers.choices import without_options
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    ReaderEvent,
    Restarted,
    Steering,
    Stopped,
    StopReason,
)
from gistread.readers.lookups import answer, apply_steering, opening_events, start_search
from gistread.readers.options import ReaderOptions
from gistread.readers.text_readers import DOS_TOKENS, BookText, opened_or_not, overlaps, places_of
from gistread.search.relevance import Relevance

NAME = "gistread"
_TELLING_CHARACTERS = 80
"""Of an answer: by then it has said that the book does not say, if that is what it says."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The book's passages for one question."""

    passages: tuple[Passage, ...]
    """The nearest first; those that share nothing with it last."""
    pages: tuple[int, ...]
    """Numbers of the pages that share something with it, the nearest first."""
    telling: bool
    """Whether the question says what to look for."""


async def gistread(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer `question` from the book's text. See `registry.Reader`."""
    # The book may be read on meanwhile: what counts is what was read when the question was asked.
    memory = replace(memory, entries=list(memory.entries))
    ranked = await asyncio.to_thread(rank, without_options(question), memory, options.choices)
    told = _from_passages if ranked.telling or not memory.entries else _from_gists
    async with aclosing(told(question, ranked, memory, engine, steering, options)) as events:
        async for event in events:
            yield event


def rank(question: str, memory: GistMemory, choices: Sequence[str] = ()) -> Ranked:
    """The passages and pages of a book by how much they have to do with a question, and the choices of answers to it.

    Takes as long as `Relevance`.
    """
    book = memory.book
    pages = [entry.page for entry in memory.entries]
    # No passage crosses the end of a page, so that a page is worth what the best of its passages is worth.
    found = [
        place for page in pages for place in split_into_passages(book, page.start, page.end)
    ] + split_into_passages(book, memory.read_until)
    relevance = Relevance([book.text[start:end] for start, end in found], book.language)
    scores = relevance.scores(question, choices)
    by_surroundings = sorted(range(len(found)), key=lambda index: -scores.around[index])
    near = [memory.page_at(found[index][0]) for index in by_surroundings if scores.around[index] > 0]
    return Ranked(
        tuple(found[index] for index in scores.order),
        tuple(dict.fromkeys(page.number for page in near if page)),
        scores.telling,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """At the passages, for an answer."""

    times: int = 1
    """The text of the first look, so often."""
    insisting: bool = False
    """The model is not offered to say that the book does not say."""


def _looks(options: ReaderOptions) -> tuple[_Look, ...]:
    """Before it is said that the book does not say."""
    if options.choices:
        return (_Look(),)
    if not options.is_reliable:
        return _Look(), _Look(insisting=True)
    # A budget that was asked for is kept: what is seen in doubt is seen beside what was seen before.
    return (_Look(),) if options.budget_tokens else (_Look(), _Look(times=2))


@dataclass(frozen=True, slots=True)
class _Nothing:
    """A look after which the answer is that the book does not say; the person has not been told yet."""

    events: tuple[ReaderEvent, ...]
    """What would be told if that were the end."""
    usage: Usage


async def _from_passages(
    question: str, ranked: Ranked, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    text = BookText(NAME, question, memory, engine, options)
    opened: list[int] = []
    before: list[Passage] = []
    """What stood before the model in a look that told nothing."""
    nothing: _Nothing | None = None
    looks = _looks(options)
    for look in looks:
        pinned = steering.pinned - steering.refused
        hidden = places_of(memory, steering.pinned | steering.refused)
        wanted = [place for place in ranked.passages if not overlaps(hidden, place)]
        shown = await text.fit([*places_of(memory, pinned), *wanted], options.budget_tokens or look.times * DOS_TOKENS)
        if shown == before and not look.insisting:
            break  # The window takes no more.
        before = shown
        if look is looks[0]:
            yield text.started(shown)
            for number in sorted(pinned):
                for place in places_of(memory, {number}):
                    yield opened_or_not(number, place, shown, OpenedBy.PERSON)
        room = options.max_pages - len(opened)
        for number in _pages_in(shown, ranked, memory, {*opened, *pinned})[:room]:
            opened.append(number)
            yield LookedUp(number, len(opened), "")
            yield Expanded(number, OpenedBy.AGENT)
        everything = all(overlaps(shown, place) for place in wanted)
        stopped = Stopped(StopReason.NOTHING_LEFT if everything else StopReason.WINDOW)
        said = text.answer(shown, tuple(opened), {*opened, *pinned}, insisting=look.insisting)
        told = _told(said, stopped, question, memory)
        further = look is not looks[-1] and (looks[-1].insisting or not everything)
        nothing = None
        async with aclosing(_unless_nothing(told, steering) if further else told) as events:
            async for event in events:
                if isinstance(event, _Nothing):
                    nothing, text.usage = event, event.usage
                else:
                    yield event
        if nothing is None:
            return
    for event in nothing.events if nothing else ():
        yield event


async def _told(
    said: AsyncGenerator[ReaderEvent, None], stopped: Stopped, question: str, memory: GistMemory
) -> AsyncGenerator[ReaderEvent, None]:
    """The end of a question: that the search has stopped, and the answer, checked against the book."""
    yield stopped
    async with aclosing(said) as events:
        async for event in events:
            if isinstance(event, Answered):
                yield await asyncio.to_thread(_checked, event, question, memory)
            else:
                yield event


async def _unless_nothing(
    told: AsyncGenerator[ReaderEvent, None], steering: Steering
) -> AsyncGenerator[ReaderEvent | _Nothing, None]:
    """The same events, or `_Nothing` alone where the answer is that the book does not say.

    They are held back until the answer has begun to tell something.
    """
    held: list[ReaderEvent] = []
    draft = ""
    tells = False
    async with aclosing(told) as events:
        async for event in events:
            held.append(event)
            match event:
                case AnswerDelta(piece):
                    draft += piece
                    tells = tells or (len(draft) >= _TELLING_CHARACTERS and not says_not_found(draft))
                case Restarted():
                    draft = ""
                case Answered(found=found, usage=usage):
                    if not (tells or found or steering.stop):
                        yield _Nothing(tuple(held), usage)
                        return
                    tells = True
            if tells:
                for each in held:
                    yield each
                held.clear()


async def _from_gists(
    question: str, ranked: Ranked, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    search = await start_search(question, memory, engine, steering, options, max_pages=0)
    for said in opening_events(NAME, search):
        yield said
    async for opened in apply_steering(search, steering):
        yield opened
    yield Stopped(StopReason.NOTHING_LEFT)
    nothing = False
    told = answer(search)
    async with aclosing(told if options.is_reliable else _unless_nothing(told, steering)) as events:
        async for event in events:
            if isinstance(event, _Nothing):
                nothing, search.usage = True, event.usage
            else:
                yield event
    if nothing:
        async for insisted in answer(search, insisting=True):
            yield insisted


def _pages_in(shown: Sequence[Passage], ranked: Ranked, memory: GistMemory, known: set[int]) -> list[int]:
    """The nearest pages of which something is shown, those that are known already left out."""
    new = (number for number in ranked.pages if number not in known)
    return [number for number in new if overlaps(shown, places_of(memory, {number})[0])]


def _checked(answered: Answered, question: str, memory: GistMemory) -> Answered:
    """The answer, not found where it names somebody or something and the book nothing of it.

    Numbers do not count: a book says forty where an answer says 40.
    """
    if not answered.found or answered.choice is not None:
        return answered
    foreign, named = foreign_names(Draft(answered.answer, memory.book.text, before=without_options(question)))
    names = {name for name in named if not name[0].isdigit()}
    return replace(answered, found=False, citations=()) if names and names <= foreign else answered
