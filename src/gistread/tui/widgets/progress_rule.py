"""The rule under the header: how far the reader is in the book, chapter by chapter."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

READ, READ_TICK = "━", "┯"
UNREAD, UNREAD_TICK = "─", "┬"
BOUND = "▾"
_CELLS_A_TICK = 4  # Least cells for each tick; with less room, deeper chapters get none


@dataclass(frozen=True, slots=True)
class BookProgress:
    """What the rule shows. All places are shares of the book, from 0 to 1."""

    read: float = 0.0  # Up to the place of the reader
    bound: float | None = None  # Where answers stop; None: nowhere
    chapters: tuple[tuple[float, int], ...] = ()  # (beginning, level) of each


class ProgressRule(Widget):
    """One row, filled up to the place of the reader. A click looks at that place."""

    ALLOW_SELECT = False

    class Wanted(Message):
        """The user wants to go to this share of the book, from 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    _progress = BookProgress()

    def show_progress(self, progress: BookProgress) -> None:
        if progress != self._progress:
            self._progress = progress
            self.refresh()

    def render(self) -> Content:
        cells = progress_cells(self._progress, self.size.width)
        filled = round(self._progress.read * len(cells))
        read = "".join(cells[:filled])
        unread = "".join(cells[filled:])
        content = Content.assemble((read, "$gr-muted"), (unread, "$gr-rule"))
        if BOUND in cells:
            at = cells.index(BOUND)
            content = content.stylize("$gr-accent", at, at + 1)
        return content

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Wanted(event.x / max(1, self.size.width)))


def progress_cells(progress: BookProgress, width: int) -> list[str]:
    """The characters of the rule, one for each cell.

    >>> "".join(progress_cells(BookProgress(0.5, 0.75, ((0.0, 1), (0.25, 1), (0.5, 1))), 12))
    '━━━┯━━┬──▾──'
    """
    filled = round(progress.read * width)
    cells = [READ] * filled + [UNREAD] * (width - filled)
    for start in _ticked(progress.chapters, width):
        at = int(start * width)
        if 0 < at < width:
            cells[at] = READ_TICK if at < filled else UNREAD_TICK
    if progress.bound is not None and width:
        cells[min(int(progress.bound * width), width - 1)] = BOUND
    return cells


def _ticked(chapters: Sequence[tuple[float, int]], width: int) -> list[float]:
    """The beginnings of the chapters down to the deepest level whose ticks stand apart."""
    levels = {level for _, level in chapters}
    for deepest in sorted(levels, reverse=True):
        starts = [start for start, level in chapters if level <= deepest]
        if len(starts) * _CELLS_A_TICK <= width:
            return starts
    return []
