"""`gistread ask BOOK QUESTION`: the agent's steps on standard error, the answer on standard output.

It works on what has been read, and says how much that is. Any model can be asked over any memory.
"""

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.argument_types import Bound, BoundUnit
from gistread.cli.embedding import chosen_embedding_model
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json, ask_document, reader_line, step_of
from gistread.cli.loading import (
    check_preset,
    chosen_model,
    memory_store,
)
from gistread.cli.memories import made_by, meant, task_typed
from gistread.cli.opening import open_named, settings
from gistread.cli.output import say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.cli.sessions import read_to_end, session_for
from gistread.config import Config
from gistread.engine.model_source import fingerprint_of
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


def run(arguments: argparse.Namespace) -> ExitStatus:
    if not arguments.question.strip():
        raise UsageError("The question is empty.", 'Ask as in: gistread ask BOOK "Who is Justine?"')
    with_options(arguments.question, arguments.choice)  # Options that are none are told before a model is loaded.
    config = settings(arguments)
    arguments.reader = arguments.reader or config.reader or DEFAULT_READER
    if arguments.reader not in METHODS:
        raise UsageError(
            f"The settings name a reader {arguments.reader!r} that there is not.", f"There are {', '.join(METHODS)}."
        )
    check_preset(config)
    task = task_typed(arguments)
    book = open_named(arguments.book)
    embedding_model = chosen_embedding_model(arguments, config, [arguments.reader])
    header = None if arguments.index else _fullest(book, arguments, config)
    run_until_interrupted(_ask(arguments, config, book, header, task, embedding_model))
    return ExitStatus.DONE


def _fullest(book: Book, arguments: argparse.Namespace, config: Config) -> MemoryHeader | None:
    """The memory that is meant, known before a model is loaded, which takes longer. None: there is none, and the reader
    needs none."""
    headers = memory_store().find(book)
    if not METHODS[arguments.reader].needs_memory and not any(header.pages for header in headers):
        return None
    own = ""
    if config.asking_model:
        own = _fingerprint(arguments, config)
        if arguments.model and arguments.asking_model and own:
            headers = made_by(own, arguments, headers)
    header = meant(headers, arguments, reader=own)
    if header.focus != DEFAULT_FOCUS:
        say(f"Asked over what was read {header.focus.description}.")
    return header


def _fingerprint(arguments: argparse.Namespace, config: Config) -> str:
    """Of the model that reads where another one answers. Raises EngineError for one that was typed and is not there."""
    try:
        return fingerprint_of(chosen_model(arguments, config))
    except EngineError:
        if arguments.model:
            raise
        return ""


async def _ask(
    arguments: argparse.Namespace,
    config: Config,
    book: Book,
    header: MemoryHeader | None,
    task: str,
    embedding_model: Path | None,
) -> None:
    with ProgressLine() as line:
        session = session_for(
            arguments, config, book, line, reader=arguments.reader, task=task, embedding_model=embedding_model
        )
        async with session:
            if arguments.index:
                await read_to_end(session, line, arguments.book, events=arguments.events)
                if session.activity.asking_model:
                    await session.unload_model()  # Each model has the whole machine.
            elif header is not None:
                await session.use_memory(header)
            memory = session.memory or GistMemory(book, PAGE_SIZES["quality"], "")
            expanded = _existing(arguments.expand, memory)
            until = None if arguments.upto is None else offset_of(arguments.upto, memory)
            events = session.stream_answer(
                arguments.question, pinned=expanded, until=until, choices=tuple(arguments.choice)
            )
            async with aclosing(events):
                reader, steps, answered = await _told(arguments, book, events, line)
            info = session.asking_info
            assert info is not None
            if until is not None:
                memory = memory.until(until)
            if arguments.json:
                write_json(ask_document(reader, info, memory, steps, answered))
            made_by_model = memory.model_name if memory.entries else ""
            question = saved_question(
                arguments.question, answered, reader=arguments.reader, model=info.name, memory=made_by_model
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
                f"There is no page {number}: the model has read {len(memory.entries)}.",
                "`gistread pages BOOK` shows them.",
            )
    return set(numbers)


async def _told(
    arguments: argparse.Namespace, book: Book, events: AsyncIterator[ReaderEvent], line: ProgressLine
) -> tuple[str, list[Json], Answered]:
    """Tell every event as the command line asks for it; return the reader's name, the steps and the answer."""
    steps: list[Json] = []
    answered: Answered | None = None
    reader = arguments.reader
    members = reported = 0
    answer = _StreamedAnswer(live=not (arguments.json or arguments.events) and sys.stdout.isatty())
    async for event in events:
        if step := step_of(event):
            steps.append(step)
        if arguments.events:
            write_json(reader_line(event))
        if told := describe(event):
            line.say(told)
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
                answer.void()
            case Answered():
                answered = event
    line.clear()
    assert answered is not None, "a reader ends with Answered"
    if not (arguments.json or arguments.events):
        answer.finish(answered, book)
    return reader, steps, answered


@dataclass
class _StreamedAnswer:
    """The answer on standard output: on a terminal as it is decoded, elsewhere whole, so that nothing void is in it."""

    live: bool
    _streamed: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        if self.live:
            self._streamed.append(text)
            write(text, end="")

    def void(self) -> None:
        if self._streamed:
            write("")
            self._streamed.clear()

    def finish(self, answered: Answered, book: Book) -> None:
        """The whole answer where it has not been seen, and what it rests on."""
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
