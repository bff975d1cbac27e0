"""One worker process: how it is started, spoken to and ended, and how it is asked to load and measure a model.

Knows the pipe and the few messages before a model is ready; all others it hands on, and says when the process is
lost. What requests are, only the client knows.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gistread.engine.llama import measurements
from gistread.engine.llama.measurements import Measurement
from gistread.engine.llama.messages import Message, decode, encode
from gistread.engine.llama.weight_variants import Loaded
from gistread.engine.protocol import Placement, Rates
from gistread.errors import EngineError

_LINE_LIMIT_BYTES = 64 * 2**20
_CLOSE_WITHIN_S = 2.0
_LOG_LIMIT_BYTES = 2**20
_WORKER = "gistread.engine.llama.worker"
_UNMEASURED_PARALLEL = 4
SPIN_COUNT = "2000"
"""How often a thread that waits for the others looks again before it sleeps: some 0.1 ms, at each of the hundreds of
barriers of a token. GNU OpenMP's own 300,000 are 15 ms, in which it holds the core that another thread needs to come
there. Beside a busy process a small model on two cores decodes 0.2 tokens a second with them, and 8 to 18 with these.
Alone on the machine there is no difference."""


@dataclass(frozen=True, slots=True)
class LoadedEmbedder:
    """What the worker says of a model that it has loaded to make vectors."""

    context_tokens: int
    """Of one text."""
    dimension: int
    device: str


class LostWhileLoadingError(EngineError):
    """The worker ended by itself before the model was there."""

    def __init__(self, status: int, trying: Message | None) -> None:
        super().__init__(
            f"The model's process ended while loading ({_reason(status)}).",
            "It may need more memory than there is: choose a smaller model, or see the log (`gistread paths`).",
        )
        # By the system, or by itself: much of what llama.cpp cannot allocate is a failed assertion.
        for_memory = -status in (signal.SIGABRT, getattr(signal, "SIGKILL", None))
        self.next_layout: int | None = trying["number"] + 1 if for_memory and trying and trying["left"] else None
        """The number of the layout to try next, where there is one and memory may have been what was missing."""


class WorkerProcess:
    """A running worker. `start` makes one; `end` has to be awaited whatever happens."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        on_message: Callable[[Message], None],
        on_lost: Callable[["WorkerProcess", str], None],
    ) -> None:
        self._process = process
        self._on_message = on_message
        self._on_lost = on_lost
        self._answer: asyncio.Future[Message] | None = None
        """To `load` or `measure_rates`, while one is awaited."""
        self._trying: Message | None = None
        """What the load was at, when it was heard of last."""
        self._listener = asyncio.create_task(self._listen(), name="engine-listener")

    @classmethod
    async def start(
        cls,
        log: Path | None,
        on_message: Callable[[Message], None],
        on_lost: Callable[["WorkerProcess", str], None],
    ) -> "WorkerProcess":
        """`on_lost` is called, with how it ended, when the process ends by itself and nothing here is awaited.

        Raises EngineError.
        """
        with open_log(log) as file:
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    _WORKER,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=file if file is not None else asyncio.subprocess.DEVNULL,
                    limit=_LINE_LIMIT_BYTES,
                    start_new_session=True,
                    # ggml has a debugger write where it failed, for which a person would wait.
                    env={"GOMP_SPINCOUNT": SPIN_COUNT, **os.environ, "GGML_NO_BACKTRACE": "1"},
                )
            except OSError as error:
                raise EngineError(f"The model's process cannot be started: {error}.") from None
        return cls(process, on_message, on_lost)

    @property
    def pid(self) -> int | None:
        """None: it has ended."""
        return self._process.pid if self._process.returncode is None else None

    def send(self, kind: str, **content: object) -> None:
        """A worker that has just died is noticed by the listener: nothing is raised here."""
        if self._process.stdin is not None:
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(encode(kind, **content))

    async def load(self, path: Path, **how: object) -> Loaded:
        """Load a model; once in a worker's life. `how`: as `messages.py` says.

        Raises LostWhileLoadingError when the worker is lost, EngineError when the model cannot be used.
        """
        ready = await self._answer_to("load", path=str(path), **how)
        known = {name: ready[name] for name in Loaded.__dataclass_fields__}
        return Loaded(**{**known, "placement": Placement(**ready["placement"])})

    async def load_embedder(self, path: Path, pooling: int) -> LoadedEmbedder:
        """Load a model that makes vectors, in place of one that writes. Raises as `load`."""
        ready = await self._answer_to("load_embedder", path=str(path), pooling=pooling)
        return LoadedEmbedder(**{name: ready[name] for name in LoadedEmbedder.__dataclass_fields__})

    async def measure_rates(self) -> Measurement:
        """How fast the loaded model is; without rates when other programs are at work, or memory is short.

        Raises EngineError when the worker is lost over it.
        """
        answer = await self._answer_to("measure_rates", least_share=measurements.UNDISTURBED_SHARE)
        rates = answer["rates"]
        if rates is None:
            return Measurement(None, _UNMEASURED_PARALLEL)
        return Measurement(Rates(rates["prefill"], tuple((n, rate) for n, rate in rates["decode"])), answer["parallel"])

    async def end(self) -> None:
        """Close the pipe, which ends the worker; kill it when it does not end soon."""
        self._listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listener
        if self._process.returncode is not None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _CLOSE_WITHIN_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _answer_to(self, kind: str, **content: object) -> Message:
        if self._process.returncode is not None:
            raise LostWhileLoadingError(self._process.returncode, self._trying)
        self._answer = asyncio.get_running_loop().create_future()
        try:
            self.send(kind, **content)
            return await self._answer
        finally:
            self._answer = None

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ConnectionError):
            async for line in self._process.stdout:
                self._receive(decode(line))
        status = await self._process.wait()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(LostWhileLoadingError(status, self._trying))
        else:
            self._on_lost(self, _reason(status))

    def _receive(self, message: Message) -> None:
        match message["kind"]:
            case "ready" | "measured" if self._answer is not None and not self._answer.done():
                self._answer.set_result(message)
            case "failed" if self._answer is not None and not self._answer.done():
                self._answer.set_exception(EngineError(message["message"], message["hint"]))
            case _:
                if message["kind"] == "trying":
                    self._trying = message
                self._on_message(message)


@contextlib.contextmanager
def open_log(path: Path | None) -> Iterator[BinaryIO | None]:
    """The log, begun anew when it has grown large; None when there is none or it cannot be written."""
    file: BinaryIO | None = None
    if path is not None:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            large = path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES
            file = path.open("wb" if large else "ab")
    try:
        yield file
    finally:
        if file is not None:
            file.close()


def _reason(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{name}, perhaps for lack of memory" if name == "SIGKILL" and os.name == "posix" else name
