"""The progress line on standard error, and the texts for it."""

import contextlib
import shutil
import sys
import time

from gistread.cli.output import is_quiet, sanitize, say
from gistread.engine.protocol import EngineState, Phase
from gistread.memory.model import GistMemory
from gistread.memory.sizes import ROUGH_PAGES
from gistread.units import format_duration, format_rate, progress_bar

_REDRAWN_EVERY_S = 0.1
_PRINTED_EVERY_S = 10.0  # Without a terminal


class ProgressLine(contextlib.AbstractContextManager["ProgressLine"]):
    """The last line of standard error, redrawn in place.

    Without a terminal, a new line is printed every ten seconds.
    """

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._live = self._stream.isatty() and not is_quiet()
        # Without a terminal, the first line waits ten seconds, too.
        self._drawn_at = 0.0 if self._live else time.monotonic()
        self._shown = ""

    def show(self, text: str) -> None:
        """Replace the line, at most ten times a second."""
        now = time.monotonic()
        interval_s = _REDRAWN_EVERY_S if self._live else _PRINTED_EVERY_S
        if text == self._shown or now - self._drawn_at < interval_s:
            return
        if not self._live:
            say(text)
            self._drawn_at = now
            return
        # Some terminals wrap at the last column, and the line could not be redrawn.
        columns = shutil.get_terminal_size().columns - 1
        line = sanitize(text).replace("\n", " ")[:columns]
        self._stream.write(f"\r{line}\x1b[K")
        self._stream.flush()
        self._drawn_at = now
        self._shown = text

    def say(self, text: str) -> None:
        """Print a message above the line."""
        self.clear()
        say(text)

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = ""
            self._drawn_at = 0.0

    def __exit__(self, *exception: object) -> None:
        self.clear()


def reading_line(memory: GistMemory, state: EngineState, left_s: float | None) -> str:
    """`━━━━────  section 12 of ~60 · 41 tok/s · 6 min left`"""
    pages = [entry.page for entry in memory.read_entries]
    characters_read = sum(page.end - page.start for page in pages)
    share = characters_read / max(1, len(memory.book.text))
    parts = [f"section {len(pages) + 1} of ~{memory.estimated_pages}"]
    if state.tokens_per_s:
        parts.append(format_rate(state.tokens_per_s))
    if left_s is not None:
        about = "about " if len(memory.entries) < ROUGH_PAGES else ""
        parts.append(f"{about}{format_duration(left_s)} left")
    if state.notice and state.phase is Phase.IDLE:
        # Most important first: the line may be cut off.
        return " · ".join((state.notice, *parts))
    return f"{progress_bar(share)}  {' · '.join(parts)}"


def engine_line(state: EngineState, model: str) -> str:
    """The engine's activity, such as `reading the prompt 40%`; empty if idle."""
    share = "" if state.fraction is None else f" {state.fraction:.0%}"
    match state.phase:
        case Phase.LOADING:
            return f"{state.notice or f'loading {model}'}{share}"
        case Phase.PREFILL:
            return f"reading the prompt{share}"
        case Phase.DECODE:
            if state.tokens_per_s:
                return f"answering · {format_rate(state.tokens_per_s)}"
            return "answering"
    return state.notice
