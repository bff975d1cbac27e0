"""What a command is, and which keys run it. The tables of commands stand beside what they act on.

`all_commands.py` lists those tables. The settings can change the keys of every command.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key

# In an empty question line: start a new thread, or continue the last one
THREAD_KEY = "backspace"
BOUND_KEY = "ctrl+t"  # Set where answers stop
_PLACEHOLDER = re.compile(r"\{([a-z0-9-]+)\}")

Target = TypeVar("Target")


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


# Of the reading screen, in any pane
READING = (
    Scope.ASKING,
    Scope.REMEMBERING,
    Scope.GOING,
    Scope.SEARCHING,
    Scope.MARKING,
    Scope.VIEWING,
)
# Their keys come before all others while active
_OWN_KEYS = (Scope.SELECTING, Scope.LIBRARY)


@dataclass(frozen=True, slots=True)
class Command(Generic[Target]):
    """Something that a key does.

    >>> Command(Scope.GOING, "contents", "t", "Contents", lambda on: on.navigation.contents())
    """

    scope: Scope
    id: str  # Its name in the settings
    keys: str  # Textual's key names, separated by commas
    # A verb phrase for the help; empty if another command of its family stands for it
    title: str
    method: Callable[[Target], object]  # Awaited if it returns an awaitable
    help: str = ""  # `{command-id}` stands for that command's key
    short: str = ""  # One word for the key line; empty: not shown there
    # Where the key line shows it
    panes: tuple[str, ...] = ("book", "memory", "answers")
    # In the help, the keys of all the commands that it stands for
    family_keys: str = ""

    async def run(self, target: Target) -> None:
        result = self.method(target)
        if inspect.isawaitable(result):
            await result

    @property
    def binding(self) -> Binding:
        return Binding(
            self.keys, f"command({self.id!r})", self.title, show=False, id=self.id
        )


AnyCommand = Command[Any]


class CommandTarget:
    """A screen, widget or app whose keys run its `OWN_COMMANDS`."""

    OWN_COMMANDS: ClassVar[tuple[AnyCommand, ...]] = ()

    @property
    def command_target(self) -> object | None:
        """What the methods of its commands get; None while none can run."""
        return self

    async def run_command(self, command: AnyCommand) -> None:
        target = self.command_target
        if target is not None:
            await command.run(target)

    async def action_command(self, identifier: str) -> None:
        """Textual calls this for the bindings of its commands."""
        for command in self.OWN_COMMANDS:
            if command.id == identifier:
                await self.run_command(command)


def bindings(commands: Iterable[AnyCommand]) -> list[BindingType]:
    return [command.binding for command in commands]


def own_keys(*rows: tuple[str, ...], priority: bool = False) -> list[BindingType]:
    """`BINDINGS` of a panel: keys, action and, to be listed in the help, what it does."""
    return [
        Binding(keys, action, "".join(about), show=False, priority=priority)
        for keys, action, *about in rows
    ]


@dataclass(frozen=True, slots=True)
class HelpEntry:
    """A command as the help shows it."""

    command: AnyCommand
    keys: str
    about: str


class CommandKeys:
    """All commands with their keys, as the settings change them."""

    def __init__(
        self, commands: Iterable[AnyCommand], changes: Mapping[str, str]
    ) -> None:
        """`changes`: keys by command id. Those that are invalid are in `problems`, in words."""
        self.commands = tuple(commands)
        self._by_id = {command.id: command for command in self.commands}
        self.changed: dict[str, str] = {}
        self.problems: list[str] = []
        for identifier, keys in changes.items():
            self._change(identifier, keys)
        self._report_collisions()

    def _change(self, identifier: str, keys: str) -> None:
        bad = [key for key in keys.split(",") if not _is_key(key.strip())]
        if identifier not in self._by_id:
            unknown = (
                f"[keys] Unknown command {identifier!r}; `gistread keys` lists them."
            )
            self.problems.append(unknown)
        elif bad:
            self.problems.append(
                f"[keys] {identifier}: {bad[0]!r} is not the name of a key."
            )
        else:
            self.changed[identifier] = keys

    def _report_collisions(self) -> None:
        owners: dict[tuple[str, str], str] = {}
        for command in self.commands:
            scope = command.scope if command.scope in _OWN_KEYS else ""
            for key in self.raw(command):
                owner = owners.setdefault((scope, key), command.id)
                if owner != command.id:
                    self.problems.append(self._collision(key, owner, command.id))

    def _collision(self, key: str, first: str, second: str) -> str:
        """Textual prefers a key from the settings to a default one."""
        if (first in self.changed) == (second in self.changed):
            return f"[keys] {key!r} is bound to both {first} and {second}."
        winner, loser = (first, second) if first in self.changed else (second, first)
        return f"[keys] {key!r} runs {winner}: set another key for {loser}."

    def __getitem__(self, identifier: str) -> AnyCommand:
        return self._by_id[identifier]

    def raw(self, command: AnyCommand) -> list[str]:
        """The keys of a command, as the settings name them."""
        keys = self.changed.get(command.id, command.keys)
        return [key.strip() for key in keys.split(",")]

    def pressed(self, command: AnyCommand) -> list[str]:
        """The keys of a command, as Textual reports them when they are pressed."""
        return [
            _character_to_key(key) if len(key) == 1 else key
            for key in self.raw(command)
        ]

    def uses(self, key: str) -> bool:
        """Whether a key, as Textual reports it, runs any command."""
        return any(key in self.pressed(command) for command in self.commands)

    def shown(self, command: AnyCommand) -> list[str]:
        """The keys of a command in words: `Space`, `Ctrl+D`, `a`."""
        return [display_key(key) for key in self.raw(command)]

    def hint(self, identifier: str) -> str:
        """The first key of a command in words."""
        return self.shown(self[identifier])[0]

    def fill(self, text: str) -> str:
        """The text with each `{command-id}` replaced by that command's key."""
        return _PLACEHOLDER.sub(lambda match: self.hint(match[1]), text)

    def help_entries(self) -> Iterator[HelpEntry]:
        """Every command that has a title, in the order of the help screen."""
        for command in self.commands:
            if command.title:
                keys = command.family_keys or " ".join(self.shown(command))
                yield HelpEntry(command, keys, self.fill(command.help))


_KEY_LABELS = {
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "full_stop": ".",
    "comma": ",",
    "semicolon": ";",
    "vertical_line": "|",
    "question_mark": "?",
}


def display_key(key: str) -> str:
    if len(key) == 1:
        return key
    return "+".join(map(_display_part, key.split("+")))


def _display_part(part: str) -> str:
    usual = part.capitalize() if len(part) > 1 else part.upper()
    return _KEY_LABELS.get(part, usual)


_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if key != "+" else [key]
    if not _MODIFIERS.issuperset(modifiers):
        return False
    return (
        len(name) == 1
        or name in {item.value for item in Keys}
        or name in KEY_NAME_REPLACEMENTS.values()
        or name in {_character_to_key(chr(code)) for code in range(33, 127)}
    )
