"""`gistread ask BOOK QUESTION`: the reader's steps go to standard error, the answer to standard output."""

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.argument_types import Bound, BoundUnit
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, ask_document, reader_document, step_document
from gistread.cli.loading import choose_embedding_model
from gistread.cli.memories import MemoryQuery, check_preset, find_memory, memories_by, memory_query, memory_store
from gistread.cli.opening import check_models, open_named, settings
from gistread.cli.output import say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import new_session, read_to_end
from gistread.config import Config
from gistread.engine.model_source import find_source, fingerprint_of
from gistread.errors import EngineError, ExitStatus, StorageError, UsageError
from gistread.memory.focus import DEFAULT_FOCUS
from gistread.memory.model import GistMemory
from gistread.memory.sizes import PAGE_SIZES
from gistread.memory.writer import MemoryHeader
from gistread.paths import default_paths
from gistread.readers.choices import with_options
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    PartRead,
    Prepared,
    ReaderEvent,
    Reported,
    Restarted,
    Started,
    TeamFormed,
)
from gistread.readers.registry import DEFAULT_READER, METHODS
from gistread.readers.text import describe, unsupported
from gistread.session.answer import saved_question
from gistread.user_data import UserData, mark_unsupported


@dataclass(frozen=True, slots=True)
class _Options:
    """The command line, read and checked."""

    question: str
    reader: str
    choices: tuple[str, ...]
    pinned: tuple[int, ...]
    until: Bound | None
    model: str | None
    asking_model: str | None
    embedding_model: Path | None
    memory: MemoryQuery
    index: bool
    json: bool
    events: bool


def run(arguments: argparse.Namespace) -> ExitStatus:
    if not arguments.question.strip():
        raise UsageError("The question is empty.", 'Example: gistread ask BOOK "Who is Justine?"')
    with_options(arguments.question, arguments.choice)  # Raises UsageError for unusable options.
    config = settings(arguments)
    reader = arguments.reader or config.reader or DEFAULT_READER
    if reader not in METHODS:
        raise UsageError(f"Unknown reader {reader!r} in config.toml.", f"Use one of {', '.join(METHODS)}.")
    check_preset(config)
    check_models(arguments)
    options = _Options(
        arguments.question,
        reader,
        tuple(arguments.choice),
        arguments.expand,
        arguments.upto,
        arguments.model,
        arguments.asking_model,
        choose_embedding_model(arguments.embedding_model, config, [reader]),
        memory_query(arguments),
        arguments.index,
        arguments.json,
        arguments.events,
    )
    book = open_named(arguments.book)
    header = None if options.index else _choose_memory(book, config, options)
    run_until_interrupted(_ask(book, config, options, header))
    return ExitStatus.DONE


def _choose_memory(book: Book, config: Config, options: _Options) -> MemoryHeader | None:
    """The memory to ask over; None if there is none and the reader needs none. Raises GistreadError."""
    headers = memory_store().find(book)
    if not METHODS[options.reader].needs_memory and not any(header.pages for header in headers):
        return None
    fingerprint = ""
    if config.asking_model:  # The other model is the one that has read.
        try:
            fingerprint = fingerprint_of(find_source(options.model or config.model))
        except EngineError:
            if options.model:
                raise
        if options.model and options.asking_model and fingerprint:
            headers = memories_by(fingerprint, options.model, headers)
    header = find_memory(headers, options.memory, prefer=fingerprint)
    if header.focus != DEFAULT_FOCUS:
        say(f"The book was read {header.focus.description}.")
    return header


