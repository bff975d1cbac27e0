"""`gistread ask`, about one book or about all.

The steps go to standard error, the answer to standard output.
"""

import argparse
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gistread.book.model import Book
from gistread.book.open import read_limited
from gistread.cli import memory as memories
from gistread.cli.answer_text import AnswerPrinter, print_answer
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import ask_document, reader_document, step_document, usage_document
from gistread.cli.opening import (
    STANDARD_INPUT,
    book_path,
    check_models,
    library_entries,
    load_settings,
    open_named,
    resolve_bound,
)
from gistread.cli.output import Json, fail, is_quiet, say, write, write_json
from gistread.cli.progress import ProgressLine, engine_line
from gistread.cli.search import indexed_shelf
from gistread.cli.sessions import announce, new_session, read_to_end
from gistread.config import Config
from gistread.engine.models import find_chosen, fingerprint_of
from gistread.errors import EngineError, GistreadError, NotFoundError, StorageError, UsageError
from gistread.library.entries import UnknownBookError, path_of
from gistread.library.metadata import record_text
from gistread.memory.front_matter import front_matter_end
from gistread.memory.model import DEFAULT_FOCUS, GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.store import MemoryHeader
from gistread.paths import Paths, default_paths
from gistread.readers import events as reader_events
from gistread.readers.registry import DEFAULT_READER, METHODS, find_method
from gistread.readers.steering import Steps
from gistread.readers.thread import GO_ON, with_options
from gistread.readers.trace import CUT, Places, describe_cost, describe_scope, progress_of, step_of
from gistread.session.asking import settings_of_book
from gistread.session.estimate import find_cheaper, is_long, seconds_to_answer, tokens_to_send
from gistread.session.events import ActivityChanged, SessionEvent
from gistread.session.library import BooksNamed, LibraryQuestion, NamedBook
from gistread.session.models import ModelChecks, ModelPair, engine_maker
from gistread.session.questions import AskOptions, check_length, thread_of, with_answer
from gistread.session.session import Session
from gistread.store.catalogue import Catalogue
from gistread.store.model import Citation, SavedQuestion, SavedThread, with_messages
from gistread.store.user_data import UserData
from gistread.units import counted, fields, format_duration, in_quotes

if TYPE_CHECKING:
    from gistread.exporting.templates import Template


def run(arguments: argparse.Namespace) -> None:
    if arguments.question == "-":
        arguments.question = _question_on_standard_input(arguments.book)
    if getattr(arguments, "continue") and arguments.thread:
        raise UsageError(
            "--continue goes on from the last thread, --thread from another.", "Use one of them."
        )
    if getattr(arguments, "continue") and not arguments.all and not arguments.question.strip():
        _name_last_book(arguments)
    if getattr(arguments, "continue") and not arguments.all and not arguments.question.strip():
        arguments.question = GO_ON
    if not ((arguments.book if arguments.all else arguments.question) or "").strip():
        raise UsageError("The question is empty.", 'Example: gistread ask BOOK "Who is Justine?"')
    check_length(arguments.book if arguments.all else arguments.question)
    arguments.template = _template(arguments)
    if arguments.all:
        _ask_all(arguments)
        return
    if arguments.tag or arguments.unread:
        raise UsageError(
            "--tag and --unread go with --all.", 'Example: gistread ask --all "Who …?" --unread'
        )
    with_options(arguments.question, arguments.choice)  # Raises UsageError for unusable options.
    config = load_settings(arguments)
    reader = arguments.reader or config.reader or DEFAULT_READER
    find_method(reader, "" if arguments.reader else " in config.toml")
    memories.check_preset(config)
    check_models(arguments)
    book = open_named(arguments.book)
    config = _as_chosen_for(book, replace(config, reader=reader), arguments)
    config = replace(config, steps=Steps.ALONE.value)
    header = None if arguments.index else _choose_memory(book, config, arguments)
    run_until_interrupted(_ask(book, config, arguments, header))


def _template(arguments: argparse.Namespace) -> "Template | None":
    """The template of `--template`. Raises UsageError."""
    if arguments.template is None:
        return None
    from gistread.cli.ask_template import answer_template  # Jinja takes a while to import

    return answer_template(arguments.template, of_all=arguments.all)


