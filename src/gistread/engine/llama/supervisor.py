"""A worker process with a model that is kept alive: started, listened to, and started again when it is lost.

Every request that was running when it was lost (killed, or an assertion of llama.cpp ended it) is asked again, once; a
request that loses two workers fails. Cancelling the task that awaits a request stops it in the worker.

How a model is loaded is told by whoever makes one; what requests and answers mean, this does not know.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from gistread.engine.llama.messages import LOAD_ID, Message
from gistread.engine.llama.worker_process import WorkerProcess
from gistread.engine.observable import Observable
from gistread.engine.protocol import EngineState, Phase, Priority
from gistread.engine.single_flight import SingleFlight
from gistread.errors import EngineError, GistreadError, PromptTooLongError

_MAX_ATTEMPTS = 2
_SEE_LOG = "Choose another model, or see the log (`gistread paths`)."

_ANSWERS = ("chosen", "counted", "tokenised", "prepared", "held", "scored", "embedded")
"""Messages that are all that there is to say to a request."""
_ENDS = (*_ANSWERS, "done", "cancelled", "error", "refused")
"""The last message to a request is one of these."""

Info = TypeVar("Info")
"""What is known of a loaded model."""


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What a worker has said of its own work, for whoever measures it."""

    busy_s: float = 0.0
    """In which it had something to do, since it was started."""
    decode_s: float = 0.0
    """Of that, inside `llama_decode`."""
    cells: int = 0
    """Of the KV cache, in use."""


@dataclass(eq=False, slots=True)
class _Request:
    """One message to the worker and everything that comes back for it."""

    id: int
    kind: str
    content: dict[str, object]
    events: asyncio.Queue[Message | GistreadError] = field(default_factory=asyncio.Queue)
    attempts: int = 0