async def _ask(book: Book, config: Config, options: _Options, header: MemoryHeader | None) -> None:
    with ProgressLine() as line:
        session = new_session(
            book,
            config,
            line,
            model=options.model,
            asking_model=options.asking_model,
            reader=options.reader,
            task=options.memory.task,
            embedding_model=options.embedding_model,
        )
        async with session:
            if options.index:
                await read_to_end(session, line, options.memory.book, events=options.events)
                if session.activity.asking_model:
                    await session.unload_model()  # One model at a time uses the whole machine.
            elif header is not None:
                await session.use_memory(header)
            memory = session.memory or GistMemory(book, PAGE_SIZES["quality"], "")
            pinned = _existing(options.pinned, memory)
            until = None if options.until is None else offset_of(options.until, memory)
            events = session.stream_answer(options.question, pinned=pinned, until=until, choices=options.choices)
            async with aclosing(events):
                reader, steps, answered = await _show_events(events, book, options, line)
            info = session.asking_info
            assert info is not None
            if until is not None:
                memory = memory.until(until)
            if options.json:
                write_json(ask_document(reader, info, memory, steps, answered))
            question = saved_question(
                options.question,
                answered,
                reader=options.reader,
                model=info.name,
                memory=memory.model_name if memory.entries else "",
            )
            try:
                UserData(default_paths().books).add_question(book.sha256, question)
            except StorageError as error:
                say(f"Note: the question could not be saved: {error.message}")


def offset_of(bound: Bound, memory: GistMemory) -> int:
    """The offset that `--upto` means. Raises UsageError for a page that has not been read."""
    length = len(memory.book.text)
    match bound.unit:
        case BoundUnit.OFFSET:
            return min(int(bound.value), length)
        case BoundUnit.PERCENT:
            return int(length * bound.value / 100)
        case BoundUnit.PAGE:
            (number,) = _existing((int(bound.value),), memory)
            return memory.entry(number).page.end


def _existing(numbers: tuple[int, ...], memory: GistMemory) -> set[int]:
    for number in numbers:
        if number > len(memory.entries):
            raise UsageError(
                f"There is no page {number}: the model has read {len(memory.entries)} pages.",
                "`gistread pages BOOK` shows them.",
            )
    return set(numbers)


async def _show_events(
    events: AsyncIterator[ReaderEvent], book: Book, options: _Options, line: ProgressLine
) -> tuple[str, list[Json], Answered]:
    """Print events as the options say; return the reader's name, the steps and the answer."""
    reader = options.reader
    steps: list[Json] = []
    answered: Answered | None = None
    members = reported = 0
    answer = _StreamedAnswer(live=not (options.json or options.events) and sys.stdout.isatty())
    async for event in events:
        if step := step_document(event):
            steps.append(step)
        if options.events:
            write_json(reader_document(event))
        if text := describe(event):
            line.say(text)
        match event:
            case Started(reader=name):
                reader = name
            case Prepared(what=what, done=done, total=total):
                line.show(f"{what}: {done} of {total}")
            case PartRead(number=number, total=total):
                line.show(f"part {number} of {total}")
            case TeamFormed(parts=parts):
                members = len(parts)
            case Reported():
                reported = reported % members + 1
                line.show(f"{reported} of {members} members have read their parts")
            case AnswerDelta(text=text):
                line.clear()
                answer.add(text)
            case Restarted():
                answer.restart()
            case Answered():
                answered = event
    line.clear()
    assert answered is not None, "a reader ends with Answered"
    if not (options.json or options.events):
        answer.finish(answered, book)
    return reader, steps, answered


@dataclass(slots=True)
class _StreamedAnswer:
    """The answer on standard output: as it is decoded if `live`, else only when it is complete."""

    live: bool
    _streamed: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        if self.live:
            self._streamed.append(text)
            write(text, end="")

    def restart(self) -> None:
        if self._streamed:
            write("")
            self._streamed.clear()

    def finish(self, answered: Answered, book: Book) -> None:
        """Print the answer unless it has been streamed, then its citations."""
        streamed = "".join(self._streamed)
        if streamed:
            write("")
        answer, _ = mark_unsupported(answered.answer, unsupported(answered.statements))
        if streamed.strip() != answer.strip():
            write(answer)
        for citation in answered.citations:
            place = (str(citation.page) if citation.page else "", book.volume_title(citation.start))
            where = " · ".join(filter(None, place))
            write(f"{f'[{where}] ' if where else ''}“{' '.join(citation.quote.split())}”")
