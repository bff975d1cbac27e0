"""What most commands begin with: the settings, the book, the model, the memory between the two."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.book.open import open_bytes, read_limited
from gistread.cli.output import say
from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config, load_config
from gistread.engine.llama.client import LlamaEngine
from gistread.engine.models import default_model, resolve_model
from gistread.engine.protocol import Engine, Phase
from gistread.memory.sizes import choose_size
from gistread.memory.store import KeptMemory, MemoryStore
from gistread.paths import default_paths

STANDARD_INPUT = "-"


def open_named(name: str) -> Book:
    """The book that was named on the command line; `-` is standard input. Raises BookError."""
    if name == STANDARD_INPUT:
        what = "standard input"
        book = open_bytes(read_limited(sys.stdin.buffer, what), what)
    else:
        book = open_cached(Path(name), default_paths().texts)
    for notice in book.notices:
        say(f"Note: {notice}")
    return book


def settings(arguments: argparse.Namespace) -> Config:
    """The person's settings, with what this command line says instead. Raises UsageError."""
    config = load_config(default_paths().config_file)
    typed = {
        "context_tokens": getattr(arguments, "context", None),
        "min_words": getattr(arguments, "min_words", None),
        "max_words": getattr(arguments, "max_words", None),
        "max_pages": getattr(arguments, "max_pages", None),
    }
    return replace(config, **{name: value for name, value in typed.items() if value is not None})


def chosen_model(arguments: argparse.Namespace, config: Config) -> Path:
    """The model to load: of the command line, of the settings, or the only one there is. Raises EngineError."""
    named = arguments.model or config.model
    return resolve_model(named) if named else default_model()


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


@asynccontextmanager
async def loaded(model: Path, config: Config, line: ProgressLine) -> AsyncIterator[Engine]:
    """The engine with its model loaded, closed at the end whatever happens. Raises EngineError."""
    engine = LlamaEngine(model, context_tokens=config.context_tokens, log=default_paths().worker_log)

    def show_loading(state: object) -> None:
        if engine.state.phase is Phase.LOADING:
            line.show(engine_line(engine.state, model.stem))

    unwatch = engine.watch(show_loading)
    try:
        await engine.start()
        yield engine
    finally:
        unwatch()
        await engine.close()


async def open_memory(book: Book, engine: Engine, config: Config, line: ProgressLine) -> KeptMemory:
    """The memory that this model has of the book, begun or empty. Raises StorageError, EngineError, UsageError."""
    info = engine.info
    size = choose_size(book.words, info.context_tokens, min_words=config.min_words, max_words=config.max_words)
    kept = await asyncio.to_thread(memory_store().open, book, info.name, info.fingerprint, size)
    if kept.notice:
        line.say(f"Note: {kept.notice}")
    return kept
