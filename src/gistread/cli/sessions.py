"""Loads models and opens sessions, with progress and messages on standard error."""

import argparse
import asyncio
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

from gistread.book.model import Book
from gistread.cli.interrupt import InterruptError
from gistread.cli.json_output import reading_document
from gistread.cli.output import write_json
from gistread.cli.progress import ProgressLine, engine_line, reading_line
from gistread.config import Config
from gistread.engine.models import STARTER, ModelSource, new_engine
from gistread.engine.protocol import (
    Engine,
    EngineInfo,
    EngineState,
    Message,
    Phase,
    Sampling,
)
from gistread.errors import StorageError
from gistread.memory.model import GistMemory
from gistread.paths import Paths, default_paths
from gistread.sample import story_path
from gistread.session import events as session_events
from gistread.session.models import ModelChecks, ModelPair, engine_maker
from gistread.session.session import Session
from gistread.units import counted, format_duration

# A prompt and an answer that show how fast a model is
_TRIAL_CHARACTERS = 1200
_TRIAL_TOKENS = 16


def new_session(
    book: Book, config: Config, line: ProgressLine, arguments: argparse.Namespace
) -> Session:
    """A session with the models of the command line or the settings.

    Shows its activity on the line.
    """

    is_model_named = bool(arguments.model or config.model)

    def on_event(event: session_events.SessionEvent) -> None:
        match event:
            case session_events.ActivityChanged():
                line.show(_activity_line(session))
            case session_events.ModelLoaded(info=info) if not is_model_named:
                line.say(f"Model: {info.name}, {_why_chosen(info)}.")
            case session_events.QuestionStarted(model=model, memory=read_by):
                if read_by not in ("", model):
                    line.say(f"{model} answers over the memory of {read_by}.")
        announce(event, line, config)

    session = Session(
        book,
        arguments.model or "",
        asking_model=getattr(arguments, "asking_model", None) or "",
        task=arguments.task or "",
        config=config,
        listener=on_event,
    )
    return session


def _activity_line(session: Session) -> str:
    """What the session is doing, for the progress line."""
    activity = session.activity
    if activity.engine is None:
        return ""
    is_reading = activity.reading is session_events.ReadingState.RUNNING
    if is_reading and session.memory is not None:
        return reading_line(session.memory, activity.engine, activity.seconds_left)
    return engine_line(activity.engine, activity.model)


def _why_chosen(info: EngineInfo) -> str:
    """Why a model was loaded that neither the command line nor the settings name."""
    if info.name == STARTER:
        return "a small model for trying out; `gistread models` lists others"
    return "the only one here"


def announce(
    event: session_events.SessionEvent, line: ProgressLine, config: Config
) -> None:
    """Print what a session says about its models."""
    match event:
        case session_events.ModelLoaded(info=info, state=state):
            _say_notes(info, state, config, line)
        case session_events.Notice(text=text):
            line.say(f"Note: {text}")


async def read_to_end(
    session: Session,
    line: ProgressLine,
    book: str,
    *,
    events: bool,
    must_save: bool = False,
) -> int:
    """Read the rest of the book; return the number of sections that existed before.

    `book`: as it was typed. `events`: print them. Raises InterruptError, and with `must_save`
    StorageError if a section cannot be saved.
    """
    started: session_events.ReadingStarted | None = None
    try:
        async with aclosing(session.stream_reading()) as reading:
            async for event in reading:
                if must_save:
                    _check_saved(session, event)
                if isinstance(event, session_events.ReadingStarted):
                    started = event
                    _say_estimate(session, event, line)
                if events:
                    _write_event(event)
    except asyncio.CancelledError:
        if session.memory is None or started is None:
            raise
        raise _interruption(session, session.memory, book) from None
    finally:
        line.clear()
    if not started:
        return 0
    return started.pages


