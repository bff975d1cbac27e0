"""`gistread ask`, about one book; about all books see `ask_all`.

The steps go to standard error, the answer to standard output.
"""

import argparse
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.book.model import Book
from gistread.book.open import open_book, read_limited
from gistread.cli import memory as memories
from gistread.cli.answer_output import PrintedAnswer, print_answered
from gistread.cli.ask_all import ask_all
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import ask_document, reader_document, step_document
from gistread.cli.opening import (
    SAMPLE,
    STANDARD_INPUT,
    book_path,
    check_models,
    library_entries,
    load_settings,
    open_named,
    resolve_bound,
)
from gistread.cli.output import Json, fail, is_quiet, say, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import new_session, read_to_end
from gistread.config import Config
from gistread.engine.models import find_chosen, fingerprint_of
from gistread.errors import (
    EngineError,
    GistreadError,
    NotFoundError,
    StorageError,
    UsageError,
)
from gistread.library.entries import UnknownBookError, path_of
from gistread.library.metadata import record_text
from gistread.memory.front_matter import front_matter_end
from gistread.memory.model import DEFAULT_FOCUS, GistMemory
from gistread.memory.sizes import unread_memory
from gistread.memory.store import MemoryHeader
from gistread.paths import default_paths
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    ReaderEvent,
    Restarted,
    Started,
)
from gistread.readers.registry import DEFAULT_READER, METHODS, find_method
from gistread.readers.steering import Steps
from gistread.readers.thread import GO_ON, with_options
from gistread.readers.trace import Places, describe_scope, progress_of, step_of
from gistread.readers.walk import with_steps
from gistread.sample import story_path
from gistread.session.estimate import (
    find_cheaper,
    is_costly,
    seconds_to_answer,
    tokens_to_send,
)
from gistread.session.questions import (
    Question,
    check_length,
    settings_of_book,
    thread_of,
    with_answer,
)
from gistread.session.session import Session
from gistread.store.catalogue import Catalogue
from gistread.store.model import AskingChoice, Citation, SavedQuestion, SavedThread
from gistread.store.user_data import UserData
from gistread.units import counted, format_duration, format_place

if TYPE_CHECKING:
    from gistread.exporting.templates import Template


def run(arguments: argparse.Namespace) -> None:
    if arguments.question == "-":
        arguments.question = _question_on_standard_input(arguments.book)
    if getattr(arguments, "continue"):
        _fill_in_continued(arguments)
    # Under --all, the question is typed in the place of the book.
    _check_question(arguments.book if arguments.all else arguments.question)
    arguments.template = _template(arguments)
    if arguments.all:
        ask_all(arguments)
    else:
        _ask_book(arguments)


def _question_on_standard_input(book: str | None) -> str:
    """The question on standard input. Raises UsageError if the book is there, too."""
    if book == STANDARD_INPUT:
        raise UsageError(
            "Book and question cannot both be standard input.", "Name the book."
        )
    question = read_limited(sys.stdin.buffer, "the question")
    return question.decode("utf-8", "replace").strip()


def _fill_in_continued(arguments: argparse.Namespace) -> None:
    """Under `--continue`, complete a missing book or question. Raises GistreadError."""
    if arguments.thread:
        raise UsageError(
            "--continue goes on from the last thread, --thread from another.",
            "Use one of them.",
        )
    if arguments.all or arguments.question.strip():
        return
    if not _is_book(arguments.book):
        arguments.question = arguments.book or ""
        arguments.book = str(_last_asked_file())
    if not arguments.question.strip():
        arguments.question = GO_ON


def _is_book(word: str | None) -> bool:
    """Whether the only argument names a book; else it is the question. Raises UsageError."""
    if word is None:
        return False
    try:
        book_path(word)
    except UnknownBookError:
        return False
    return True


def _last_asked_file() -> Path:
    """The file of the book that was asked last. Says which. Raises GistreadError."""
    hint = 'Name one: gistread ask BOOK "And why?" --continue'
    sha256 = UserData(default_paths()).last_asked()
    if not sha256:
        raise NotFoundError("No book has been asked yet.", hint)
    for entry in library_entries():
        if entry.sha256 == sha256:
            say(f"Asking {entry.title}, the book you asked last.")
            return path_of(entry)
    if sha256 == open_book(story_path()).sha256:
        say("Asking the sample, the book you asked last.")
        return story_path()
    message = "The book that was asked last is not in your library."
    raise NotFoundError(message, hint)


