"""Wrappers around readers.

Cite and mark answers, replace useless ones of weak models, handle an empty memory.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from difflib import get_close_matches
from itertools import groupby

from gistread.book.model import Book
from gistread.memory.guard import is_meta
from gistread.memory.model import GistMemory
from gistread.memory.passages import NEARLY_ALL, Passage, join
from gistread.people.mentions import supports_names, titles, word_set
from gistread.readers import selection
from gistread.readers.absence import says_not_found, says_only_not_found
from gistread.readers.answer_marks import find_marks
from gistread.readers.answering import Asking, Reader
from gistread.readers.book_text import places_of
from gistread.readers.citations import cite, with_cited_sentences, with_sources
from gistread.readers.closest import closest_sentences
from gistread.readers.events import Answered, ReaderEvents, Started, Stopped, StopReason
from gistread.readers.leaks import without_leaks
from gistread.readers.support import Statement, check
from gistread.readers.thread import (
    begun_answer,
    with_options,
    with_thread,
    within_bound,
)
from gistread.readers.trace import LEAST_SHARE, bound_phrase
from gistread.store.model import AnswerMark, AnswerMarkKind, Citation

QUOTED = "The model gave no usable answer. The passages closest to the question:"
NO_ANSWER = "The model gave no usable answer."
NOT_SUPPORTED = "not supported by the text"
_NAME = r"[A-Z][^\W\d_]{2,}\b(?! of\b)"  # "Norway" alone of "the King of Norway"
# Not a first word, which is always capitalised
_NAMED = re.compile(rf"(?<=[a-z,;] ){_NAME}(?:\.? {_NAME})*")
_MOST_SOURCES = 3
_LIKE = 0.7  # Least similarity (`difflib`) of two spellings of a name


def with_checks(by_method: Reader) -> Reader:
    """Wrap a reader: the thread before its question, the check of its answer after it.

    Calling it raises UsageError.
    """

    def ask(asking: Asking) -> ReaderEvents:
        memory = asking.memory
        options = asking.options
        info = asking.engine.info
        bound = len(memory.book.text) if memory.bound_share < 1 else None
        options = replace(
            options, thread=within_bound(options.thread, bound), wording=info.wording
        )
        question = asking.question
        if options.model.is_believed:
            begun = begun_answer(question, options.thread)
        else:
            begun = None
        if begun:
            question = begun.question
            options = replace(options, thread=begun.before, begun=begun.text)
        as_asked = with_thread(
            with_options(question, options.choices),
            options.thread,
            info.context_tokens,
            short=not options.model.remembers,
        )
        # Questions about a passage have a reader of their own, whatever the method.
        reader = selection.about_selection if options.selection else by_method
        # Reading may go on meanwhile.
        memory = replace(memory, entries=list(memory.entries))
        asking = replace(asking, question=question, memory=memory, options=options)
        return _check_events(reader(replace(asking, question=as_asked)), asking)

    return ask


async def _check_events(events: ReaderEvents, asking: Asking) -> ReaderEvents:
    """The events of a reader, with its answer checked. The question is without options."""
    started: Started | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Started):
                event = started = replace(event, bound_share=asking.memory.bound_share)
            if (
                started
                and isinstance(event, Answered)
                and _can_be_checked(event, started)
            ):
                yield await _checked(event, asking, started)
            else:
                yield event


def _can_be_checked(answered: Answered, started: Started) -> bool:
    is_written = answered.choice is None and not answered.quoted
    return is_written and (started.pages_read > 0 or started.share_shown is not None)


async def _checked(answered: Answered, asking: Asking, started: Started) -> Answered:
    """The answer, checked, with sources if it has none."""
    options = asking.options
    draft = replace(answered, answer=without_leaks(answered.answer, options.wording))
    checked = await asyncio.to_thread(check_answer, draft, asking, started)
    is_kept = options.model.is_believed and checked.answer == draft.answer
    is_translated = options.selection and selection.is_translation(asking.question)
    if is_kept and checked.found and draft.cited and not is_translated:
        return await with_cited_sentences(checked, asking, _places(draft, asking))
    has_sources = bool(draft.cited or draft.citations)
    if has_sources or is_translated or not is_kept:
        return checked
    closed = places_of(asking.memory, asking.steering.refused)
    if asking.steering.only:
        closed = [(0, len(asking.memory.book.text))]
    return await with_sources(checked, asking, _places(draft, asking), closed)


def check_answer(answered: Answered, asking: Asking, started: Started) -> Answered:
    """The answer with its marks, and with the sentences of the passages that it cites.

    Only what a weak model invents, or says of its task, is replaced by quotations.
    """
    memory = asking.memory
    options = asking.options
    if options.selection and selection.is_translation(asking.question):
        return answered  # A translation cannot be compared with the text.
    if not (options.selection or options.model.sees_absence):
        names = missing_names(asking.question, memory.book)
        if names:
            return _does_not_name(names, answered, memory, started)
    if not options.model.is_believed:
        return _check_weak(answered, asking, started)
    if says_only_not_found(answered.answer):
        return replace(
            answered, answer=not_found_text(answered, memory, started), found=False
        )
    if not answered.answer.strip(" .\n"):
        return replace(answered, answer=NO_ANSWER, found=False)
    return _with_marks(answered, asking)


def _with_marks(answered: Answered, asking: Asking) -> Answered:
    """The answer with what it cites, and with marks for what none of the model's text tells."""
    memory = asking.memory
    places = (*answered.seen, *answered.noted, *answered.cited)
    texts = [memory.book.text[start:end] for start, end in places]
    texts += [memory.entry(number).gist.text for number in answered.gists]
    texts += [
        f"{earlier.question} {earlier.answer}" for earlier in asking.options.thread
    ]
    marks = find_marks(answered.answer, asking.question, "\n".join(texts), memory.book)
    cited: tuple[Citation, ...] = ()
    if answered.cited:
        shown = _places(answered, asking)
        cited = cite(answered.answer, asking.question, memory, shown, answered.cited)
    return replace(answered, citations=cited or answered.citations, marks=marks)


