"""A frame over the book that shows one of its notes."""

from collections.abc import Sequence
from dataclasses import dataclass

from gistread.tui.text import Block, LongText
from gistread.tui.text.rows import RowIndex

_BORDER_ROWS = 2
_BESIDE_CELLS = 5  # Border, padding and scroll bar


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the frame stands in the pane of the book, in cells."""

    left: int
    width: int
    most_rows: int

    @classmethod
    def around(cls, text: range, *, pane_width: int, pane_height: int) -> "Frame":
        """A frame whose text stands in these cells, in at most half of the pane."""
        left = max(0, text.start - 2)
        width = min(len(text) + _BESIDE_CELLS, pane_width - left)
        most_rows = max(_BORDER_ROWS + 1, pane_height // 2)
        return cls(left, width, most_rows)

    def rows_for(self, blocks: Sequence[Block]) -> int:
        """Rows of the whole frame around a note."""
        index = RowIndex(list(blocks), max(1, self.width - _BESIDE_CELLS))
        return min(index.height + _BORDER_ROWS, self.most_rows)


class NotePreview(LongText):
    """At the foot of the book, or at its top where the foot shows the reference."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, side_margin=0)
        self.can_focus = False
        self.display = False

    def show_note(self, blocks: Sequence[Block]) -> None:
        self.show(blocks, keep_position=False)
        self.display = True

    def place(self, frame: Frame, rows: int, *, at_foot: bool) -> None:
        """Put the frame at the foot of the pane, or else at its top."""
        styles = self.styles
        styles.dock = "bottom" if at_foot else "top"
        styles.margin = (0, 0, 0, frame.left)
        styles.width = frame.width
        styles.height = rows
