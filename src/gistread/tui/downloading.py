"""A model download in a thread with its own event loop, so that disk and checksums never delay the screen."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from gistread.engine.fetching.network import Network
from gistread.engine.fetching.plan import FetchedModel, Plan, discard, get
from gistread.engine.fetching.progress import Progress
from gistread.engine.fetching.text import progress_text, share_of
from gistread.errors import GistreadError


class DownloadPhase(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Download:
    """The state of a download at one moment."""

    plan: Plan
    phase: DownloadPhase = DownloadPhase.RUNNING
    progress: Progress | None = None
    number: int = 1
    """Of the file being downloaded."""
    problem: str = ""
    got: FetchedModel | None = None

    @property
    def words(self) -> str:
        match self.phase:
            case DownloadPhase.RUNNING:
                if self.progress is None:
                    return "starting"
                count = len(self.plan.files)
                return f"{self.share:.0%} · {progress_text(self.progress, self.number, count)}"
            case DownloadPhase.PAUSED:
                return f"paused at {self.share:.0%}"
            case DownloadPhase.FAILED:
                return f"stopped: {self.problem}"
        return "downloaded"

    @property
    def share(self) -> float:
        return share_of(self.progress) if self.progress else 0.0


class Downloads:
    """Owns the thread. One download at a time; a paused one resumes where it stopped, even in a later run."""

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        """`changed` is called in the app's event loop when the phase changes."""
        self.folder = folder
        self.state: Download | None = None
        self._changed = changed
        self._stop: Callable[[], None] = lambda: None
        self._ended: asyncio.Future[None] | None = None

    @property
    def running(self) -> bool:
        return self.state is not None and self.state.phase is DownloadPhase.RUNNING

    def start(self, plan: Plan, network: Network) -> None:
        """Start or resume a download. None may be running."""
        assert not self.running
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        self.state = Download(plan)
        stopped = threading.Event()
        inner: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[FetchedModel]]] = []

        def stop() -> None:
            stopped.set()
            for own_loop, task in inner:
                with contextlib.suppress(RuntimeError):  # it has just ended
                    own_loop.call_soon_threadsafe(task.cancel)

        async def work() -> FetchedModel:
            task = asyncio.current_task()
            assert task is not None
            inner.append((asyncio.get_running_loop(), task))
            if stopped.is_set():
                task.cancel()
            return await get(plan, self.folder, network, self._tell)

        def thread() -> None:
            got, problem, defect = None, "", None
            try:
                got = asyncio.run(work())
            except asyncio.CancelledError:
                pass
            except GistreadError as error:
                problem = str(error).replace("\n", " ")
            except Exception as error:
                defect = error
            with contextlib.suppress(RuntimeError):  # the app has ended
                loop.call_soon_threadsafe(self._end, got, problem, defect)

        self._stop = stop
        threading.Thread(target=thread, name="download", daemon=True).start()
        self._changed()

    def halt(self) -> None:
        """Stop soon, keeping the partial download."""
        self._stop()

    async def pause(self) -> None:
        """Stop, keeping the partial download. Idempotent."""
        self.halt()
        if self._ended is not None:
            await asyncio.shield(self._ended)

    async def cancel(self) -> None:
        """Stop, and discard the partial download. Raises FetchError while another process downloads it."""
        await self.pause()
        if self.state is not None and self.state.phase is not DownloadPhase.DONE:
            await asyncio.to_thread(discard, self.state.plan, self.folder)
        self.state = None
        self._changed()

    def _tell(self, progress: Progress, number: int, count: int) -> None:
        """Called in the thread; the next redraw shows it."""
        if self.state is not None:
            self.state = replace(self.state, progress=progress, number=number)

    def _end(self, got: FetchedModel | None, problem: str, defect: Exception | None) -> None:
        assert self.state is not None
        assert self._ended is not None
        phase = DownloadPhase.DONE if got else DownloadPhase.FAILED if problem else DownloadPhase.PAUSED
        self.state = replace(self.state, phase=phase, got=got, problem=problem)
        self._ended.set_result(None)
        if defect is not None:
            raise defect
        self._changed()
