"""The commands of the memory pane."""

from typing import TYPE_CHECKING

from gistread.tui.commands import Command, Scope

if TYPE_CHECKING:  # `gistread keys` lists the commands and needs no widget
    from gistread.tui.widgets.memory_pane import MemoryPane

MEMORY: "tuple[Command[MemoryPane], ...]" = (
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
