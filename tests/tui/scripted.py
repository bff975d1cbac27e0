"""An engine that a test releases step by step, and the app around it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.concurrency import Observable
from gistread.engine.protocol import (
    EngineInfo,
    EngineState,
    Phase,
    Priority,
    Prompt,
    Sampling,
    Usage,
)
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, ReaderEvent
from gistread.readers.steering import Steering
from gistread.session.events import ReadingState
from gistread.tui.app import GistreadApp
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.services import Opening
from tests.fake_engine import FakeEngine
from tests.folders import paths_in as paths_in


class SteppedEngine(FakeEngine):
    """A fake whose state can be watched; while `gate` is not set, every request waits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.gate = asyncio.Event()
        self.gate.set()
        self.load_gate = asyncio.Event()
        self.load_gate.set()
        self.stop_after: int | None = None
        """Requests after which the gate closes by itself."""
        self.stopped = asyncio.Event()
        """It has."""
        self.pace_s = 0.0
        """How long each request takes."""
        self.closed = False
        self._watched = Observable()
        self.be = self._watched.publish
        self.watch = self._watched.watch

    @property
    def state(self) -> EngineState:
        return self._watched.state

    async def start(self) -> EngineInfo:
        self.be(EngineState(Phase.LOADING, fraction=0.4))
        await self.load_gate.wait()
        self.be(EngineState(Phase.IDLE))
        return self._info

    async def close(self) -> None:
        self.closed = True
        self.be(EngineState(Phase.STOPPED))

    async def _take(
        self,
        kind: str,
        prompt: Prompt,
        options: tuple[str, ...],
        sampling: Sampling,
        priority: Priority,
    ) -> Usage:
        self.be(EngineState(Phase.DECODE, tokens_per_s=41, priority=priority))
        try:
            if self.stop_after is not None and len(self.calls) >= self.stop_after:
                self.stop_after = None
                self.gate.clear()
                self.stopped.set()
            await self.gate.wait()
            await asyncio.sleep(self.pace_s)
            # Comparing with every earlier prompt takes longer than the tests.
            self._seen.clear()
            return await super()._take(kind, prompt, options, sampling, priority)
        finally:
            self.be(EngineState(Phase.IDLE))


def app_on(
    book: Book | Path | None,
    folder: Path,
    engine: FakeEngine | None = None,
    config: Config | None = None,
    look_at: Opening | None = None,
) -> GistreadApp:
    """The app on this book; with an engine, as if a model were chosen already."""
    return GistreadApp(
        book,
        paths=paths_in(folder),
        config=config or Config(min_words=40, max_words=90),
        model="fake" if engine else "",
        make_engine=(lambda model: engine) if engine else None,
        look_at=look_at,
    )


class ScriptedReader:
    """A reader that says what the test puts into it, and keeps what it was given."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[ReaderEvent] = asyncio.Queue()
        self.questions: list[str] = []
        self.has_question = asyncio.Event()
        """A question has come since this was cleared."""
        self.steering = Steering()
        self.options = ReaderOptions()
        self.pages_read = 0
        self.text_length = 0  # of the part of the book it may use

    def say(self, *events: ReaderEvent) -> None:
        for event in events:
            self._events.put_nowait(event)

    async def __call__(self, asking: Asking) -> AsyncGenerator[ReaderEvent, None]:
        self.questions.append(asking.question)
        self.has_question.set()
        self.steering = asking.steering
        self.options = asking.options
        self.pages_read = len(asking.memory.entries)
        self.text_length = len(asking.memory.book.text)
        while True:
            event = await self._events.get()
            yield event
            if isinstance(event, Answered):
                return


async def until(
    pilot: Pilot[None], holds: Callable[[], object], seconds: float = 30.0
) -> None:
    """Wait until the condition holds and the screen has been drawn.

    Returns at once if a defect has ended the app: leaving `run_test` raises it.
    """
    waited, delay = 0.0, 0.02
    while not holds():
        if pilot.app._exception is not None:
            return
        if waited > seconds:
            raise AssertionError(
                "it did not come to hold; the screen shows\n" + text_of(pilot.app)
            )
        await asyncio.sleep(delay)
        waited += delay
        delay = min(0.08, 1.2 * delay)  # A look at the screen takes milliseconds.
    await pilot.pause()


async def until_shown(pilot: Pilot[None], *words: str) -> None:
    """Wait until all of these are on the screen."""

    def all_are_shown() -> bool:
        screen = text_of(pilot.app)
        return all(each in screen for each in words)

    await until(pilot, all_are_shown)


async def until_gone(pilot: Pilot[None], words: str) -> None:
    """Wait until these are no longer on the screen."""
    await until(pilot, lambda: words not in text_of(pilot.app))


async def type_text(pilot: Pilot[None], text: str) -> None:
    """Put text into the focused line at once, as by pasting.

    Each key takes ten milliseconds or more.
    """
    focused = pilot.app.focused
    assert isinstance(focused, Input)
    focused.insert_text_at_cursor(text)
    await pilot.pause()


async def opened(pilot: Pilot[None]) -> ReadingScreen:
    """The reading screen, once its book is on it and its session runs."""
    await until(
        pilot,
        lambda: (
            isinstance(pilot.app.screen, ReadingScreen) and pilot.app.screen.session
        ),
    )
    screen = pilot.app.screen
    assert isinstance(screen, ReadingScreen)
    return screen


async def read_whole(pilot: Pilot[None]) -> ReadingScreen:
    """The reading screen, once the model has read the book."""
    screen = await opened(pilot)
    with pilot.app.batch_update():  # Drawn once, not page by page.
        await until_read(pilot, screen)
    await pilot.pause()
    return screen


async def until_read(pilot: Pilot[None], screen: ReadingScreen) -> None:
    """Wait until the model has read the book."""

    def is_read() -> bool:
        session = screen.session
        return session is not None and session.activity.reading is ReadingState.DONE

    await until(pilot, is_read)


def lines(app: App[None]) -> list[str]:
    """The screen's rows without colours; no-break spaces become spaces."""
    return [
        "".join(segment.text for segment in strip).replace("\u00a0", " ")
        for strip in app.screen._compositor.render_strips()
    ]


def filled(app: App[None], row: int) -> str:
    """The words of a row that are drawn in reverse.

    The tab that is shown, and no end of a scroll bar.
    """
    strip = app.screen._compositor.render_strips()[row]
    shown = "".join(
        segment.text for segment in strip if segment.style and segment.style.reverse
    )
    return shown.strip(" ▁▂▃▄▅▆▇█")


def text_of(app: App[None]) -> str:
    return "\n".join(line.rstrip() for line in lines(app))
