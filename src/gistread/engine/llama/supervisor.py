"""Keeps a worker process with a loaded model: a lost one is started again for the requests that it had, or gets."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from gistread.engine.concurrency import Observable, SingleFlight
from gistread.engine.llama import messages
from gistread.engine.llama.messages import Cancel, Delta
from gistread.engine.llama.worker_process import WorkerProcess
from gistread.engine.protocol import EngineInfo, EngineState, Phase, Rates, StreamRestarted
from gistread.errors import EngineError, GistreadError, PromptTooLongError

_MAX_ATTEMPTS = 2
_SEE_LOG = "Choose another model, or see the log (`gistread paths`)."

Answer = TypeVar("Answer", bound=messages.Answer)


@dataclass(eq=False, slots=True)
class _Pending:
    request: messages.Request
    replies: asyncio.Queue[messages.Reply | StreamRestarted | GistreadError] = field(default_factory=asyncio.Queue)
    attempts: int = 0


class SupervisedWorker(Observable):
    """A worker process, restarted when lost. `start` or the first request loads the model; await `close`."""

    def __init__(self, log: Path | None) -> None:
        """`log`: file for llama.cpp's messages."""
        super().__init__()
        self._log = log
        self._info: EngineInfo | None = None
        self._rates: dict[Phase, float] = {}  # Tokens a second
        self._worker: WorkerProcess | None = None
        self._lost = ""  # Why the last worker ended unexpectedly
        self._start = SingleFlight(self._start_worker, "engine-start")
        self._pending: dict[int, _Pending] = {}
        self._ids = itertools.count(1)

    @property
    def info(self) -> EngineInfo:
        """Raises EngineError before the model is loaded."""
        if self._info is None:
            raise EngineError("The model is not loaded yet.")
        return self._info

    @property
    def worker_pid(self) -> int | None:
        return self._worker.pid if self._worker else None

    async def _load_model(self) -> EngineInfo:
        """Load the model into a worker from `_new_worker`. Raises EngineError."""
        raise NotImplementedError

    def _measured_rates(self) -> Rates | None:
        """How fast the latest requests were worked on; None if there were none."""
        prefill, decode = self._rates.get(Phase.PREFILL), self._rates.get(Phase.DECODE)
        return Rates(prefill, decode) if prefill and decode else None

    async def start(self) -> EngineInfo:
        """Load the model. Idempotent. Raises EngineError."""
        if self._info is None or self._worker is None or self._start.under_way:
            await self._start.wait()
        return self.info

    async def close(self) -> None:
        """End the process and fail running requests. Idempotent."""
        if self._start.closed:
            return
        await self._start.close()
        await self._end_worker()
        self._fail(EngineError("The engine has been closed."))
        self.publish(EngineState(Phase.STOPPED))

    async def _new_worker(self) -> WorkerProcess:
        """Replace the worker by one without a model. Raises EngineError."""
        await self._end_worker()
        self._worker = await WorkerProcess.start(self._log, self._on_event, self._on_lost)
        return self._worker

    async def _end_worker(self) -> None:
        """End the process, which frees its memory."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()

    async def _start_worker(self) -> EngineInfo:
        lost, self._lost = self._lost, ""
        notice = f"The model's process ended ({lost}) and is being restarted." if lost else ""
        for pending in self._pending.values():
            pending.replies.put_nowait(StreamRestarted(notice))
        self.publish(EngineState(Phase.LOADING, fraction=0.0, notice=notice, is_fault=bool(lost)))
        try:
            self._info = await self._load_model()
            if self.worker_pid is None:
                raise EngineError("The model's process ended as soon as the model was loaded.", _SEE_LOG)
        except asyncio.CancelledError:
            await self._end_worker()
            self.publish(EngineState(Phase.STOPPED))
            raise
        except GistreadError as error:
            await self._end_worker()
            self._fail(error)
            self.publish(EngineState(Phase.FAILED, notice=error.message))
            raise
        self.publish(EngineState(Phase.IDLE, notice=notice, is_fault=bool(lost)))
        for pending in self._pending.values():
            self._submit(pending)
        return self._info

    def _on_event(self, event: messages.Event) -> None:
        match event:
            case messages.Status():
                if self._state.phase is not Phase.LOADING:  # The worker is idle before the load has finished here.
                    if event.tokens_per_s:
                        self._rates[event.phase] = event.tokens_per_s
                    self.publish(EngineState(event.phase, event.fraction, event.tokens_per_s, event.priority))
            case messages.LoadProgress():
                self.publish(replace(self._state, phase=Phase.LOADING, fraction=event.fraction))
            case messages.LoadAttempt():
                self.publish(EngineState(Phase.LOADING, fraction=0.0, notice=event.notice or self._state.notice))
            case messages.Loaded() | messages.LoadFailed():
                pass
            case reply:
                if pending := self._pending.get(reply.id):
                    pending.replies.put_nowait(reply)

    def _on_lost(self, worker: WorkerProcess, reason: str) -> None:
        if worker is not self._worker or self._start.under_way:  # the start under way reports it
            return
        self._worker = None
        self._lost = reason
        self._fail(
            EngineError(f"The model's process ended twice on the same request ({reason}).", _SEE_LOG), _MAX_ATTEMPTS
        )
        if self._pending:
            self._start.begin()
        else:
            notice = f"The model's process ended ({reason}). The next request starts it again."
            self.publish(EngineState(Phase.STOPPED, notice=notice, is_fault=True))

    def _fail(self, error: GistreadError, attempts: int = 0) -> None:
        for pending in tuple(self._pending.values()):
            if pending.attempts >= attempts:
                del self._pending[pending.request.id]
                pending.replies.put_nowait(error)

    async def _ask(self, request: messages.Request) -> AsyncGenerator[Delta | messages.Answer | StreamRestarted]:
        """Send a request and yield its replies; its id is set here. Raises PromptTooLongError, EngineError."""
        await self.start()
        pending = _Pending(replace(request, id=next(self._ids)))
        self._pending[pending.request.id] = pending
        self._submit(pending)
        ended = False
        try:
            while not ended:
                reply = await pending.replies.get()
                ended = not isinstance(reply, Delta | StreamRestarted)
                match reply:
                    case GistreadError():
                        raise reply
                    case messages.TooLong():
                        raise PromptTooLongError(reply.prompt_tokens, reply.answer_tokens, reply.context_tokens)
                    case messages.Failed():
                        raise EngineError(f"The model failed: {reply.message}.")
                    case messages.Cancelled():
                        pass
                    case _:
                        yield reply
        finally:
            self._pending.pop(pending.request.id, None)
            if not ended:
                self._send(Cancel(pending.request.id))

    async def _answer(self, request: messages.Request, kind: type[Answer]) -> Answer:
        """Send a request that has a single answer, of this kind. Raises as `_ask`."""
        async with contextlib.aclosing(self._ask(request)) as replies:
            async for reply in replies:
                if isinstance(reply, kind):
                    return reply
        raise EngineError("The model ended without an answer.")

    def _send(self, message: messages.Request | messages.Command) -> None:
        if self._worker is not None:
            self._worker.send(message)

    def _submit(self, pending: _Pending) -> None:
        pending.attempts += 1
        self._send(pending.request)
