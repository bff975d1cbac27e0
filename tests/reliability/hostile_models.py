"""Models and adapters that are broken.

Their headers read in this process, and some of them loaded by llama.cpp.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.protocol import Message, Sampling
from gistread.errors import EngineError
from tests.fuzzing.headers import AdapterCases, HeaderCases, mutated_model
from tests.fuzzing.run import Tally, run
from tests.tiny_gguf import write_tiny_adapter, write_tiny_gguf

_WITHIN_S = 120.0
_PROMPT = (Message("user", "The story begins."),)


def rows(headers: int, loads: int) -> Iterator[tuple[str, ...]]:
    """For each kind: how many files, how many were used, refused in words, and neither."""
    for cases in (HeaderCases(1), AdapterCases(1)):
        tally = Tally()
        failed = len(list(run(cases, 0, headers, tally)))
        yield (
            f"{cases.name}: header read",
            str(headers),
            str(tally.read),
            str(tally.refused),
            str(failed),
        )
    for is_adapter in (False, True):
        outcomes = asyncio.run(_load(loads, is_adapter))
        counts = (
            str(outcomes.count(outcome)) for outcome in ("used", "refused", "failed")
        )
        yield (
            f"{'adapter' if is_adapter else 'gguf'}: loaded by llama.cpp",
            str(loads),
            *counts,
        )


async def _load(count: int, is_adapter: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        model, broken = (
            write_tiny_gguf(Path(name, "tiny.gguf")),
            Path(name, "broken.gguf"),
        )
        whole = (
            write_tiny_adapter(Path(name, "adapter.gguf")) if is_adapter else model
        ).read_bytes()
        outcomes = []
        for index in range(count):
            # The data of the tensors are there as a rule: llama.cpp reads the whole file.
            broken.write_bytes(mutated_model(Random(f"{is_adapter}:{index}"), [whole]))
            if is_adapter:
                engine = LlamaEngine(model, adapter=broken)
            else:
                engine = LlamaEngine(broken)
            outcomes.append(await _outcome(engine))
        return outcomes


async def _outcome(engine: LlamaEngine) -> str:
    try:
        async with asyncio.timeout(_WITHIN_S):
            await engine.start()
            await engine.complete(_PROMPT, Sampling(max_tokens=3))
        return "used"
    except EngineError as error:
        return "refused" if str(error).count("\n") <= 1 else "failed"
    except Exception:  # a crash of this process, or a hang
        return "failed"
    finally:
        await engine.close()
