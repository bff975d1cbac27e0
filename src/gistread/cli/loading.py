"""Chooses and loads the models of a command."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.engine.model_source import ModelSource, new_engine
from gistread.engine.models import find_embedding_model, resolve_embedding_model
from gistread.engine.protocol import Engine, EngineInfo, EngineState, Phase
from gistread.errors import NoEmbeddingModelError
from gistread.memory.artifacts import VECTORS
from gistread.paths import default_paths
from gistread.readers.registry import METHODS

if TYPE_CHECKING:
    from gistread.engine.llama.embedder import LlamaEmbedder


@asynccontextmanager
async def open_engine(
    model: ModelSource, config: Config, line: ProgressLine, *, measure: bool = False
) -> AsyncIterator[Engine]:
    """An engine with this model loaded; `measure` measures it at once. Raises EngineError."""
    engine = new_engine(model, config, default_paths(), measure=measure)
    notice = ""

    def show(state: EngineState) -> None:
        nonlocal notice
        if state.is_fault and state.notice != notice:
            line.say(f"Note: {state.notice}")
        elif state.phase is Phase.LOADING:
            line.show(engine_line(state, model.name))
        notice = state.notice

    engine.watch(show)
    try:
        info = await engine.start()
        for note in loading_notes(info, engine.state, config):
            line.say(f"Note: {note}")
        yield engine
    finally:
        await engine.close()


async def load_info(model: ModelSource, config: Config) -> EngineInfo:
    """Load and measure a model with progress, and unload it. Raises EngineError."""
    with ProgressLine() as line:
        async with open_engine(model, config, line, measure=True) as engine:
            return engine.info


def loading_notes(info: EngineInfo, state: EngineState, config: Config) -> list[str]:
    """Notes about a loaded model, such as a context smaller than requested."""
    placement = info.placement
    if placement is None:
        return [state.notice] if state.notice else []
    if placement.notice:
        return [placement.notice]
    if config.context_tokens and info.context_tokens < config.context_tokens:
        return [f"{info.name} was trained for {info.context_tokens:,} tokens; a longer context is not possible."]
    return []


def choose_embedding_model(typed: str | None, config: Config, readers: Iterable[str]) -> Path | None:
    """The embedding model `typed`, else that of the settings if a reader uses one. Raises EngineError."""
    if typed:
        return resolve_embedding_model(typed)
    for name in readers:
        if VECTORS not in METHODS[name].artifacts:
            continue
        try:
            return find_embedding_model(config.embedding_model, name)
        except NoEmbeddingModelError:
            if METHODS[name].needs_embedder:
                raise
    return None


def new_embedder(model: Path, line: ProgressLine) -> "LlamaEmbedder":
    """An embedder that loads its model on first use, with progress on the line."""
    from gistread.engine.llama.embedder import LlamaEmbedder  # imports NumPy

    embedder = LlamaEmbedder(model, log=default_paths().worker_log)

    def show(state: EngineState) -> None:
        if state.phase is Phase.LOADING:
            line.show(f"loading {model.stem}")
        elif state.notice and state.phase is Phase.IDLE:
            line.say(f"Note: {state.notice}")

    embedder.watch(show)
    return embedder
