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
    "book. Answers draw on "
    "gists and text; numbers in brackets lead to their sources. Enter runs a command."
)
_KEY_COLUMNS = 18


class HelpLine(NamedTuple):
    heading: str
    keys: str
    title: str
    about: str = ""
    command: AnyCommand | None = None

    def matches(self, words: Iterable[str]) -> bool:
        """Whether every word occurs in the line; a word of one letter is a key."""
        text = f"{self.heading} {self.keys} {self.title} {self.about}".casefold()
        return all(
            word in self.keys.split() if len(word) == 1 else word.casefold() in text
            for word in words
        )


def nearest_scopes(
    pane: Pane | None, *, selecting: bool = False, library: bool = False
) -> tuple[Scope, ...]:
    """The scopes of the current screen and pane, nearest first.

    None for a panel with its own keys.
    """
    if library:
        return (Scope.LIBRARY, Scope.MOVING)
    if selecting:
        return (Scope.SELECTING, *READING)
    of_panes = {
        Pane.BOOK: (Scope.MOVING, *READING),
        Pane.MEMORY: (Scope.REMEMBERING, Scope.MEMORY, Scope.MOVING),
        Pane.ANSWERS: (Scope.ASKING, Scope.MOVING),
    }
    if pane is None:
        return ()
    return of_panes[pane]


def lines_of_panel(
    active: Iterable[ActiveBinding], all_keys: CommandKeys
) -> list[HelpLine]:
    of_commands = {command.id for command in all_keys.commands}
    keys: dict[str, list[str]] = {}
    for node, binding, *_ in active:
        own = isinstance(node, Screen) and binding.id not in of_commands
        if own and binding.description:
            keys.setdefault(binding.description.capitalize(), []).append(
                display_key(binding.key)
            )
    return [
        HelpLine("On this panel", " ".join(those), what) for what, those in keys.items()
    ]


def sorted_help(
    keys: CommandKeys, first: Sequence[Scope], panel: Sequence[HelpLine] = ()
) -> list[HelpLine]:
    table = [
        HelpLine(
            entry.command.scope,
            entry.keys,
            entry.command.title,
            entry.about,
            entry.command,
        )
        for entry in keys.help_entries()
    ]
    rank = {place: number for number, place in enumerate(first)}
    # Stable: the rest keeps its order
    table.sort(key=lambda line: rank.get(Scope(line.heading), len(rank)))
    return [*panel, *table]


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
            if line.matches(words):
                if line.heading != heading:
                    heading = line.heading
                    rows.append(Row(None, heading))
                text = f"{line.title}. {line.about}" if line.about else line.title
                spans = (Span(len(line.title), len(text), "muted"),)
                rows.append(
                    Row(line, text, hanging=line.keys, indent=_KEY_COLUMNS, spans=spans)
                )
        return rows

    @property
    def nothing(self) -> str:
        return f"No command matches “{self.typed}”."