def _name_last_book(arguments: argparse.Namespace) -> None:
    """Without a book, `--continue` is about the one that was asked last.

    A single word or sentence is a book if there is one of that name, else the question.
    Raises GistreadError.
    """
    if arguments.book is not None:
        try:
            book_path(arguments.book)
        except UnknownBookError:
            arguments.question = arguments.book
        else:
            return
    sha256 = UserData(default_paths()).last_asked()
    entry = next((entry for entry in library_entries() if sha256 and entry.sha256 == sha256), None)
    if entry is None:
        known = "The book that was asked last is not in your library."
        raise NotFoundError(
            known if sha256 else "No book has been asked yet.",
            'Name one: gistread ask BOOK "And why?" --continue',
        )
    arguments.book = str(path_of(entry))
    say(f"Asking {entry.title}, the book you asked last.")


def _as_chosen_for(book: Book, config: Config, arguments: argparse.Namespace) -> Config:
    """The settings with what was chosen for this book, unless an option differs. Says so."""
    try:
        choice = UserData(default_paths()).asking_choice(book.sha256)
    except StorageError as error:
        say(f"Note: {error.message}")
        return config
    if arguments.reader:
        choice = replace(choice, reader="")
    if arguments.max_pages is not None:
        choice = replace(choice, max_pages=None)
    own = settings_of_book(config, replace(choice, steps=""))
    chosen = []
    if own.reader != config.reader:
        chosen.append(f"{own.reader} (`--reader` names another)")
    if own.max_pages != config.max_pages:
        chosen.append(f"at most {counted(own.max_pages, 'section')} looked up")
    if chosen:
        say(f"Method, as chosen for this book: {', '.join(chosen)}.")
    return own


def _question_on_standard_input(book: str | None) -> str:
    """Raises UsageError if the book is there, too."""
    if book == STANDARD_INPUT:
        raise UsageError("Book and question cannot both be standard input.", "Name the book.")
    question = read_limited(sys.stdin.buffer, "the question")
    return question.decode("utf-8", "replace").strip()


def _choose_memory(
    book: Book, config: Config, arguments: argparse.Namespace
) -> MemoryHeader | None:
    """The memory to ask over; None if there is none and the reader needs none.

    Raises GistreadError.
    """
    headers = memories.saved_memories(book, arguments.book)
    if not METHODS[config.reader].needs_memory and not any(header.pages for header in headers):
        return None
    reads, fingerprint = "", ""
    if config.asking_model:  # `--model` names the model that has read.
        reads = arguments.model if arguments.asking_model and arguments.model else ""
        with suppress(EngineError):
            fingerprint = fingerprint_of(find_chosen(arguments.model, config))
    header = memories.find_memory(headers, arguments, model=reads, prefer=fingerprint)
    if header.focus != DEFAULT_FOCUS:
        say(f"The book was read {header.focus.description}.")
    return header


async def _ask(
    book: Book, config: Config, arguments: argparse.Namespace, header: MemoryHeader | None
) -> None:
    with ProgressLine() as line:
        async with new_session(book, config, line, arguments) as session:
            if arguments.index:
                await read_to_end(session, line, arguments.book, events=arguments.events)
                if session.activity.asking_model:
                    await session.unload_model()  # One model at a time uses the whole machine.
            elif header is not None:
                await session.use_memory(header)
            memory = session.memory or unread_memory(book)
            before = _thread(book, arguments)
            _check_continued(before, arguments)
            options: AskOptions = {"choices": tuple(arguments.choice), "steps": Steps.ALONE}
            options["upto"] = _bound(arguments.upto, memory, before)
            if before:
                options["thread"] = thread_of(before.questions)
            question = session.question(arguments.question, **options)
            upto = question.upto
            if upto is not None and upto <= front_matter_end(book):
                say("The text begins after this place; `--upto all` asks the whole book.")
            saved = SavedQuestion(
                question.shown(book),
                "",
                False,
                reader=config.reader,
                asked_at=time.time(),
                upto=upto,
                thread=before.id if before else 0.0,
            )
            is_saved = _save(book, saved)
            _record_text(arguments.book, book)
            if upto is not None:
                memory = memory.upto(upto)
            trace: list[reader_events.ReaderEvent] = []
            async with aclosing(session.questions.stream(question)) as events:
                events_told = _tell_steps(events, trace, session, memory, upto, arguments, line)
                answered = await _print_answer(
                    events_told,
                    line,
                    lambda citation: _place(citation, book),
                    as_fields=_wants_fields(arguments),
                )
            if upto is not None and not answered.found and is_quiet():
                share = f"{upto / max(1, len(book.text)):.0%}"
                fail(f"Asked up to {share} only; `--upto all` asks the whole book.")
            info = question.model
            assert info is not None
            made_by = memory.model_name if memory.entries else ""
            whole = with_answer(saved, answered, model=info.name, memory=made_by)
            _save(book, whole, tells=is_saved)
            started = [event.reader for event in trace if isinstance(event, reader_events.Started)]
            steps = list(filter(None, map(step_document, trace)))
            reader = [config.reader, *started][-1]
            document = ask_document(reader, info, memory, steps, answered)
            more = {"question": saved.question, "title": book.title}
            printed = _Printed(answered, lambda citation: _place(citation, book))
            _write_fields(document, more, printed, arguments)


