"""The actions of a panel as a line of words with their keys; each can be clicked."""

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

_ACTION = "gistread-choice"  # not `@click`, which Textual draws as a link


class Choice(NamedTuple):
    key: str
    """As it is displayed."""
    word: str
    action: str
    """Action of the screen."""


class Choices(Static):
    """One or more lines."""

    DEFAULT_CSS = "Choices { height: auto; width: 1fr; margin-top: 1; }"

    def __init__(self, *choices: Choice, id: str | None = None) -> None:
        super().__init__(markup=False, id=id)
        self._choices = choices

    def on_mount(self) -> None:
        self.show(self._choices)

    def show(self, choices: Sequence[Choice]) -> None:
        parts = [
            Content.assemble((choice.key, "bold $gr-accent"), (f"\u00a0{choice.word}", "$gr-muted")).stylize(
                Style.from_meta({_ACTION: choice.action})
            )
            for choice in choices
        ]
        self.update(Content("   ").join(parts))

    async def on_click(self, event: events.Click) -> None:
        if action := event.style.meta.get(_ACTION):
            await self.app.run_action(action, self.screen)
