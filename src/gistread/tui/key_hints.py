"""Which keys the last line names: at most five."""

from collections.abc import Sequence

from gistread.tui.commands import AnyCommand
from gistread.tui.services import AppServices
from gistread.tui.widgets.lines import Hint, Room

MOST = 5
# Commands that are always named, at the end of the line
_LAST = ("help", "quit", "library-close")
# Commands that end something; beside them, quitting the program is not named
_ENDS = {"cancel", "drop-selection"}
# Words of the hints that are named before all others
_FIRST = ("back", "read on")


def key_hints(
    services: AppServices,
    pane: str,
    leading: Sequence[tuple[str, str]] = (),
    *,
    typing: bool = False,
    hidden: str = "",
) -> list[Hint]:
    """The hints for this pane. `leading`: (command id, word) of what matters most now.

    `typing`: whether letters go into an input; then only `leading` and the help are named.
    `hidden`: id of a command that does nothing now, or is named elsewhere.
    """
    keys = services.keys
    offered = [
        command for command in keys.commands if command.short and pane in command.panes
    ]
    if typing:
        offered = [command for command in offered if command.id == "help"]
    leading_ids = {identifier for identifier, _ in leading}
    left_out = _left_out_beside(leading_ids) | {hidden}
    hints = [_hint(services, keys[identifier], word) for identifier, word in leading]
    hints += [
        _hint(services, command, command.short)
        for command in offered
        if command.id not in left_out
    ]
    return _fitting(hints)


def _left_out_beside(leading: set[str]) -> set[str]:
    """Ids of commands not named again: the leading ones, and those that clash with them."""
    left_out = set(leading)
    if "caret-next-word" in leading:
        left_out.add("select")  # Its key does something else there.
    if leading & _ENDS:
        left_out.add("quit")
    return left_out


def _fitting(hints: Sequence[Hint]) -> list[Hint]:
    """The hints that the line has room for, with those of `Room.LAST` at its end."""
    last = [hint for hint in hints if hint.room is Room.LAST]
    others = [hint for hint in hints if hint.room is not Room.LAST]
    # Sorting is stable: among equals, those named first stay.
    fitting = sorted(others, key=lambda hint: hint.room)[: MOST - len(last)]
    return [hint for hint in others if hint in fitting] + last


def _hint(services: AppServices, command: AnyCommand, word: str) -> Hint:
    room = Room.USUAL
    if command.id in _LAST:
        room = Room.LAST
    elif word in _FIRST:
        room = Room.FIRST
    key = services.keys.shown(command)[0]
    return Hint(key, word, lambda: services.run_command(command), room)
