"""What the commands that need a model begin with: the model, loaded, and the memory between it and the book."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gistread.book.model import Book
from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.engine.opening import ModelSource, find_source, new_engine
from gistread.engine.protocol import Engine, Phase
from gistread.memory.aim import Aim
from gistread.memory.choosing import choose_preset
from gistread.memory.model import DEFAULT_READING, Reading
from gistread.memory.sizes import choose_size
from gistread.memory.store import KeptMemory, MemoryStore
from gistread.paths import default_paths
from gistread.presets import AUTO, preset_named


def chosen_model(arguments: argparse.Namespace, config: Config) -> ModelSource:
    """The model to load: of the command line, of the settings, or the only one there is. Raises EngineError."""
    return find_source(arguments.model or config.model)


def check_preset(config: Config) -> None:
    """Before a model is loaded, which takes longer. Raises UsageError."""
    if config.preset != AUTO:
        preset_named(config.preset, default_paths().user_presets)


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


@asynccontextmanager
async def loaded(model: ModelSource, config: Config, line: ProgressLine) -> AsyncIterator[Engine]:
    """The engine with its model loaded, closed at the end whatever happens. Raises EngineError."""
    engine = new_engine(model, config, default_paths())

    def show_loading(state: object) -> None:
        if engine.state.phase is Phase.LOADING:
            line.show(engine_line(engine.state, model.name))

    unwatch = engine.watch(show_loading)
    try:
        await engine.start()
        yield engine
    finally:
        unwatch()
        await engine.close()


async def open_memory(book: Book, engine: Engine, config: Config, line: ProgressLine, task: str = "") -> KeptMemory:
    """The memory that this model has of the book, begun or empty. Raises StorageError, EngineError, UsageError."""
    info = engine.info
    store, own = memory_store(), default_paths().user_presets
    preset = await asyncio.to_thread(choose_preset, config.preset, own, book, store, info.fingerprint, task)
    size = choose_size(book.words, info.context_tokens, min_words=config.min_words, max_words=config.max_words)
    reading = Reading(config.reading or DEFAULT_READING)
    kept = await asyncio.to_thread(store.open, book, info.name, info.fingerprint, size, reading, aim=Aim(preset, task))
    if kept.notice:
        line.say(f"Note: {kept.notice}")
    return kept
