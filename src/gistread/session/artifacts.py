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
    """The queue of artifacts to build for one memory."""

    _reading: Reading
    _emit: Callable[[SessionEvent], None]
    _automatic: bool  # Build what a reader uses without being asked
    _due_names: dict[str, None] = field(default_factory=dict)  # In order
    paused: bool = False  # Paused by the user
    progress: ArtifactBuilding | None = None
    _notice: str = ""  # The last one emitted

    @property
    def due(self) -> bool:
        return bool(self._due_names) and not self.paused

    def want_for(self, reader: str) -> None:
        """Queue what this reader uses once reading is over, unless it should await a question."""
        memory = self._reading.memory
        if not self._automatic or memory is None or not memory.complete:
            return
        is_over = self._reading.state in (ReadingState.DONE, ReadingState.OFFERED)
        # The beginning of the first prompt is evaluated before: a question may come soon.
        if is_over and not self._reading.prompt_due:
            self._due_names.update(dict.fromkeys(METHODS[reader].artifacts))

    def forget(self) -> None:
        """Empty the queue, as for another memory."""
        self._due_names.clear()
        self.paused = False
        self._set(None)

    def pause(self) -> None:
        """Pause until `resume`; progress stays visible."""
        self.paused = bool(self._due_names)  # Otherwise there is nothing to resume.
        if self.progress:
            self._set(replace(self.progress, paused=True, seconds_left=None))

    def resume(self) -> None:
        self.paused = False
        if self.progress:
            self._set(replace(self.progress, paused=False))

    async def run(self) -> None:
        """The job: build the missing parts of all queued artifacts. Raises GistreadError."""
        memory = self._reading.memory
        assert memory is not None
        engine = await self._reading.models.load_reading()
        try:
            while self._due_names:
                name = next(iter(self._due_names))
                work = await ARTIFACTS[name].remaining(memory, engine)
                if not work.complete:
                    await self._build(name, work, memory, engine)
                self._due_names.pop(name, None)  # `forget` may have removed it.
        finally:
            if not self.paused:
                self._set(None)

    async def _build(
        self, name: str, work: RemainingWork, memory: GistMemory, engine: Engine
    ) -> None:
        """Build one artifact, and report the progress with the time that the rest will take."""
        artifact = ARTIFACTS[name]
        began_s = time.monotonic()
        done = work.done
        seconds = work.seconds(engine.info)
        self._set(ArtifactBuilding(artifact.short_name, done, work.total, seconds))
        async with aclosing(artifact.build(memory, engine)) as progress:
            async for step in progress:
                # A step counts from 0, without what was built before.
                done = max(done, step.done)
                built = done - work.done
                if built > 0:
                    seconds_each = (time.monotonic() - began_s) / built
                    seconds = seconds_each * max(0, step.total - done)
                building = ArtifactBuilding(
                    artifact.short_name, done, step.total, seconds
                )
                self._set(building)
        notice = memory.derived.notice
        if notice and notice != self._notice:
            self._notice = notice
            self._emit(Notice(notice, is_problem=True))

    def _set(self, progress: ArtifactBuilding | None) -> None:
        if progress != self.progress:
            self.progress = progress
            self._emit(ActivityChanged())
