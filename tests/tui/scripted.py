"""An engine that a test lets go step by step, and the app around it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import EngineInfo, EngineState, Phase, Priority, Prompt, Sampling, Usage
from gistread.paths import Paths
from gistread.tui.app import GistreadApp
from tests.fake_engine import FakeEngine


class SteppedEngine(FakeEngine):
    """A fake whose state can be watched, and which waits before every request while `gate` is not set."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.gate = asyncio.Event()
        self.gate.set()
        self.load_gate = asyncio.Event()
        self.load_gate.set()
        self.closed = False
        self._state = EngineState(Phase.STOPPED)
        self._watchers: list[Callable[[EngineState], None]] = []

    @property
    def state(self) -> EngineState:
        return self._state

    def be(self, state: EngineState) -> None:
        """Change the state, and tell."""
        self._state = state
        for watcher in self._watchers:
            watcher(state)

    def watch(self, callback: Callable[[EngineState], None]) -> Callable[[], None]:
        self._watchers.append(callback)
        return lambda: self._watchers.remove(callback)

    async def start(self) -> EngineInfo:
        self.be(EngineState(Phase.LOADING, fraction=0.4))
        await self.load_gate.wait()
        self.be(EngineState(Phase.IDLE))
        return self._info

    async def close(self) -> None:
        self.closed = True
        self.be(EngineState(Phase.STOPPED))

    async def _take(
        self, kind: str, prompt: Prompt, options: tuple[str, ...], sampling: Sampling, priority: Priority
    ) -> Usage:
        self.be(EngineState(Phase.DECODE, tokens_per_s=41, priority=priority))
        try:
            await self.gate.wait()
            return await super()._take(kind, prompt, options, sampling, priority)
        finally:
            self.be(EngineState(Phase.IDLE))


def paths_in(folder: Path) -> Paths:
    return Paths(folder / "config", folder / "data", folder / "cache", folder / "state")


def app_on(
    book: Book | Path | None, folder: Path, engine: FakeEngine | None = None, config: Config | None = None
) -> GistreadApp:
    """The app on this book; with an engine, as if a model were chosen already."""
    return GistreadApp(
        book,
        paths=paths_in(folder),
        config=config or Config(),
        model="fake" if engine else "",
        make_engine=(lambda model: engine) if engine else None,
    )
