"""The editor of a note."""

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from gistread.tui.marking.choices import Choice, Choices
from gistread.tui.text import clean

_CHOICES = (Choice("Ctrl+S", "save", "save"), Choice("Esc", "leave", "leave"))
_ASKING = (
    Choice("Ctrl+S", "save", "save"),
    Choice("Esc", "discard the changes", "leave"),
    Choice("F2", "keep writing", "go_on"),
)


class NoteScreen(ModalScreen[str | None]):
    """Dismissed with the note, which may be empty, or with None where nothing is to change.

    Whoever ends the program gives `draft`, what is written at this moment, to `keep`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter,ctrl+j", "save", "Save", show=False, priority=True),
        Binding("escape", "leave", "Leave", show=False, priority=True),
        Binding("f2", "go_on", "Go on writing", show=False),
    ]
    AUTO_FOCUS = "TextArea"

    def __init__(self, title: str, words: str, note: str, keep: Callable[[str | None], None]) -> None:
        super().__init__()
        self.keep = keep
        self._title = title
        self._words = words
        self._note = note
        self._asking = False
        self.draft = note

    @property
    def changed(self) -> bool:
        """Whether the note was edited."""
        return self.draft.strip() != self._note.strip()

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="note-panel"):
            yield Static(clean(self._title), classes="panel-title", markup=False)
            yield Static(clean(self._words), classes="panel-note", markup=False)
            yield TextArea(self._note, id="note-text", soft_wrap=True, compact=True, show_line_numbers=False)
            yield Choices(*_CHOICES, id="note-choices")

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    @on(TextArea.Changed)
    def _typed(self, event: TextArea.Changed) -> None:
        self.draft = event.text_area.text
        if self._asking:
            self.action_go_on()

    def action_save(self) -> None:
        self.dismiss(self.draft.strip())

    def action_leave(self) -> None:
        if not self.changed or self._asking:
            self.dismiss(None)
            return
        self._asking = True
        self.query_one("#note-choices", Choices).show(_ASKING)
        self.query_one(".panel-title", Static).update("The note is not saved")

    def action_go_on(self) -> None:
        self._asking = False
        self.query_one("#note-choices", Choices).show(_CHOICES)
        self.query_one(".panel-title", Static).update(clean(self._title))
        self.query_one(TextArea).focus()
