"""Panels with text: the note of a mark, and a dictionary entry."""

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static, TextArea

from gistread.dictionary import DictionaryError, Lookup, contains_entry, look_up
from gistread.tui.commands import Scope, bindings, own_keys
from gistread.tui.screens.listing import Panel
from gistread.tui.text import Block, LongText, clean
from gistread.tui.widgets.lines import Actions


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
        super().__init__(title)
        self.keep = keep
        self._words = words
        self._note = note
        self._asking = False
        self.draft = note

    @property
    def changed(self) -> bool:
        return self.draft.strip() != self._note.strip()

    def compose_panel(self) -> ComposeResult:
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

    def action_go_on(self) -> None:
        self._asking = False
        self._show(self._title, self._SAVE, ("Esc", "leave", "leave"))
        self.query_one(TextArea).focus()

    def _show(self, title: str, *actions: tuple[str, str, str]) -> None:
        self.query_one(".panel").border_title = Content(clean(title))
        self.query_one(Actions).show_actions(*actions)


class LookupText(LongText):
    BINDINGS = bindings(Scope.MOVING)


class LookupScreen(Panel[bool | None]):
    """The dictionary entry of a word. Dismissed with True to ask the model. Closing ends the dictionary program."""

    BINDINGS = own_keys(("q,w", "leave", "Close"), ("enter", "ask_or_close", "Ask the model, or close"))
    AUTO_FOCUS = "LookupText"

    def __init__(self, lookup: Lookup) -> None:
        super().__init__(lookup.word)
        self._lookup = lookup
        self._offers_model = False

    def compose_panel(self) -> ComposeResult:
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