class SupervisedWorker(Observable, Generic[Info]):
    """Made cheap; `start` loads the model, and so does the first request. `close` has to be awaited."""

    def __init__(self, load: Callable[[], Awaitable[Info]], log: Path | None) -> None:
        """`load`: gets a worker from `new_worker` and a model into it. `log`: of llama.cpp's messages, if any."""
        super().__init__()
        self._load = load
        self._log = log
        self._info: Info | None = None
        self.work = WorkerStats()
        """As it was told last, with a state."""
        self._worker: WorkerProcess | None = None
        self._lost = ""
        """How the last one ended, if nobody wanted it to."""
        self._start = SingleFlight(self._start_worker, "engine-start")
        self._requests: dict[int, _Request] = {}
        self._ids = itertools.count(LOAD_ID + 1)

    # State.

    @property
    def info(self) -> Info:
        """Raises EngineError before the model was loaded."""
        if self._info is None:
            raise EngineError("The model is not loaded yet.")
        return self._info

    @property
    def pid(self) -> int | None:
        """Of the running worker process."""
        return self._worker.pid if self._worker else None

    # Life.

    async def start(self) -> Info:
        """Load the model. Idempotent. Raises EngineError. Cancelling all who wait for it stops the load."""
        if self._info is not None and self._worker is not None and not self._start.under_way:
            return self._info
        return await self._start.wait()

    async def close(self) -> None:
        """End the process and fail what is running. Idempotent."""
        if self._start.closed:
            return
        await self._start.close()
        await self.end_worker()
        self._fail_all(EngineError("The engine has been closed."))
        self.tell(EngineState(Phase.STOPPED))

    async def new_worker(self) -> WorkerProcess:
        """A worker without a model, in place of the one there was. Raises EngineError."""
        await self.end_worker()
        self._worker = await WorkerProcess.start(self._log, self._dispatch, self._on_lost)
        return self._worker

    async def end_worker(self) -> None:
        """Let the memory that it takes be free."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()

    async def _start_worker(self) -> Info:
        """Start a worker, load the model into it, and ask it what the one before was lost over."""
        lost, self._lost = self._lost, ""
        notice = f"The model's process ended ({lost}); it is started again." if lost else ""
        for request in self._requests.values():
            request.events.put_nowait({"kind": "restarted", "reason": notice})
        self.tell(EngineState(Phase.LOADING, fraction=0.0, notice=notice))
        try:
            self._info = await self._load()
            if self.pid is None:
                raise EngineError("The model's process ended as soon as the model was loaded.", _SEE_LOG)
        except asyncio.CancelledError:
            await self.end_worker()
            self.tell(EngineState(Phase.STOPPED))
            raise
        except GistreadError as error:
            await self.end_worker()
            self._fail_all(error)
            self.tell(EngineState(Phase.FAILED, notice=error.message))
            raise
        self.tell(EngineState(Phase.IDLE, notice=notice))
        for request in self._requests.values():
            self._submit(request)
        return self._info

    # What comes from the worker.

    def _dispatch(self, message: Message) -> None:
        match message["kind"]:
            case "state" if self._state.phase is Phase.LOADING:
                pass  # Idle, as far as the worker is concerned; there is more to be done before it can be used.
            case "state":
                self.work = WorkerStats(
                    **{name: message[name] for name in WorkerStats.__dataclass_fields__ if name in message}
                )
                self.tell(
                    EngineState(
                        phase=Phase(message["phase"]),
                        fraction=message["fraction"],
                        tokens_per_s=message["tokens_per_s"],
                        priority=None if message["priority"] is None else Priority(message["priority"]),
                    )
                )
            case "loading":
                self.tell(EngineState(Phase.LOADING, fraction=message["fraction"], notice=self._state.notice))
            case "trying":
                self.tell(EngineState(Phase.LOADING, fraction=0.0, notice=message["notice"] or self._state.notice))
            case _:
                if request := self._requests.get(message.get("id", -1)):
                    request.events.put_nowait(message)

    def _on_lost(self, worker: WorkerProcess, reason: str) -> None:
        """The worker has ended without being asked to."""
        if worker is not self._worker or self._start.under_way:  # a start finds out by itself
            return
        self._worker = None
        self._lost = reason
        twice = EngineError(f"The model's process ended twice on the same request ({reason}).", _SEE_LOG)
        for request in tuple(self._requests.values()):
            if request.attempts >= _MAX_ATTEMPTS:
                self._fail(request, twice)
        self._start.begin()

    def _fail_all(self, error: GistreadError) -> None:
        for request in tuple(self._requests.values()):
            self._fail(request, error)

    def _fail(self, request: _Request, error: GistreadError) -> None:
        del self._requests[request.id]
        request.events.put_nowait(error)

    # Requests.

    async def ask(self, kind: str, **content: object) -> AsyncGenerator[Message]:
        """Everything the worker says to one request, the last message included.

        Raises PromptTooLongError when it refuses, EngineError when it fails.
        """
        await self.start()
        request = _Request(next(self._ids), kind, content)
        self._requests[request.id] = request
        self._submit(request)
        ended = False
        try:
            while not ended:
                message = await request.events.get()
                if isinstance(message, GistreadError):
                    ended = True
                    raise message
                ended = message["kind"] in _ENDS
                if message["kind"] == "refused":
                    raise PromptTooLongError(
                        message["prompt_tokens"], message["answer_tokens"], message["context_tokens"]
                    )
                if message["kind"] == "error":
                    raise EngineError(f"The model failed: {message['message']}.")
                yield message
        finally:
            self._requests.pop(request.id, None)
            if not ended:
                self.send("cancel", id=request.id)

    async def answer(self, kind: str, **content: object) -> Message:
        """The one answer to a request that has one. Raises as `ask`."""
        async with contextlib.aclosing(self.ask(kind, **content)) as messages:
            async for message in messages:
                if message["kind"] in _ANSWERS:
                    return message
        raise EngineError("The model ended without an answer.")

    def send(self, kind: str, **content: object) -> None:
        """What nothing comes back for."""
        if self._worker is not None:
            self._worker.send(kind, **content)

    def _submit(self, request: _Request) -> None:
        request.attempts += 1
        self.send(request.kind, id=request.id, **request.content)
