"""Chooses and loads the models of a command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gistread.cli.progress import ProgressLine, engine_line
from gistread.config import Config
from gistread.engine.models import ModelSource, new_engine
from gistread.engine.protocol import Engine, EngineInfo, EngineState, Message, Phase, Sampling
from gistread.paths import default_paths
from gistread.sample import story_path

_TRIAL_CHARACTERS, _TRIAL_TOKENS = 1200, 16  # A prompt and an answer that show how fast a model is


@asynccontextmanager
async def open_engine(model: ModelSource, config: Config, line: ProgressLine) -> AsyncIterator[Engine]:
    """An engine with this model loaded. Raises EngineError."""
    engine = new_engine(model, config, default_paths())
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
    """Load a model with progress, and unload it. Raises EngineError.

    A model on this machine whose speed is unknown is asked for a few words.
    """
    with ProgressLine() as line:
        async with open_engine(model, config, line) as engine:
            if engine.info.placement is not None and engine.info.rates is None:
                text = story_path().read_text("utf-8")[:_TRIAL_CHARACTERS]
                await engine.complete((Message("user", text),), Sampling(_TRIAL_TOKENS))
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
