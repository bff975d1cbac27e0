"""`gistread keys`: every key and where it works, with the settings applied."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gistread.cli.output import Json, report, say
from gistread.cli.settings import warn_of_theme
from gistread.config import load_config
from gistread.paths import default_paths

if TYPE_CHECKING:
    from gistread.tui.commands import AnyCommand, CommandKeys

_HOW_TO_CHANGE = (
    'To change one: [keys] in config.toml, then its name as in `ask = "a"`.'
)


def run(arguments: argparse.Namespace) -> None:
    from gistread.tui.all_commands import COMMANDS  # Imports Textual: slow.
    from gistread.tui.commands import CommandKeys

    config = load_config(default_paths().config_file)
    warn_of_theme(config)
    keys = CommandKeys(COMMANDS, config.keys)
    for problem in keys.problems:
        say(problem)
    documents = [_document(command, keys) for command in COMMANDS]
    titled = [command for command in COMMANDS if command.title]
    lines = [*_lines(titled, keys), _HOW_TO_CHANGE]
    report(arguments, {"keys": documents}, lines)


def _document(command: "AnyCommand", keys: "CommandKeys") -> Json:
    return {
        "command": command.id,
        "keys": keys.raw(command),
        "default": [key.strip() for key in command.keys.split(",")],
        "place": command.scope,
        "title": command.title,
        "help": keys.fill(command.help),
    }


def _lines(commands: "Sequence[AnyCommand]", keys: "CommandKeys") -> Iterator[str]:
    """A line for each command, under the place where its keys work."""
    widest = max(len(command.id) for command in commands)
    for scope, group in groupby(commands, key=lambda command: command.scope):
        yield str(scope)
        for command in group:
            own_keys = " ".join(keys.shown(command))
            yield f"  {own_keys:18} {command.id:{widest}}  {command.title}"
        yield ""
