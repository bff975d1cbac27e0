"""Wrappers around readers: check answers, quote the book instead of unsupported ones (D9), handle an empty memory."""

import asyncio
import re
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from difflib import get_close_matches

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Engine
from gistread.memory.guard import is_meta
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, sentences_of
from gistread.people.mentions import is_covered, word_tables
from gistread.readers.answering import repeats_prompt, says_not_found
from gistread.readers.book_text import overlaps
from gistread.readers.events import Answered, Citation, ReaderEvent, Started, Stopped, StopReason
from gistread.readers.passage import is_translation
from gistread.readers.protocol import Reader, ReaderOptions
from gistread.readers.steering import Steering
from gistread.readers.support import check
from gistread.readers.text import bound_phrase
from gistread.search.ranked import Relevance

QUOTED = "The model gave no usable answer. The passages closest to the question:"
NO_ANSWER = "The model gave no usable answer."
_NAME = r"[A-Z][^\W\d_]{2,}\b(?! of\b)"  # "Norway" alone of "the King of Norway"
_NAMED = re.compile(rf"(?<=[a-z,;] ){_NAME}(?: {_NAME})*")  # Not a first word, which is always capitalised
_LIKE = 0.7  # Least similarity (`difflib`) of two spellings of a name
_SHORT_WORDS = 3  # A statement this short, such as "Yes, he did.", needs no quote


async def check_events(
    events: AsyncGenerator[ReaderEvent, None],
    question: str,
    memory: GistMemory,
    steering: Steering,
    options: ReaderOptions,
) -> AsyncGenerator[ReaderEvent, None]:
    """The events of a reader, with its answer checked. `question` is without options."""
    started: Started | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Started):
                event = started = replace(event, bound_share=memory.bound_share)
            draft = event if isinstance(event, Answered) and event.choice is None and not event.quoted else None
            if draft and started and not _nothing_read(started):
                yield await asyncio.to_thread(check_answer, draft, question, memory, started, options, steering.refused)
            else:
                yield event


def check_answer(
    answered: Answered,
    question: str,
    memory: GistMemory,
    started: Started,
    options: ReaderOptions,
    refused: Collection[int] = (),
) -> Answered:
    """The answer with checked statements; an unsupported answer is replaced by quotes, none from refused pages."""
    if options.passage and is_translation(question):
        return answered  # A translation cannot be compared with the text.
    if options.is_reliable is False and not options.passage and (names := missing_names(question, memory.book)):
        text = f"{'text' if memory.bound_share < 1 else 'book'}{bound_phrase(started)}"
        told = f"The {text} does not name {' or '.join(names)}."
        return replace(answered, answer=told, found=False, citations=(), statements=())
    if says_not_found(answered.answer):
        return replace(answered, answer=not_found_text(answered, memory, started), found=False, citations=())
    answered = _without_meta(answered, question, memory)
    if answered.found and _should_keep(answered, options):
        cited = [one for one in answered.citations if _is_verbatim(one, memory)]
        compared = dict.fromkeys(one.quote for one in answered.statements if one.quote)
        return replace(answered, citations=tuple(cited or list(compared)[:_MOST]))
    places = (
        answered.seen
        or answered.noted
        or tuple((page.start, page.end) for page in (memory.entry(n).page for n in answered.gists if n not in refused))
    )
    if quotes := closest_sentences(question, memory, places, options.passage):
        return replace(answered, answer=QUOTED, found=False, quoted=True, citations=quotes, statements=())
    if answered.found and answered.answer:
        return answered  # There is no text to quote from.
    text = not_found_text(answered, memory, started) if answered.answer else NO_ANSWER
    return replace(answered, answer=text, found=False, citations=(), statements=())


def missing_names(question: str, book: Book) -> list[str]:
    """The names in an English question that the text lacks, also in a similar spelling.

    Of 12,021 questions about tales and novels, two have such a name.
    """
    if not is_covered(book):
        return []
    text = book.text.casefold()
    named = [name.split() for name in _NAMED.findall(question)]
    no_names = word_tables()["alone"]["words"].split()  # "January", "English"
    absent = {word for part in named for word in part if word.casefold() not in text}
    absent = {word for word in absent if word.casefold() not in no_names and not _has_similar(word, book.text)}
    return [" ".join(lacking) for part in named if (lacking := [word for word in part if word in absent])]


def _has_similar(name: str, text: str) -> bool:
    """Whether a capitalised word of the text has the same initial and almost the same spelling."""
    words = {word.casefold() for word in re.findall(rf"\b{name[0]}[^\W\d_]+", text)}
    return bool(get_close_matches(name.casefold(), words, 1, _LIKE))


