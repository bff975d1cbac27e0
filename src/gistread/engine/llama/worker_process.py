"""One worker process: starts it, exchanges messages with it, loads a model in it, ends it."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

from gistread.child_process import python_command
from gistread.engine.llama import messages
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.messages import Event, LoadAttempt
from gistread.errors import EngineError
from gistread.store.files import make_folder, private_opener
from gistread.system import may_be_out_of_memory

log = logging.getLogger("gistread.engine")

_LINE_LIMIT_BYTES = 64 * 2**20
_CLOSE_WITHIN_S = 2.0
_LOG_LIMIT_BYTES = 2**20
_WORKER = "gistread.engine.llama.worker"
SPIN_COUNT = "2000"
"""Polls before an OpenMP thread that waits for the others sleeps: about 0.1 ms, at each of the
hundreds of barriers of a token. With GNU OpenMP's default of 300,000 a thread spins for 15 ms on a
core that another thread needs. Beside a busy process, a small model on two cores decodes 0.2 tokens
a second with the default, and 8 to 18 with this value. On an idle machine there is no difference.
"""


class LoadError(EngineError):
    """`next_layout`: number of the layout to try next, if there is one that may succeed."""

    def __init__(
        self,
        message: str,
        hint: str,
        attempt: LoadAttempt | None,
        *,
        next_may_succeed: bool,
    ) -> None:
        """`attempt`: the layout announced last; None if the load failed before."""
        super().__init__(message, hint)
        self.next_layout: int | None = None
        if next_may_succeed and attempt and attempt.remaining:
            self.next_layout = attempt.number + 1


class WorkerProcess:
    """A worker. Await `start` first; once it has started, always await `end`."""

    _process: asyncio.subprocess.Process

    def __init__(
        self,
        on_event: Callable[[int, Event], None],
        on_lost: Callable[["WorkerProcess", str], None],
    ) -> None:
        """`on_lost` gets the reason if the process ends once the model is loaded."""
        self._on_event = on_event
        self._on_lost = on_lost
        self._listener: asyncio.Task[None] | None = None  # Once the model is loaded

    async def start(self, log_path: Path | None) -> None:
        """Start the process; what it prints is appended to the log. Raises EngineError."""
        environment = {
            "GOMP_SPINCOUNT": SPIN_COUNT,  # Unless the user has set another
            **os.environ,
            # ggml would start a debugger to print a backtrace, which takes seconds.
            "GGML_NO_BACKTRACE": "1",
            # The matrices of an adapter are too narrow for more threads to pay.
            "OPENBLAS_NUM_THREADS": "1",
        }
        # Messages have a socket of their own: nothing that llama.cpp or `sitecustomize` prints
        # mixes with them.
        ours, theirs = socket.socketpair()
        with theirs, _open_log(log_path) as log_file:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *python_command(_WORKER, str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log_file,
                    stderr=log_file,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                    env=environment,
                )
            except BaseException as error:
                ours.close()
                if isinstance(error, OSError):
                    problem = f"The model's process cannot be started: {error}."
                    raise EngineError(problem) from None
                raise
        self._incoming, self._outgoing = await asyncio.open_unix_connection(
            sock=ours, limit=_LINE_LIMIT_BYTES
        )

    @property
    def pid(self) -> int | None:
        """None once the process has ended."""
        if self._process.returncode is not None:
            return None
        return self._process.pid

    def send(
        self, message: messages.Request | messages.Command, request_id: int = 0
    ) -> None:
        # The listener notices a worker that has ended.
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._outgoing.write(messages.encode(message, request_id))

    async def load(self, message: messages.Load) -> messages.Loaded:
        """Load a model; once in a worker's life.

        Raises LoadError, and EngineError if llama.cpp cannot be used.
        """
        attempt: LoadAttempt | None = None
        self.send(message)
        while (received := await self._receive()) is not None:
            request_id, event = received
            match event:
                case messages.Loaded():
                    listening = self._listen()
                    self._listener = asyncio.create_task(
                        listening, name="engine-listener"
                    )
                    return event
                case messages.Failed():
                    raise LoadError(
                        event.message,
                        event.hint,
                        attempt,
                        next_may_succeed=event.next_may_succeed,
                    )
                case LoadAttempt():
                    attempt = event
            self._on_event(request_id, event)
        status = await self._wait()
        # An exception in Python: check whether llama.cpp can be loaded.
        if status == 1 and attempt is None:
            await asyncio.to_thread(ask_library)
        raise LoadError(
            f"The model's process ended while loading ({_reason(status)}).",
            "It may need more memory than there is: choose a smaller model, or see the log "
            "(`gistread paths`).",
            attempt,
            # Killed by the system, or by a failed assertion, as after most failed allocations of
            # llama.cpp.
            next_may_succeed=may_be_out_of_memory(status),
        )

    async def end(self) -> None:
        """Close the connection, which ends the worker; kill it if it does not end in time."""
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener
        self._outgoing.close()
        await self._wait()

    async def _listen(self) -> None:
        """Pass on events until the worker closes the connection."""
        while (received := await self._receive()) is not None:
            self._on_event(*received)
        status = await self._wait()
        self._on_lost(self, _reason(status))

    async def _receive(self) -> tuple[int, Any] | None:
        """The next message with its id; None when the worker has closed the connection."""
        while True:
            try:
                line = await self._incoming.readline()
                if not line:
                    return None
                return messages.decode(line)
            except ConnectionError:
                return None
            except ValueError as error:  # No message, or longer than the limit
                log.warning("From the worker: %s", error)

    async def _wait(self) -> int:
        """Wait for the end of a process that has closed its connection, or kill it.

        Returns its exit status.
        """
        try:
            return await asyncio.wait_for(self._process.wait(), _CLOSE_WITHIN_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            return await self._process.wait()


def _open_log(path: Path | None) -> FileIO:
    """Open the log for appending, emptied first if it is large.

    The null device without a path, or if the log cannot be opened.
    """
    if path is not None:
        with contextlib.suppress(OSError):
            make_folder(path.parent)
            is_large = path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES
            return FileIO(path, "wb" if is_large else "ab", opener=private_opener)
    return FileIO(os.devnull, "wb")


def _reason(status: int) -> str:
    """Why a process ended, by its exit status: `SIGKILL, possibly out of memory`."""
    if status >= 0:
        return f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    if may_be_out_of_memory(status):
        return f"{name}, possibly out of memory"
    return name
