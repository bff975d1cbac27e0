"""Building artifacts of a memory in the background, one after the other; stopping keeps what is built."""

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from gistread.engine.protocol import Priority
from gistread.memory.artifacts import ARTIFACTS, ArtifactModels
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.session.events import ActivityChanged, ArtifactGrown, ArtifactProgress, SessionEvent


class Artifacts:
    def __init__(self, tell: Callable[[SessionEvent], None]) -> None:
        self._tell = tell
        self._wanted: dict[str, None] = {}
        self.paused = False  # Paused by the user
        self.progress: ArtifactProgress | None = None

    @property
    def due(self) -> bool:
        return bool(self._wanted) and not self.paused

    def want(self, *names: str) -> None:
        """Add these artifacts (`memory/artifacts.py`) to the queue."""
        self._wanted.update(dict.fromkeys(names))

    def forget(self) -> None:
        self._wanted.clear()
        self.paused = False
        self._set(None)

    def pause(self) -> None:
        """Pause until `resume`; progress stays visible."""
        self.paused = bool(self._wanted)
        self._set(replace(self.progress, paused=True, seconds_left=None) if self.progress else None)

    def resume(self) -> None:
        self.paused = False
        self._set(replace(self.progress, paused=False) if self.progress else None)

    async def run(self, memory: GistMemory, models: ArtifactModels) -> None:
        """Build the missing parts of all queued artifacts. Raises GistreadError."""
        try:
            while self._wanted:
                name = next(iter(self._wanted))
                await self._build(name, memory, models)
                self._wanted.pop(name, None)
        finally:
            if not self.paused:
                self._set(None)

    async def _build(self, name: str, memory: GistMemory, models: ArtifactModels) -> None:
        artifact = ARTIFACTS[name]
        left = await artifact.remaining(memory, models)
        if left.complete:
            return
        expected = left.seconds(models.engine.info)
        self._set(ArtifactProgress(name, left.done, left.total, expected))
        begun = time.monotonic()
        done = left.done
        async with aclosing(artifact.build(memory, models, Priority.BACKGROUND)) as growing:
            async for grown in growing:
                done = max(done, grown.done)
                seconds = _seconds_left(left, done, grown.total, time.monotonic() - begun, expected)
                self._set(ArtifactProgress(name, done, grown.total, seconds))
                self._tell(ArtifactGrown(name))

    def _set(self, progress: ArtifactProgress | None) -> None:
        if progress != self.progress:
            self.progress = progress
            self._tell(ActivityChanged())


def _seconds_left(left: RemainingWork, done: int, total: int, elapsed: float, expected: float | None) -> float | None:
    built = done - left.done
    return elapsed / built * max(0, total - done) if built > 0 else expected