def _places(answered: Answered, asking: Asking) -> list[Passage]:
    """What was shown of the book; without that, the pages whose gists were shown."""
    memory, refused = asking.memory, asking.steering.refused
    pages = (
        memory.entry(number).page for number in answered.gists if number not in refused
    )
    return join([*answered.seen, *answered.noted], memory.book) or [
        (page.start, page.end) for page in pages
    ]


def _check_weak(answered: Answered, asking: Asking, started: Started) -> Answered:
    """The answer with its unsupported statements marked, or the sentences closest to the question.

    An answer tells nothing if each of its statements has a name, a number or a quotation that the
    text lacks.
    """
    question = asking.question
    memory = asking.memory
    if says_not_found(answered.answer):
        return replace(
            answered, answer=not_found_text(answered, memory, started), found=False
        )
    answered, statements = _without_meta(answered, question, memory)
    is_invented = bool(statements) and all(
        statement.foreign for statement in statements
    )
    if answered.found and answered.answer.strip(" .\n") and not is_invented:
        citations = answered.citations or _sources_of(answered, statements, asking)
        return replace(answered, citations=citations, marks=_marks_of(statements))
    places = _places(answered, asking)
    if quotes := closest_sentences(question, memory, places, asking.options.selection):
        return replace(
            answered, answer=QUOTED, found=False, quoted=True, citations=quotes
        )
    if not answered.answer:
        return replace(answered, answer=NO_ANSWER, found=False)
    return replace(
        answered, answer=not_found_text(answered, memory, started), found=False
    )


def _sources_of(
    answered: Answered, statements: Sequence[Statement], asking: Asking
) -> tuple[Citation, ...]:
    """The sentences that tell a weak model's answer; without any, those closest to the question."""
    question = asking.question
    memory = asking.memory
    places = _places(answered, asking)
    compared = dict.fromkeys(
        statement.quote for statement in statements if statement.quote
    )
    if not compared:
        return closest_sentences(question, memory, places, asking.options.selection)
    cited = cite(answered.answer, question, memory, places, answered.cited)
    return cited or tuple(compared)[:_MOST_SOURCES]


