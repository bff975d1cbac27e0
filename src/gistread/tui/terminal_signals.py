"""What a terminal shows outside the screen: a notification of what ended unseen, and progress on its tab or icon."""

from collections.abc import Callable, Mapping

from gistread.config import Config
from gistread.tui.text import clean

_WITH_PROGRESS = {"ghostty", "WezTerm", "mintty"}  # values of TERM_PROGRAM; others take OSC 9;4 for a notification


class TerminalSignals:
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
        self._has_progress = bool(
            environ.get("WT_SESSION")
            or environ.get("ConEmuPID")  # its own spelling
            or environ.get("TERM_PROGRAM") in _WITH_PROGRESS
        )
        self._percent: int | None = None

    def ended(self, what: str) -> None:
        """Notify of something that took a while (OSC 9), unless the terminal's window has the focus."""
        how = self._config().notify
        if how != "off" and not self._in_focus():
            self._write("\a" if how == "bell" else f"\x1b]9;gistread: {clean(what)}\a")

    def progress(self, share: float | None) -> None:
        """Show that this share (0 to 1) of a work is done (OSC 9;4); None: no work is under way."""
        percent = None if share is None or not self._config().terminal_progress else round(100 * min(1.0, share))
        if self._has_progress and percent != self._percent:
            self._percent = percent
            self._write("\x1b]9;4;0;0\a" if percent is None else f"\x1b]9;4;1;{percent}\a")
