"""One worker process: starts it, exchanges messages with it, loads and measures a model in it, ends it."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

import psutil

from gistread.atomic_write import make_folder, private_opener
from gistread.engine.llama import measurements, messages
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.measurements import Measurement
from gistread.engine.llama.messages import Event, LoadAttempt, Loaded, RatesMeasured
from gistread.errors import EngineError
from gistread.system import may_be_out_of_memory

_LINE_LIMIT_BYTES = 64 * 2**20
_CLOSE_WITHIN_S = 2.0
_OBSERVE_EVERY_S = 3.0
_LOG_LIMIT_BYTES = 2**20
_WORKER = "gistread.engine.llama.worker"
SPIN_COUNT = "2000"
"""Polls before an OpenMP thread that waits for the others sleeps: about 0.1 ms, at each of the hundreds of barriers of
a token. With GNU OpenMP's default of 300,000 a thread spins for 15 ms on a core that another thread needs. Beside a
busy process, a small model on two cores decodes 0.2 tokens a second with the default, and 8 to 18 with this value. On
an idle machine there is no difference."""


class LostWhileLoadingError(EngineError):
    """The worker ended unexpectedly before the model was loaded."""

    def __init__(self, status: int, attempt: LoadAttempt | None) -> None:
        super().__init__(
            f"The model's process ended while loading ({_reason(status)}).",
            "It may need more memory than there is: choose a smaller model, or see the log (`gistread paths`).",
        )
        # Killed by the system, or by a failed assertion, as after most failed allocations of llama.cpp.
        for_memory = may_be_out_of_memory(status)
        # Number of the layout to try next, if there is one and memory may have been the cause.
        self.next_layout: int | None = attempt.number + 1 if for_memory and attempt and attempt.remaining else None


class WorkerProcess:
    """A running worker. Create it with `start`; always await `end`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        on_event: Callable[[Event], None],
        on_lost: Callable[["WorkerProcess", str], None],
        on_suspended: Callable[[bool], None],
    ) -> None:
        self._process = process
        self._on_event = on_event
        self._on_lost = on_lost
        self._answer: asyncio.Future[Loaded | RatesMeasured] | None = None
        self._attempt: LoadAttempt | None = None
        self._listener = asyncio.create_task(self._listen(), name="engine-listener")
        self._observer = asyncio.create_task(self._observe(on_suspended), name="engine-observer")

    @classmethod
    async def start(
        cls,
        log: Path | None,
        on_event: Callable[[Event], None],
        on_lost: Callable[["WorkerProcess", str], None],
        on_suspended: Callable[[bool], None],
    ) -> "WorkerProcess":
        """Start a process. Raises EngineError.

        `on_lost` gets the reason if the process ends while no answer is awaited. `on_suspended` gets True when a
        signal stops the process, and False when it continues.
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
                    # ggml would start a debugger to print a backtrace, which takes seconds.
                    env={"GOMP_SPINCOUNT": SPIN_COUNT, **os.environ, "GGML_NO_BACKTRACE": "1"},
                )
            except OSError as error:
                raise EngineError(f"The model's process cannot be started: {error}.") from None
        return cls(process, on_event, on_lost, on_suspended)

    @property
    def pid(self) -> int | None:
        """None once the process has ended."""
        return self._process.pid if self._process.returncode is None else None

    def send(self, message: messages.Request | messages.Command) -> None:
        if self._process.stdin is not None:
            # A worker that has just ended is noticed by the listener.
            with contextlib.suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(messages.encode(message))

    async def load(self, message: messages.Load | messages.LoadEmbedder) -> Loaded:
        """Load a model; once in a worker's life. Raises EngineError; LostWhileLoadingError when the worker is lost."""
        answer = await self._answer_to(message)
        assert isinstance(answer, Loaded)
        return answer

    async def measure_rates(self) -> Measurement:
        """Measure the model; no rates when disturbed or memory is short. Raises EngineError when the worker is lost."""
        answer = await self._answer_to(messages.MeasureRates(measurements.UNDISTURBED_SHARE))
        assert isinstance(answer, RatesMeasured)
        return Measurement(answer.rates, answer.parallel)

    async def end(self) -> None:
        """Close the pipe, which ends the worker; kill it if it does not end in time."""
        self._listener.cancel()
        self._observer.cancel()
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

    async def _answer_to(self, message: messages.Command) -> Loaded | RatesMeasured:
        if self._process.returncode is not None:
            raise await self._lost_while_loading(self._process.returncode)
        self._answer = asyncio.get_running_loop().create_future()
        try:
            self.send(message)
            return await self._answer
        finally:
            self._answer = None

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ConnectionError):
            async for line in self._process.stdout:
                event = messages.decode(line)
                awaited = self._answer if self._answer is not None and not self._answer.done() else None
                match event:
                    case Loaded() | RatesMeasured():
                        if awaited:
                            awaited.set_result(event)
                    case messages.LoadFailed():
                        if awaited:
                            awaited.set_exception(EngineError(event.message, event.hint))
                    case _:
                        if isinstance(event, LoadAttempt):
                            self._attempt = event
                        self._on_event(event)
        status = await self._process.wait()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(await self._lost_while_loading(status))
        else:
            self._on_lost(self, _reason(status))

    async def _lost_while_loading(self, status: int) -> EngineError:
        if status == 1 and self._attempt is None:  # An exception in Python: check whether llama.cpp can be loaded.
            try:
                await asyncio.to_thread(ask_library)
            except EngineError as error:
                return error
        return LostWhileLoadingError(status, self._attempt)

    async def _observe(self, on_suspended: Callable[[bool], None]) -> None:
        was_suspended = False
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self._process.pid)
            while True:
                await asyncio.sleep(_OBSERVE_EVERY_S)
                is_suspended = process.status() == psutil.STATUS_STOPPED
                if is_suspended != was_suspended:
                    on_suspended(is_suspended)
                was_suspended = is_suspended


@contextlib.contextmanager
def open_log(path: Path | None) -> Iterator[FileIO | None]:
    """Open the log for appending, emptied first if it is large; None without a path or if it cannot be written."""
    file: FileIO | None = None
    if path is not None:
        with contextlib.suppress(OSError):
            make_folder(path.parent)
            large = path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES
            file = FileIO(path, "wb" if large else "ab", opener=private_opener)
    try:
        yield file
    finally:
        if file is not None:
            file.close()


def _reason(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"{name}, possibly out of memory" if may_be_out_of_memory(status) else name
