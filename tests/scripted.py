"""A model that waits, and a reader that says what a test puts into it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from gistread.engine.concurrency import Observable
from gistread.engine.protocol import (
    EngineInfo,
    EngineState,
    Phase,
    Priority,
    Prompt,
    Sampling,
    Usage,
)
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, ReaderEvent
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine


class SteppedEngine(FakeEngine):
    """A fake whose state can be watched; while `gate` is not set, every request waits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.gate = asyncio.Event()
        self.gate.set()
        self.load_gate = asyncio.Event()
        self.load_gate.set()
        self.stop_after: int | None = None
        """Requests after which the gate closes by itself."""
        self.stopped = asyncio.Event()
        """It has."""
        self.pace_s = 0.0
        """How long each request takes."""
        self.closed = False
        self._watched = Observable()
        self.be = self._watched.publish
        self.watch = self._watched.watch

    @property
    def state(self) -> EngineState:
        return self._watched.state

    async def start(self) -> EngineInfo:
        self.be(EngineState(Phase.LOADING, fraction=0.4))
        await self.load_gate.wait()
        self.be(EngineState(Phase.IDLE))
        return self._info

    async def close(self) -> None:
        self.closed = True
        self.be(EngineState(Phase.STOPPED))

    async def _take(
        self,
        kind: str,
        prompt: Prompt,
        options: tuple[str, ...],
        sampling: Sampling,
        priority: Priority,
    ) -> Usage:
        self.be(EngineState(Phase.DECODE, tokens_per_s=41, priority=priority))
        try:
            if self.stop_after is not None and len(self.calls) >= self.stop_after:
                self.stop_after = None
                self.gate.clear()
                self.stopped.set()
            await self.gate.wait()
            await asyncio.sleep(self.pace_s)
            # Comparing with every earlier prompt takes longer than the tests.
            self._seen.clear()
            return await super()._take(kind, prompt, options, sampling, priority)
        finally:
            self.be(EngineState(Phase.IDLE))


class ScriptedReader:
    """A reader that says what the test puts into it, and keeps what it was given."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[ReaderEvent] = asyncio.Queue()
        self.questions: list[str] = []
        self.has_question = asyncio.Event()
        """A question has come since this was cleared."""
        self.steering = Steering()
        self.options = ReaderOptions()
        self.pages_read = 0
        self.text_length = 0  # of the part of the book it may use

    def say(self, *events: ReaderEvent) -> None:
        for event in events:
            self._events.put_nowait(event)

    async def __call__(self, asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
        self.questions.append(asking.question)
        self.has_question.set()
        self.steering = asking.steering
        self.options = asking.options
        self.pages_read = len(asking.memory.entries)
        self.text_length = len(asking.memory.book.text)
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, Answered):
                return