def _wants_fields(arguments: argparse.Namespace) -> bool:
    """Whether the answer is printed as fields, once it is whole."""
    is_json = bool(arguments.json or arguments.events)
    return is_json or arguments.template is not None


@dataclass(frozen=True, slots=True)
class _Printed:
    answered: reader_events.Answered
    place: Callable[[Citation], str]  # Where a citation is, in words


def _write_fields(
    document: Json, more: Json, printed: _Printed, arguments: argparse.Namespace
) -> None:
    """Print the fields as JSON, or fill in the template with them and `more`, if wanted."""
    if arguments.json:
        write_json(document)
    elif arguments.template is not None:
        from gistread.cli.ask_template import write_by_template

        citations = printed.answered.citations
        write_by_template(arguments.template, {**document, **more}, citations, printed.place)


def _bound(chosen: str | None, memory: GistMemory, before: SavedThread | None) -> int | None:
    """Offset of the bound; None: the whole book.

    A follow-up keeps the bound before it. Raises UsageError.
    """
    upto = resolve_bound(
        chosen, memory, "Asked over the book up to your place; `--upto all` asks the whole book."
    )
    if before and upto is None and not chosen and (upto := before.questions[-1].upto) is not None:
        share = f"{upto / len(memory.book.text):.0%}"
        say(
            f"Asked over the book up to {share}, as the last question; `--upto all` asks the "
            "whole book."
        )
    return upto


def _save(book: Book, question: SavedQuestion, *, tells: bool = True) -> bool:
    """Save the question; returns whether it could. `tells`: say if it could not."""
    try:
        UserData(default_paths()).add_question(book.sha256, question)
    except StorageError as error:
        if tells:
            say(f"Note: the question could not be saved: {error.message}")
        return False
    return True


def _record_text(name: str, book: Book) -> None:
    """Let a book of the library that was never opened on the screen find its questions."""
    if name == STANDARD_INPUT:
        return
    with suppress(GistreadError):  # The question is answered without it
        record_text(Catalogue(default_paths()), book_path(name), book, adds=False)


def _thread(book: Book, arguments: argparse.Namespace) -> SavedThread | None:
    """The thread that the question continues. Raises UsageError, StorageError."""
    if not getattr(arguments, "continue") and not arguments.thread:
        return None
    threads = UserData(default_paths()).threads(book.sha256)
    number = arguments.thread or len(threads)
    if not 1 <= number <= len(threads):
        raise UsageError(
            "There is no such thread of questions.", "`gistread threads BOOK` lists them."
        )
    return threads[number - 1]


def _check_continued(before: SavedThread | None, arguments: argparse.Namespace) -> None:
    """Raises UsageError if nothing was cut that could be gone on with."""
    goes_on = getattr(arguments, "continue") and arguments.question == GO_ON
    if goes_on and not (before and before.questions[-1].cut):
        raise UsageError(
            "The last answer is complete: there is nothing to go on with.",
            'To ask further: gistread ask BOOK "Why?" --continue',
        )


