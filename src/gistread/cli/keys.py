"""`gistread keys`: every key and where it works, with the settings applied."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gistread.cli.output import report, say
from gistread.config import load_config
from gistread.paths import default_paths

if TYPE_CHECKING:
    from gistread.tui.commands import Command


def run(arguments: argparse.Namespace) -> None:
    from gistread.tui.commands import COMMANDS, Scope, check_keys, with_keys  # Imports Textual: slow.

    keymap, problems = check_keys(load_config(default_paths().config_file).keys)
    for problem in problems:
        say(problem)
    scopes = list(Scope)
    commands = sorted(COMMANDS, key=lambda command: scopes.index(command.scope))
    documents = [
        {
            "command": command.id,
            "keys": [key.strip() for key in keymap.get(command.id, command.keys).split(",")],
            "default": [key.strip() for key in command.keys.split(",")],
            "place": command.scope,
            "title": command.title,
            "help": with_keys(command.help, keymap),
        }
        for command in commands
    ]
    report(arguments, {"keys": documents}, (_toml if arguments.toml else _table)(commands, keymap))


def _table(commands: Sequence["Command"], keymap: Mapping[str, str]) -> Iterator[str]:
    from gistread.tui.commands import keys_of

    shown = [command for command in commands if command.title]
    widest = max(len(command.id) for command in shown)
    for scope, group in groupby(shown, key=lambda command: command.scope):
        yield f"{scope}"
        for command in group:
            keys = " ".join(keys_of(command, keymap))
            yield f"  {keys:18} {command.id:{widest}}  {command.title}"
        yield ""
    yield "Change keys under [keys] in config.toml; `gistread keys --toml` prints lines for it."


def _toml(commands: Sequence["Command"], keymap: Mapping[str, str]) -> Iterator[str]:
    yield "[keys]"
    for scope, group in groupby(commands, key=lambda command: command.scope):
        yield f"# {scope}"
        for command in group:
            keys = keymap.get(command.id, command.keys)
            sign = "" if command.id in keymap else "# "
            setting = f"{sign}{command.id} = {json.dumps(keys, ensure_ascii=False)}"
            yield f"{setting:40}  # {command.title}" if command.title else setting
