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
    `hidden`: id of a command that does nothing now, or is named elsewhere.
    """
    keys = services.keys
    offered = [
        command for command in keys.commands if command.short and pane in command.panes
    ]
    if typing:
        offered = [command for command in offered if command.id == "help"]
    absent = _not_offered({identifier for identifier, _ in leading}) | {hidden}
    hints = [_hint(services, keys[identifier], word) for identifier, word in leading]
    hints += [
        _hint(services, command, command.short)
        for command in offered
        if command.id not in absent
    ]
    return _first_of(hints)


def _not_offered(leading: set[str]) -> set[str]:
    """Commands that are not named beside the leading ones: these, and those that clash."""
    absent = set(leading)
    if "caret-next-word" in leading:
        absent.add("select")  # Its key does something else there.
    if leading & _ENDS:
        absent.add("quit")
    return absent


def _first_of(hints: Sequence[Hint]) -> list[Hint]:
    """The hints that have room, with the last ones at the end."""
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
