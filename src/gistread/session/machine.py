"""The session's state machine.

Transitions of reading, and the loop that runs the jobs of each situation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, unique
from functools import partial, wraps
from typing import Any, ParamSpec

from gistread.errors import EngineError, NotReadyError
from gistread.session.events import ReadingState as R

_CHOSEN = tuple(state for state in R if state is not R.NO_MODEL)


@unique
class Signal(Enum):
    """What changes the state of reading.

    Its value is the new state by the old one; states not listed stay.
    """

    MODEL_CHOSEN = dict.fromkeys(R, R.IDLE)
    MODEL_DROPPED = dict.fromkeys(R, R.NO_MODEL)
    MEMORY_CHOSEN = dict.fromkeys(_CHOSEN, R.IDLE)
    # Start or continue reading
    READ = dict.fromkeys((R.IDLE, R.OFFERED, R.PAUSED, R.FAILED), R.LOADING)
    # The model is loaded and its own memory lacks pages
    OPENED = dict.fromkeys([R.LOADING], R.RUNNING)
    # The model is loaded, and another model's memory stays shown
    OPENED_OTHER = dict.fromkeys([R.LOADING], R.OFFERED)
    # Every page of the book is in the model's memory
    COMPLETE = dict.fromkeys((R.LOADING, R.RUNNING), R.DONE)
    PAUSE = dict.fromkeys((R.LOADING, R.RUNNING, R.WAITING), R.PAUSED)
    # Another model here begins to answer a question
    YIELD = dict.fromkeys((R.LOADING, R.RUNNING), R.WAITING)
    # The question of the other model has ended
    REGAIN = dict.fromkeys([R.WAITING], R.LOADING)
    FAIL = dict.fromkeys((R.LOADING, R.RUNNING), R.FAILED)


# States that end without a command
UNDER_WAY = frozenset({R.LOADING, R.RUNNING, R.WAITING})


def next_state(state: R, signal: Signal) -> R:
    changes: Mapping[R, R] = signal.value
    return changes.get(state, state)


class Job(StrEnum):
    """Background jobs of a session, one task each."""

    LOAD = "load"  # Load the reading model and open its memory of the book
    READ = "read"
    RETRY = "retry"  # Wait before reading on after an outage of the server
    PREPARE = "prepare"  # Evaluate the common beginning of all questions
    CHECK = "check"  # Check the model
    BUILD = "build"  # Build the queued artifacts
    ANTICIPATE = "anticipate"  # Evaluate the text for a question that is being typed
    ANSWER = "answer"


Command = Callable[[], Awaitable[None] | None]


@dataclass(eq=False, repr=False)
class Actor:
    """Runs commands and ends of jobs one by one.

    After each, runs the jobs of `decide` and cancels all others.
    """

    _jobs: Mapping[Job, Callable[[], Coroutine[None, None, None]]]
    _decide: Callable[[], frozenset[Job]]
    # Called after a job that was not stopped
    _ended: Callable[[Job, Exception | None], None]
    # Called after a failed command that nobody awaits
    _crashed: Callable[[Exception], None]
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Running and queued
    _commands: set[asyncio.Task[None]] = field(default_factory=set)
    _running: dict[Job, asyncio.Task[None]] = field(default_factory=dict)
    closed: bool = False

    def check_open(self) -> None:
        """Raises NotReadyError after `close`."""
        if self.closed:
            raise NotReadyError("The session is closed.", "Open a new one.")

    def runs(self, job: Job) -> bool:
        return job in self._running

    def post(self, command: Command) -> None:
        """Queue a command without waiting for it.

        An empty one calls `decide` after a job has changed the state.
        """
        self._queue(command).add_done_callback(self._report)

    async def do(self, command: Command) -> None:
        """Queue a command and wait for it; raises what it raises.

        It also ends if the caller is cancelled.
        """
        await asyncio.shield(self._queue(command))

    async def stop(self, *jobs: Job) -> None:
        """Cancel these jobs and wait for them to end. Call from commands only."""
        tasks = [self._running.pop(job) for job in jobs if job in self._running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Stop every job, and cancel queued commands. Later commands raise NotReadyError."""
        await self.do(lambda: self.stop(*Job))
        self.closed = True
        for queued in self._commands:
            queued.cancel()

    def _queue(self, command: Command) -> asyncio.Task[None]:
        self.check_open()
        task = asyncio.create_task(self._run(command), name="command")
        self._commands.add(task)
        task.add_done_callback(self._commands.discard)
        return task

    async def _run(self, command: Command) -> None:
        async with self._turn:
            try:
                ending = command()
                if ending is not None:
                    await ending
            finally:
                due = self._decide()
                await self.stop(*(self._running.keys() - due))
                for job in Job:
                    if job in due and job not in self._running:
                        task = asyncio.create_task(self._jobs[job](), name=job)
                        self._running[job] = task
                        task.add_done_callback(partial(self._job_done, job))

    def _report(self, command: asyncio.Task[None]) -> None:
        if command.cancelled():
            return
        error = command.exception()
        if isinstance(error, Exception):
            self._crashed(error)

    def _job_done(self, job: Job, task: asyncio.Task[None]) -> None:
        def end() -> None:
            if self._running.get(job) is task:
                del self._running[job]
                if task.cancelled():
                    self._ended(job, EngineError("The model was stopped."))
                    return
                failure = task.exception()
                self._ended(job, failure if isinstance(failure, Exception) else None)

        if not self.closed:
            self.post(end)


P = ParamSpec("P")


def command(
    method: Callable[P, Awaitable[None]],
) -> Callable[P, Coroutine[Any, Any, None]]:
    """Run a method as a command of its object's `_actor`, and wait for it."""

    @wraps(method)
    async def queued(*arguments: P.args, **options: P.kwargs) -> None:
        owner: Any = arguments[0]
        await owner._actor.do(partial(method, *arguments, **options))

    return queued
