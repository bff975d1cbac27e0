"""A short tour in four steps below the panes, which stay usable."""

import tomllib
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from gistread.tui.commands import display_key
from gistread.tui.services import AppServices
from gistread.tui.widgets.lines import Actions

_TEXTS = Path(__file__).with_suffix(".toml").read_text("utf-8")
# (title, text) of each step
STEPS = tuple(tomllib.loads(_TEXTS).items())


class Tour(Vertical):
    """Enter or a click shows the next step, Escape ends the tour.

    All other keys keep their meaning.
    """

    class Pointed(Message):
        """The tour shows another step: the screen is to point at what it is about.

        `step` is `len(STEPS)` when the tour is over.
        """

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, services: AppServices) -> None:
        super().__init__()
        self._services = services
        self._at = 0
        self._is_over = False  # It is being removed, and takes no more keys

    def compose(self) -> ComposeResult:
        title, text = STEPS[self._at]
        self.screen.post_message(self.Pointed(self._at))
        number = self._at + 1
        heading = f"{number} of {len(STEPS)} · {title}"
        yield Static(heading, id="tour-title", markup=False)
        yield Static(self._services.with_keys(text), markup=False)
        end = (display_key("escape"), "end the tour", "tour(0)")
        if number == len(STEPS):
            yield Actions(end)
        else:
            yield Actions((display_key("enter"), "next", "tour(1)"), end)

    def key(self, event: events.Key) -> None:
        """Handle a key that was pressed on the screen."""
        if not self._is_over and event.key in ("enter", "escape"):
            event.stop()
            self.step(event.key == "enter")

    def step(self, on: bool) -> None:
        """Show the next step if `on`, or else end the tour."""
        if self._is_over:
            return
        self._at += 1
        if on and self._at < len(STEPS):
            self.refresh(recompose=True)
        else:
            self._is_over = True
            self.screen.post_message(self.Pointed(len(STEPS)))
            self.remove()
