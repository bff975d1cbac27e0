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
        self._reference = 0  # Offset of that link in the text
        # Whether the note is closed when the mouse leaves the reference
        self.by_mouse = False

    def show(self, note: int, *, by_mouse: bool = False) -> None:
        """Show the note of a link in the text."""
        self._reference = self._context.book.links[note].start
        self.by_mouse = by_mouse
        self._show(note)

    def show_inner(self, note: int) -> None:
        """Show the note of a link within the shown note, at the same place."""
        self._show(note)

    def _show(self, note: int) -> None:
        self.shown = note
        self._widget.show_note(self._blocks(note))
        self._widget.border_title = "Note"
        self._widget.border_subtitle = self._context.services.with_keys(_KEYS)
        self.fit()

    def close(self) -> bool:
        """Close the note. Returns False if no note is shown."""
        was_shown = self.shown is not None
        self.shown, self.by_mouse = None, False
        self._widget.display = False
        self._pane.foot = 0
        return was_shown

    def fit(self) -> None:
        """Place the note where it does not cover its reference."""
        note, pane = self.shown, self._pane
        width, height = pane.size
        if note is None or not height:
            return
        frame = Frame.around(pane.last_column, pane_width=width, pane_height=height)
        rows = frame.rows_for(self._blocks(note))
        rows_of_text = max(0, rows - pane.styles.padding.bottom)
        at_foot = not self._is_in_last_rows(self._reference, rows_of_text)
        self._widget.place(frame, rows, at_foot=at_foot)
        pane.foot = rows_of_text if at_foot else 0

    def _is_in_last_rows(self, reference: int, rows: int) -> bool:
        """Whether the last `rows` of the last column of text show the reference."""
        column, row = self._pane.cell_row(reference)
        is_last = column + 1 == len(self._pane.spread.columns)
        return is_last and row >= self._pane.size.height - rows

    def book_moved(self, *, turned: bool) -> None:
        """Close the note if a screen was turned, or if its reference has left the view."""
        if self.shown is None:
            return
        top, bottom = self._pane.whole_range or (0, 0)
        is_in_view = top <= self._reference < bottom
        if is_in_view and not turned:
            self.fit()
        else:
            self.close()

    def _blocks(self, note: int) -> list[Block]:
        """The blocks of a note, without what sets it apart from text around it."""
        first, *others = [
            replace(block, style="text", rail="", indent=0)
            for block in note_blocks(self._context.book, note)
        ]
        return [replace(first, blank_before=0), *others]
