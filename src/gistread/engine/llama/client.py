"""The local engine as the rest of the program sees it: a client of the worker process.

Starts the worker, loads the model, sends requests, hands out what comes back. When the worker is lost (killed,
or an assertion of llama.cpp ended it) it is started again and every running request is asked again, once; a
request that loses two workers fails. Cancelling the task that awaits a request stops it in the worker.

Knows the pipe and the messages on it; knows neither llama.cpp nor what the requests are for.
"""

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.messages import LOAD_ID, Message, decode, encode
from gistread.engine.protocol import (
    GREEDY,
    Choice,
    Completion,
    EngineInfo,
    EngineState,
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

_LINE_LIMIT_BYTES = 64 * 2**20
_MAX_ATTEMPTS = 2
_CLOSE_WITHIN_S = 2.0
_LOG_LIMIT_BYTES = 2**20
_WORKER = "gistread.engine.llama.worker"


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

    def __init__(self, model_path: Path, *, context_tokens: int | None = None, log: Path | None = None) -> None:
        """`context_tokens`: the window; None for the default. `log`: where llama.cpp's messages go, if anywhere."""
        self._path = model_path
        self._context_tokens = context_tokens
        self._log_path = log
        self._header: GgufHeader | None = None
        self._info: EngineInfo | None = None
        self._state = EngineState(Phase.STOPPED)
        self._watchers: list[Callable[[EngineState], None]] = []
        self._process: asyncio.subprocess.Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[EngineInfo] | None = None
        self._loaded: asyncio.Future[Message] | None = None
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
        return self._process.pid if self._process and self._process.returncode is None else None

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
            self._header = await asyncio.to_thread(read_header, self._path)
            await self._spawn()
            self._loaded = asyncio.get_running_loop().create_future()
            self._send("load", path=str(self._path), context_tokens=self._context_tokens)
            answer = await self._loaded
        except asyncio.CancelledError:
            await self._end_worker()
            self._tell(EngineState(Phase.STOPPED))
            raise
        except GistreadError as error:
            await self._end_worker()
            self._tell(EngineState(Phase.FAILED, notice=error.message))
            raise
        finally:
            self._loaded = None
        self._info = EngineInfo(
            name=self._header.name,
            fingerprint=self._header.fingerprint,
            context_tokens=answer["context_tokens"],
            device=answer["device"],
        )
        self._tell(EngineState(Phase.IDLE, notice=notice))
        return self._info

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

    async def _spawn(self) -> None:
        with self._log_file() as log:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    _WORKER,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log if log is not None else asyncio.subprocess.DEVNULL,
                    limit=_LINE_LIMIT_BYTES,
                    start_new_session=True,
                )
            except OSError as error:
                raise EngineError(f"The model's process cannot be started: {error}.") from None
        self._listener = asyncio.create_task(self._listen(self._process), name="engine-listener")

    @contextlib.contextmanager
    def _log_file(self) -> Iterator[BinaryIO | None]:
        """The log, begun anew when it has grown large; None when there is none or it cannot be written."""
        file: BinaryIO | None = None
        if self._log_path is not None:
            with contextlib.suppress(OSError):
                self._log_path.parent.mkdir(parents=True, exist_ok=True)
                large = self._log_path.exists() and self._log_path.stat().st_size > _LOG_LIMIT_BYTES
                file = self._log_path.open("wb" if large else "ab")
        try:
            yield file
        finally:
            if file is not None:
                file.close()

    async def _end_worker(self) -> None:
        """Close the pipe, which ends the worker; kill it when it does not end soon."""
        process, self._process = self._process, None
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _CLOSE_WITHIN_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    # The pipe.

    def _send(self, kind: str, **content: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            # A worker that has just died is noticed by the listener; what is written to it is asked again.
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(encode(kind, **content))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with contextlib.suppress(ConnectionError):
            async for line in process.stdout:
                self._dispatch(decode(line))
        status = await process.wait()
        if process is self._process:
            self._on_lost(_reason(status))

    def _dispatch(self, message: Message) -> None:
        match message["kind"]:
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
            case "ready" if self._loaded is not None and not self._loaded.done():
                self._loaded.set_result(message)
            case "failed" if self._loaded is not None and not self._loaded.done():
                self._loaded.set_exception(EngineError(message["message"], message["hint"]))
            case _:
                if request := self._requests.get(message.get("id", -1)):
                    request.events.put_nowait(message)

    def _on_lost(self, reason: str) -> None:
        """The worker has ended without being asked to."""
        self._process = None
        if self._loaded is not None and not self._loaded.done():
            hint = "It may need more memory than there is: choose a smaller model, or see the log (`gistread paths`)."
            self._loaded.set_exception(EngineError(f"The model's process ended while loading ({reason}).", hint))
            return
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
                        yield TextDelta(message["text"])
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

    async def _counted(self, kind: str, **content: object) -> int:
        return int((await self._last(kind, **content))["tokens"])

    async def _last(self, kind: str, **content: object) -> Message:
        async with contextlib.aclosing(self._ask(kind, **content)) as messages:
            async for message in messages:
                if message["kind"] in ("chosen", "counted"):
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
                ended = message["kind"] in ("done", "chosen", "counted", "cancelled", "error", "refused")
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


def _reason(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{name}, perhaps for lack of memory" if name == "SIGKILL" and os.name == "posix" else name
