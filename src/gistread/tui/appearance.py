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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from textual import _xterm_parser
from textual.drivers import linux_driver
from textual.events import Key
from textual.keys import Keys
from textual.message import Message

_ASK = "\x1b[?996n\x1b]11;?\x1b\\"
FOLLOW = f"\x1b[?2031h{_ASK}"
_COLOR = "|".join("/".join([rf"([\da-f]{{{digits}}})"] * 3) for digits in (4, 2))
_DEVICE = r"\x1b\[\?[\d;]*c"  # answers `CSI c`, as every terminal does
_REPLY = re.compile(
    rf"\x1b\[\?997;([12])n|\x1b\]11;rgb(a)?:(?:{_COLOR})(?(2)/[\da-f]{{4}})|{_DEVICE}",
    re.IGNORECASE,
)
_WAIT_S = 0.15
_LIGHT = "2"  # The reply to 996 of a light terminal
_BRIGHTNESS_WEIGHTS = (0.3, 0.59, 0.11)  # Red, green, blue
_MIDDLE = 0.5  # A background is light above this brightness
_HEX_DIGITS = 16


@dataclass
class Appearance(Message):
    light: bool


class ReplyParser(_xterm_parser.XTermParser):
    """Takes the replies out of the input. Textual 8.2 takes them for keys."""

    # whether the terminal has answered 996; then its background does not matter
    reports = False
    _ends = False  # whether the end of a colour may follow

    def _sequence_to_key_events(
        self, sequence: str, alt: bool = False
    ) -> Iterable[Key]:
        self._tokens.extend(map(Appearance, _answers(sequence)))
        reply = _REPLY.fullmatch(sequence) or (
            self._ends and sequence in ("\x07", "\x1b\\")
        )
        self._ends = bool(reply) and sequence.startswith("\x1b]")
        if reply:
            return [Key(Keys.Ignore, None)]
        return super()._sequence_to_key_events(sequence, alt)


vars(linux_driver)["XTermParser"] = ReplyParser  # the driver creates it by this name
# some terminals have much to tell of themselves
_xterm_parser._MAX_SEQUENCE_SEARCH_THRESHOLD = 64


class FollowingDriver(linux_driver.LinuxDriver):
    heard = ""  # input before Textual started

    def run_input_thread(self) -> None:
        heard, FollowingDriver.heard = self.heard, ""
        for message in ReplyParser().feed(heard):
            self.process_message(message)
        super().run_input_thread()

    def stop_application_mode(self) -> None:
        self.write("\x1b[?2031l")
        super().stop_application_mode()


def _answers(text: str) -> Iterator[bool]:
    for ground, _, *color in _REPLY.findall(text):
        ReplyParser.reports |= bool(ground)
        shares = [int(part, 16) / _HEX_DIGITS ** len(part) for part in color if part]
        if ground:
            yield ground == _LIGHT
        elif shares and not ReplyParser.reports:
            parts = zip(_BRIGHTNESS_WEIGHTS, shares, strict=True)
            yield sum(weight * share for weight, share in parts) > _MIDDLE


def ask() -> bool:
    """Whether the terminal says that it is light.

    Call it before Textual starts, which gets what is typed meanwhile.
    """
    file, screen = sys.__stdin__, sys.__stdout__
    if file is None or screen is None or not (file.isatty() and screen.isatty()):
        return False
    before = termios.tcgetattr(file)
    heard = ""
    end = time.monotonic() + _WAIT_S
    try:
        tty.setcbreak(file, termios.TCSANOW)
        os.write(screen.fileno(), f"{_ASK}\x1b[c".encode())
        while not re.search(_DEVICE, heard) and (left := end - time.monotonic()) > 0:
            if select.select([file], [], [], left)[0]:
                heard += os.read(file.fileno(), 4096).decode(errors="replace")
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)
    FollowingDriver.heard = heard
    return [False, *_answers(heard)][-1]
