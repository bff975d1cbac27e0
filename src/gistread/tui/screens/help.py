"""Every key, from the one table of commands."""

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from gistread.tui.commands import help_lines

_INTRODUCTION = """\
The model reads the book page by page and keeps a gist of each: that is the memory beside the book. \
A question is answered from the gists; where they are not enough, the agent opens pages, and you see which and why. \
Numbers in brackets are pages: they lead to the page in the memory and to its words in the book."""


class HelpScreen(ModalScreen[None]):
    """What there is and how to get at it."""

    BINDINGS = [Binding("escape,q,f1,enter", "dismiss", "Close", show=False)]

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"), VerticalScroll(id="help"):
            yield Static(_INTRODUCTION, markup=False)
            yield Static(self._keys())

    def _keys(self) -> Content:
        parts: list[Content | str] = []
        heading = ""
        for place, keys, title, about in help_lines(self._keymap):
            if place != heading:
                heading = place
                parts.append(Content.assemble("\n", (place, "bold $gr-accent"), "\n"))
            parts.append(Content.assemble((f"  {keys:<16} ", "bold"), title, (f"  {about}" if about else "", "$gr-muted"), "\n"))
        parts.append(Content.assemble("\n", ("Esc closes. Ctrl+P finds any of these by name.", "$gr-muted")))
        return Content.assemble(*parts)
