"""Keeps the column of marks level with the book."""

from textual.content import Content

from gistread.tui.marking.controller import MarkController
from gistread.tui.marking.describe import sign_of
from gistread.tui.reading.context import ReadingContext
from gistread.tui.text import Clicked
from gistread.tui.widgets.lines import Line
from gistread.tui.widgets.marks_column import MarkNote, MarksColumn
from gistread.units import short

_MOST_WORDS = 160  # Characters of marked words; a note is shown whole


class MarksBeside:
    def __init__(self, context: ReadingContext, marks: MarkController) -> None:
        self._context = context
        self._marks = marks
        self._column = context.screen.query_one("#marks-column", MarksColumn)
        marks.on_change = self.update

    def update(self) -> None:
        """Show the marks that begin in view."""
        book = self._context.book_pane
        view = book.visible_range
        fitted = self._column.size.height > 0  # Else it has no place to be level with
        if view is None or not fitted or not self._context.panes.marks_shown:
            return
        above = self._column.content_region.y - book.content_region.y
        marks = [
            mark
            for mark in sorted(self._marks.marks, key=lambda mark: mark.start)
            if not mark.lost and view[0] <= mark.start < view[1]
        ]
        # Of two columns of text, both have rows at each level.
        marks.sort(key=lambda mark: book.row_in_view(mark.start))
        notes = [
            MarkNote(
                mark.id,
                max(0, book.row_in_view(mark.start) - above),
                sign_of(mark),
                mark.note or short(" ".join(mark.place.exact.split()), _MOST_WORDS),
                bool(mark.note),
            )
            for mark in marks
        ]
        count = f"   {len(notes)} on this screen of {len(self._marks.marks)}"
        header = Content.assemble(("Marks", "bold"), (count, "$gr-faint"))
        self._context.screen.query_one("#marks-header", Line).show(header)
        self._column.show_marks(notes)

    def clicked(self, event: Clicked) -> None:
        match event.block_key:
            case ("mark", str(identifier)):
                self._marks.open(identifier)
