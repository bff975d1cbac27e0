"""Shows the note of a reference over the book, without a move of the text."""

from dataclasses import replace

from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.note_blocks import note_blocks
from gistread.tui.text import Block
from gistread.tui.widgets.note_preview import Frame, NotePreview

_KEYS = "{open-page} in the text · {cancel} close"


class NotePreviews:
    """At most one note is shown: with a key, or while the mouse is on its reference."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._pane = context.book_pane
        self._widget = context.screen.query_one(NotePreview)
        self.shown: int | None = None  # The link whose note is shown
        self._reference = 0  # Where the text refers to it
        self.by_mouse = False  # Whether it goes when the mouse leaves the reference

    def show(self, note: int, *, by_mouse: bool = False) -> None:
        self._reference = self._context.book.links[note].start
        self.by_mouse = by_mouse
        self._show(note)

    def show_inner(self, note: int) -> None:
        """Show a note of the note that is shown, at the same place."""
        self._show(note)

    def _show(self, note: int) -> None:
        self.shown = note
        self._widget.show_note(self._blocks(note))
        self._widget.border_title = "Note"
        self._widget.border_subtitle = self._context.services.with_keys(_KEYS)
        self.fit()

    def close(self) -> bool:
        """Returns False if no note is shown."""
        was_shown = self.shown is not None
        self.shown, self.by_mouse = None, False
        self._widget.display = False
        self._pane.foot = 0
        return was_shown

    def fit(self) -> None:
        """Put the frame where its reference stays visible."""
        note, pane = self.shown, self._pane
        if note is None or not pane.size.height:
            return
        text = pane.last_column
        frame = Frame.around(
            text, pane_width=pane.size.width, pane_height=pane.size.height
        )
        rows = frame.rows_for(self._blocks(note))
        covered = max(0, rows - pane.styles.padding.bottom)
        at_foot = not self._covers(self._reference, covered)
        self._widget.place(frame, rows, at_foot=at_foot)
        pane.foot = covered if at_foot else 0

    def _covers(self, reference: int, rows: int) -> bool:
        """Whether the last rows of the last column show the reference."""
        column, row = self._pane.cell_row(reference)
        is_last = column + 1 == len(self._pane.spread.columns)
        return is_last and row >= self._pane.size.height - rows

    def book_moved(self, *, turned: bool) -> None:
        """Close the note if a screen was turned, or if its reference has left the view."""
        if self.shown is None:
            return
        view = self._pane.whole_range
        if turned or view is None or not view[0] <= self._reference < view[1]:
            self.close()
        else:
            self.fit()

    def _blocks(self, note: int) -> list[Block]:
        plain = [
            replace(block, style="text", rail="", indent=0)
            for block in note_blocks(self._context.book, note)
        ]
        return [replace(plain[0], blank_before=0), *plain[1:]]