def _check_question(question: str | None) -> None:
    """Raises UsageError if the question is empty or too long."""
    if question is None or not question.strip():
        example = 'Example: gistread ask BOOK "Who is Justine?"'
        raise UsageError("The question is empty.", example)
    check_length(question)


def _template(arguments: argparse.Namespace) -> "Template | None":
    """The template of `--template`. Raises UsageError."""
    if arguments.template is None:
        return None
    # Imported here: Jinja takes a while.
    from gistread.cli.ask_template import answer_template

    return answer_template(arguments.template, of_all=arguments.all)


def _ask_book(arguments: argparse.Namespace) -> None:
    """Answer the question about one book. Raises GistreadError."""
    if arguments.tag or arguments.unread:
        raise UsageError(
            "--tag and --unread go with --all.",
            'Example: gistread ask --all "Who …?" --unread',
        )
    # Raises UsageError for unusable options.
    with_options(arguments.question, arguments.choice)
    config = load_settings(arguments)
    reader = arguments.reader or config.reader or DEFAULT_READER
    # For the error, if the name is unknown
    named_in = "" if arguments.reader else " in config.toml"
    find_method(reader, named_in)
    memories.check_preset(config)
    check_models(arguments)
    book = open_named(arguments.book)
    config = _as_chosen_for(book, replace(config, reader=reader), arguments)
    # Nobody is asked on the command line.
    config = replace(config, steps=Steps.ALONE.value)
    header = None if arguments.index else _choose_memory(book, config, arguments)
    run_until_interrupted(_answer(book, config, arguments, header))


def _as_chosen_for(book: Book, config: Config, arguments: argparse.Namespace) -> Config:
    """The settings, changed as the user has chosen for this book. Says what differs.

    Options of the command line come first.
    """
    try:
        choice = UserData(default_paths()).asking_choice(book.sha256)
    except StorageError as error:
        say(f"Note: {error.message}")
        return config
    changed = settings_of_book(config, _without_options(choice, arguments))
    differences = []
    if changed.reader != config.reader:
        differences.append(f"{changed.reader} (`--reader` names another)")
    if changed.max_pages != config.max_pages:
        differences.append(f"at most {counted(changed.max_pages, 'section')} looked up")
    if differences:
        say(f"Method, as chosen for this book: {', '.join(differences)}.")
    return changed


def _without_options(
    choice: AskingChoice, arguments: argparse.Namespace
) -> AskingChoice:
    """What was chosen for a book, without what the command line decides."""
    choice = replace(choice, steps="")  # Nobody is asked on the command line.
    if arguments.reader:
        choice = replace(choice, reader="")
    if arguments.max_pages is not None:
        choice = replace(choice, max_pages=None)
    return choice


def _choose_memory(
    book: Book, config: Config, arguments: argparse.Namespace
) -> MemoryHeader | None:
    """The memory to ask over; None if there is none and the reader needs none.

    Raises GistreadError.
    """
    headers = memories.saved_memories(book, arguments.book)
    is_read = any(header.pages for header in headers)
    if not is_read and not METHODS[config.reader].needs_memory:
        return None
    read_by = ""  # Name of the model that has read; empty: any
    preferred = ""  # Fingerprint of the model whose memory comes first
    if config.asking_model:
        # `--model` names the model that has read.
        if arguments.asking_model:
            read_by = arguments.model or ""
        # Of equally good memories, that of the reading model
        with suppress(EngineError):
            preferred = fingerprint_of(find_chosen(arguments.model, config))
    header = memories.find_memory(headers, arguments, model=read_by, prefer=preferred)
    if header.focus != DEFAULT_FOCUS:
        say(f"The book was read {header.focus.description}.")
    return header


async def _answer(
    book: Book,
    config: Config,
    arguments: argparse.Namespace,
    header: MemoryHeader | None,
) -> None:
    """Answer the question, print the answer and save it. Raises GistreadError."""

    def place_of(citation: Citation) -> str:
        return _place(citation, book)

    with ProgressLine() as line:
        async with new_session(book, config, line, arguments) as session:
            await _prepare_memory(session, header, line, arguments)
            memory = session.memory or unread_memory(book)
            thread = _continued_thread(book, arguments)
            question = _question(session, memory, thread, arguments)
            record = _record_of(question, book, config, thread)
            is_saved = _save(book, record)
            _record_text(arguments.book, book)
            if question.upto is not None:
                memory = memory.upto(question.upto)
            printer = _StepPrinter(session, memory, question.upto, line, arguments)
            async with aclosing(session.questions.stream(question)) as stream:
                events = printer.print_steps(_keep_begun(stream, book, record))
                answered = await print_answered(events, line, place_of, arguments)
            _warn_of_bound(question, book, answered)
            record = _with_answer(record, question, memory, answered, printer.trace)
            # If it could not be saved before, that was said then.
            _save(book, record, tells=is_saved)
            document = _document(
                config.reader, question, memory, printer.trace, answered
            )
            more = {"question": record.question, "title": book.title}
            PrintedAnswer(answered, place_of, document, more).write_fields(arguments)


