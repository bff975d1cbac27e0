"""Marks and notes beside the book, each level with its text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual.message import Message

from gistread.tui.text import Block, LongText
from gistread.tui.text.layout import lay_out

_SIGN_CELLS = 3
_NONE_HERE = "No marks on this screen."


@dataclass(frozen=True, slots=True)
class MarkNote:
    """A mark in view, as the column shows it."""

    id: str
    row: int  # Row of the book's view, from 0
    sign: str
    words: str  # Its note, or else the words that it marks
    is_note: bool


class MarksColumn(LongText):
    """The marks on a screen of the book. A click on a mark opens it.

    The marks are set again whenever the book moves.
    """

    ALLOW_SELECT = False

    class Fitted(Message):
        """The column has another place or size: its marks must be shown at new rows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, side_margin=1)
        self.can_focus = False

    def show_marks(self, notes: Sequence[MarkNote]) -> None:
        """Show these marks, each at its row, or below those before it."""
        width = self.row_width
        blocks: list[Block] = []
        used = 0
        for note in notes:
            block = _block(note)
            above = max(0, note.row - used)
            blocks.append(replace(block, blank_before=above))
            rows = lay_out(block, width).rows if width else 1
            used += above + rows
        if not blocks:
            blocks = [Block(_NONE_HERE, style="muted")]
        self.show(blocks, keep_position=False)

    def on_resize(self) -> None:
        self.post_message(self.Fitted())


def _block(note: MarkNote) -> Block:
    return Block(
        note.words,
        key=("mark", note.id),
        style="text" if note.is_note else "muted",
        indent=_SIGN_CELLS,
        hanging=note.sign,
        blank_before=0,
    )
