"""The commands (commands.toml) for bindings, help and key line.

The settings can change their keys.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key

THREAD_KEY = (
    "backspace"  # In the empty question line: ask on its own, or continue the last question
)
BOUND_KEY = "ctrl+t"  # Set where answers stop


class Scope(StrEnum):
    """Where a command works. Its value is the heading in the help."""

    ASKING = "Questions and answers"
    REMEMBERING = "Memory and model"
    GOING = "Going places"
    SEARCHING = "Searching"
    MARKING = "Marks and notes"
    VIEWING = "Text, pictures and voice"
    MEMORY = "In the memory"
    SELECTING = "While selecting by keyboard"
    MOVING = "Moving, in any pane"
    LIBRARY = "In the library"
    ANYWHERE = "Anywhere"


@dataclass(frozen=True, slots=True)
class Command:
    scope: Scope
    id: str
    keys: str  # Textual's key names, separated by commas
    action: str  # Textual action of the widget or screen with this scope; see `run`
    title: str  # A verb phrase for the help; empty if another command of its family stands for it
    help: str = ""  # `{command-id}` stands for that command's key
    short: str = ""  # One word for the key line; empty: not shown there
    panes: str = "book memory answers"  # Panes in which the key line shows it


def run(path: str, *arguments: object) -> str:
    """The action of the reading screen that calls a method of one of its controllers.

    `run("search.step", 1)`.
    """
    return f"run({', '.join(map(repr, (path, *arguments)))})"


_TABLES = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
COMMANDS = tuple(
    Command(scope, id_, *row) for scope in Scope for id_, row in _TABLES[scope.name.lower()].items()
)
BY_ID: Mapping[str, Command] = {command.id: command for command in COMMANDS}
READING = (
    Scope.ASKING,
    Scope.REMEMBERING,
    Scope.GOING,
    Scope.SEARCHING,
    Scope.MARKING,
    Scope.VIEWING,
)  # of the reading screen, in any pane
_OWN_KEYS = (
    Scope.SELECTING,
    Scope.LIBRARY,
)  # scopes whose keys come before all others while active


def bindings(*scopes: Scope) -> list[BindingType]:
    return [
        Binding(one.keys, one.action, one.title, show=False, id=one.id)
        for one in COMMANDS
        if one.scope in scopes
    ]


def own_keys(*rows: tuple[str, ...], priority: bool = False) -> list[BindingType]:
    """`BINDINGS` of a panel: keys, action and, to be listed in the help, what it does."""
    return [
        Binding(keys, action, "".join(about), show=False, priority=priority)
        for keys, action, *about in rows
    ]


def check_keys(keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The valid configured keys, and a line about each invalid or colliding one.

    Configured keys win over defaults.
    """
    usable: dict[str, str] = {}
    problems: list[str] = []
    for identifier, wanted in keys.items():
        if identifier not in BY_ID:
            problems.append(f"[keys] Unknown command {identifier!r}; `gistread keys` lists them.")
        elif bad := [key for key in wanted.split(",") if not _is_key(key.strip())]:
            problems.append(f"[keys] {identifier}: {bad[0]!r} is not the name of a key.")
        else:
            usable[identifier] = wanted
    owners: dict[tuple[str, str], str] = {}
    for command in COMMANDS:
        for key in usable.get(command.id, command.keys).split(","):
            other = owners.setdefault(
                (command.scope if command.scope in _OWN_KEYS else "", key.strip()), command.id
            )
            if other != command.id:
                problems.append(
                    f"[keys] {key.strip()!r} is bound to both {other} and {command.id}."
                )
    return usable, problems


def key_hint(command: str, keymap: Mapping[str, str]) -> str:
    """The first key of a command in words: `Space`, `Ctrl+D`, `a`."""
    return keys_of(BY_ID[command], keymap)[0]


def with_keys(text: str, keymap: Mapping[str, str]) -> str:
    """The text with each `{command-id}` replaced by that command's key."""
    return re.sub(r"\{([a-z0-9-]+)\}", lambda match: key_hint(match[1], keymap), text)


def keys_of(command: Command, keymap: Mapping[str, str]) -> list[str]:
    return [display_key(key.strip()) for key in keymap.get(command.id, command.keys).split(",")]


def key_names(command: Command, keymap: Mapping[str, str]) -> list[str]:
    """The keys of a command as Textual reports them when they are pressed."""
    keys = (key.strip() for key in keymap.get(command.id, command.keys).split(","))
    return [_character_to_key(key) if len(key) == 1 else key for key in keys]


_KEY_LABELS = {
    **{"pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc"},
    **{"up": "↑", "down": "↓", "left": "←", "right": "→"},
    **{"full_stop": ".", "comma": ",", "question_mark": "?"},
}


def display_key(key: str) -> str:
    if len(key) == 1:
        return key
    parts = key.split("+")
    return "+".join(
        _KEY_LABELS.get(part, part.capitalize() if len(part) > 1 else part.upper())
        for part in parts
    )


def help_lines(keymap: Mapping[str, str]) -> Iterable[tuple[Command, str, str]]:
    """(command, keys, help) of every command that has a title, in the order of the help screen."""
    for command in COMMANDS:
        if command.title:
            keys = "1 … 9" if command.id == "citation-1" else " ".join(keys_of(command, keymap))
            yield command, keys, with_keys(command.help, keymap)


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if key != "+" else [key]
    if any(
        modifier not in {"ctrl", "shift", "alt", "super", "meta", "hyper"} for modifier in modifiers
    ):
        return False
    return (
        len(name) == 1
        or name in {item.value for item in Keys}
        or name in KEY_NAME_REPLACEMENTS.values()
        or name in {_character_to_key(chr(code)) for code in range(33, 127)}
    )