async def _tell_steps(
    events: AsyncIterator[reader_events.ReaderEvent],
    trace: list[reader_events.ReaderEvent],
    session: Session,
    known: GistMemory,
    upto: int | None,
    arguments: argparse.Namespace,
    line: ProgressLine,
) -> AsyncIterator[reader_events.ReaderEvent]:
    """The events, after printing the steps; all but the words of the answer go to `trace`.

    Before the first, with the model loaded, says how long a long answer takes, and what is quicker.
    """
    places = Places(len(session.book.text), known)
    async for event in events:
        if not trace:
            await _tell_cost(session, known, upto)
        if arguments.events:
            write_json(reader_document(event))
        if step := step_of(event, places):
            line.say(f"  {step}")
        if not isinstance(event, reader_events.AnswerDelta):
            trace.append(event)
            if under_way := progress_of(trace):
                line.show("{}: {} of {}".format(*under_way))
        if isinstance(event, reader_events.Started) and (scope := describe_scope(event)):
            line.say(scope)
        yield event


async def _tell_cost(session: Session, known: GistMemory, upto: int | None) -> None:
    """Say before an answer that it takes long or many tokens of a server, and what is quicker."""
    seconds = await seconds_to_answer(session, upto=upto)
    tokens = await tokens_to_send(session, upto)
    if not tokens and not is_long(session.reader, seconds, known):
        return
    quick = await find_cheaper(session, seconds, upto)
    needed = f"~{known.estimated_pages} sections' time"
    if seconds:
        needed = f"about {format_duration(seconds)}"
    sent = f" and sends about {tokens:,} tokens" if tokens else ""
    other = f" `--reader {quick[0]}` is quicker." if quick else ""
    say(f"{session.reader} takes {needed}{sent}.{other}")


def _place(citation: Citation, book: Book) -> str:
    if citation.page:
        place = f"section {citation.page}"
    else:
        place = f"{citation.start / len(book.text):.0%}"
    return " · ".join(filter(None, (place, book.volume_title(citation.start))))


def _ask_all(arguments: argparse.Namespace) -> None:
    alone = (
        "question",
        "reader",
        "max_pages",
        "choice",
        "upto",
        "continue",
        "thread",
        "index",
        "events",
    )
    reading = ("reading", "preset", "task", "min_words", "max_words")
    if given := [name for name in (*alone, *reading) if getattr(arguments, name)]:
        what = "two arguments" if given == ["question"] else f"--{given[0].replace('_', '-')}"
        raise UsageError(
            f"--all takes one QUESTION and no BOOK, not {what}.",
            'Example: gistread ask --all "Who …?"',
        )
    check_models(arguments)
    config, shelf = load_settings(arguments), indexed_shelf(arguments.tag)
    question = LibraryQuestion(arguments.book, shelf, config, unread=arguments.unread)
    unread = f"{counted(question.left_out, 'unread book')} left out" if question.left_out else ""
    if not question.books:
        raise GistreadError(
            "You have begun none of your books.", f"{unread}; --unread asks them too."
        )

    def place(citation: Citation) -> str:
        book, (start, _) = question.source(citation)
        chapter = book.indexed.chapter_title(start)
        return " · ".join(
            filter(None, (book.entry.title, f"{start / book.indexed.length:.0%}", chapter))
        )

    async def answer() -> None:
        with ProgressLine() as line:

            def on_event(models: ModelPair, event: SessionEvent) -> None:
                if isinstance(event, ActivityChanged) and models.answering.state:
                    line.show(engine_line(models.answering.state, models.answering.name))
                announce(event, line, config)

            chosen = arguments.model or "", arguments.asking_model or ""
            async with answering_models(config, shelf.paths, chosen, on_event) as (models, checks):
                named: list[NamedBook] = []
                async with aclosing(question.stream(models.load_asking, checks)) as stream:
                    events_told = _books_named(stream, named, line)
                    answered = await _print_answer(
                        events_told, line, place, as_fields=_wants_fields(arguments)
                    )
                model = fields(models.answering.info, "name", "fingerprint")
                document = {**_document_of_all(named, answered, question), "model": model}
                more = {"question": arguments.book}
                _write_fields(document, more, _Printed(answered, place), arguments)

    try:
        run_until_interrupted(answer())
    finally:
        if unread:
            say(f"{unread}; --unread asks them too.")