def _does_not_name(
    names: Sequence[str], answered: Answered, memory: GistMemory, started: Started
) -> Answered:
    noun = "text" if memory.bound_share < 1 else "book"
    answer = f"The {noun}{bound_phrase(started)} does not name {' or '.join(names)}."
    return replace(answered, answer=answer, found=False, citations=())


def _marks_of(statements: Sequence[Statement]) -> tuple[AnswerMark, ...]:
    """A mark for each unsupported statement; neighbours in one."""
    runs = [
        list(run)
        for supported, run in groupby(
            statements, key=lambda statement: statement.supported
        )
        if not supported
    ]
    return tuple(
        AnswerMark(run[0].start, run[-1].end, AnswerMarkKind.STATEMENT, NOT_SUPPORTED)
        for run in runs
    )


def missing_names(question: str, book: Book) -> list[str]:
    """The names in an English question that the text lacks, also in a similar spelling.

    Of 12,021 questions about tales and novels, two have such a name.
    """
    if not supports_names(book):
        return []
    text = book.text.casefold()
    named = [name.replace(".", "").split() for name in _NAMED.findall(question)]
    no_names = word_set("alone")  # "January", "English"
    absent = {word for part in named for word in part if word.casefold() not in text}
    absent = {
        word
        for word in absent
        if word.casefold() not in no_names and not _has_similar(word, book.text)
    }
    lacking = ([word for word in part if word in absent] for part in named)
    return [
        " ".join(words)
        for words in lacking
        if any(word.casefold() not in titles() for word in words)
    ]


def _has_similar(name: str, text: str) -> bool:
    """Whether a capitalised word of the text has the same initial and almost the same spelling."""
    words = {word.casefold() for word in re.findall(rf"\b{name[0]}[^\W\d_]+", text)}
    return bool(get_close_matches(name.casefold(), words, 1, _LIKE))


def not_found_text(answered: Answered, memory: GistMemory, started: Started) -> str:
    bound = bound_phrase(started)
    if started.share_shown is not None:
        length = len(memory.book.text.strip())
        share = sum(end - start for start, end in answered.seen) / max(1, length)
        if not answered.seen or share > NEARLY_ALL:
            return f"Not found in the text that was looked at{bound}."
        return (
            f"Not found in the passages that were looked at ({max(LEAST_SHARE, share):.0%} of the "
            f"text{bound})."
        )
    if not started.complete:
        return (
            f"Not in the sections read so far ({started.pages_read} of about "
            f"{started.pages_total}{bound})."
        )
    pages = answered.expanded or answered.lookups
    if not pages:
        return f"Not found in the memory{bound}; no section was opened."
    return (
        f"Not found in the memory{bound}, nor in the sections that were looked at: "
        f"{', '.join(map(str, pages))}."
    )


def _without_meta(
    answered: Answered, question: str, memory: GistMemory
) -> tuple[Answered, tuple[Statement, ...]]:
    """The answer without statements about the task, and its other statements."""
    places, text = (*answered.seen, *answered.noted), answered.answer
    statements = check(text, question, memory, places, answered.gists)
    meta = [
        statement
        for statement in statements
        if not statement.supported and is_meta(text[statement.start : statement.end])
    ]
    if not meta:
        return answered, statements
    for statement in reversed(meta):
        text = f"{text[: statement.start]}{text[statement.end :].lstrip(' ')}"
    text = text.strip()
    return replace(answered, answer=text), check(
        text, question, memory, places, answered.gists
    )


NOTHING_READ = "Nothing of the book has been read yet."


def over_memory(name: str, reader: Reader) -> Reader:
    """Wrap a reader: without a page in the memory, it answers that nothing has been read."""

    async def nothing_read(asking: Asking) -> ReaderEvents:
        yield Started(name, 0, asking.memory.estimated_pages, complete=False)
        yield Stopped(StopReason.NOTHING_LEFT)
        yield Answered(NOTHING_READ, found=False)

    return lambda asking: (
        reader(asking) if asking.memory.entries else nothing_read(asking)
    )
