"""Keeps the column of marks level with the book."""

from textual.content import Content

from gistread.marking import Mark
from gistread.tui.marking.controller import MarkController
from gistread.tui.marking.describe import sign_of
from gistread.tui.reading.context import ReadingContext
from gistread.tui.text import Clicked
from gistread.tui.widgets.lines import Line
from gistread.tui.widgets.marks_column import MarkNote, MarksColumn
from gistread.units import short

_MOST_WORDS = 160  # Characters of marked words; a note is shown whole


class MarksBeside:
    """Shows the marks that begin in view beside the book."""

    def __init__(self, context: ReadingContext, marks: MarkController) -> None:
        self._context = context
        self._marks = marks
        self._column = context.screen.query_one("#marks-column", MarksColumn)
        marks.on_change = self.update

    def update(self) -> None:
        """Show the marks that begin in view."""
        book = self._context.book_pane
        view = book.visible_range
        is_laid_out = self._column.size.height > 0
        if view is None or not is_laid_out or not self._context.panes.marks_shown:
            return
        top, bottom = view
        marks = [
            mark
            for mark in self._marks.marks
            if not mark.lost and top <= mark.start < bottom
        ]
        # By row: with two columns of text, a later mark may stand higher.
        marks.sort(key=lambda mark: (book.row_in_view(mark.start), mark.start))
        count = f"   {len(marks)} on this screen of {len(self._marks.marks)}"
        header = Content.assemble(("Marks", "bold"), (count, "$gr-faint"))
        self._context.screen.query_one("#marks-header", Line).show(header)
        self._column.show_marks([self._note_of(mark) for mark in marks])

    def _note_of(self, mark: Mark) -> MarkNote:
        """The note of a mark, or else its words, in the row of the column beside it."""
        book = self._context.book_pane
        rows_above_column = self._column.content_region.y - book.content_region.y
        marked_words = " ".join(mark.place.exact.split())
        return MarkNote(
            mark.id,
            row=max(0, book.row_in_view(mark.start) - rows_above_column),
            sign=sign_of(mark),
            words=mark.note or short(marked_words, _MOST_WORDS),
            is_note=bool(mark.note),
        )

    def clicked(self, event: Clicked) -> None:
        """Open the mark that was clicked."""
        match event.block_key:
            case ("mark", str(identifier)):
                self._marks.open(identifier)
