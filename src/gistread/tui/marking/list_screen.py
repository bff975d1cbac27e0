"""The list of all marks of the book: filter, go to, delete, restore, export."""

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.book.model import Book
from gistread.marking.model import Mark
from gistread.tui.commands import own_keys
from gistread.tui.marking.describe import matches, title_of, words_of
from gistread.tui.marking.sync import MarkSync
from gistread.tui.screens.listing import AROUND_CELLS, ListPanel, indented
from gistread.tui.text import clean
from gistread.tui.widgets.lines import Actions
from gistread.units import counted

_PANEL_CELLS = 110
_CHOICES = (
    ("Enter", "go there", "go"),
    ("e", "note", "note"),
    ("d", "delete", "delete"),
    ("u", "undo", "undo"),
    ("/", "filter", "filter"),
    ("E", "export", "export"),
)


class MarksScreen(ListPanel):
    """Dismissed with the id of the mark to go to, with `note ID` or `export`, or with None."""

    BINDINGS = own_keys(
        ("escape", "leave", "Close"),
        ("q", "dismiss(None)", "Close"),
        ("d,x,delete", "delete", "Delete"),
        ("u,ctrl+z", "undo", "Restore"),
        ("e", "note", "Note"),
        ("E", "export", "Export"),
        ("slash", "filter", "Filter"),
    )

    def __init__(self, book: Book, sync: MarkSync, offset: int, empty: str) -> None:
        """`empty`: what to show while there are no marks."""
        super().__init__()
        self._book = book
        self._sync = sync
        self._offset = offset
        self._empty = empty
        self._shown: Sequence[Mark] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="marks-panel"):
            yield Static("Marks", classes="panel-title", markup=False)
            yield Static("", classes="panel-note", id="marks-note", markup=False)
            yield OptionList(id="rows", markup=False)
            yield Input(placeholder="/ filters: words, notes, chapters, colours", compact=True, id="filter")
            yield Actions(*_CHOICES)

    def on_mount(self) -> None:
        self.show_marks()

    def show_marks(self) -> None:
        """Redraw the list. The cursor stays on its mark; at first it is on the last mark before the open page."""
        typed = self.query_one("#filter", Input).value
        everything = self._sync.marks
        marks = [mark for mark in everything if matches(mark, self._book, typed)]
        if marks == self._shown:
            return
        first = self._shown is None
        options = self.options
        before, at = self.chosen, options.highlighted or 0
        self._shown = marks
        options.clear_options()
        options.add_options([Option(self._row(mark), id=mark.id) for mark in marks])
        options.display = bool(marks)
        self.query_one("#marks-note", Static).update(self._count(len(marks), len(everything)))
        self.query_one("#filter").display = bool(everything)
        self.query_one(Actions).show_actions(*(_CHOICES if everything else ()))
        if not marks:
            self.set_focus(self.query_one("#filter") if everything else None)
            return
        ids = [mark.id for mark in marks]
        if first:
            at = max((number for number, mark in enumerate(marks) if mark.start <= self._offset), default=0)
        elif before in ids:
            at = ids.index(before)
        options.highlighted = min(at, len(marks) - 1)

    def _count(self, shown: int, of: int) -> str:
        if not of:
            return self._empty
        lost = sum(mark.lost for mark in self._sync.marks)
        said = f"{shown} of {of}" if shown < of else counted(of, "mark")
        return said + (f", {lost} not found in this version of the text" if lost else "")

    def _row(self, mark: Mark) -> Content:
        room = min(_PANEL_CELLS, self.app.size.width) - AROUND_CELLS
        title, words = clean(title_of(mark, self._book)), indented(words_of(mark), room)
        note = "\n" + indented(f"✎ {' '.join(mark.note.split())}", room) if mark.note else ""
        return Content.assemble((title, "$gr-muted"), f"\n{words}", (note, "italic"))

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self.show_marks()

    def on_key(self, event: events.Key) -> None:
        action = {"up": "cursor_up", "down": "cursor_down", "pageup": "page_up", "pagedown": "page_down"}.get(event.key)
        if action and self.query_one("#filter").has_focus:
            event.stop()
            event.prevent_default()
            self.action_list(action)

    def action_leave(self) -> None:
        super().action_leave()
        self.options.focus()

    def action_filter(self) -> None:
        self.query_one("#filter", Input).focus()

    @on(Input.Submitted, "#filter")
    def action_go(self) -> None:
        if self.chosen:
            self.dismiss(self.chosen)

    def action_note(self) -> None:
        if self.chosen:
            self.dismiss(f"note {self.chosen}")

    def action_export(self) -> None:
        self.dismiss("export")

    def action_delete(self) -> None:
        mark = next((mark for mark in self._sync.marks if mark.id == self.chosen), None)
        if mark is not None:
            self._sync.remove(mark)
            self.show_marks()
            self.notify("Deleted; u restores it.")

    def action_undo(self) -> None:
        mark = self._sync.undo()
        if mark is None:
            self.notify("No mark has been deleted.")
            return
        self.show_marks()
        if self._shown and mark.id in (ids := [one.id for one in self._shown]):
            self.options.highlighted = ids.index(mark.id)
            self.options.focus()
