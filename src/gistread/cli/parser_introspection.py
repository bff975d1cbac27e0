"""What can be typed after a command, read from its parser: for completion and for the manual."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

_PATHS = {"BOOK", "PATH", "MODEL", "FILE", "DIR", "FOLDER"}
"""What stands for a file in a help text."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An option, or a word of its own."""

    flags: tuple[str, ...]
    """Empty: a word of its own."""
    value: str
    """What stands for its value in a help text; empty: it takes none."""
    choices: tuple[str, ...]
    help: str
    repeated: bool
    """It may be given more than once."""
    needed: bool

    @property
    def is_path(self) -> bool:
        return self.value in _PATHS and not self.choices


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that can be typed after a command."""

    options: tuple[Typed, ...]
    words: tuple[Typed, ...]
    actions: tuple[tuple[str, str, "Shape"], ...]
    """Commands of the command: name, help, shape."""

    @property
    def takes_paths(self) -> bool:
        return any(word.is_path for word in self.words) or any(shape.takes_paths for _, _, shape in self.actions)


def shape(parser: argparse.ArgumentParser) -> Shape:
    """What this parser takes, in the order of its help."""
    typed = tuple(_typed(parser))
    return Shape(
        options=tuple(one for one in typed if one.flags),
        words=tuple(one for one in typed if not one.flags),
        actions=tuple(_actions(parser)),
    )


def _typed(parser: argparse.ArgumentParser) -> Iterator[Typed]:
    # argparse has no public way to ask a parser what it takes.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        names = str(action.metavar or action.dest.upper()) if action.nargs != 0 else ""
        text = (action.help or "") % {"prog": parser.prog, "default": action.default}
        choices = tuple(map(str, action.choices or ()))
        repeated = action.nargs in ("*", "+") or isinstance(action, argparse._AppendAction)
        needed = action.required and action.nargs not in ("?", "*")
        yield Typed(tuple(action.option_strings), names, choices, text, repeated, needed)


def _actions(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, Shape]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                yield name, helps.get(name, ""), shape(sub)
