"""What the dictionary says about a word. Closing the panel ends the dictionary program."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from gistread.dictionary import DictionaryError, Lookup, look_up
from gistread.tui.commands import Scope, bindings
from gistread.tui.marking.choices import Choice, Choices
from gistread.tui.text import Block, LongText, clean


class LookupText(LongText):
    """Scrolls like the panes."""

    BINDINGS = bindings(Scope.MOVING)


class LookupScreen(ModalScreen[None]):
    """Looks one word up."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,w", "dismiss", "Close", show=False)]
    AUTO_FOCUS = "LookupText"

    def __init__(self, lookup: Lookup) -> None:
        super().__init__()
        self._lookup = lookup

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="lookup-panel"):
            yield Static(clean(self._lookup.word), classes="panel-title", markup=False)
            yield Static(self._asked("…"), classes="panel-note", id="lookup-note", markup=False)
            yield LookupText(id="lookup-text", side_margin=0)
            yield Choices(Choice("Esc", "close", "dismiss"))

    def on_mount(self) -> None:
        # Ends with the screen, and the program with it.
        self.run_worker(self._look_up(), exit_on_error=True)

    def _asked(self, end: str = "") -> str:
        return f"Asking {self._lookup.program}{end}" if self._lookup.program else f"Asking the list of words{end}"

    async def _look_up(self) -> None:
        try:
            said = await look_up(self._lookup)
            style = "text"
        except DictionaryError as error:
            said, style = str(error), "warning"
        note = self._lookup.program or "The list of words"
        self.query_one("#lookup-note", Static).update(note)
        lines = [Block(line, style=style, blank_before=0) for line in said.split("\n")]
        self.query_one("#lookup-text", LookupText).show(lines)
