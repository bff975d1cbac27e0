"""A real terminal around a real gistread: pexpect runs it, pyte keeps the screen that it draws."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import psutil
import pyte


def environment(home: Path, **variables: str) -> dict[str, str]:
    """This process's, with everything that gistread keeps under `home`."""
    places = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    return {
        **os.environ,
        **{name: str(home / name.lower()) for name in places},
        **variables,
    }


class _Screen(pyte.Screen):
    def report_device_status(self, mode: int, private: bool = False) -> None:
        """Pyte does not expect the query for light and dark."""


class Terminal:
    """One run of `gistread` with these arguments."""

    def __init__(
        self,
        arguments: list[str],
        home: Path,
        *,
        columns: int = 120,
        rows: int = 40,
        before: tuple[str, ...] = (),
        **variables: str,
    ) -> None:
        """`before`: a command that runs it, with its arguments."""
        settings = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **variables}
        self._screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.started_at = time.monotonic()
        command = [*before, sys.executable, "-m", "gistread", *arguments]
        self.process = pexpect.spawn(
            command[0],
            command[1:],
            env=environment(home, **settings),
            dimensions=(rows, columns),
            timeout=None,
        )
        # It says what it is, as every terminal does
        self._screen.write_process_input = self.process.send

    @property
    def title(self) -> str:
        """What the terminal's title bar says."""
        return str(self._screen.title)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def cells(self) -> list[list[tuple[object, ...]]]:
        """What stands in each cell, colours and all."""
        screen = self._screen
        return [
            [tuple(screen.buffer[row][column]) for column in range(screen.columns)]
            for row in range(screen.lines)
        ]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def look(self, seconds: float = 0.1) -> bool:
        """Take in what has been drawn, waiting at most this long for it; whether anything was."""
        with contextlib.suppress(pexpect.TIMEOUT, pexpect.EOF):
            self.draw(self.process.read_nonblocking(2**16, timeout=seconds))
            return True
        return False

    def draw(self, data: bytes) -> None:
        """Put on the screen what was read from the process by other means."""
        self._stream.feed(data)

    def wait_for(self, *texts: str, seconds: float = 60.0) -> float:
        """Look until all these texts are on the screen; seconds since the start.

        Fails with what is there instead.
        """
        end = time.monotonic() + seconds
        shown = self.text
        while not all(text in shown for text in texts):
            if self.look():
                shown = self.text
            if time.monotonic() > end:
                raise AssertionError(
                    f"{texts} did not appear in {seconds} s on:\n{self.text}"
                )
        return time.monotonic() - self.started_at

    def wait_until_gone(self, text: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while text in self.text:
            self.look()
            if time.monotonic() > end:
                raise AssertionError(
                    f"{text!r} is still there after {seconds} s on:\n{self.text}"
                )

    def press(self, keys: str) -> None:
        self.process.send(keys)

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    @property
    def app(self) -> psutil.Process:
        return psutil.Process(self.process.pid)

    @property
    def worker(self) -> psutil.Process | None:
        """The process that owns the model, if one runs."""
        loaded = (
            child
            for child in self.app.children()
            if "llama.worker" in " ".join(child.cmdline())
        )
        return next(loaded, None)

    def wait_for_end(self, seconds: float = 60.0) -> int:
        """Exit status of the program, once it has ended."""
        end = time.monotonic() + seconds
        while self.process.isalive():
            self.look()
            if time.monotonic() > end:
                raise AssertionError(f"still running after {seconds} s:\n{self.text}")
        if self.process.exitstatus is None:
            return -int(self.process.signalstatus)
        return int(self.process.exitstatus)

    def close(self) -> None:
        self.process.close(force=True)


@contextlib.contextmanager
def terminal(arguments: list[str], home: Path, **options: Any) -> Iterator[Terminal]:
    """A terminal that is closed in the end, whatever happens."""
    run = Terminal(arguments, home, **options)
    try:
        yield run
    finally:
        run.close()
