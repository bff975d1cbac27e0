"""Small panels about marks: a clicked mark, its note, a letter, a dictionary entry."""

from collections.abc import Callable, Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from gistread.book.model import Book
from gistread.dictionary import DictionaryError, Lookup, contains_entry, look_up
from gistread.marking.model import Mark, MarkKind
from gistread.tui.commands import Scope, bindings, own_keys
from gistread.tui.marking.describe import title_of, where, words_of
from gistread.tui.screens.listing import Panel
from gistread.tui.text import Block, LongText, clean
from gistread.tui.widgets.lines import Actions

BACK = "'"


class MarkScreen(Panel[str | None]):
    """A mark and its actions. Dismissed with `note`, `color`, `copy` or `delete`, or with None."""

    BINDINGS = own_keys(
        ("escape,q,enter", "dismiss(None)", "Close"),
        ("e", "dismiss('note')", "Write a note"),
        ("H,h", "dismiss('color')", "Another colour"),
        ("y", "dismiss('copy')", "Copy"),
        ("d,delete", "dismiss('delete')", "Delete"),
    )
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
            yield Actions(
                ("e", "edit the note" if mark.note else "write a note", "dismiss('note')"),
                ("H", "another colour" if mark.kind is MarkKind.HIGHLIGHT else "highlight", "dismiss('color')"),
                ("y", "copy", "dismiss('copy')"),
                ("d", "delete", "dismiss('delete')"),
            )


class NoteScreen(Panel[str | None]):
    """Dismissed with the note, possibly empty, or with None. At the end of the app, `draft` is given to `keep`."""

    BINDINGS = own_keys(
        ("ctrl+s,ctrl+enter,ctrl+j", "save", "Save"),
        ("escape", "leave", "Leave"),
        ("f2", "go_on", "Go on writing"),
        priority=True,
    )

    AUTO_FOCUS = "TextArea"
    CLOSE = ""  # Its actions say what would be lost
    _SAVE = ("Ctrl+S", "save", "save")

    def __init__(self, title: str, words: str, note: str, keep: Callable[[str], None]) -> None:
        super().__init__()
        self.keep = keep
        self._title = title
        self._words = words
        self._note = note
        self._asking = False
        self.draft = note

    @property
    def changed(self) -> bool:
        return self.draft.strip() != self._note.strip()

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="note-panel"):
            yield Static("", classes="panel-title", markup=False)
            yield Static(clean(self._words), classes="panel-note", markup=False)
            yield TextArea(self._note, id="note-text", soft_wrap=True, compact=True, show_line_numbers=False)
            yield Actions()

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)
        self.action_go_on()

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
        discard, go_on = ("Esc", "discard the changes", "leave"), ("F2", "keep writing", "go_on")
        self._show("The note is not saved", self._SAVE, discard, go_on)

    action_close_panel = action_leave

    def action_go_on(self) -> None:
        self._asking = False
        self._show(self._title, self._SAVE, ("Esc", "leave", "leave"))
        self.query_one(TextArea).focus()

    def _show(self, title: str, *actions: tuple[str, str, str]) -> None:
        self.query_one(".panel-title", Static).update(clean(title))
        self.query_one(Actions).show_actions(*actions)


class LetterScreen(Panel[str | None]):
    """Dismissed with a letter, with `BACK` if offered, or with None."""

    BINDINGS = own_keys(("escape", "dismiss(None)", "Close"))
    AUTO_FOCUS = "OptionList"

    def __init__(self, title: str, marks: Sequence[Mark], book: Book, *, back: bool = False) -> None:
        super().__init__()
        self._title = title
        self._rows = [_letter_row(mark.letter, words_of(mark, 60), where(mark, book)) for mark in marks]
        self._note = "Type a letter." if marks else "Type a letter. None is set in this book yet."
        self._back = back
        if back:
            self._rows.append(_letter_row(BACK, "back to where you were"))

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static(self._title, classes="panel-title", markup=False)
            yield Static(self._note, classes="panel-note", markup=False)
            options = OptionList(*self._rows, markup=False)
            options.display = bool(self._rows)
            yield options

    def on_key(self, event: events.Key) -> None:
        character = event.character or ""
        if len(character) == 1 and (character.isalpha() or (self._back and character == BACK)):
            event.stop()
            event.prevent_default()
            self.dismiss(character)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


def _letter_row(letter: str, words: str, about: str = "") -> Option:
    below = f"\n   {clean(about)}" if about else ""
    return Option(Content.assemble((letter, "bold $gr-accent"), f"  {clean(words)}", (below, "$gr-muted")), id=letter)


class LookupText(LongText):
    BINDINGS = bindings(Scope.MOVING)


class LookupScreen(Panel[bool | None]):
    """The dictionary entry of a word. Dismissed with True to ask the model. Closing ends the dictionary program."""

    BINDINGS = own_keys(("escape,q,w", "dismiss", "Close"), ("enter", "ask_or_close", "Ask the model, or close"))
    AUTO_FOCUS = "LookupText"

    def __init__(self, lookup: Lookup) -> None:
        super().__init__()
        self._lookup = lookup
        self._offers_model = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="lookup-panel"):
            yield Static(clean(self._lookup.word), classes="panel-title", markup=False)
            note = f"Asking {self._lookup.program or 'the list of words'}…"
            yield Static(note, classes="panel-note", id="lookup-note", markup=False)
            yield LookupText(id="lookup-text", side_margin=0)
            yield Actions()

    def action_ask_or_close(self) -> None:
        self.dismiss(True if self._offers_model else None)

    def on_mount(self) -> None:
        # The worker ends with the screen, and ends the dictionary program.
        self.run_worker(self._look_up(), exit_on_error=True)

    async def _look_up(self) -> None:
        try:
            said, style = await look_up(self._lookup), "text"
        except DictionaryError as error:
            said, style = str(error), "warning"
        about = self._lookup.program
        self._offers_model = not contains_entry(said)
        if self._offers_model:
            about = "No definition found. Enter asks the model."
            self.query_one(Actions).show_actions(("Enter", "ask the model", "ask_or_close"))
        self.query_one("#lookup-note", Static).update(about)
        lines = [Block(line, style=style, blank_before=0) for line in said.split("\n")]
        self.query_one("#lookup-text", LookupText).show(lines)