@asynccontextmanager
async def answering_models(
    config: Config,
    paths: Paths,
    chosen: tuple[str, str],
    on_event: Callable[[ModelPair, SessionEvent], None],
) -> AsyncIterator[tuple[ModelPair, ModelChecks]]:
    """The models with these names, for a question about all books, and their checks.

    Raises EngineError.
    """
    models = ModelPair(engine_maker(config, paths), config, lambda event: on_event(models, event))
    try:
        await models.choose(*chosen)
        yield models, ModelChecks(paths)
    finally:
        await models.close()


async def _books_named(
    stream: AsyncIterator[BooksNamed | reader_events.ReaderEvent],
    named: list[NamedBook],
    line: ProgressLine,
) -> AsyncIterator[reader_events.ReaderEvent]:
    """The reader's reader_events. The books that are named are printed, and go to `named`."""
    async for event in stream:
        if not isinstance(event, BooksNamed):
            yield event
            continue
        if named:
            line.say(f"The model takes it to be about {event.books[0].book.entry.title}.")
        else:
            for one in event.books:
                line.say(
                    f"  {one.book.entry.title}: {one.reason}: "
                    f"{in_quotes(' '.join(one.best.text.split()))}"
                )
        named[:] = event.books


def _document_of_all(
    named: list[NamedBook], answered: reader_events.Answered, question: LibraryQuestion
) -> Json:
    citations = []
    for citation in answered.citations:
        book, (start, end) = question.source(citation)
        place = {"start": start, "end": end, "chapter": book.indexed.chapter_title(start)}
        citations.append({**book.document, **fields(citation, "quote", "tells"), **place})
    return {
        **fields(answered, "answer", "found", "quoted"),
        "books": [
            {**one.book.document, "passages": one.passages, "words": list(one.words)}
            for one in named
        ],
        "citations": citations,
        "not_begun": question.left_out,
        "usage": usage_document(answered.usage),
    }


async def _print_answer(
    stream: AsyncIterator[reader_events.ReaderEvent],
    line: ProgressLine,
    place: Callable[[Citation], str],
    *,
    as_fields: bool,
) -> reader_events.Answered:
    """Print an answer, unless its fields are: word by word on a terminal, then its doubts and
    sources.

    `place`: where a citation is, in words.
    """
    streamed = ""
    answered: reader_events.Answered | None = None
    printer = AnswerPrinter()
    is_drawn = not as_fields and sys.stdout.isatty()
    async for event in stream:
        match event:
            case reader_events.AnswerDelta(text=text) if is_drawn:
                line.clear()
                streamed += text
                printer.add(text)
            case reader_events.Restarted() if streamed:
                printer.end()
                streamed = ""
            case reader_events.Answered():
                line.clear()
                answered = event
    assert answered is not None, "a reader ends with Answered"
    if as_fields:
        return answered
    printer.end()
    if streamed.strip() != answered.answer.strip():
        whole = with_messages(answered.answer, answered.marks).text
        if is_drawn:
            print_answer(whole)
        else:
            write(whole)
    else:
        for mark in answered.marks:
            write(f"{in_quotes(answered.answer[mark.start : mark.end])}: {mark.message}.")
    _print_sources(answered, place)
    return answered


def _print_sources(answered: reader_events.Answered, place: Callable[[Citation], str]) -> None:
    """Print the sources of an answer, what other passages say, and for people how it was made."""
    rivals: list[str] = []
    for number, citation in enumerate(answered.citations, start=1):
        if citation.tells:
            # In the words of the model, hence without quotation marks.
            rivals.append(f"{citation.tells} ({place(citation)})")
        else:
            quote = in_quotes(" ".join(citation.quote.split()))
            write(f"[{number}] {place(citation)}: {quote}")
    if rivals:
        write(f"Other passages say: {' · '.join(rivals)}")
    if cost := describe_cost(answered.usage):
        say(f"Cost: {cost}.")
    if why := CUT.get(answered.finish):
        say(f"{why} `gistread ask BOOK --continue` goes on.")
