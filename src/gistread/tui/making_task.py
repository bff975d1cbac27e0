"""What is made of the memory beside its gists: a task in the background that can be stopped and taken up again.

All that is made is kept as it comes, so stopping is cancelling. Knows no widgets and no questions; what there is to
make, and how, is the affair of `memory/needs.py`.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import aclosing

from gistread.engine.protocol import Priority
from gistread.errors import GistreadError
from gistread.memory.estimate import Left
from gistread.memory.model import GistMemory
from gistread.memory.needs import NEEDS, Models, Need
from gistread.tui.news import ActivityChanged, Crashed, Made, Making, News, Notice


class MakingTask:
    """Owns the task; the memory and the models belong to the session."""

    def __init__(self, tell: Callable[[News], None]) -> None:
        self._tell = tell
        self._task: asyncio.Task[None] | None = None
        self.making: Making | None = None
        """What is being made at this moment."""

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, names: Iterable[str], memory: GistMemory, models: Models) -> None:
        """Make what is missing of these, by their names in `NEEDS`. Not while it is running."""
        needs = [NEEDS[name] for name in names]
        self._set(Making(needs[0].name) if needs else None)
        self._task = asyncio.create_task(self._run(needs, memory, models), name="making")

    async def stop(self) -> None:
        """Stop at once; what is made is kept."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._set(None)

    async def _run(self, needs: list[Need], memory: GistMemory, models: Models) -> None:
        try:
            for need in needs:
                await self._make(need, memory, models)
        except GistreadError as error:
            self._tell(Notice(str(error), is_problem=True))
        except Exception as error:
            self._tell(Crashed(error))
        self._set(None)

    async def _make(self, need: Need, memory: GistMemory, models: Models) -> None:
        left = await need.left(memory, models)
        expected = left.seconds(models.engine.info)
        self._set(Making(need.name, left.done, left.total, expected))
        begun = time.monotonic()
        known = left.done
        async with aclosing(need.make(memory, models, Priority.BACKGROUND)) as growing:
            async for grown in growing:
                known = max(known, grown.done)
                seconds = _seconds_left(left, known, grown.total, time.monotonic() - begun, expected)
                self._set(Making(need.name, known, grown.total, seconds))
                self._tell(Made(need.name))

    def _set(self, making: Making | None) -> None:
        if making != self.making:
            self.making = making
            self._tell(ActivityChanged())


def _seconds_left(left: Left, done: int, total: int, elapsed: float, expected: float | None) -> float | None:
    """By the pace since it began; before there is one, as expected."""
    made = done - left.done
    if made <= 0:
        return expected
    return elapsed / made * max(0, total - done)