def not_found_text(answered: Answered, memory: GistMemory, started: Started) -> str:
    bound = bound_phrase(started)
    if started.share_shown is not None:
        length = len(memory.book.text.strip())
        share = sum(end - start for start, end in answered.seen) / max(1, length)
        if not answered.seen or share > 0.99:
            return f"Not found in the text that was looked at{bound}."
        return f"Not found in the passages that were looked at ({max(0.01, share):.0%} of the text{bound})."
    if not started.complete:
        return f"Not in the pages read so far ({started.pages_read} of about {started.pages_total}{bound})."
    pages = answered.expanded or answered.lookups
    if not pages:
        return f"Not found in the memory{bound}; no page was opened."
    return f"Not found in the memory{bound}, nor in the pages that were looked at: {', '.join(map(str, pages))}."


def _nothing_read(started: Started) -> bool:
    return not started.pages_read and started.share_shown is None


def _without_meta(answered: Answered, question: str, memory: GistMemory) -> Answered:
    def statements(answer: str) -> Answered:
        return replace(answered, answer=answer, statements=check(answer, question, memory, places, answered.gists))

    places = (*answered.seen, *answered.noted)
    answered = statements(answered.answer)
    text = answered.answer
    said = [(one, text[one.start : one.end]) for one in answered.statements]
    meta = [one for one, words in said if repeats_prompt(words) or (not one.supported and is_meta(words))]
    if not meta:
        return answered
    for one in reversed(meta):
        text = f"{text[: one.start]}{text[one.end :].lstrip(' ')}"
    return statements(text.strip())


def _should_keep(answered: Answered, options: ReaderOptions) -> bool:
    """Whether to keep the answer. A model that passed its check may paraphrase the text."""
    if not answered.statements:
        return bool(answered.answer.strip(" .\n"))
    said = [(one, answered.answer[one.start : one.end]) for one in answered.statements]
    # A longer statement without a quote only repeats the question.
    if any(one.supported and (one.quote or count_words(words) <= _SHORT_WORDS) for one, words in said):
        return True
    return bool(options.is_reliable) and not all(one.foreign for one in answered.statements)


def _is_verbatim(citation: Citation, memory: GistMemory) -> bool:
    return bool(citation.quote) and memory.book.text[citation.start : citation.end] == citation.quote


_MOST = 3
_NEAR_THE_BEST = 0.6  # Least score of a further sentence, as a share of the best
_NEIGHBOUR_WEIGHT = 0.5  # Weight of the two neighbours' scores: an answer is often next to the words of the question


def closest_sentences(
    question: str, memory: GistMemory, places: Sequence[Passage], passage: Passage | None = None
) -> tuple[Citation, ...]:
    """Up to three sentences of these places that are closest to the question, in the order of the book.

    For a question about a passage, those closest to the passage, outside of it.
    """
    book = memory.book
    spans = [span for start, end in places for span in sentences_of(book, start, end)]
    if passage is not None:
        question = book.text[slice(*passage)]
        spans = [span for span in spans if not overlaps([passage], span)]
    alone = Relevance([book.text[start:end] for start, end in spans], book.language).scores(question).alone
    padded = [0.0, *alone, 0.0]
    scores = [own + _NEIGHBOUR_WEIGHT * (padded[at] + padded[at + 2]) for at, own in enumerate(alone)]
    ranked = sorted(range(len(spans)), key=lambda at: -scores[at])[:_MOST]
    near = sorted(at for at in ranked if scores[at] > 0 and scores[at] >= _NEAR_THE_BEST * scores[ranked[0]])
    pages = [memory.page_at(spans[at][0]) for at in near]
    return tuple(
        Citation(page.number if page else 0, *spans[at], book.text[spans[at][0] : spans[at][1]])
        for at, page in zip(near, pages, strict=True)
    )


NOTHING_READ = "Nothing of the book has been read yet."


def over_memory(name: str, reader: Reader) -> Reader:
    """Wrap a reader: without a page in the memory, it answers that nothing has been read."""

    async def ask(
        question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
    ) -> AsyncGenerator[ReaderEvent, None]:
        if not memory.entries:
            yield Started(name, 0, memory.estimated_pages, complete=False)
            yield Stopped(StopReason.NOTHING_LEFT)
            yield Answered(NOTHING_READ, False, (), (), (), 0.0, NO_USAGE)
            return
        async with aclosing(reader(question, memory, engine, steering, options)) as events:
            async for event in events:
                yield event

    return ask
