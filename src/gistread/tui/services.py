"""Services of the app for its screens, which do not import it.

Settings are written in the background.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gistread.config import Config, Value, save_setting
from gistread.engine.protocol import Engine
from gistread.errors import GistreadError
from gistread.paths import Paths
from gistread.store.user_data import UserData
from gistread.tui.commands import AnyCommand, CommandKeys
from gistread.tui.drawing import Drawer
from gistread.tui.text import clean

if TYPE_CHECKING:
    from gistread.acquisition.download import Login

# Terminals (TERM_PROGRAM) that show progress; others take OSC 9;4 for a notification
_WITH_PROGRESS = {"ghostty", "WezTerm", "mintty"}


class TerminalSignals:
    """Notifications and progress that the terminal shows outside its window."""

    def __init__(
        self,
        config: Callable[[], Config],
        environ: Mapping[str, str],
        write: Callable[[str], None],
        in_focus: Callable[[], bool],
    ) -> None:
        self._config = config
        self._write = write
        self._in_focus = in_focus
        in_windows_terminal = bool(environ.get("WT_SESSION"))
        in_conemu = bool(environ.get("ConEmuPID"))  # Its own spelling
        is_known = environ.get("TERM_PROGRAM") in _WITH_PROGRESS
        self._has_progress = in_windows_terminal or in_conemu or is_known
        self._percent: int | None = None  # What the terminal shows

    def ended(self, what: str) -> None:
        """Notify that something has ended (OSC 9), unless the terminal has the focus."""
        setting = self._config().notify
        if setting == "off" or self._in_focus():
            return
        if setting == "bell":
            self._write("\a")
        else:
            self._write(f"\x1b]9;gistread: {clean(what)}\a")

    def progress(self, share: float | None) -> None:
        """Show that this share (0 to 1) of a work is done (OSC 9;4); None: no work is under way."""
        percent = None
        if share is not None and self._config().terminal_progress:
            percent = round(100 * min(1.0, share))
        if not self._has_progress or percent == self._percent:
            return
        self._percent = percent
        if percent is None:
            self._write("\x1b]9;4;0;0\a")
        else:
            self._write(f"\x1b]9;4;1;{percent}\a")


class Settings:
    """The settings as they are now.

    Changes are written one after another, so that none overwrites an earlier one.
    """

    def __init__(self, config: Config, file: Path, warn: Callable[[str], None]) -> None:
        """`config` may differ from the file: only what `set` changes is written."""
        self.config = config
        self._file = file
        self._warn = warn
        self._unwritten: dict[str, Value] = {}
        self._writer: asyncio.Task[None] | None = None

    def set(self, key: str, value: Value) -> None:
        """Change a setting now, and soon in the file. Warns if that cannot be written."""
        # `save_setting` checks the value.
        self.config = replace(self.config, **{key: value})  # type: ignore[arg-type]
        self._unwritten[key] = value
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="save settings")

    async def close(self) -> None:
        """Wait until all changes are written."""
        if self._writer is not None:
            await asyncio.shield(self._writer)

    async def _write(self) -> None:
        """Write changes until none is left; more may be made meanwhile."""
        while self._unwritten:
            key = next(iter(self._unwritten))
            value = self._unwritten.pop(key)
            try:
                await asyncio.to_thread(save_setting, self._file, key, value)
            except GistreadError as error:
                self._warn(str(error))


@dataclass(frozen=True, slots=True)
class Opening:
    """A book to open where the user left it, or a look at a place in it."""

    path: Path
    place: tuple[int, int] | None = None  # The range to look at
    # The words searched for, or the question asked; these words are marked
    words: str = ""
    # The list that led to the place, to go back to
    came_from: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AppServices:
    """What screens get from the app."""

    paths: Paths
    settings: Settings
    user_data: UserData
    drawer: Drawer
    signals: TerminalSignals
    keys: CommandKeys
    # Runs a command, or shows a notice that says where it works
    run_command: Callable[[AnyCommand], None]
    # Call it in a thread: finding a model by its name reads headers. Raises EngineError.
    make_engine: Callable[[str], Engine]
    # The model named on the command line, which reads along; empty for none
    named_model: str
    # Progress of a model download in a few words; empty without one
    download_note: Callable[[], str]
    cannot_open: Callable[[GistreadError], None]
    back_to_library: Callable[[Opening], None]  # Shows the list that led there
    # Closes the open book, calls a function in a thread, and opens the file anew
    reopen: Callable[[Path, Callable[[], None]], Awaitable[None]]
    # Runs work to its end that may outlive a screen; quitting waits a moment for it
    run_on: Callable[[Coroutine[Any, Any, None]], None]
    # Logins of catalogues, by their addresses; forgotten when the app ends
    logins: "dict[str, Login]" = field(default_factory=dict)

    @property
    def config(self) -> Config:
        return self.settings.config

    def key_hint(self, command: str) -> str:
        return self.keys.hint(command)

    def with_keys(self, text: str) -> str:
        return self.keys.fill(text)
