"""Every key, from the one table of commands."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from gistread.tui.commands import Place, bindings, help_lines
from gistread.tui.text.document import Block, Span
from gistread.tui.text.widget import LongText

_INTRODUCTION = (
    "The model reads the book page by page and keeps a gist of each: that is the memory beside the book. "
    "A question is answered from the gists; where they are not enough, the agent opens pages, and you see which "
    "and why. Numbers in brackets are pages: they lead to the page in the memory and to its words in the book."
)
_KEY_COLUMNS = 18


class HelpText(LongText):
    """Scrolls with the keys of any pane."""

    BINDINGS = bindings(Place.MOVING)


class HelpScreen(ModalScreen[None]):
    """What there is and how to get at it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,enter", "dismiss", "Close", show=False)]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="help"):
            yield Static("Help", classes="panel-title", markup=False)
            yield HelpText(tuple(self._blocks()), side_margin=0)

    def _blocks(self) -> Iterator[Block]:
        yield Block(_INTRODUCTION)
        heading = ""
        for place, keys, title, about in help_lines(self._keymap):
            if place != heading:
                heading = place
                yield Block(place, style="heading", level=2)
            text = f"{title}. {about}" if about else title
            spans = (Span(len(title), len(text), "muted"),) if about else ()
            yield Block(text, hanging=keys, indent=_KEY_COLUMNS, blank_before=0, spans=spans)
        yield Block("Esc closes this. Ctrl+P finds every command by its name.", style="muted")
