"""Confirms a costly question: shows what the answer takes, and offers a quicker reader."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import Panel
from gistread.tui.widgets.lines import Actions
from gistread.units import format_duration


class CostScreen(Panel[str | None]):
    """Dismissed with the name of the reader to ask, or with None."""

    BINDINGS = own_keys(
        ("enter", "ask", "Ask all the same"), ("q", "quick", "Ask quickly"), ("escape", "dismiss(None)", "Do not ask")
    )

    def __init__(self, reader: str, cost: str, quick: tuple[str, float | None] | None) -> None:
        """`cost`: what the answer takes, in words; `quick`: a quicker reader and its seconds, None if unknown."""
        super().__init__()
        self._reader = reader
        self._cost = cost
        self._quick = quick

    def compose(self) -> ComposeResult:
        quick = []
        if self._quick is not None:
            seconds = self._quick[1]
            quick = [("q", f"Quick: about {format_duration(seconds)}" if seconds else "Quick", "quick")]
        with Vertical(classes="panel"):
            yield Static(self._cost, classes="panel-title", markup=False)
            yield Actions(("Enter", "asks", "ask"), *quick)

    def action_ask(self) -> None:
        self.dismiss(self._reader)

    def action_quick(self) -> None:
        if self._quick is not None:
            self.dismiss(self._quick[0])
