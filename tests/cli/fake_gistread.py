"""The command `gistread` over a fake engine, as a program.

Start it with `python -m tests.cli.fake_gistread index BOOK`, for example.

`GISTREAD_TEST_PAUSE_S` is how long loading and each answer of the model take, so that a test can
interrupt it; `GISTREAD_TEST_LOADING` names a file that appears when loading begins.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from gistread.cli import main
from gistread.engine.llama import client
from gistread.engine.llama.fit import LoadOptions
from gistread.engine.protocol import (
    GREEDY,
    EngineInfo,
    Priority,
    Prompt,
    Sampling,
    StreamEvent,
)
from tests.fake_engine import FakeEngine

LOADING = os.environ.get("GISTREAD_TEST_LOADING")
PAUSE_S = float(os.environ.get("GISTREAD_TEST_PAUSE_S", "0"))


class SlowEngine(FakeEngine):
    """A slow engine that writes plausible gists."""

    def __init__(self, model_path: Path, *, options: LoadOptions, **paths: Any) -> None:
        super().__init__(context_tokens=options.context_tokens or 8192)

    async def start(self) -> EngineInfo:
        if LOADING:
            await asyncio.to_thread(Path(LOADING).touch)
        await asyncio.sleep(PAUSE_S)
        return await super().start()

    async def stream(
        self,
        prompt: Prompt,
        sampling: Sampling = GREEDY,
        priority: Priority = Priority.INTERACTIVE,
    ) -> AsyncGenerator[StreamEvent, None]:
        await asyncio.sleep(PAUSE_S)
        async for event in super().stream(prompt, sampling, priority):
            yield event


if __name__ == "__main__":
    client.LlamaEngine = SlowEngine  # type: ignore[assignment]
    sys.exit(main())
