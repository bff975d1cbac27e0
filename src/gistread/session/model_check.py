"""The model that reads is checked once, beside its reading, unless its result is known already."""

import asyncio
import contextlib
from pathlib import Path

from gistread.engine.model_source import find_source
from gistread.engine.protocol import Engine
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResults
from gistread.memory.model_check import check_model


async def check_once(engine: Engine, model: str, results: CheckResults) -> str:
    """Check a loaded local model and store the result; a line to show, empty if there is nothing new.

    `model` is its name as it was chosen. Raises EngineError where it was too slow, or is gone.
    """
    info = engine.info
    if info.placement is None or await asyncio.to_thread(results.get, info.fingerprint) is not None:
        return ""
    result = await check_model(engine)
    path = await asyncio.to_thread(_file_of, model)
    await asyncio.to_thread(results.save, info.fingerprint, path, result)
    return f"{info.name}: {result.line}."


def _file_of(model: str) -> Path | None:
    with contextlib.suppress(EngineError):
        return find_source(model).path
    return None
