"""The local engine as the rest of the program sees it: a client of the worker process.

Starts the worker, loads the model, sends requests, hands out what comes back. When the worker is lost (killed,
or an assertion of llama.cpp ended it) it is started again and every running request is asked again, once; a
request that loses two workers fails. Cancelling the task that awaits a request stops it in the worker.

Knows the messages of requests; knows neither llama.cpp nor what the requests are for.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gistread.config import FastWeights, KvCache
from gistread.engine.llama.fast_weights import make_copy
from gistread.engine.llama.forms import Chosen, Loaded, Steps, load_fastest
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.measured import Measured
from gistread.engine.llama.messages import LOAD_ID, Message
from gistread.engine.llama.worker_process import WorkerProcess, open_log
from gistread.engine.protocol import (
    GREEDY,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
    Likelihood,
    Phase,
    Priority,
    Prompt,
    Restarted,
    Sampling,
    StreamEvent,
    TextDelta,
    Usage,
)
from gistread.errors import EngineError, GistreadError, PromptTooLongError

_MAX_ATTEMPTS = 2

_ENDS = ("done", "chosen", "counted", "prepared", "scored", "cancelled", "error", "refused")
"""The last message to a request is one of these."""
SNAPSHOTS = "snapshots"
"""Folder of the KV snapshots within the cache."""


@dataclass(eq=False, slots=True)
class _Request:
    """One message to the worker and everything that comes back for it."""

    id: int
    kind: str
    content: dict[str, object]
    events: asyncio.Queue[Message | GistreadError] = field(default_factory=asyncio.Queue)
    attempts: int = 0


class LlamaEngine:
    """An `Engine` (see `engine/protocol.py`) over one GGUF file."""

    def __init__(
        self,
        model_path: Path,
        *,
        context_tokens: int | None = None,
        log: Path | None = None,
        cache: Path | None = None,
        snapshots: Path | None = None,
        fast_weights: FastWeights = "ask",
        kv_cache: KvCache = "f16",
    ) -> None:
        """`context_tokens`: the window; None for the default. `log`: where llama.cpp's messages go, if anywhere.

        `cache`: the directory in which measurements and faster copies of weights are kept; None: nothing is measured
        or converted. `snapshots`: the directory of KV snapshots; None: a folder in `cache`, if there is one.
        `fast_weights`: whether faster copies may be made. `kv_cache`: what the numbers of the KV cache are kept as.
        """
        self._path = model_path
        self._context_tokens = context_tokens
        self._log_path = log
        self._cache = cache
        self._snapshots = snapshots or (cache / SNAPSHOTS if cache else None)
        self._fast_weights = fast_weights
        self._kv_cache = kv_cache
        self._info: EngineInfo | None = None
        self._state = EngineState(Phase.STOPPED)
        self._watchers: list[Callable[[EngineState], None]] = []
        self._worker: WorkerProcess | None = None
        self._starting: asyncio.Task[EngineInfo] | None = None
        self._requests: dict[int, _Request] = {}
        self._ids = itertools.count(LOAD_ID + 1)
        self._closed = False

    # State.

    @property
    def info(self) -> EngineInfo:
        if self._info is None:
            raise EngineError("The model is not loaded yet.")
        return self._info

    @property
    def state(self) -> EngineState:
        return self._state

    @property
    def worker_pid(self) -> int | None:
        """Of the running worker process."""
        return self._worker.pid if self._worker else None

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        self._watchers.append(callback)

        def unwatch() -> None:
            with contextlib.suppress(ValueError):
                self._watchers.remove(callback)

        return unwatch

    def _tell(self, state: EngineState) -> None:
        self._state = state
        for callback in tuple(self._watchers):
            callback(state)

    # Life.

    async def start(self) -> EngineInfo:
        if self._closed:
            raise EngineError("The engine has been closed.")
        if self._info is not None and self.worker_pid is not None:
            return self._info
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(), name="engine-start")
        try:
            return await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if not self._starting.done():  # it is the caller who was cancelled: nobody wants the model any more
                self._starting.cancel()
                with contextlib.suppress(asyncio.CancelledError, GistreadError):
                    await self._starting
            raise

    async def _start(self, notice: str = "") -> EngineInfo:
        """Start a worker and load the model into it."""
        self._tell(EngineState(Phase.LOADING, fraction=0.0, notice=notice))
        try:
            header = await asyncio.to_thread(read_header, self._path)
            chosen = await self._load_model(header)
        except asyncio.CancelledError:
            await self._end_worker()
            self._tell(EngineState(Phase.STOPPED))
            raise
        except GistreadError as error:
            await self._end_worker()
            self._tell(EngineState(Phase.FAILED, notice=error.message))
            raise
        self._info = EngineInfo(
            name=header.name,
            fingerprint=header.fingerprint,
            context_tokens=chosen.loaded.context_tokens,
            device=chosen.loaded.device,
            parallel=chosen.measured.parallel,
            rates=chosen.measured.rates,
            weights=chosen.weights,
        )
        self._tell(EngineState(Phase.IDLE, notice=notice))
        return self._info

    async def _load_model(self, header: GgufHeader) -> Chosen:
        if self._cache is None:
            loaded = await self._load(self._path, header)
            return Chosen(loaded, Measured(None, loaded.parallel), header.quantization)
        steps = Steps(lambda path: self._load(path, header), self._measure_rates, self._make_copy)
        chosen = await load_fastest(steps, header, self._cache, self._fast_weights)
        self._send("configure", parallel=chosen.measured.parallel)
        return chosen

    async def _load(self, path: Path, header: GgufHeader) -> Loaded:
        await self._end_worker()
        self._worker = await WorkerProcess.start(self._log_path, self._dispatch, self._on_lost)
        snapshots = None
        if self._snapshots is not None:
            form = "itself" if path == self._path else "a copy"
            snapshots = {"directory": str(self._snapshots), "model": f"{header.fingerprint} {form}"}
        return await self._worker.load(
            path, context_tokens=self._context_tokens, kv_type=self._kv_cache, snapshots=snapshots
        )

    async def _measure_rates(self) -> Measured:
        assert self._worker is not None
        return await self._worker.measure_rates()

    async def _make_copy(self, header: GgufHeader, folder: Path) -> Path | None:
        await self._end_worker()
        notice = f"A faster copy of {header.name} is made, once."

        def progress(share: float) -> None:
            self._tell(EngineState(Phase.LOADING, fraction=share, notice=notice))

        progress(0.0)
        with open_log(self._log_path) as log:
            return await make_copy(header, folder, log=log, progress=progress)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            with contextlib.suppress(asyncio.CancelledError, GistreadError):
                await self._starting
        await self._end_worker()
        self._fail_all(EngineError("The engine has been closed."))
        self._tell(EngineState(Phase.STOPPED))

    async def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.end()

    # What comes from the worker.

    def _send(self, kind: str, **content: object) -> None:
        if self._worker is not None:
            self._worker.send(kind, **content)

    def _dispatch(self, message: Message) -> None:
        match message["kind"]:
            case "state" if self._state.phase is Phase.LOADING:
                pass  # Idle, as far as the worker is concerned; there is more to be done before it can be used.
            case "state":
                self._tell(
                    EngineState(
                        phase=Phase(message["phase"]),
                        fraction=message["fraction"],
                        tokens_per_s=message["tokens_per_s"],
                        priority=None if message["priority"] is None else Priority(message["priority"]),
                    )
                )
            case "loading":
                self._tell(EngineState(Phase.LOADING, fraction=message["fraction"], notice=self._state.notice))
            case _:
                if request := self._requests.get(message.get("id", -1)):
                    request.events.put_nowait(message)

    def _on_lost(self, worker: WorkerProcess, reason: str) -> None:
        """The worker has ended without being asked to."""
        if worker is not self._worker:
            return
        self._worker = None
        error = EngineError(
            f"The model's process ended twice on the same request ({reason}).",
            "Choose another model, or see the log (`gistread paths`).",
        )
        for request in tuple(self._requests.values()):
            if request.attempts >= _MAX_ATTEMPTS:
                request.events.put_nowait(error)
        notice = f"The model's process ended ({reason}); it is started again."
        self._starting = asyncio.create_task(self._restart(notice), name="engine-restart")
        # Its failure is told to the requests; where none is running, nobody awaits the task itself.
        self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _restart(self, notice: str) -> EngineInfo:
        for request in self._requests.values():
            request.events.put_nowait({"kind": "restarted", "reason": notice})
        try:
            info = await self._start(notice)
        except GistreadError as error:
            self._fail_all(error)
            raise
        for request in self._requests.values():
            self._submit(request)
        return info

    def _fail_all(self, error: GistreadError) -> None:
        for request in self._requests.values():
            request.events.put_nowait(error)

    # Requests.

    async def count(self, text: str) -> int:
        return await self._counted("count", text=text)

    async def measure(self, prompt: Prompt) -> int:
        return await self._counted("measure", prompt=prompt)

    async def stream(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.PERSON
    ) -> AsyncGenerator[StreamEvent]:
        async with contextlib.aclosing(
            self._ask("generate", prompt=prompt, sampling=sampling, priority=priority)
        ) as messages:
            async for message in messages:
                match message["kind"]:
                    case "delta":
                        yield TextDelta(message["text"], Usage(**message["usage"]))
                    case "restarted":
                        yield Restarted(message["reason"])
                    case "done":
                        yield Completion(message["text"], message["finish"], Usage(**message["usage"]))

    async def complete(
        self, prompt: Prompt, sampling: Sampling = GREEDY, priority: Priority = Priority.PERSON
    ) -> Completion:
        async with contextlib.aclosing(self.stream(prompt, sampling, priority)) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return event
        raise EngineError("The model ended without an answer.")

    async def choose(self, prompt: Prompt, options: Sequence[str], priority: Priority = Priority.PERSON) -> Choice:
        if not options or len(set(options)) < len(options) or not all(options):
            raise ValueError(f"options must be distinct and not empty: {options!r}")
        answer = await self._last("choose", prompt=prompt, options=list(options), priority=priority)
        return Choice(answer["index"], answer["probability"], Usage(**answer["usage"]))

    async def likelihood(
        self, prompt: Prompt, continuation: str, priority: Priority = Priority.PERSON
    ) -> Likelihood | None:
        if not continuation:
            raise ValueError("a continuation must not be empty")
        answer = await self._last("score", prompt=prompt, continuation=continuation, priority=priority)
        return Likelihood(answer["mean"], answer["tokens"], Usage(**answer["usage"]))

    async def prepare(self, prompt: Prompt, priority: Priority = Priority.BACKGROUND) -> Usage:
        return Usage(**(await self._last("prepare", prompt=prompt, priority=priority))["usage"])

    async def _counted(self, kind: str, **content: object) -> int:
        return int((await self._last(kind, **content))["tokens"])

    async def _last(self, kind: str, **content: object) -> Message:
        async with contextlib.aclosing(self._ask(kind, **content)) as messages:
            async for message in messages:
                if message["kind"] in ("chosen", "counted", "prepared", "scored"):
                    return message
        raise EngineError("The model ended without an answer.")

    async def _ask(self, kind: str, **content: object) -> AsyncGenerator[Message]:
        """Everything the worker says to one request, the last message included."""
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
            del self._requests[request.id]
            if not ended:
                self._send("cancel", id=request.id)

    def _submit(self, request: _Request) -> None:
        request.attempts += 1
        self._send(request.kind, id=request.id, **request.content)
