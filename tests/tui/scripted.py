"""An engine that a test releases step by step, and the app around it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.book.model import Book
from gistread.config import Config
from gistread.session.events import ReadingState
from gistread.tui.app import GistreadApp
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.services import Opening
from tests.fake_engine import FakeEngine
from tests.folders import paths_in as paths_in
from tests.scripted import ScriptedReader as ScriptedReader
from tests.scripted import SteppedEngine as SteppedEngine


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
