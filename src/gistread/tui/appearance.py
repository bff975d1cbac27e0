"""Whether the terminal is light: asked before Textual starts, followed while it runs.

Terminals answer a query (996) and report changes (mode 2031); others tell their background (OSC
11). https://contour-terminal.org/vt-extensions/color-palette-update-notifications/
"""

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from textual import _xterm_parser
from textual.drivers import linux_driver
from textual.events import Key
from textual.keys import Keys
from textual.message import Message

_ASK = "\x1b[?996n\x1b]11;?\x1b\\"
FOLLOW = f"\x1b[?2031h{_ASK}"
# Red, green and blue with four or two digits each: ffff/ffff/dddd, ff/ff/dd
_COLOR = (
    r"([\da-f]{4})/([\da-f]{4})/([\da-f]{4})|([\da-f]{2})/([\da-f]{2})/([\da-f]{2})"
)
# The answer to `CSI c`, which every terminal gives: \x1b[?62;4c
_DEVICE = r"\x1b\[\?[\d;]*c"
# The light or dark mode (\x1b[?997;2n), the background (\x1b]11;rgb:ffff/ffff/dddd), or `_DEVICE`
_REPLY = re.compile(
    rf"\x1b\[\?997;([12])n|\x1b\]11;rgb(a)?:(?:{_COLOR})(?(2)/[\da-f]{{4}})|{_DEVICE}",
    re.IGNORECASE,
)
_WAIT_S = 0.15
_READ_BYTES = 4096
_LIGHT = "2"  # The reply to 996 of a light terminal
_BRIGHTNESS_WEIGHTS = (0.3, 0.59, 0.11)  # Red, green, blue
_MIDDLE = 0.5  # A background is light above this brightness
_HEX_DIGITS = 16


@dataclass
class Appearance(Message):
    """Whether the terminal is light, as it has just said."""

    light: bool


class ReplyParser(_xterm_parser.XTermParser):
    """Takes the replies out of the input. Textual 8.2 takes them for keys."""

    # Whether the terminal has answered 996; then its background does not matter
    reports = False
    _color_may_end = False  # Whether the terminator of a colour may come next

    def _sequence_to_key_events(
        self, sequence: str, alt: bool = False
    ) -> Iterable[Key]:
        self._tokens.extend(map(Appearance, _light_answers(sequence)))
        is_terminator = self._color_may_end and sequence in ("\x07", "\x1b\\")
        is_reply = is_terminator or _REPLY.fullmatch(sequence) is not None
        self._color_may_end = is_reply and sequence.startswith("\x1b]")
        if is_reply:
            return [Key(Keys.Ignore, None)]
        return super()._sequence_to_key_events(sequence, alt)


vars(linux_driver)["XTermParser"] = ReplyParser  # The driver creates it by this name.
# The answer to `CSI c` of some terminals is longer than Textual expects.
_xterm_parser._MAX_SEQUENCE_SEARCH_THRESHOLD = 64


class FollowingDriver(linux_driver.LinuxDriver):
    """Gets what was typed before Textual started, and ends the terminal's reports."""

    early_input = ""  # What was typed before Textual started

    def run_input_thread(self) -> None:
        early_input = self.early_input
        FollowingDriver.early_input = ""
        for message in ReplyParser().feed(early_input):
            self.process_message(message)
        super().run_input_thread()

    def stop_application_mode(self) -> None:
        self.write("\x1b[?2031l")
        super().stop_application_mode()


def _light_answers(text: str) -> Iterator[bool]:
    """Whether the terminal is light, from each reply in the text that says so."""
    for mode, _, *color in _REPLY.findall(text):
        if mode:
            ReplyParser.reports = True
            yield mode == _LIGHT
        elif any(color) and not ReplyParser.reports:
            yield _brightness(color) > _MIDDLE


def _brightness(color: Sequence[str]) -> float:
    """The brightness (0 to 1) of red, green and blue as hexadecimal numbers.

    Parts that are empty, of the notation that is not used, are left out.
    """
    shares: list[float] = [
        int(part, 16) / _HEX_DIGITS ** len(part) for part in color if part
    ]
    parts = zip(_BRIGHTNESS_WEIGHTS, shares, strict=True)
    return sum(weight * share for weight, share in parts)


def ask() -> bool:
    """Whether the terminal says that it is light.

    Call it before Textual starts, which gets what is typed meanwhile.
    """
    keyboard, screen = sys.__stdin__, sys.__stdout__
    if keyboard is None or screen is None:
        return False
    if not keyboard.isatty() or not screen.isatty():
        return False
    attributes = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard, termios.TCSANOW)
        os.write(screen.fileno(), f"{_ASK}\x1b[c".encode())
        replies = _read_replies(keyboard.fileno())
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, attributes)
    FollowingDriver.early_input = replies
    answers = list(_light_answers(replies))
    return bool(answers) and answers[-1]


def _read_replies(keyboard: int) -> str:
    """Input up to the answer that every terminal gives, or for a short time without one."""
    text = ""
    deadline = time.monotonic() + _WAIT_S
    while not re.search(_DEVICE, text):
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0:
            break
        readable, _, _ = select.select([keyboard], [], [], seconds_left)
        if readable:
            text += os.read(keyboard, _READ_BYTES).decode(errors="replace")
    return text