def _check_saved(session: Session, event: session_events.ReadingEvent) -> None:
    """Raises StorageError if a section was read, or is to be read, that cannot be saved."""
    if session.reading.saves_pages:
        return
    was_read = isinstance(event, session_events.PageRead)
    is_to_be_read = session.memory is not None and not session.memory.complete
    if was_read or is_to_be_read:
        raise StorageError(
            "The memory cannot be saved, so the book was read no further.",
            "Close the other gistread, make room, or make the folder writable "
            "(`gistread paths` lists it). Then run the command again.",
        )


def _write_event(event: session_events.ReadingEvent) -> None:
    document = reading_document(event)
    if document:
        write_json(document)


def _interruption(session: Session, memory: GistMemory, book: str) -> InterruptError:
    """The error for reading that the user has stopped: how far it is, and how to resume."""
    sections = counted(len(memory.read_entries), "section")
    saving = "its sections could not be saved"
    if session.reading.saves_pages:
        saving = "every section is saved"
    command = f"gistread index {shlex.quote(book)}"
    if memory.focus.task:
        command += f" --task {shlex.quote(memory.focus.task)}"
    return InterruptError(
        f"Stopped after {sections} of about {memory.estimated_pages}; {saving}.",
        f"Run `{command}` to resume.",
    )


def _say_estimate(
    session: Session, started: session_events.ReadingStarted, line: ProgressLine
) -> None:
    """Say how long reading takes, if that is known, and how the book is read."""
    memory = session.memory
    info = session.models.reading.info
    if not started.seconds_left or memory is None or info is None:
        return
    duration = format_duration(started.seconds_left)
    left = " left" if memory.entries else ""
    model = info.name if info.is_remote else f"{info.name} on this machine"
    line.say(f"{memory.book.title}: about {duration}{left} with {model}.")
    line.say(f"The book is read {memory.focus.description}.")


@asynccontextmanager
async def open_engine(
    model: ModelSource, config: Config, line: ProgressLine
) -> AsyncIterator[Engine]:
    """An engine with this model loaded. Raises EngineError."""
    engine = new_engine(model, config, default_paths())
    last_fault = ""

    def show(state: EngineState) -> None:
        nonlocal last_fault
        if state.fault and state.fault != last_fault:
            line.say(f"Note: {state.notice}")
        elif state.phase is Phase.LOADING:
            line.show(engine_line(state, model.name))
        last_fault = state.fault

    engine.watch(show)
    try:
        _say_notes(await engine.start(), engine.state, config, line)
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def answering_models(
    config: Config,
    paths: Paths,
    on_event: Callable[[ModelPair, session_events.SessionEvent], None],
    *,
    model: str = "",
    asking_model: str = "",
) -> AsyncIterator[tuple[ModelPair, ModelChecks]]:
    """The models for a question about all books, and their checks.

    `model`: name of the reading model; `asking_model`: of the one that answers. Empty: the usual.
    Raises EngineError.
    """

    def listener(event: session_events.SessionEvent) -> None:
        on_event(models, event)

    models = ModelPair(engine_maker(config, paths), config, listener)
    try:
        await models.choose(model, asking_model)
        yield models, ModelChecks(paths)
    finally:
        await models.close()


async def load_info(model: ModelSource, config: Config) -> EngineInfo:
    """Load a model with progress, and unload it. Raises EngineError.

    A model on this machine whose speed is unknown writes a few words first.
    """
    with ProgressLine() as line:
        async with open_engine(model, config, line) as engine:
            is_here = engine.info.placement is not None
            if is_here and engine.info.rates is None:
                text = story_path().read_text("utf-8")[:_TRIAL_CHARACTERS]
                prompt = (Message("user", text),)
                await engine.complete(prompt, Sampling(_TRIAL_TOKENS))
            return engine.info


def _say_notes(
    info: EngineInfo, state: EngineState, config: Config, line: ProgressLine
) -> None:
    """Say what is special about a loaded model, such as a context smaller than requested."""
    notice = info.placement.notice if info.placement else state.notice
    is_cut = info.context_tokens < (config.context_tokens or 0)
    if info.placement and is_cut and not notice:
        notice = (
            f"{info.name} was trained for {info.context_tokens:,} tokens; "
            "a longer context is not possible."
        )
    if notice:
        line.say(f"Note: {notice}")
