"""Our own reader: retrieval in the order of the book, with context-aware ranking and a second look.

It begins like DOS RAG (arXiv 2506.03989), the strongest baseline at equal tokens: the best passages
up to a budget, in the order of the book. The differences come from measurements (docs/methods.md,
`tests/benchmarks/recall.py`):

- Ranking counts how close together the words of the question are, and the scores of neighbours
  (`search/ranked.py`).
- After "not found", twice as much text is read, unless a budget was set.
- An unreliable model is shown fewer passages. After "not found" it is asked again: over the next
  passages if its "not
  found" is reliable, else over the same ones without offering "not found".
- A question for a fact is put to an unreliable model over each near passage alone (`shortlist.py`).
- An unreliable model's answer whose statements all have names that the book lacks counts as not
  found.
- A question that shares no word with the book ("Summarise it.") is answered from the gists.
- For "Who is Mr. Bingley?", the passages that introduce the name come first. For an unreliable
  model these are quoted
  instead of an answer, and so is the story so far.

It needs no memory, and also searches the unread part of a book.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import islice

from gistread.engine.protocol import Trust
from gistread.memory.front_matter import back_matter_start, front_matter_end
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, join, sentence_at, split_into_passages
from gistread.readers import events
from gistread.readers.answering import Asking, ReaderOptions, says_not_found
from gistread.readers.book_text import BookText, opening_event, overlaps, places_of, share_of
from gistread.readers.citations import citation_of, cite
from gistread.readers.cost import (
    PASSAGE_TOKENS,
    UNRELIABLE_TOKENS,
    readable_tokens,
    whole_text_tokens,
)
from gistread.readers.events import ReaderEvent, ReaderEvents
from gistread.readers.introductions import Introductions, introductions
from gistread.readers.lookups import answer, begin, start_search
from gistread.readers.phrases import pattern
from gistread.readers.recap import recap
from gistread.readers.shortlist import (
    LONG_BOOK_PASSAGES,
    MOST_PASSAGES,
    SHORTLIST_TOKENS,
    Vote,
    agree,
    ask_each,
    asks_for_a_fact,
    with_surroundings,
)
from gistread.readers.steering import Steering
from gistread.readers.support import check
from gistread.readers.thread import Thread, retrieval_context, without_options
from gistread.search.ranked import Relevance
from gistread.store.model import Citation

NAME = "gistread"
# Nearest passages that the last prompt must show to be used again
# (`tests/benchmarks/follow_ups.py`)
_NEAREST = 3
_STORY = "The story so far, in the book's own sentences:"
_MOST_SOURCES = (
    4  # Of an answer from one passage: its own, then those of what other passages answer
)
_SPARE = (
    6  # Part of the whole text's tokens by which its passages, counted one by one, may exceed it
)
_DECISIVE_CHARACTERS = 80  # "Not found" is recognizable within this length


@dataclass(frozen=True, slots=True)
class Ranked:
    """The book's passages, ranked for a question."""

    passages: tuple[
        Passage, ...
    ]  # Nearest first; all of them, but for unrelated front and back matter
    pages: tuple[
        int, ...
    ]  # Numbers of the pages that share something with the question, nearest first
    has_matches: bool  # Whether the book has any of the question's search terms
    introductions: Introductions | None = None  # Of the name that the question asks about, if any


async def gistread(asking: Asking) -> ReaderEvents:
    """Answer from the book's text."""
    text, memory, options = BookText.of(asking, NAME), asking.memory, asking.options
    question = without_options(text.question)
    ranked = await asyncio.to_thread(rank, question, memory, options.choices, options.thread)
    asked, hidden = (
        ranked.introductions,
        places_of(memory, text.steering.pinned | text.steering.refused),
    )
    if (
        asked
        and options.trust is Trust.FAILED
        and not any(overlaps(hidden, place) for place in asked.sentences)
    ):
        told = quote_introductions(asked, text)
    elif (
        options.trust is Trust.FAILED
        and not options.choices
        and (places := await story_so_far(question, memory))
    ):
        told = _quote(_STORY, places, text)
    elif _has_shortlist(text, ranked):
        told = _from_each_passage(text, ranked)
    else:
        budget, is_whole = await passage_budget(text)
        by_gists = memory.entries and (
            not ranked.has_matches or (not options.choices and asks_for_story(question))
        )
        told = (
            _from_gists(text)
            if by_gists and not is_whole
            else _from_passages(text, ranked, budget, is_whole)
        )
    async with aclosing(told) as stream:
        async for event in stream:
            yield event


