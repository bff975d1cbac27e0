"""Wrappers around readers that check their answers.

They cite and mark answers, replace useless ones of weak models, and handle an empty memory.
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
from gistread.readers.evidence import statement_spans
from gistread.readers.gibberish import NOT_SUPPORTED, gibberish_marks
from gistread.readers.leaks import without_leaks
from gistread.readers.source_marks import merged_marks, source_marks
from gistread.readers.support import Statement, check, is_invented
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
# A capitalised word: in "the King of Norway" only "Norway"
_NAME = r"[A-Z][^\W\d_]{2,}\b(?! of\b)"
# A name that does not begin the sentence, where every word has a capital: "Mr. Fox"
_NAMED = re.compile(rf"(?<=[a-z,;] ){_NAME}(?:\.? {_NAME})*")
_MOST_SOURCES = 3
_SIMILAR = 0.7  # Least similarity (`difflib`) of two spellings of a name


def with_checks(by_method: Reader) -> Reader:
    """Wrap a reader: add the thread to its question, and check its answer.

    Calling the reader raises UsageError.
    """

    def ask(asking: Asking) -> ReaderEvents:
        memory = asking.memory
        bound = len(memory.book.text) if memory.bound_share < 1 else None
        thread = within_bound(asking.options.thread, bound)
        info = asking.engine.info
        options = replace(asking.options, thread=thread, wording=info.wording)
        # The memory may grow while the question is answered.
        memory = replace(memory, entries=list(memory.entries))
        asking = replace(asking, memory=memory, options=options)
        asking = _continuing(asking)
        as_asked = with_thread(
            with_options(asking.question, options.choices),
            asking.options.thread,
            info.context_tokens,
            short=not options.model.remembers,
        )
        # Questions about a passage have a reader of their own, whatever the method.
        reader = selection.about_selection if options.selection else by_method
        return _check_events(reader(replace(asking, question=as_asked)), asking)

    return ask


def _continuing(asking: Asking) -> Asking:
    """If the user asks to continue a cut answer, its question and what was written so far.

    A model that is not believed writes the answer anew.
    """
    begun = begun_answer(asking.question, asking.options.thread)
    if begun is None:
        return asking
    written = begun.text if asking.options.model.is_believed else ""
    options = replace(asking.options, thread=begun.before, begun=written)
    return replace(asking, question=begun.question, options=options)


async def _check_events(events: ReaderEvents, asking: Asking) -> ReaderEvents:
    """The events of a reader, with its answer checked. The question is without options."""
    started: Started | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Started):
                event = started = replace(event, bound_share=asking.memory.bound_share)
            elif isinstance(event, Answered) and started:
                event = await _checked(event, asking, started)
            yield event


def _can_be_checked(answered: Answered, started: Started) -> bool:
    """Whether the model wrote the answer in its own words, and something was read for it."""
    is_written = answered.choice is None and not answered.quoted
    return is_written and (started.pages_read > 0 or started.share_shown is not None)


async def _checked(answered: Answered, asking: Asking, started: Started) -> Answered:
    """The answer, checked, with sources if it has none."""
    if not _can_be_checked(answered, started):
        return answered
    draft = replace(
        answered, answer=without_leaks(answered.answer, asking.options.wording)
    )
    sourced = await _with_sources(draft, asking, started)
    return await asyncio.to_thread(_with_marks_of_sources, sourced, asking)


async def _with_sources(draft: Answered, asking: Asking, started: Started) -> Answered:
    """The draft, checked against the text, with sources if it has none."""
    options = asking.options
    checked = await asyncio.to_thread(check_answer, draft, asking, started)
    is_kept = options.model.is_believed and checked.answer == draft.answer
    is_translated = options.selection and selection.is_translation(asking.question)
    if is_translated or not is_kept:
        return checked
    if checked.found and draft.cited:
        return await with_cited_sentences(checked, asking, _places(draft, asking))
    has_sources = bool(draft.cited or draft.citations)
    if has_sources or _is_all_gibberish(checked):
        return checked
    excluded = places_of(asking.memory, asking.steering.refused)
    if asking.steering.only:
        excluded = [(0, len(asking.memory.book.text))]
    return await with_sources(checked, asking, _places(draft, asking), excluded)


def _with_marks_of_sources(answered: Answered, asking: Asking) -> Answered:
    """The answer with marks for what its sources do not tell.

    An explanation of a selection may tell more than the book.
    """
    is_own = answered.found and not answered.quoted
    if not is_own or asking.options.selection:
        return answered
    more = source_marks(
        answered.answer,
        asking.question,
        asking.memory.book,
        answered.citations,
        answered.cited,
    )
    return replace(answered, marks=merged_marks(answered.marks, more))


def _is_all_gibberish(answered: Answered) -> bool:
    """Whether no statement of an answer is language: no sentence can be its source."""
    whole = [
        (mark.start, mark.end)
        for mark in answered.marks
        if mark.kind is AnswerMarkKind.STATEMENT
    ]
    spans = statement_spans(answered.answer)
    return bool(spans) and all(span in whole for span in spans)


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
        return _not_found(answered, memory, started)
    if not answered.answer.strip(" .\n"):
        return replace(answered, answer=NO_ANSWER, found=False)
    return _with_marks(answered, asking)


def _with_marks(answered: Answered, asking: Asking) -> Answered:
    """The answer with what it cites, and with marks for what the text shown does not tell."""
    memory = asking.memory
    places = (*answered.seen, *answered.noted, *answered.cited)
    texts = [memory.book.text[start:end] for start, end in places]
    texts += [memory.entry(number).gist.text for number in answered.gists]
    texts += [
        f"{earlier.question} {earlier.answer}" for earlier in asking.options.thread
    ]
    answer, question = answered.answer, asking.question
    marks = find_marks(answer, question, "\n".join(texts), memory.book)
    # What says that the book does not tell shares no words with it.
    if answered.found and not answered.absence:
        gibberish = gibberish_marks(answer, question, memory.book, marks)
        marks = merged_marks(marks, gibberish)
    cited: tuple[Citation, ...] = ()
    if answered.cited:
        shown = _places(answered, asking)
        cited = cite(answered.answer, asking.question, memory, shown, answered.cited)
    return replace(answered, citations=cited or answered.citations, marks=marks)


def _places(answered: Answered, asking: Asking) -> list[Passage]:
    """The text of the book that was shown; if none, the pages whose gists were shown."""
    memory, refused = asking.memory, asking.steering.refused
    shown = join([*answered.seen, *answered.noted], memory.book)
    if shown:
        return shown
    pages = [
        memory.entry(number).page for number in answered.gists if number not in refused
    ]
    return [(page.start, page.end) for page in pages]


def _check_weak(answered: Answered, asking: Asking, started: Started) -> Answered:
    """The answer with its unsupported statements marked, or the sentences closest to the question.

    An answer is useless if each of its statements has a name, a number or a quotation that the
    text lacks, or is no language.
    """
    question = asking.question
    memory = asking.memory
    if says_not_found(answered.answer):
        return _not_found(answered, memory, started)
    answered, statements = _without_meta(answered, question, memory)
    gibberish = gibberish_marks(answered.answer, question, memory.book)
    marked = replace(answered, marks=merged_marks(_marks_of(statements), gibberish))
    has_words = bool(answered.answer.strip(" .\n"))
    is_useless = is_invented(statements) or (gibberish and _is_all_gibberish(marked))
    if answered.found and has_words and not is_useless:
        citations = answered.citations or _sources_of(answered, statements, asking)
        return replace(marked, citations=citations)
    places = _places(answered, asking)
    quotes = closest_sentences(question, memory, places, asking.options.selection)
    if quotes:
        return replace(
            answered, answer=QUOTED, found=False, quoted=True, citations=quotes
        )
    if not answered.answer:
        return replace(answered, answer=NO_ANSWER, found=False)
    return _not_found(answered, memory, started)


def _sources_of(
    answered: Answered, statements: Sequence[Statement], asking: Asking
) -> tuple[Citation, ...]:
    """The sentences that tell a weak model's answer; without any, those closest to the question."""
    question = asking.question
    memory = asking.memory
    places = _places(answered, asking)
    quotes = [statement.quote for statement in statements if statement.quote]
    if not quotes:
        return closest_sentences(question, memory, places, asking.options.selection)
    cited = cite(answered.answer, question, memory, places, answered.cited)
    if cited:
        return cited
    different = tuple(dict.fromkeys(quotes))
    return different[:_MOST_SOURCES]


