"""Answers in the book's own sentences, for models whose own words cannot be trusted.

"Who is Mr. Bingley?" is answered by the sentence that introduces him, "What has happened so far?"
by the sentences that tell the story. No model is asked.
"""

import asyncio
from collections.abc import Collection
from contextlib import aclosing
from dataclasses import dataclass

from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, overlaps, sentence_at
from gistread.readers import events
from gistread.readers.answering import Asking
from gistread.readers.book_text import BookText, places_of
from gistread.readers.closest import closest_sentences
from gistread.readers.events import ReaderEvents
from gistread.readers.evidence import citation_of
from gistread.readers.gistread import gistread
from gistread.readers.introductions import Introductions, introductions
from gistread.readers.kinds import asks_for_story
from gistread.readers.ranking import rank
from gistread.readers.recap import SHORT_RECAP_WORDS, own_story, recap
from gistread.readers.thread import without_options
from gistread.store.model import NO_PLAIN_SENTENCE, Citation
from gistread.units import close_speech

NAME = "quoting"
_STORY = "The story so far, in the book's own sentences:"
_CLOSEST = "The sentences closest to the question:"
_NOTHING = "The book does not say."
_PASSAGES = 5  # The closest sentences are looked for in so many nearest passages


async def quoting(asking: Asking) -> ReaderEvents:
    """Quote who somebody is or the story so far, else the sentences closest to the question.

    `gistread` answers multiple-choice questions.
    """
    if asking.options.choices:
        answering = gistread(asking)
    else:
        answering = _quote_reviewed(BookText.of(asking, NAME))
    async with aclosing(answering) as stream:
        async for event in stream:
            yield event


async def _quote_reviewed(text: BookText) -> ReaderEvents:
    """Quote what the user agrees to; instead of a refused section, the next closest sentences."""
    while True:
        quotation = await _quotation(text)
        async for reviewed in text.review(quotation.places):
            yield reviewed
        if not text.is_redecided:
            break
        decision = text.steering.decision
        text.steering.pinned.update(decision.pages)
        if decision.pages or text.steering.stop:
            chosen = set(decision.pages)
            if not decision.refuses:
                chosen |= text.accepted
            quotation = await asyncio.to_thread(_closest_quotation, text, chosen)
            break
    quoted = _quote(quotation.answer, quotation.places, text)
    async with aclosing(quoted) as stream:
        async for event in stream:
            yield event


@dataclass(frozen=True, slots=True)
class _Quotation:
    answer: str
    places: tuple[Passage, ...]


async def _quotation(text: BookText) -> _Quotation:
    """Who somebody is, the story so far, or the closest sentences."""
    introduced = await introductions_for(text)
    if introduced:
        return _Quotation(_introduction(introduced, text), introduced.sentences)
    story = await story_so_far(text)
    if story:
        return _Quotation(_STORY, story)
    return await asyncio.to_thread(_closest_quotation, text)


def _closest_quotation(text: BookText, chosen: Collection[int] = ()) -> _Quotation:
    """The sentences closest to the question: in pinned sections first, in refused ones not at all.

    `chosen`: only in sections with these numbers.
    """
    memory = text.memory
    steering = text.steering
    question = without_options(text.question)
    refused = places_of(memory, steering.refused)
    pinned = places_of(memory, steering.pinned - steering.refused)
    ranked = rank(question, memory, text.options.choices, text.options.thread)
    near = [place for place in ranked.passages if not overlaps(refused, place)]
    if chosen:
        within = places_of(memory, set(chosen))
        near = [place for place in near if overlaps(within, place)]
    # Pinned sections first
    near.sort(key=lambda place: not overlaps(pinned, place))
    quotes: tuple[Citation, ...] = ()
    if ranked.has_matches:
        quotes = closest_sentences(question, memory, near[:_PASSAGES])
    places = tuple((quote.start, quote.end) for quote in quotes)
    return _Quotation(_CLOSEST if places else _NOTHING, places)


async def introductions_for(asking: Asking) -> Introductions | None:
    """The sentences that introduce whom the question asks about, unless the user hides them."""
    memory, steering = asking.memory, asking.steering
    question = without_options(asking.question)
    introduced = await asyncio.to_thread(introductions, question, memory)
    hidden = places_of(memory, steering.pinned | steering.refused)
    if introduced is None or asking.options.choices:
        return None
    is_hidden = any(overlaps(hidden, place) for place in introduced.sentences)
    if is_hidden:
        return None
    return introduced


async def story_so_far(asking: Asking) -> tuple[Passage, ...]:
    """The sentences of the book that tell the story, if the question asks for it; else empty."""
    if asking.options.choices or not asks_for_story(asking.question):
        return ()
    story = await asyncio.to_thread(_story_places, asking.memory)
    refused = places_of(asking.memory, asking.steering.refused)
    return tuple(place for place in story if not overlaps(refused, place))


def _story_places(memory: GistMemory) -> tuple[Passage, ...]:
    story = recap(memory, words=SHORT_RECAP_WORDS)
    # The model may have read only the chapter of the reader, as after a jump.
    before = (story.before if story.pages else ()) or own_story(memory)
    sentences = (*before, *story.chapter)
    places = {sentence_at(memory.book, sentence.start) for sentence in sentences}
    return tuple(sorted(places))


def quote_introductions(introduced: Introductions, text: BookText) -> ReaderEvents:
    """The sentence that tells who somebody is, as the answer.

    Without one, the answer is "not found", and nothing is streamed.
    """
    return _quote(_introduction(introduced, text), introduced.sentences, text)


def _introduction(introduced: Introductions, text: BookText) -> str:
    """The introducing sentence, with a warning if it only names somebody."""
    book = text.memory.book.text
    quotes = [
        close_speech(" ".join(book[start:end].split()))
        for start, end in introduced.sentences
    ]
    quoted = " ".join(quotes)
    if not quoted:
        return _NOTHING
    if introduced.tells:
        return quoted
    problem = f"{NO_PLAIN_SENTENCE} who or what {introduced.name} is."
    return f"{problem} The nearest: {quoted}"


async def _quote(
    answer: str, places: tuple[Passage, ...], text: BookText
) -> ReaderEvents:
    """These places as the answer, in the book's own words."""
    text.shown = list(places)
    yield text.started(places)
    quotes = tuple(citation_of(place, text.memory) for place in places)
    pages = tuple(dict.fromkeys(quote.page for quote in quotes if quote.page))
    reasons = await asyncio.to_thread(text.why_shown, pages)
    for count, number in enumerate(pages, 1):
        yield events.LookedUp(number, count, reasons[number])
        yield events.Expanded(number, events.OpenedBy.AGENT)
    yield await asyncio.to_thread(text.shown_event, places)
    is_found = bool(places)
    reason = events.StopReason.ENOUGH if is_found else events.StopReason.NOTHING_LEFT
    yield events.Stopped(reason)
    if is_found:
        yield events.AnswerDelta(answer)
    yield events.Answered(
        answer,
        found=is_found,
        citations=quotes,
        lookups=pages,
        expanded=pages,
        compression_rate=100.0 * (1 - text.share(places)),
        seen=places,
        quoted=is_found,
    )