def rank(
    question: str, memory: GistMemory, choices: Sequence[str] = (), thread: Thread = ()
) -> Ranked:
    """Rank passages and pages by relevance to a question, its options and its thread.

    As slow as `Relevance`.
    """
    book = memory.book
    pages = [entry.page for entry in memory.entries]
    # No passage crosses the end of a page, so a page ranks with its best passage.
    found = [
        place for page in pages for place in split_into_passages(book, page.start, page.end)
    ] + split_into_passages(book, memory.read_until)
    relevance = Relevance([book.text[start:end] for start, end in found], book.language)
    scores = relevance.scores(question, choices, retrieval_context(thread))
    by_surroundings = sorted(range(len(found)), key=lambda index: -scores.around[index])
    near = [
        memory.page_at(found[index][0]) for index in by_surroundings if scores.around[index] > 0
    ]
    # Of a title page or an imprint only what shares a word with the question.
    story = range(front_matter_end(book), back_matter_start(book))
    fit = [
        index for index in scores.order if scores.alone[index] or found[index][0] in story
    ] or scores.order
    ordered = [found[index] for index in fit]
    introduced = None if choices else introductions(question, memory)
    if introduced:
        ordered.sort(key=lambda place: not overlaps(introduced.sentences, place))
    numbers = tuple(dict.fromkeys(page.number for page in near if page))
    return Ranked(tuple(ordered), numbers, scores.has_matches, introduced)


