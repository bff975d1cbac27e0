"""The commands that move in a pane or a list."""

from typing import TYPE_CHECKING

from gistread.tui.commands import Command, Scope

if TYPE_CHECKING:  # `gistread keys` lists the commands and needs no widget
    from gistread.tui.text import LongText

MOVING: "tuple[Command[LongText], ...]" = (
    Command(
        Scope.MOVING,
        "page-down",
        "space,pagedown",
        "Next screen",
        lambda pane: pane.action_turn(1),
    ),
    Command(
        Scope.MOVING,
        "page-up",
        "b,pageup",
        "Previous screen",
        lambda pane: pane.action_turn(-1),
    ),
    Command(
        Scope.MOVING,
        "half-page-down",
        "d,ctrl+d",
        "Half a screen down",
        lambda pane: pane.action_turn(0.5),
    ),
    Command(
        Scope.MOVING,
        "half-page-up",
        "u,ctrl+u",
        "Half a screen up",
        lambda pane: pane.action_turn(-0.5),
    ),
    Command(
        Scope.MOVING,
        "line-down",
        "down,j",
        "Next line; in the memory, next section",
        lambda pane: pane.action_line_down(1),
    ),
    Command(
        Scope.MOVING,
        "line-up",
        "up,k",
        "Previous line; in the memory, previous section",
        lambda pane: pane.action_line_down(-1),
    ),
    Command(
        Scope.MOVING,
        "top",
        "g,home",
        "To the beginning",
        lambda pane: pane.action_top(),
    ),
    Command(
        Scope.MOVING,
        "bottom",
        "G,end",
        "To the end",
        lambda pane: pane.action_bottom(),
    ),
)
