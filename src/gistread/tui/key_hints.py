"""Which keys the last line names: at most five."""

from collections.abc import Sequence

from gistread.tui.commands import AnyCommand
from gistread.tui.services import AppServices
from gistread.tui.widgets.lines import Hint, Room

MOST = 5
_LAST = ("help", "quit", "library-close")  # They keep their room in the line.
_ENDS = {"cancel", "drop-selection"}  # Beside them leaving the program is not named.
_FIRST = ("back", "read on")  # Words of the hints that come before those


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
    `hidden`: id of a command that does nothing now.
    """
    keys = services.keys
    taken = {identifier for identifier, _ in leading} | {hidden}
    if "caret-next-word" in taken:
        taken.add("select")  # Its key does something else there.
    offered = [
        command
        for command in keys.commands
        if command.short and pane in command.panes and command.id not in taken
    ]
    if typing:
        offered = [command for command in offered if command.id == "help"]
    if taken & _ENDS:
        offered = [command for command in offered if command.id != "quit"]
    hints = [_hint(services, keys[identifier], word) for identifier, word in leading]
    hints += [_hint(services, command, command.short) for command in offered]
    last = [hint for hint in hints if hint.room is Room.LAST]
    others = [hint for hint in hints if hint.room is not Room.LAST]
    # Sorting is stable: among equals, those named first stay.
    kept = sorted(others, key=lambda hint: hint.room)[: MOST - len(last)]
    return [hint for hint in others if hint in kept] + last


def _hint(services: AppServices, command: AnyCommand, word: str) -> Hint:
    room = Room.USUAL
    if command.id in _LAST:
        room = Room.LAST
    elif word in _FIRST:
        room = Room.FIRST
    key = services.keys.shown(command)[0]
    return Hint(key, word, lambda: services.run_command(command), room)
