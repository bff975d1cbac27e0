"""Notifications and progress outside the screen."""

from dataclasses import replace
from pathlib import Path

from gistread.config import Config
from gistread.tui.services import TerminalSignals
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened


def test_a_notification_comes_only_without_the_focus_and_as_it_is_set() -> None:
    written: list[str] = []
    config, focused = Config(), True
    signals = TerminalSignals(lambda: config, {}, written.append, lambda: focused)
    signals.ended("The question is answered.")
    assert not written
    focused = False
    signals.ended("Answered\x1b[2J.")
    config = replace(config, notify="bell")
    signals.ended("Answered.")
    config = replace(config, notify="off")
    signals.ended("Answered.")
    assert len(written) == 2
    assert written[0].startswith("\x1b]9;gistread: Answered")
    assert "\x1b[2J" not in written[0]
    assert written[1] == "\a"


def test_progress_is_written_once_a_percent_where_the_terminal_knows_it() -> None:
    written: list[str] = []
    signals = TerminalSignals(Config, {"TERM_PROGRAM": "ghostty"}, written.append, lambda: True)
    for share in (0.5, 0.501, 0.75, None, None):
        signals.progress(share)
    assert written == ["\x1b]9;4;1;50\a", "\x1b]9;4;1;75\a", "\x1b]9;4;0;0\a"]
    TerminalSignals(Config, {"TERM_PROGRAM": "iTerm.app"}, written.append, lambda: True).progress(0.5)
    assert len(written) == 3


async def test_the_mouse_pointer_tells_text_from_what_can_be_clicked(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        screen = await opened(pilot)
        for place, shape in (
            ("#book", "text"),
            ("#keys", "pointer"),
            ("#header", "pointer"),
            ("#header-rule", "default"),
        ):
            await pilot.hover(place)
            assert screen._pointer_shape == shape
