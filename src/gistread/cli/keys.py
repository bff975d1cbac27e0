"""`gistread keys`: every key and where it works, with the settings applied."""

import argparse
from itertools import groupby

from gistread.cli.output import report, say
from gistread.config import load_config
from gistread.paths import default_paths

_HOW_TO_CHANGE = (
    'To change one: [keys] in config.toml, then its name as in `ask = "a"`.'
)


def run(arguments: argparse.Namespace) -> None:
    from gistread.tui.all_commands import COMMANDS  # Imports Textual: slow.
    from gistread.tui.commands import CommandKeys

    config = load_config(default_paths().config_file)
    keys = CommandKeys(COMMANDS, config.keys)
    for problem in keys.problems:
        say(problem)
    documents = [
        {
            "command": command.id,
            "keys": keys.raw(command),
            "default": [key.strip() for key in command.keys.split(",")],
            "place": command.scope,
            "title": command.title,
            "help": keys.fill(command.help),
        }
        for command in COMMANDS
    ]
    shown = [command for command in COMMANDS if command.title]
    widest = max(len(command.id) for command in shown)
    lines = []
    for scope, group in groupby(shown, key=lambda command: command.scope):
        lines.append(str(scope))
        for command in group:
            own_keys = " ".join(keys.shown(command))
            lines.append(f"  {own_keys:18} {command.id:{widest}}  {command.title}")
        lines.append("")
    lines.append(_HOW_TO_CHANGE)
    report(arguments, {"keys": documents}, lines)
