"""A session for a command: its models by the command line, its events on standard error.

Shared by `index` and `ask`.
"""

import argparse
import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.embedding import watched_embedder
from gistread.cli.interrupt import InterruptError
from gistread.cli.json_output import reading_line as reading_json
from gistread.cli.loading import notes_on
from gistread.cli.output import write_json
from gistread.cli.progress import ProgressLine, at_work, engine_line, reading_line
from gistread.config import Config
from gistread.session.events import (
    ActivityChanged,
    ModelLoaded,
    Notice,
    QuestionStarted,
    ReadingStarted,
    ReadingState,
    SessionEvent,
)
from gistread.session.session import Session
from gistread.units import format_duration


def session_for(
    arguments: argparse.Namespace,
    config: Config,
    book: Book,
    line: ProgressLine,
    *,
    reader: str = "",
    task: str = "",
    embedding_model: Path | None = None,
) -> Session:
    """The session of a command; nothing is loaded yet."""

    def tell(event: SessionEvent) -> None:
        match event:
            case ActivityChanged():
                line.show(_activity_line(session))
            case ModelLoaded(info=info, state=state):
                for note in notes_on(info, state, config):
                    line.say(f"Note: {note}")
            case Notice(text=text):
                line.say(f"Note: {text}")
            case QuestionStarted(model=model, memory=memory) if memory not in ("", model):
                line.say(f"{model} is asked over the memory of {memory}.")

    session = Session(
        book,
        arguments.model or "",
        asking_model=getattr(arguments, "asking_model", None) or "",
        reader=reader,
        task=task,
        config=replace(config, reader=reader),
        listener=tell,
        embedder=watched_embedder(embedding_model, line) if embedding_model else None,
    )
    return session


def _activity_line(session: Session) -> str:
    activity = session.activity
    if activity.engine is None:
        return ""
    if activity.reading is ReadingState.RUNNING and session.memory is not None:
        return reading_line(session.memory, activity.engine, activity.seconds_left)
    return engine_line(activity.engine, activity.model)


async def read_to_end(
    session: Session,
    line: ProgressLine,
    book: str,
    *,
    events: bool,
    opened: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Read what is left of the book; how many pages were there already.

    `book` is as it was typed; `events` go to standard output; `opened` is awaited when the memory is open. Raises
    InterruptError on cancellation: pages are saved as they are read.
    """
    resumed_pages, started = 0, False
    try:
        async with aclosing(session.stream_reading()) as reading:
            async for event in reading:
                if isinstance(event, ReadingStarted):
                    resumed_pages, started = event.pages, True
                    if opened is not None:
                        await opened()
                    _say_how_long(session, event, line)
                if events and (document := reading_json(event)):
                    write_json(document)
    except asyncio.CancelledError:
        if (memory := session.memory) is None or not started:
            raise
        task = f" --task {shlex.quote(memory.focus.task)}" if memory.focus.task else ""
        saved = "every page is kept" if session.saves_pages else "its pages could not be kept"
        raise InterruptError(
            f"Stopped after page {len(memory.entries)} of about {memory.estimated_pages}; {saved}.",
            f"`gistread index {shlex.quote(book)}{task}` goes on from there.",
        ) from None
    finally:
        line.clear()
    return resumed_pages


def _say_how_long(session: Session, started: ReadingStarted, line: ProgressLine) -> None:
    memory, info = session.memory, session.info
    if started.seconds_left and memory is not None and info is not None:
        left = " left" if memory.entries else ""
        line.say(f"{memory.book.title}: about {format_duration(started.seconds_left)}{left} with {at_work(info)}.")
        line.say(f"It is read {memory.focus.description}.")