async def _prepare_memory(
    session: Session,
    header: MemoryHeader | None,
    line: ProgressLine,
    arguments: argparse.Namespace,
) -> None:
    """Read the rest of the book under `--index`, else open the memory, if any."""
    if arguments.index:
        await read_to_end(session, line, arguments.book, events=arguments.events)
        if session.activity.asking_model:
            await session.unload_model()  # One model at a time uses the whole machine.
    elif header is not None:
        await session.use_memory(header)


def _continued_thread(book: Book, arguments: argparse.Namespace) -> SavedThread | None:
    """The thread that the question continues. Raises UsageError, StorageError."""
    thread = None
    if getattr(arguments, "continue") or arguments.thread:
        threads = UserData(default_paths()).threads(book.sha256)
        number = arguments.thread or len(threads)  # The last one
        if not 1 <= number <= len(threads):
            raise UsageError(
                "There is no such thread of questions.",
                "`gistread threads BOOK` lists them.",
            )
        thread = threads[number - 1]
    _check_continued(thread, arguments)
    return thread


def _check_continued(thread: SavedThread | None, arguments: argparse.Namespace) -> None:
    """Raises UsageError if the last answer is to go on, but is complete."""
    goes_on = getattr(arguments, "continue") and arguments.question == GO_ON
    is_cut = thread is not None and thread.questions[-1].cut
    if goes_on and not is_cut:
        raise UsageError(
            "The last answer is complete: there is nothing to go on with.",
            'To ask further: gistread ask BOOK "Why?" --continue',
        )


def _question(
    session: Session,
    memory: GistMemory,
    thread: SavedThread | None,
    arguments: argparse.Namespace,
) -> Question:
    """The question with its bound. Warns if the text begins after the bound.

    Raises UsageError.
    """
    question = session.question(
        arguments.question,
        choices=tuple(arguments.choice),
        steps=Steps.ALONE,  # The model decides: nobody is asked on the command line.
        upto=_bound(arguments.upto, memory, thread),
        thread=thread_of(thread.questions) if thread else (),
    )
    if question.upto is not None and question.upto <= front_matter_end(memory.book):
        say("The text begins after this place; `--upto all` asks the whole book.")
    return question


def _bound(
    chosen: str | None, memory: GistMemory, thread: SavedThread | None
) -> int | None:
    """Offset of the bound; None: the whole book.

    A follow-up keeps the bound of the question before. Raises UsageError.
    """
    upto = resolve_bound(
        chosen,
        memory,
        "Asked over the book up to your place; `--upto all` asks the whole book.",
    )
    if upto is not None or chosen or thread is None:
        return upto
    last_bound = thread.questions[-1].upto
    if last_bound is not None:
        share = format_place(last_bound, len(memory.book.text))
        say(
            f"Asked over the book up to {share}, as the last question; "
            "`--upto all` asks the whole book."
        )
    return last_bound


def _record_of(
    question: Question, book: Book, config: Config, thread: SavedThread | None
) -> SavedQuestion:
    """The record of a question that is not answered yet."""
    return SavedQuestion(
        question.shown(book),
        answer="",
        found=False,
        reader=config.reader,
        asked_at=time.time(),
        upto=question.upto,
        thread=thread.id if thread else 0.0,
    )


def _with_answer(
    record: SavedQuestion,
    question: Question,
    memory: GistMemory,
    answered: Answered,
    trace: Sequence[ReaderEvent],
) -> SavedQuestion:
    """The record with the answer and the steps behind it."""
    assert question.model is not None, "a model has answered"
    read_by = memory.model_name if memory.entries else ""
    record = with_answer(record, answered, model=question.model.name, memory=read_by)
    return with_steps(record, trace, question.steering, memory)


def _save(book: Book, question: SavedQuestion, *, tells: bool = True) -> bool:
    """Save the question; returns whether it could. `tells`: say if it could not."""
    try:
        UserData(default_paths()).add_question(book.sha256, question)
    except StorageError as error:
        if tells:
            say(f"Note: the question could not be saved: {error.message}")
        return False
    return True


