"""What the screens look like, as pictures kept beside the tests (`pytest --snapshot-update` renews them)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.config import Config
from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Citation,
    Expanded,
    LookedUp,
    OpenedBy,
    Started,
    Stopped,
    StopReason,
)
from gistread.session.events import AskingState
from gistread.tui.screens.contents import ContentsScreen
from gistread.tui.screens.help import HelpScreen
from gistread.user_data import UserData
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
)

WIDE, NARROW = (160, 50), (80, 24)
Compare = Callable[..., bool]


async def still(pilot: Pilot[None]) -> None:
    """Wait until the screen stays as it is, with no blinking cursor on it."""
    for field in pilot.app.screen.query(Input):
        field.cursor_blink = False
    seen = ""
    while seen != (seen := text_of(pilot.app)):
        await pilot.pause(0.1)


def config(theme: str = "") -> Config:
    return Config(theme=theme, min_words=40, max_words=90)


def gists(text: str) -> str:
    return "The lamp, the boy and the storm are told of here."


async def ask(pilot: Pilot[None], reader: ScriptedReader) -> None:
    """A question with two look-ups and an answer with a source, to its end."""
    screen = await read_whole(pilot)
    words = "Finch relit it."
    start = screen.book.text.index(words)
    page = screen.memory_pane.memory.page_at(start).number
    await pilot.press("a", *"Who", "enter")
    reader.say(
        Started("readagent-s", 5, 5, True),
        LookedUp(3, 1, "because it tells of the boy"),
        Expanded(3, OpenedBy.AGENT),
        LookedUp(page, 2, "because it tells of the dark night"),
        Expanded(page, OpenedBy.AGENT),
        Stopped(StopReason.ENOUGH),
        AnswerDelta("Finch "),
        Answered(
            f"Finch lit it again [{page}].",
            True,
            (Citation(page, start, start + len(words), words),),
            (3, page),
            (3, page),
            50.0,
            NO_USAGE,
        ),
    )
    await until(pilot, lambda: screen.session.activity.asking is AskingState.IDLE)
    await still(pilot)


@pytest.mark.parametrize("theme", ["night", "sepia"])
def test_a_question_answered_on_a_wide_screen(
    tmp_path: Path, reader: ScriptedReader, snap_compare: Compare, theme: str
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config(theme))
    assert snap_compare(app, terminal_size=WIDE, run_before=lambda pilot: ask(pilot, reader))


@pytest.mark.parametrize("pane", ["book", "memory", "answers"])
def test_each_pane_on_a_narrow_screen(tmp_path: Path, reader: ScriptedReader, snap_compare: Compare, pane: str) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=gists), config("paper"))

    async def show(pilot: Pilot[None]) -> None:
        await ask(pilot, reader)
        await pilot.press(*{"book": ["tab"], "memory": ["tab", "tab"], "answers": []}[pane])
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)


def test_the_first_minutes_without_a_model(tmp_path: Path, snap_compare: Compare) -> None:
    app = app_on(small_book(), tmp_path, None, config("paper"))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await pilot.press("f2")
        await until(pilot, lambda: "1 of 4" in text_of(app))
        await still(pilot)

    assert snap_compare(app, terminal_size=(100, 30), run_before=show)


def test_a_chapter_read_ahead_and_a_page_under_way(tmp_path: Path, snap_compare: Compare) -> None:
    engine = SteppedEngine(says=gists)
    engine.stop_after = 3
    book = long_book(40)
    app = app_on(book, tmp_path, engine, config("night"))
    UserData(paths_in(tmp_path).books).set_position(book.sha256, book.chapters[7].start)

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await engine.stopped.wait()
        await until(pilot, lambda: "not read yet" in text_of(app))
        await still(pilot)

    assert snap_compare(app, terminal_size=WIDE, run_before=show)


@pytest.mark.parametrize("key", ["f1", "t"])
def test_help_and_contents(tmp_path: Path, snap_compare: Compare, key: str) -> None:
    app = app_on(small_book(), tmp_path, None, config("contrast"))

    async def show(pilot: Pilot[None]) -> None:
        await opened(pilot)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, (HelpScreen, ContentsScreen)))
        await still(pilot)

    assert snap_compare(app, terminal_size=NARROW, run_before=show)