async def passage_budget(asking: Asking) -> tuple[int, bool]:
    """The tokens of the first look, and whether the whole text fits."""
    options, engine = asking.options, asking.engine
    if options.trust is Trust.FAILED:
        return min(options.budget_tokens or PASSAGE_TOKENS, UNRELIABLE_TOKENS), False
    readable = readable_tokens(engine.info, options.first_word_s)
    most = min(readable, options.budget_tokens) if options.budget_tokens else readable
    if (whole := await whole_text_tokens(asking.memory, engine, most)) is not None:
        return max(UNRELIABLE_TOKENS, whole + whole // _SPARE), True
    return options.budget_tokens or min(PASSAGE_TOKENS, max(UNRELIABLE_TOKENS, readable)), False


@dataclass(frozen=True, slots=True)
class _Look:
    times: int = 1  # Budget as a multiple of the first look's
    is_further: bool = False  # Show the next passages, not those of the first look
    must_answer: bool = False  # Do not offer "not found"


def _looks(options: ReaderOptions) -> tuple[_Look, ...]:
    if options.choices:
        return (_Look(),)
    if options.trust is Trust.FAILED:
        if not options.abstains_reliably:
            return _Look(), _Look(must_answer=True)
        is_enough = 0 < options.budget_tokens < 2 * UNRELIABLE_TOKENS
        return (_Look(),) if is_enough else (_Look(), _Look(is_further=True))
    # A second look with more text would exceed a budget that was set.
    return (_Look(),) if options.budget_tokens else (_Look(), _Look(times=2))


async def _from_passages(
    text: BookText, ranked: Ranked, budget: int, is_whole: bool
) -> ReaderEvents:
    memory, steering, options = text.memory, text.steering, text.options
    opened: list[int] = []
    before: list[Passage] = []  # What the last look showed
    held: list[ReaderEvent] = []  # The events of the last look, if it ended in "not found"
    looks = _looks(options)
    again = reusable_passages(ranked, options.thread, places_of(memory, steering.refused))
    for look in looks:
        seen = before if look.is_further else []
        wanted = [place for place in ranked.passages if not overlaps(seen, place)]
        tokens = look.times * budget
        named_tokens = options.budget_tokens or max(tokens, look.times * PASSAGE_TOKENS)
        async for proposed in text.select(wanted, tokens, first=again, named_budget=named_tokens):
            yield proposed
        again = []  # Only the first look uses the last answer's passages again.
        shown, pinned = text.shown, steering.pinned - steering.refused
        known = {*opened, *pinned}
        pages = (
            []
            if is_whole
            else _pages_in(shown, ranked, memory, known)[: options.max_pages - len(opened)]
        )
        if held and shown == before and not look.must_answer:
            break  # nothing more fits the window
        before = shown
        if look is looks[0]:
            yield text.started(shown)
            for number in sorted(pinned):
                for place in places_of(memory, {number}):
                    yield opening_event(number, place, shown, events.OpenedBy.PERSON)
        for number in pages:
            opened.append(number)
            yield events.LookedUp(number, len(opened), "")
            yield events.Expanded(number, events.OpenedBy.AGENT)
        closed = places_of(memory, steering.refused)
        everything = steering.only or all(overlaps([*shown, *closed], place) for place in wanted)
        stopped = events.Stopped(
            events.StopReason.NOTHING_LEFT if everything else events.StopReason.WINDOW
        )
        said = text.answer(shown, tuple(opened), {*opened, *pinned}, must_answer=look.must_answer)
        told = _check_answers(said, stopped, text, seen)
        further = look is not looks[-1] and (looks[-1].must_answer or not everything)
        held.clear()
        async with aclosing(_unless_not_found(told, steering, held) if further else told) as stream:
            async for event in stream:
                yield event
        if not held:
            return
    for event in held:
        yield event


def _has_shortlist(text: BookText, ranked: Ranked) -> bool:
    options = text.options
    return (
        options.trust is Trust.FAILED
        and not options.choices
        and not (text.steering.pinned or text.steering.only)
        and (not options.budget_tokens or options.budget_tokens >= SHORTLIST_TOKENS)
        and ranked.has_matches
        and len(ranked.passages) >= LONG_BOOK_PASSAGES
        and asks_for_a_fact(without_options(text.question))
    )


async def _from_each_passage(text: BookText, ranked: Ranked) -> ReaderEvents:
    """Ask an unreliable model over each near passage alone.

    Over the nearest together if none tells an answer.
    """
    memory, question = text.memory, without_options(text.question)
    wide = with_surroundings(ranked.passages, memory.book)
    async for proposed in text.select(wide, SHORTLIST_TOKENS, most=MOST_PASSAGES):
        yield proposed
    shown = tuple(text.shown)
    pages = tuple(_pages_in(shown, ranked, memory, set())[: text.options.max_pages])
    yield text.started(shown)
    for step, number in enumerate(pages, 1):
        yield events.LookedUp(number, step, "")
        yield events.Expanded(number, events.OpenedBy.AGENT)
    yield events.Shown(shown)
    near = [place for place in wide if share_of(place, shown) == 1.0]
    near += [
        place for place in ranked.passages if overlaps(shown, place) and not overlaps(near, place)
    ]  # Pinned ones
    votes = await ask_each(text, near)
    yield events.Stopped(events.StopReason.WINDOW)
    if not votes:
        together = await text.fit(near, UNRELIABLE_TOKENS)
        async for event in text.answer(together, pages, pages):
            yield event
        return
    said = votes[0].answer
    yield events.AnswerDelta(said)
    cited, rate = _sources_of(votes, question, memory), 100.0 * (1 - text.share(shown))
    opened = tuple(sorted(pages))
    answered = events.Answered(said, True, cited, pages, opened, rate, text.usage, seen=shown)
    yield await asyncio.to_thread(_check_names, answered, text)


def _sources_of(votes: Sequence[Vote], question: str, memory: GistMemory) -> tuple[Citation, ...]:
    """The source of the first answer, then those of the others, which tell their own where they
    differ.
    """
    found: dict[Passage, Citation] = {}
    for vote in votes:
        tells = "" if agree(question, votes[0].answer, vote.answer) else vote.answer
        for one in cite(vote.answer, question, memory, (vote.passage,))[:1]:
            found.setdefault((one.start, one.end), replace(one, tells=tells))
    return tuple(islice(found.values(), _MOST_SOURCES))


def reusable_passages(
    ranked: Ranked, thread: Thread, refused: Sequence[Passage] = ()
) -> list[Passage]:
    """The passages of the last answer, if they contain those nearest to the follow-up.

    Its prompt is reused.
    """
    seen = thread[-1].seen if thread else ()
    nearest = ranked.passages[:_NEAREST]
    stays = seen and all(
        share_of(place, seen) == 1.0 and not overlaps(refused, place) for place in nearest
    )
    return list(seen) if stays else []


async def _check_answers(
    said: ReaderEvents, stopped: events.Stopped, text: BookText, before: Sequence[Passage]
) -> ReaderEvents:
    """`stopped`, then the answer; an unreliable model's is checked.

    "Not found" includes the passages seen `before`.
    """
    yield stopped
    async with aclosing(said) as stream:
        async for event in stream:
            if isinstance(event, events.Answered):
                checked = text.options.trust is Trust.FAILED
                answered = await asyncio.to_thread(_check_names, event, text) if checked else event
                seen = tuple(join([*answered.seen, *before], text.memory.book))
                yield answered if answered.found else replace(answered, seen=seen)
            else:
                yield event


async def _unless_not_found(
    told: ReaderEvents, steering: Steering, held: list[ReaderEvent]
) -> ReaderEvents:
    """Yield the events once the answer is clearly not "not found".

    Until then, and otherwise, they are in `held`.
    """
    draft = ""
    tells = False
    async with aclosing(told) as stream:
        async for event in stream:
            held.append(event)
            match event:
                case events.AnswerDelta(piece):
                    draft += piece
                    tells = tells or (
                        len(draft) >= _DECISIVE_CHARACTERS and not says_not_found(draft)
                    )
                case events.Restarted():
                    draft = ""
                case events.Answered(found=found):
                    tells = tells or found or steering.stop
            if tells:
                for each in held:
                    yield each
                held.clear()


def asks_for_story(question: str) -> bool:
    return bool(pattern("asks_for_the_story").fullmatch(without_options(question)))


async def story_so_far(question: str, memory: GistMemory) -> tuple[Passage, ...]:
    """The sentences of the book that tell the story so far, if the question asks for it.

    Else empty.
    """
    if not asks_for_story(question):
        return ()
    story = await asyncio.to_thread(recap, memory)
    return tuple(
        sorted({sentence_at(memory.book, told.start) for told in (*story.before, *story.chapter)})
    )


def quote_introductions(asked: Introductions, text: BookText) -> ReaderEvents:
    """The sentence that tells who somebody is as the answer.

    Without one, not found, and nothing is streamed.
    """
    said = " ".join(
        " ".join(text.memory.book.text[start:end].split()) for start, end in asked.sentences
    )
    answer = (
        said
        if asked.tells
        else f"No sentence says plainly who or what {asked.name} is. The nearest: {said}"
    )
    return _quote(answer if said else "The book does not say.", asked.sentences, text)


async def _quote(answer: str, places: tuple[Passage, ...], text: BookText) -> ReaderEvents:
    """These places as the answer, in the book's own words."""
    yield text.started(places)
    quotes = tuple(citation_of(place, text.memory) for place in places)
    pages = tuple(dict.fromkeys(one.page for one in quotes if one.page))
    for count, number in enumerate(pages, 1):
        yield events.LookedUp(number, count, "")
        yield events.Expanded(number, events.OpenedBy.AGENT)
    yield events.Shown(places)
    yield events.Stopped(events.StopReason.ENOUGH if places else events.StopReason.NOTHING_LEFT)
    if places:
        yield events.AnswerDelta(answer)
    found, rate = bool(places), 100.0 * (1 - text.share(places))
    yield events.Answered(answer, found, quotes, pages, pages, rate, seen=places, quoted=found)


async def _from_gists(text: BookText) -> ReaderEvents:
    search = await start_search(text, max_pages=0)
    async for opened in begin(NAME, search):
        yield opened
    yield events.Stopped(events.StopReason.NOTHING_LEFT)
    held: list[ReaderEvent] = []
    told = answer(search)
    if text.options.trust is Trust.FAILED:
        told = _unless_not_found(told, text.steering, held)
    async with aclosing(told) as stream:
        async for event in stream:
            yield event
    if held:
        async for again in answer(search, must_answer=True):
            yield again


def _pages_in(
    shown: Sequence[Passage], ranked: Ranked, memory: GistMemory, known: set[int]
) -> list[int]:
    """The nearest pages that are at least partly shown, except `known` ones."""
    new = (number for number in ranked.pages if number not in known)
    return [number for number in new if overlaps(shown, places_of(memory, {number})[0])]


def _check_names(answered: events.Answered, text: BookText) -> events.Answered:
    """The answer; not found if each of its statements has a name that the text shown lacks."""
    if not answered.found or answered.choice is not None:
        return answered
    statements = check(answered.answer, without_options(text.question), text.memory, answered.seen)
    foreign = bool(statements) and all(one.foreign for one in statements)
    return replace(answered, found=False, citations=()) if foreign else answered
