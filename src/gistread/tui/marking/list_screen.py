"""The list of all marks of the book, and a clicked mark with what can be done with it."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from gistread.book.model import Book
from gistread.marking import Mark, MarkKind
from gistread.tui.commands import own_keys
from gistread.tui.marking.describe import title_of, words_of
from gistread.tui.marking.sync import MarkSync
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import counted


class MarkVerb(Enum):
    GO = auto()
    NOTE = auto()
    COLOR = auto()
    COPY = auto()
    DELETE = auto()
    EXPORT = auto()  # all marks


class MarkChoice(NamedTuple):
    verb: MarkVerb
    id: str = ""


class MarksScreen(ListScreen[MarkChoice]):
    """Dismissed with a mark and what to do with it."""

    KEYS = (
        ("e", "leave_with('NOTE')", "note"),
        ("x,delete", "delete", "delete"),
        ("U", "undo", "restore"),
        ("E", "leave_with('EXPORT')", "export"),
    )
    BINDINGS = own_keys(*KEYS)
    ENTER = "go there"
    LETTERS = TALL = SPACED = True

    def __init__(self, book: Book, sync: MarkSync, offset: int, empty: str) -> None:
        """`empty`: what to show while there are no marks."""
        before = [mark.id for mark in sync.marks if mark.start <= offset]
        at = MarkChoice(MarkVerb.GO, before[-1]) if before else None
        super().__init__("Marks", at=at, placeholder="/ filters: words, notes, chapters, colours")
        self._book = book
        self._sync = sync
        self._empty = empty

    def rows_for(self, typed: str) -> Sequence[Row[MarkChoice]]:
        self.rows = [_row(mark, self._book) for mark in self._sync.marks]
        found = super().rows_for(typed)
        lost = sum(mark.lost for mark in self._sync.marks)
        self.note = f"{len(found)} of {len(self.rows)}" if len(found) < len(self.rows) else counted(len(found), "mark")
        self.note += f", {lost} not found in this version of the text" if lost else ""
        self.note = self.note if self.rows else ""
        return found

    @property
    def nothing(self) -> str:
        return super().nothing or self._empty

    def show_marks(self) -> None:
        """Redraw the list after the marks have changed; the cursor stays on its mark."""
        at, number = self.chosen, self.list.cursor_key
        left = {mark.id for mark in self._sync.marks}
        if at is not None and at.id not in left and isinstance(number, int):
            beside = [row.key for row in (*self.shown[number + 1 :], *self.shown[:number][::-1]) if row.key is not None]
            at = next((one for one in beside if one.id in left), None)
        self.show_rows(at)

    def action_leave_with(self, verb: str) -> None:
        if self.chosen is not None:
            self.dismiss(self.chosen._replace(verb=MarkVerb[verb]))

    def action_delete(self) -> None:
        at = self.chosen
        mark = next((mark for mark in self._sync.marks if at is not None and mark.id == at.id), None)
        if mark is not None:
            self._sync.remove(mark)
            self.notify("Deleted; U restores it.")

    def action_undo(self) -> None:
        mark = self._sync.undo()
        if mark is None:
            self.notify("No mark has been deleted.")
        else:
            self.show_rows(MarkChoice(MarkVerb.GO, mark.id))


def _row(mark: Mark, book: Book) -> Row[MarkChoice]:
    title, words = title_of(mark, book), words_of(mark)
    note = f"✎ {' '.join(mark.note.split())}" if mark.note else ""
    return Row(MarkChoice(MarkVerb.GO, mark.id), title, "\n".join(filter(None, (words, note))))


class MarkScreen(ListScreen[MarkVerb]):
    """A clicked mark. Dismissed with what to do with it."""

    BINDINGS = own_keys(
        ("e", "leave_with('NOTE')", "Write a note"),
        ("H,h", "leave_with('COLOR')", "Another colour"),
        ("y", "leave_with('COPY')", "Copy"),
        ("x,delete", "leave_with('DELETE')", "Delete"),
    )

    def __init__(self, mark: Mark, book: Book) -> None:
        is_highlight = mark.kind is MarkKind.HIGHLIGHT
        rows = [
            Row(MarkVerb.NOTE, mark.note or "Write a note", tail="e edit" if mark.note else "e"),
            Row(MarkVerb.COLOR, "Another colour" if is_highlight else "Highlight", tail="H"),
            Row(MarkVerb.COPY, "Copy", tail="y"),
            Row(MarkVerb.DELETE, "Delete", tail="x"),
        ]
        super().__init__(title_of(mark, book), f"“{words_of(mark, 240)}”", rows)

    def action_leave_with(self, verb: str) -> None:
        self.dismiss(MarkVerb[verb])
