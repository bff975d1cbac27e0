"""What the commands that need a model begin with: the model, loaded, and the memory between it and the book.

One model may read and another answer. Which is which, and what happens where the second cannot be used, is said here.
"""

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gistread.book.model import Book
from gistread.cli.output import say
from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.engine.model_source import ModelSource, find_source, new_engine
from gistread.engine.protocol import Engine, Phase
from gistread.errors import EngineError
from gistread.memory.resolve import resolve_memory
from gistread.memory.store import MemoryStore
from gistread.memory.writer import MemoryWriter
from gistread.paths import default_paths
from gistread.presets import AUTO, find_preset


def chosen_model(arguments: argparse.Namespace, config: Config) -> ModelSource:
    """The model to read with: of the command line, of the settings, or the only one there is. Raises EngineError."""
    return find_source(arguments.model or config.model)


def chosen_asking_model(arguments: argparse.Namespace, config: Config) -> ModelSource:
    """The model to ask, which may be the one that reads. Raises EngineError.

    Where only the settings name it and it is not there, the one that reads is asked, and that is said.
    """
    if not config.asking_model:
        return chosen_model(arguments, config)
    try:
        return find_source(config.asking_model)
    except EngineError as error:
        if arguments.asking_model:
            raise
        other = chosen_model(arguments, config)
        say(_asked_instead(error, other))
        return other


def instead_of(asking: ModelSource, arguments: argparse.Namespace, config: Config) -> ModelSource | None:
    """The model to ask where `asking` cannot be loaded: the one that reads, unless the other was typed."""
    if arguments.asking_model or not config.asking_model:
        return None
    with contextlib.suppress(EngineError):
        reading = chosen_model(arguments, config)
        return reading if reading != asking else None
    return None


def _asked_instead(error: EngineError, other: ModelSource) -> str:
    return f"Note: the model for questions cannot be used, {other.name} is asked: {error.message}"


def check_preset(config: Config) -> None:
    """Before a model is loaded, which takes longer. Raises UsageError."""
    if config.preset != AUTO:
        find_preset(config.preset, default_paths().user_presets)


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


@asynccontextmanager
async def loaded(
    model: ModelSource, config: Config, line: ProgressLine, otherwise: ModelSource | None = None
) -> AsyncIterator[Engine]:
    """The engine with its model loaded, closed at the end whatever happens. Raises EngineError.

    `otherwise`: for questions, the model to load where this one cannot be.
    """
    engine = await _started(model, config, line, otherwise)
    try:
        yield engine
    finally:
        await engine.close()


async def _started(model: ModelSource, config: Config, line: ProgressLine, otherwise: ModelSource | None) -> Engine:
    engine = new_engine(model, config, default_paths())

    def show_loading(state: object) -> None:
        if engine.state.phase is Phase.LOADING:
            line.show(engine_line(engine.state, model.name))

    unwatch = engine.watch(show_loading)
    try:
        info = await engine.start()
        if model.server is not None and engine.state.notice:
            line.say(f"Note: {engine.state.notice}")
    except BaseException as error:
        await engine.close()
        if otherwise is None or not isinstance(error, EngineError):
            raise
        line.say(_asked_instead(error, otherwise))
        return await _started(otherwise, config, line, None)
    finally:
        unwatch()
    if info.placement and info.placement.notice:
        line.say(f"Note: {info.placement.notice}")
    elif info.placement and config.context_tokens and info.context_tokens < config.context_tokens:
        line.say(f"Note: {info.name} was trained for {info.context_tokens:,} tokens, and its window is no larger.")
    return engine


async def open_memory(book: Book, engine: Engine, config: Config, line: ProgressLine, task: str = "") -> MemoryWriter:
    """The memory that this model has of the book, begun or empty. Raises StorageError, EngineError, UsageError."""
    store, presets = memory_store(), default_paths().user_presets
    request = await asyncio.to_thread(resolve_memory, book, store, engine.info, config, presets, task)
    kept = await asyncio.to_thread(store.open, book, request)
    if kept.notice:
        line.say(f"Note: {kept.notice}")
    return kept