async def _keep_begun(
    events: AsyncIterator[ReaderEvent], book: Book, question: SavedQuestion
) -> AsyncIterator[ReaderEvent]:
    """The same events. Saves the beginning of the answer if it is interrupted."""
    beginning = ""
    is_answered = False
    try:
        async for event in events:
            match event:
                case AnswerDelta(text=text):
                    beginning += text
                case Restarted():
                    beginning = ""
                case Answered():
                    is_answered = True
            yield event
    finally:
        beginning = beginning.strip()
        if beginning and not is_answered:
            _save(book, replace(question, begun=beginning), tells=False)


def _record_text(name: str, book: Book) -> None:
    """Let the library find the questions about a file that was never opened on the screen."""
    if name in (STANDARD_INPUT, SAMPLE):
        return
    with suppress(GistreadError):  # The question is answered even without it.
        record_text(Catalogue(default_paths()), book_path(name), book)


@dataclass(slots=True)
class _StepPrinter:
    """Prints the steps of a reader, and keeps its events except the words of the answer."""

    session: Session
    memory: GistMemory  # Up to the bound
    upto: int | None
    line: ProgressLine
    arguments: argparse.Namespace
    trace: list[ReaderEvent] = field(default_factory=list)

    async def print_steps(
        self, events: AsyncIterator[ReaderEvent]
    ) -> AsyncIterator[ReaderEvent]:
        """The same events, each after it is printed.

        Before the first one the model is loaded; a warning then says if the answer takes long.
        """
        places = Places(len(self.session.book.text), self.memory)
        async for event in events:
            if not self.trace:
                await _tell_cost(self.session, self.memory, self.upto)
            if self.arguments.events:
                write_json(reader_document(event))
            step = step_of(event, places)
            if step:
                self.line.say(f"  {step}")
            if not isinstance(event, AnswerDelta):
                self._keep(event)
            if isinstance(event, Started):
                self._tell_scope(event)
            yield event

    def _keep(self, event: ReaderEvent) -> None:
        self.trace.append(event)
        progress = progress_of(self.trace)
        if progress:
            self.line.show(f"{progress.what}: {progress.done} of {progress.total}")

    def _tell_scope(self, started: Started) -> None:
        scope = describe_scope(started)
        if scope:
            self.line.say(scope)


async def _tell_cost(session: Session, memory: GistMemory, upto: int | None) -> None:
    """Say before an answer what it costs: the time of a long one, and the tokens for a server."""
    seconds = await seconds_to_answer(session, upto=upto)
    tokens = await tokens_to_send(session, upto)
    if not is_costly(session.reader, seconds, tokens, memory):
        if tokens:
            say(f"{session.reader} sends about {tokens:,} tokens.")
        return
    duration = f"~{memory.estimated_pages} sections' time"
    if seconds:
        duration = f"about {format_duration(seconds)}"
    tokens_sent = f" and sends about {tokens:,} tokens" if tokens else ""
    advice = ""
    cheaper = await find_cheaper(session, seconds, upto)
    if cheaper is not None:
        reader, _ = cheaper
        advice = f" `--reader {reader}` is quicker."
    say(f"{session.reader} takes {duration}{tokens_sent}.{advice}")


def _warn_of_bound(question: Question, book: Book, answered: Answered) -> None:
    """Say even under `--quiet` that the answer may stand after the bound."""
    if question.upto is not None and not answered.found and is_quiet():
        share = format_place(question.upto, len(book.text))
        fail(f"Asked up to {share} only; `--upto all` asks the whole book.")


def _document(
    reader: str,
    question: Question,
    memory: GistMemory,
    trace: list[ReaderEvent],
    answered: Answered,
) -> Json:
    """What `--json` prints. `reader`: the one that was asked, which may have chosen another."""
    assert question.model is not None, "a model has answered"
    answering_reader = reader
    for event in trace:
        if isinstance(event, Started):
            answering_reader = event.reader
    documents = [step_document(event) for event in trace]
    steps = [document for document in documents if document is not None]
    return ask_document(answering_reader, question.model, memory, steps, answered)


def _place(citation: Citation, book: Book) -> str:
    """`section 12`, or `40% · Volume II` in a text that no model has read."""
    place = format_place(citation.start, len(book.text))
    if citation.page:
        place = f"section {citation.page}"
    volume = book.volume_title(citation.start)
    if volume:
        place += f" · {volume}"
    return place
