"""What commands that need a model without a session begin with: the model, loaded."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.engine.model_source import ModelSource, find_source, new_engine
from gistread.engine.protocol import Engine, EngineInfo, EngineState, Phase
from gistread.memory.store import MemoryStore
from gistread.paths import default_paths
from gistread.presets import AUTO, find_preset


def chosen_model(arguments: argparse.Namespace, config: Config) -> ModelSource:
    """The model to read with: of the command line, of the settings, or the only one there is. Raises EngineError."""
    return find_source(arguments.model or config.model)


def check_preset(config: Config) -> None:
    """Before a model is loaded, which takes longer. Raises UsageError."""
    if config.preset != AUTO:
        find_preset(config.preset, default_paths().user_presets)


def memory_store() -> MemoryStore:
    return MemoryStore(default_paths().memories)


@asynccontextmanager
async def loaded(model: ModelSource, config: Config, line: ProgressLine) -> AsyncIterator[Engine]:
    """The engine with its model loaded, closed at the end whatever happens. Raises EngineError."""
    engine = new_engine(model, config, default_paths())

    def show_loading(state: EngineState) -> None:
        if state.phase is Phase.LOADING:
            line.show(engine_line(state, model.name))

    unwatch = engine.watch(show_loading)
    try:
        info = await engine.start()
        unwatch()
        for note in notes_on(info, engine.state, config):
            line.say(f"Note: {note}")
        yield engine
    finally:
        await engine.close()


def notes_on(info: EngineInfo, state: EngineState, config: Config) -> list[str]:
    """What to say of a model that was loaded: what was given up for lack of memory, what its server lacks."""
    placement = info.placement
    if placement is None:
        return [state.notice] if state.notice else []
    if placement.notice:
        return [placement.notice]
    if config.context_tokens and info.context_tokens < config.context_tokens:
        return [f"{info.name} was trained for {info.context_tokens:,} tokens, and its window is no larger."]
    return []
