"""The commands of the memory pane."""

from typing import Protocol

from gistread.tui.commands import Command, Scope


class SectionList(Protocol):
    """A pane that lists sections. `gistread keys` names its commands without a widget."""

    def go_to_page(self) -> None: ...


MEMORY: tuple[Command[SectionList], ...] = (
    Command(
        Scope.MEMORY,
        "go-to-page",
        "o",
        "Go to the section in the book",
        lambda pane: pane.go_to_page(),
        short="go to",
        panes=("memory",),
    ),
)
