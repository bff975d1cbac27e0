"""The help: all commands with their keys, those of the current pane first. Enter runs one."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual.binding import ActiveBinding
from textual.screen import Screen

from gistread.tui.commands import (
    READING,
    AnyCommand,
    CommandKeys,
    Scope,
    display_key,
    own_keys,
)
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Span

_INTRODUCTION = (
    "The model reads the book section by section and keeps a gist of each: the memory beside the "
    "book. Answers draw on gists and text; numbers in brackets lead to their sources. "
    "Enter runs a command."
)
_KEY_COLUMNS = 18


class HelpLine(NamedTuple):
    """A line of the help: a command, or a key of a panel."""

    heading: str
    keys: str  # In words
    title: str
    about: str = ""
    command: AnyCommand | None = None

    def matches(self, words: Iterable[str]) -> bool:
        """Whether every word occurs in the line; a word of one letter is a key."""
        keys = self.keys.split()
        text = f"{self.heading} {self.keys} {self.title} {self.about}".casefold()
        for word in words:
            is_key = len(word) == 1
            is_in_line = word in keys if is_key else word.casefold() in text
            if not is_in_line:
                return False
        return True


def nearest_scopes(
    pane: Pane | None, *, selecting: bool = False, library: bool = False
) -> tuple[Scope, ...]:
    """The scopes of the current screen and pane, nearest first.

    `pane`: None outside the reading screen. A panel has keys of its own, and no scopes.
    """
    if library:
        return (Scope.LIBRARY, Scope.MOVING)
    if selecting:
        return (Scope.SELECTING, *READING)
    match pane:
        case Pane.BOOK:
            return (Scope.MOVING, *READING)
        case Pane.MEMORY:
            return (Scope.REMEMBERING, Scope.MEMORY, Scope.MOVING)
        case Pane.ANSWERS:
            return (Scope.ASKING, Scope.MOVING)
        case None:
            return ()


def lines_of_panel(
    active: Iterable[ActiveBinding], all_keys: CommandKeys
) -> list[HelpLine]:
    """The keys of a panel itself, with what they do."""
    command_ids = {command.id for command in all_keys.commands}
    keys_by_title: dict[str, list[str]] = {}
    for node, binding, *_ in active:
        # Bindings of commands have an id; they are listed with the commands.
        is_own = isinstance(node, Screen) and binding.id not in command_ids
        if is_own and binding.description:
            keys = keys_by_title.setdefault(binding.description.capitalize(), [])
            keys.append(display_key(binding.key))
    return [
        HelpLine("On this panel", " ".join(keys), title)
        for title, keys in keys_by_title.items()
    ]


def sorted_help(
    keys: CommandKeys, first: Sequence[Scope], panel: Sequence[HelpLine] = ()
) -> list[HelpLine]:
    """The lines of the help: of the panel, of the `first` scopes, then of all others."""
    lines: list[HelpLine] = []
    for entry in keys.help_entries():
        command = entry.command
        line = HelpLine(command.scope, entry.keys, command.title, entry.about, command)
        lines.append(line)
    rank = {scope: number for number, scope in enumerate(first)}
    # Sorting is stable: the others keep their order.
    lines.sort(key=lambda line: rank.get(Scope(line.heading), len(rank)))
    return [*panel, *lines]


class HelpScreen(ListScreen[HelpLine]):
    """Dismissed with the line of the command to run."""

    BINDINGS = own_keys(("f1,ctrl+p", "dismiss(None)"), priority=True)
    ENTER = "run"
    TALL = True

    def __init__(self, lines: Sequence[HelpLine]) -> None:
        super().__init__("Help", _INTRODUCTION, placeholder="a command or a key")
        self._lines = lines

    def rows_for(self, typed: str) -> Sequence[Row[HelpLine]]:
        rows: list[Row[HelpLine]] = []
        heading = ""
        words = typed.split()
        for line in self._lines:
            if not line.matches(words):
                continue
            if line.heading != heading:
                heading = line.heading
                rows.append(Row(None, heading))
            rows.append(_row(line))
        return rows

    @property
    def nothing(self) -> str:
        return f"No command matches “{self.typed}”."


def _row(line: HelpLine) -> Row[HelpLine]:
    text = f"{line.title}. {line.about}" if line.about else line.title
    spans = (Span(len(line.title), len(text), "muted"),)
    return Row(line, text, hanging=line.keys, indent=_KEY_COLUMNS, spans=spans)