def _does_not_name(
    names: Sequence[str], answered: Answered, memory: GistMemory, started: Started
) -> Answered:
    """The answer that the book lacks names of the question."""
    noun = "text" if memory.bound_share < 1 else "book"
    answer = f"The {noun}{bound_phrase(started)} does not name {' or '.join(names)}."
    return replace(answered, answer=answer, found=False, citations=())


def _marks_of(statements: Sequence[Statement]) -> tuple[AnswerMark, ...]:
    """A mark for each run of unsupported statements."""
    marks: list[AnswerMark] = []
    for is_supported, run in groupby(
        statements, key=lambda statement: statement.supported
    ):
        if not is_supported:
            unsupported = list(run)
            start, end = unsupported[0].start, unsupported[-1].end
            mark = AnswerMark(start, end, AnswerMarkKind.STATEMENT, NOT_SUPPORTED)
            marks.append(mark)
    return tuple(marks)


def missing_names(question: str, book: Book) -> list[str]:
    """The names in an English question that the text lacks, also in a similar spelling.

    Of 12,021 questions about tales and novels, two have such a name.
    """
    if not supports_names(book):
        return []
    text = book.text.casefold()
    no_names = word_set("alone")  # "January", "English"

    def is_missing(word: str) -> bool:
        plain = word.casefold()
        if plain in text or plain in no_names:
            return False
        return not _has_similar(word, book.text)

    missing: list[str] = []
    for name in _NAMED.findall(question):
        words = [word for word in name.replace(".", "").split() if is_missing(word)]
        is_more_than_title = any(word.casefold() not in titles() for word in words)
        if is_more_than_title:
            missing.append(" ".join(words))
    return missing


