"""Notifications and progress outside the screen.

A terminal that tells whether it is dark or light.
"""

import re
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from textual.events import Key

from gistread.config import Config
from gistread.tui.appearance import Appearance, ReplyParser
from gistread.tui.services import TerminalSignals
from tests.terminal import Terminal
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
    signals = TerminalSignals(
        Config, {"TERM_PROGRAM": "ghostty"}, written.append, lambda: True
    )
    for share in (0.5, 0.501, 0.75, None, None):
        signals.progress(share)
    assert written == ["\x1b]9;4;1;50\a", "\x1b]9;4;1;75\a", "\x1b]9;4;0;0\a"]
    TerminalSignals(
        Config, {"TERM_PROGRAM": "iTerm.app"}, written.append, lambda: True
    ).progress(0.5)
    assert len(written) == 3


@pytest.mark.parametrize("shapes", [True, False])
async def test_the_mouse_pointer_tells_text_from_what_can_be_clicked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shapes: bool
) -> None:
    app = app_on(small_book(), tmp_path, config=Config(pointer_shapes=shapes))
    async with app.run_test(size=(120, 30)) as pilot:
        screen = await opened(pilot)
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        for place, shape in (
            ("#book", "text"),
            ("#keys", "pointer"),
            ("#header", "pointer"),
            ("#header-rule", "pointer"),
        ):
            await pilot.hover(place)
            assert screen._pointer_shape == shape
            assert (f"\x1b]22;{shape}\x07" in written) is shapes


_NIGHT, _PAPER = "15171a", "fbfaf7"
_WHITE, _BLACK = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:0000/0000/0000\x07"
_DEVICE = "\x1b[?61;4;6;7;14;21;22;23;24;28;32;42;52c"  # Windows Terminal
_QUERIES = "\x1b]11;?", "\x1b[?996n"


class _Asked(Terminal):
    """A terminal with these answers to the queries for its background and for light and dark."""

    def __init__(self, home: Path, *answers: str, config: str = "") -> None:
        self.answers = dict(zip(_QUERIES, answers, strict=False))
        self.written = ""
        (home / "xdg_config_home/gistread").mkdir(parents=True)
        (home / "xdg_config_home/gistread/config.toml").write_text(config)
        book = home / "tale.txt"
        book.write_text("Once upon a time there was a ferry. " * 60)
        super().__init__([str(book)], home)

    def draw(self, data: bytes) -> None:
        before = len(self.written)
        self.written += data.decode(errors="replace")
        queries = [
            (at.start(), answer)
            for query, answer in self.answers.items()
            for at in re.finditer(re.escape(query), self.written)
            if at.end() > before
        ]
        for _, answer in sorted(queries):
            self.press(answer)
        super().draw(data)

    def wait_for_ground(self, color: str) -> None:
        end = time.monotonic() + 20
        while self._screen.buffer[20][60].bg != color:
            self.look()
            assert time.monotonic() < end, (
                f"{self._screen.buffer[20][60].bg} on:\n{self.text}"
            )

    def __enter__(self) -> "_Asked":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.mark.parametrize(
    ("color", "report", "ground"),
    [
        (_WHITE, "", _PAPER),
        (_BLACK, "", _NIGHT),
        ("", "\x1b[?997;2n", _PAPER),
        (_WHITE, "\x1b[?997;1n", _NIGHT),
        ("", "", _NIGHT),
    ],
)
def test_the_first_theme_is_the_terminals(
    tmp_path: Path, color: str, report: str, ground: str
) -> None:
    with _Asked(tmp_path, color, report) as run:
        run.wait_for("Once upon a time")
        run.wait_for_ground(ground)
        other = {_NIGHT: "251;250;247", _PAPER: "21;23;26"}[ground]
        assert f"48;2;{other}" not in run.written
        run.press("q")
        assert run.wait_for_end() == 0
        assert run.written.rfind("\x1b[?2031l") > run.written.rfind("\x1b[?2031h") > 0


def test_the_theme_follows_while_the_program_runs_and_no_reply_is_taken_for_keys(
    tmp_path: Path,
) -> None:
    with _Asked(tmp_path) as run:
        run.wait_for("Once upon a time")
        run.wait_for_ground(_NIGHT)
        run.press(_WHITE)
        run.wait_for_ground(_PAPER)
        run.press("\x1b[?997;1n")
        run.wait_for_ground(_NIGHT)
        run.press("a")  # a line to type in
        run.wait_for("Ask")
        run.press(f"{_WHITE}x{_DEVICE}y\x1b[?997;2nz")
        run.wait_for("xyz")
        run.wait_for_ground(_PAPER)


def test_after_a_suspension_the_terminal_is_asked_again(tmp_path: Path) -> None:
    with _Asked(tmp_path, _BLACK) as run:
        run.press("T")  # typed while the terminal is asked
        run.wait_for("Follow the terminal")
        run.press("\x1b")
        run.wait_until_gone("Follow the terminal")
        run.press("\x1a")
        while run.app.status() != psutil.STATUS_STOPPED:
            run.look()
        assert run.written.rfind("\x1b[?2031l") > run.written.rfind("\x1b[?2031h") > 0
        run.answers["\x1b]11;?"] = _WHITE
        run.app.resume()
        run.wait_for_ground(_PAPER)
        assert run.written.rfind("\x1b[?2031h") > run.written.rfind("\x1b[?2031l")


def test_a_theme_by_name_asks_nothing_until_the_terminal_is_followed_again(
    tmp_path: Path,
) -> None:
    with _Asked(tmp_path, _WHITE, config='theme = "ember"\n') as run:
        run.wait_for("Once upon a time")
        assert not any(
            query in run.written for query in (*_QUERIES, "\x1b[c", "\x1b[?2031h")
        )
        run.press("\x1b[?997;2n")
        run.press("T")
        run.wait_for("Follow the terminal")
        run.press("\x1b[1;5H\r")  # Ctrl+Home, Enter
        run.wait_for_ground(_PAPER)
        run.wait_until_gone("Follow the terminal")
        assert "\x1b[?2031h" in run.written


@pytest.mark.parametrize(
    "parts",
    [
        (f"a{_WHITE}b\x1b[?997;1nc{_DEVICE}d",),
        ("a\x1b", "]11;rgb:ffff/ff", "ff/ffff\x1b", "\\b\x1b[?99", "7;1ncd"),
        ("ab\x1b]11;rgba:ffff/ffff/ffff/aaaa\x07\x1b]11;rgb:00/00/10\x1b\\cd",),
    ],
)
def test_replies_are_no_keys_however_they_arrive(
    parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReplyParser, "reports", False)
    parser = ReplyParser()
    messages = [message for part in parts for message in parser.feed(part)]
    keys = [message.key for message in messages if isinstance(message, Key)]
    appearances = [
        message.light for message in messages if isinstance(message, Appearance)
    ]
    assert keys == ["a", "b", "c", "d"]
    assert appearances == [True, False]
    assert len(messages) == 6
