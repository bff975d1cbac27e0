"""A clicked mark: its words, its note, and what can be done with it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from gistread.book.model import Book
from gistread.marking.model import Mark, MarkKind
from gistread.tui.marking.choices import Choice, Choices
from gistread.tui.marking.describe import title_of, words_of
from gistread.tui.text import clean


class MarkScreen(ModalScreen[str | None]):
    """Dismissed with `note`, `color`, `copy` or `delete`, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss(None)", "Close", show=False),
        Binding("e", "dismiss('note')", "Write a note", show=False),
        Binding("H,h", "dismiss('color')", "Another colour", show=False),
        Binding("y", "dismiss('copy')", "Copy", show=False),
        Binding("d,delete", "dismiss('delete')", "Delete", show=False),
    ]
    AUTO_FOCUS = "VerticalScroll"

    def __init__(self, mark: Mark, book: Book) -> None:
        super().__init__()
        self._mark = mark
        self._book = book

    def compose(self) -> ComposeResult:
        mark = self._mark
        with Vertical(classes="panel"):
            yield Static(clean(title_of(mark, self._book)), classes="panel-title", markup=False)
            yield Static(f"“{clean(words_of(mark, 240))}”", classes="panel-note", markup=False)
            if mark.note:
                with VerticalScroll(id="mark-note"):
                    yield Static(clean(mark.note), markup=False)
            yield Choices(
                Choice("e", "edit the note" if mark.note else "write a note", "dismiss('note')"),
                Choice("H", "another colour" if mark.kind is MarkKind.HIGHLIGHT else "highlight", "dismiss('color')"),
                Choice("y", "copy", "dismiss('copy')"),
                Choice("d", "delete", "dismiss('delete')"),
                Choice("Esc", "close", "dismiss(None)"),
            )