def _has_similar(name: str, text: str) -> bool:
    """Whether a capitalised word of the text has the same initial and almost the same spelling."""
    words = {word.casefold() for word in re.findall(rf"\b{name[0]}[^\W\d_]+", text)}
    return bool(get_close_matches(name.casefold(), words, 1, _SIMILAR))


def _not_found(answered: Answered, memory: GistMemory, started: Started) -> Answered:
    text = not_found_text(answered, memory, started)
    return replace(answered, answer=text, found=False)


def not_found_text(answered: Answered, memory: GistMemory, started: Started) -> str:
    """A sentence that says where the answer was looked for."""
    bound = bound_phrase(started)
    if started.share_shown is not None:
        length = len(memory.book.text.strip())
        share = sum(end - start for start, end in answered.seen) / max(1, length)
        if not answered.seen or share > NEARLY_ALL:
            return f"Not found in the text that was looked at{bound}."
        part = f"{max(LEAST_SHARE, share):.0%} of the text{bound}"
        return f"Not found in the passages that were looked at ({part})."
    if not started.complete:
        part = f"{started.pages_read} of about {started.pages_total}{bound}"
        return f"Not in the sections read so far ({part})."
    pages = answered.expanded or answered.lookups
    if not pages:
        return f"Not found in the memory{bound}; no section was opened."
    numbers = ", ".join(map(str, pages))
    return (
        f"Not found in the memory{bound}, nor in the sections that were looked at: "
        f"{numbers}."
    )


def _without_meta(
    answered: Answered, question: str, memory: GistMemory
) -> tuple[Answered, tuple[Statement, ...]]:
    """The answer without statements about the task ("As an AI …"), and its other statements."""
    text = answered.answer
    places = (*answered.seen, *answered.noted)
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
    statements = check(text, question, memory, places, answered.gists)
    return replace(answered, answer=text), statements


NOTHING_READ = "Nothing of the book has been read yet."


def over_memory(name: str, reader: Reader) -> Reader:
    """Wrap a reader: without a page in the memory, it answers that nothing has been read."""

    async def nothing_read(asking: Asking) -> ReaderEvents:
        yield Started(name, 0, asking.memory.estimated_pages, complete=False)
        yield Stopped(StopReason.NOTHING_LEFT)
        yield Answered(NOTHING_READ, found=False)

    def ask(asking: Asking) -> ReaderEvents:
        if asking.memory.entries:
            return reader(asking)
        return nothing_read(asking)

    return ask
