"""Runs commands and background jobs in one loop, so that changes of state never overlap."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gistread.errors import EngineError, NotReadyError
from gistread.session.machine import Job


@dataclass(frozen=True, slots=True)
class _Command:
    run: Callable[[], Awaitable[None] | None]
    done: asyncio.Future[None] | None = None


class Actor:
    """Handles commands and finished jobs in order. After each, runs the jobs of `decide` and cancels all others."""

    def __init__(
        self,
        jobs: Mapping[Job, Callable[[], Coroutine[None, None, None]]],
        decide: Callable[[], frozenset[Job]],
        ended: Callable[[Job, Exception | None], None],
        crashed: Callable[[Exception], None],
    ) -> None:
        """`ended` is called after a job that was not stopped, `crashed` after a failed command that nobody awaits."""
        self._jobs = jobs
        self._decide = decide
        self._ended = ended
        self._crashed = crashed
        self._inbox: asyncio.Queue[_Command] = asyncio.Queue()
        self._tasks: dict[Job, asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None
        self.closed = False

    def check_open(self) -> None:
        """Raises NotReadyError after `close`."""
        if self.closed:
            raise NotReadyError("The session is closed.", "Open a new one.")

    def runs(self, job: Job) -> bool:
        return job in self._tasks

    def post(self, command: Callable[[], Awaitable[None] | None]) -> None:
        """Queue a command without waiting for it."""
        self._put(_Command(command))

    async def do(self, command: Callable[[], Awaitable[None] | None]) -> None:
        """Queue a command and wait for it; raises what it raises."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put(_Command(command, done))
        await done

    def wake(self) -> None:
        """Call `decide` again after a job has changed the state."""
        self.post(lambda: None)

    async def stop(self, *jobs: Job) -> None:
        """Cancel these jobs and wait for them to end. Call from commands only."""
        tasks = [self._tasks.pop(job) for job in jobs if job in self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Stop every job and the loop, and cancel queued commands. Later commands raise NotReadyError."""
        await self.do(lambda: self.stop(*Job))
        self.closed = True
        if self._loop is not None:
            self._loop.cancel()
            self._loop = None
        while not self._inbox.empty():
            if (done := self._inbox.get_nowait().done) is not None:
                done.cancel()

    def _put(self, command: _Command) -> None:
        self.check_open()
        if self._loop is None:
            self._loop = asyncio.create_task(self._run(), name="session")
        self._inbox.put_nowait(command)

    async def _run(self) -> None:
        while True:
            command = await self._inbox.get()
            done = command.done
            try:
                await self._step(command.run)
            except Exception as error:
                if done is None:
                    self._crashed(error)
                elif not done.done():
                    done.set_exception(error)
            if done is not None and not done.done():
                done.set_result(None)

    async def _step(self, run: Callable[[], Awaitable[None] | None]) -> None:
        try:
            if (waiting := run()) is not None:
                await waiting
        finally:
            wanted = self._decide()
            await self.stop(*(self._tasks.keys() - wanted))
            for job in Job:
                if job in wanted and job not in self._tasks:
                    self._start(job)

    def _start(self, job: Job) -> None:
        task = asyncio.create_task(self._jobs[job](), name=job)
        self._tasks[job] = task
        task.add_done_callback(lambda task: self._inbox.put_nowait(_Command(partial(self._end, job, task))))

    def _end(self, job: Job, task: asyncio.Task[None]) -> None:
        if self._tasks.get(job) is task:
            del self._tasks[job]
            failure = EngineError("The model was stopped.") if task.cancelled() else task.exception()
            self._ended(job, failure if isinstance(failure, Exception) else None)


class _HasActor(Protocol):
    _actor: Actor


P = ParamSpec("P")
Owner = TypeVar("Owner", bound=_HasActor)


def command(
    method: Callable[Concatenate[Owner, P], Awaitable[None]],
) -> Callable[Concatenate[Owner, P], Coroutine[Any, Any, None]]:
    """Run a method as a command of its object's actor, and wait for it."""

    async def queued(self: Owner, /, *arguments: P.args, **options: P.kwargs) -> None:
        await self._actor.do(partial(method, self, *arguments, **options))

    queued.__doc__ = method.__doc__
    return queued
