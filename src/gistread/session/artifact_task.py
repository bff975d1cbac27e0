"""What is made of the memory beside its gists: a task in the background that can be stopped and taken up again.

All that is made is kept as it comes, so stopping is cancelling. What is wanted stays wanted until it is made. Knows no
widgets and no questions; what there is to make, and how, is the affair of `memory/artifacts.py`.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from gistread.engine.protocol import Priority
from gistread.errors import GistreadError
from gistread.memory.artifacts import ARTIFACTS, ArtifactModels
from gistread.memory.estimate import RemainingWork
from gistread.memory.model import GistMemory
from gistread.session.events import ActivityChanged, ArtifactGrown, ArtifactProgress, Crashed, Notice, SessionEvent


class ArtifactTask:
    """Owns the task; the memory and the models belong to the session."""

    def __init__(self, tell: Callable[[SessionEvent], None]) -> None:
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self._wanted: dict[str, None] = {}
        """In order; the first is being made."""
        self.making: ArtifactProgress | None = None
        """What is being made at this moment, or was until the person paused it."""

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def paused(self) -> bool:
        """By the person."""
        return self.making is not None and self.making.paused

    @property
    def wants(self) -> bool:
        """Whether something is wanted and not made yet."""
        return bool(self._wanted)

    def want(self, *names: str) -> None:
        """Make these too, by their names in `ARTIFACTS`, once `go_on` is called or after what is being made."""
        self._wanted.update(dict.fromkeys(names))

    async def forget(self) -> None:
        """Stop at once and want nothing any more; what is made is kept."""
        self._wanted.clear()
        await self._cancel()
        self._set(None)

    def go_on(self, memory: GistMemory, models: ArtifactModels) -> None:
        """Make what is wanted and missing, if anything is and it is not being made."""
        if not self.running and self._wanted:
            self._task = asyncio.create_task(self._run(memory, models), name="making")

    async def hold(self) -> None:
        """Stop at once, for as long as something else needs the model more."""
        await self._cancel()
        if not self.paused:
            self._set(None)

    async def pause(self) -> None:
        """Stop at once, until the person wants it to go on."""
        making = self.making
        await self._cancel()
        self._set(replace(making, paused=True, seconds_left=None) if making else None)

    async def _cancel(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, memory: GistMemory, models: ArtifactModels) -> None:
        try:
            while self._wanted:
                name = next(iter(self._wanted))
                await self._make(name, memory, models)
                self._wanted.pop(name, None)
        except GistreadError as error:
            self._wanted.clear()
            self._tell(Notice(str(error), is_problem=True))
        except Exception as error:
            self._wanted.clear()
            self._tell(Crashed(error))
        self._set(None)

    async def _make(self, name: str, memory: GistMemory, models: ArtifactModels) -> None:
        need = ARTIFACTS[name]
        left = await need.remaining(memory, models)
        if left.complete:
            return
        expected = left.seconds(models.engine.info)
        self._set(ArtifactProgress(name, left.done, left.total, expected))
        begun = time.monotonic()
        known = left.done
        async with aclosing(need.build(memory, models, Priority.BACKGROUND)) as growing:
            async for grown in growing:
                known = max(known, grown.done)
                seconds = _seconds_left(left, known, grown.total, time.monotonic() - begun, expected)
                self._set(ArtifactProgress(name, known, grown.total, seconds))
                self._tell(ArtifactGrown(name))

    def _set(self, making: ArtifactProgress | None) -> None:
        if making != self.making:
            self.making = making
            self._tell(ActivityChanged())


def _seconds_left(left: RemainingWork, done: int, total: int, elapsed: float, expected: float | None) -> float | None:
    """By the pace since it began; before there is one, as expected."""
    made = done - left.done
    if made <= 0:
        return expected
    return elapsed / made * max(0, total - done)
