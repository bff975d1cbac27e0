"""Builds the artifacts of a memory one after another in the background.

Stopping keeps everything finished.
"""

import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gistread.engine.protocol import Engine
from gistread.memory.artifacts import ARTIFACTS
from gistread.memory.model import GistMemory
from gistread.memory.sizes import RemainingWork
from gistread.readers.registry import METHODS
from gistread.session.events import (
    ActivityChanged,
    ArtifactBuilding,
    Notice,
    ReadingState,
    SessionEvent,
)
from gistread.session.reading import Reading


@dataclass(eq=False, repr=False)
class Artifacts:
    _reading: Reading
    _emit: Callable[[SessionEvent], None]
    _automatic: bool  # Build what a reader uses without being asked
    _due_names: dict[str, None] = field(default_factory=dict)
    paused: bool = False  # Paused by the user
    progress: ArtifactBuilding | None = None
    _notice: str = ""  # The last one emitted

    @property
    def due(self) -> bool:
        return bool(self._due_names) and not self.paused

    def want_for(self, reader: str) -> None:
        """Queue what this reader uses once reading is over, unless it should await a question."""
        memory, state = self._reading.memory, self._reading.state
        is_over = (
            state in (ReadingState.DONE, ReadingState.OFFERED)
            and not self._reading.prompt_due
        )
        if is_over and self._automatic and memory is not None and memory.complete:
            self._due_names.update(dict.fromkeys(METHODS[reader].artifacts))

    def forget(self) -> None:
        self._due_names.clear()
        self.paused = False
        self._set(None)

    def pause(self) -> None:
        """Pause until `resume`; progress stays visible."""
        self.paused = bool(self._due_names)
        if self.progress:
            self._set(replace(self.progress, paused=True, seconds_left=None))
        else:
            self._set(None)

    def resume(self) -> None:
        self.paused = False
        self._set(replace(self.progress, paused=False) if self.progress else None)

    async def run(self) -> None:
        """The job: build the missing parts of all queued artifacts. Raises GistreadError."""
        memory = self._reading.memory
        assert memory is not None
        engine = await self._reading.models.load_reading()
        try:
            while self._due_names:
                name = next(iter(self._due_names))
                left = await ARTIFACTS[name].remaining(memory, engine)
                if not left.complete:
                    await self._build(name, left, memory, engine)
                self._due_names.pop(name, None)
        finally:
            if not self.paused:
                self._set(None)

    async def _build(
        self, name: str, left: RemainingWork, memory: GistMemory, engine: Engine
    ) -> None:
        began = time.monotonic()
        done = left.done
        seconds = left.seconds(engine.info)
        self._set(ArtifactBuilding(name, done, left.total, seconds))
        async with aclosing(ARTIFACTS[name].build(memory, engine)) as growing:
            async for grown in growing:
                done = max(done, grown.done)
                built = done - left.done
                if built > 0:
                    seconds_each = (time.monotonic() - began) / built
                    seconds = seconds_each * max(0, grown.total - done)
                self._set(ArtifactBuilding(name, done, grown.total, seconds))
        if memory.derived.notice not in ("", self._notice):
            self._notice = memory.derived.notice
            self._emit(Notice(self._notice, is_problem=True))

    def _set(self, progress: ArtifactBuilding | None) -> None:
        if progress != self.progress:
            self.progress = progress
            self._emit(ActivityChanged())
