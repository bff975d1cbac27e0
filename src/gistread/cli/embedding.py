"""The embedding model of a command, for readers that search by meaning: which one, and its life."""

import argparse
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from gistread.cli.progress import ProgressLine
from gistread.config import Config
from gistread.engine.llama.embedder import LlamaEmbedder
from gistread.engine.models import find_embedding_model, resolve_embedding_model
from gistread.engine.protocol import Embedder, EngineState, Phase
from gistread.errors import NoEmbeddingModelError
from gistread.memory.artifacts import VECTORS
from gistread.paths import default_paths
from gistread.readers.registry import METHODS


def chosen_embedding_model(arguments: argparse.Namespace, config: Config, readers: Iterable[str]) -> Path | None:
    """The model to embed with, known before any model is loaded. None: none of these readers is to have one.

    One that was typed is looked for in any case. Raises EngineError when it cannot be used or one is needed.
    """
    if arguments.embedding_model:
        return resolve_embedding_model(arguments.embedding_model)
    for name in readers:
        if VECTORS not in METHODS[name].artifacts:
            continue
        try:
            return find_embedding_model(config.embedding_model, name)
        except NoEmbeddingModelError:
            if METHODS[name].needs_embedder:
                raise
    return None


def watched_embedder(model: Path, line: ProgressLine) -> LlamaEmbedder:
    """Loaded when something is first embedded, which the line shows."""
    embedder = LlamaEmbedder(model, log=default_paths().worker_log)

    def tell(state: EngineState) -> None:
        if state.phase is Phase.LOADING:
            line.show(f"loading {model.stem}")
        elif state.notice and state.phase is Phase.IDLE:
            line.say(f"Note: {state.notice}")

    embedder.watch(tell)
    return embedder


@asynccontextmanager
async def embedder_of(model: Path | None, line: ProgressLine) -> AsyncIterator[Embedder | None]:
    """The embedder of a command, closed at the end whatever happens; None without a model."""
    if model is None:
        yield None
        return
    embedder = watched_embedder(model, line)
    try:
        yield embedder
    finally:
        await embedder.close()
