"""Checks the reading model once in the background and stores the result."""

import asyncio
import contextlib
from pathlib import Path

from gistread.engine.model_source import find_source
from gistread.engine.protocol import Engine
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResults
from gistread.memory.model_check import check_model


async def check_once(engine: Engine, model: str, results: CheckResults) -> str:
    """Check a loaded local model unless its result is stored; returns a line to show, or an empty one.

    `model` is its path or name. Raises EngineError if it is too slow or has stopped.
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
