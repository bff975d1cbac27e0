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

# In an empty question line, this key starts a new thread, or continues the last one.
THREAD_KEY = "backspace"
BOUND_KEY = "ctrl+t"  # Sets where answers stop
# The id of a command in a text: {choose-model}
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


# Scopes of the reading screen, in any pane
READING = (
    Scope.ASKING,
    Scope.REMEMBERING,
    Scope.GOING,
    Scope.SEARCHING,
    Scope.MARKING,
    Scope.VIEWING,
)
# Scopes whose keys, while they are active, come before all others
_OWN_KEYS = (Scope.SELECTING, Scope.LIBRARY)


@dataclass(frozen=True, slots=True)
class Command(Generic[Target]):
    """Something that a key does.

    >>> Command(Scope.GOING, "contents", "t", "Contents", lambda on: on.navigation.contents())
    """

    scope: Scope
    id: str  # Its name in the settings
    keys: str  # Textual's key names, separated by commas
    # A verb phrase for the help; empty if another command stands there for its family
    title: str
    method: Callable[[Target], object]  # Awaited if it returns an awaitable
    help: str = ""  # `{command-id}` stands for that command's key
    short: str = ""  # One word for the key line; empty: not shown there
    # The panes whose key line shows it
    panes: tuple[str, ...] = ("book", "memory", "answers")
    # What the help shows as keys, if this command stands there for its whole family
    family_keys: str = ""

    async def run(self, target: Target) -> None:
        """Call the method on what it acts on, and await it if it is asynchronous."""
        result = self.method(target)
        if inspect.isawaitable(result):
            await result

    @property
    def binding(self) -> Binding:
        action = f"command({self.id!r})"
        return Binding(self.keys, action, self.title, show=False, id=self.id)


AnyCommand = Command[Any]


class CommandTarget:
    """A screen, widget or app whose keys run its `OWN_COMMANDS`."""

    OWN_COMMANDS: ClassVar[tuple[AnyCommand, ...]] = ()

    @property
    def command_target(self) -> object | None:
        """The argument of its commands' methods; None while no command can run."""
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
    """`BINDINGS` of a panel, from rows of keys, action and, for the help, what it does.

    A row without the last is not listed in the help.
    """
    panel_bindings: list[BindingType] = []
    for keys, action, *about in rows:
        description = about[0] if about else ""
        binding = Binding(keys, action, description, show=False, priority=priority)
        panel_bindings.append(binding)
    return panel_bindings


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
        """`changes`: keys by command id. `problems` has a message for each invalid one."""
        self.commands = tuple(commands)
        self._by_id = {command.id: command for command in self.commands}
        self.changed: dict[str, str] = {}
        self.problems: list[str] = []
        for identifier, keys in changes.items():
            self._change(identifier, keys)
        self._report_collisions()

    def _change(self, identifier: str, keys: str) -> None:
        """Use these keys for a command, or add a problem if that is impossible."""
        bad = [key for key in keys.split(",") if not _is_key(key.strip())]
        if identifier not in self._by_id:
            problem = f"Unknown command {identifier!r}; `gistread keys` lists them."
            self.problems.append(f"[keys] {problem}")
        elif bad:
            problem = f"{bad[0]!r} is not the name of a key."
            self.problems.append(f"[keys] {identifier}: {problem}")
        else:
            self.changed[identifier] = keys

    def _report_collisions(self) -> None:
        """Add a problem for each key that two commands share."""
        owners: dict[tuple[str, str], str] = {}
        for command in self.commands:
            scope = command.scope if command.scope in _OWN_KEYS else ""
            for key in self.raw(command):
                owner = owners.setdefault((scope, key), command.id)
                if owner != command.id:
                    self.problems.append(self._collision(key, owner, command.id))

    def _collision(self, key: str, first: str, second: str) -> str:
        """A message that two commands have the same key."""
        first_is_changed = first in self.changed
        second_is_changed = second in self.changed
        if first_is_changed == second_is_changed:
            return f"[keys] {key!r} is bound to both {first} and {second}."
        # Textual prefers a key from the settings to a default one.
        winner, loser = (first, second) if first_is_changed else (second, first)
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
    """A key as the user reads it.

    >>> display_key("ctrl+t"), display_key("pageup"), display_key("a")
    ('Ctrl+T', 'PgUp', 'a')
    """
    if len(key) == 1:
        return key
    return "+".join(map(_display_part, key.split("+")))


def _display_part(part: str) -> str:
    usual = part.capitalize() if len(part) > 1 else part.upper()
    return _KEY_LABELS.get(part, usual)


_TEXTUAL_KEYS = {key.value for key in Keys}
# The names of printable characters, such as `full_stop`
_CHARACTER_KEYS = {_character_to_key(chr(code)) for code in range(33, 127)}
_MODIFIERS = {"ctrl", "shift", "alt", "super", "meta", "hyper"}


def _is_key(key: str) -> bool:
    """Whether Textual knows a key of this name, such as `+`, `f1` or `ctrl+full_stop`."""
    if len(key) == 1:
        return True
    *modifiers, name = key.split("+")
    if not _MODIFIERS.issuperset(modifiers):
        return False
    return (
        len(name) == 1
        or name in _TEXTUAL_KEYS
        or name in KEY_NAME_REPLACEMENTS.values()
        or name in _CHARACTER_KEYS
    )
