"""`gistread keys`: every key and where it works, with the settings applied."""

import argparse
from itertools import groupby

from gistread.cli.output import report, say
from gistread.config import load_config
from gistread.paths import default_paths


def run(arguments: argparse.Namespace) -> None:
    from gistread.tui.commands import (
        COMMANDS,
        check_keys,
        keys_of,
        with_keys,
    )  # Imports Textual: slow.

    keymap, problems = check_keys(load_config(default_paths().config_file).keys)
    for problem in problems:
        say(problem)
    documents = [
        {
            "command": command.id,
            "keys": [key.strip() for key in keymap.get(command.id, command.keys).split(",")],
            "default": [key.strip() for key in command.keys.split(",")],
            "place": command.scope,
            "title": command.title,
            "help": with_keys(command.help, keymap),
        }
        for command in COMMANDS
    ]
    shown = [command for command in COMMANDS if command.title]
    widest = max(len(command.id) for command in shown)
    lines = []
    for scope, group in groupby(shown, key=lambda command: command.scope):
        rows = (
            f"  {' '.join(keys_of(one, keymap)):18} {one.id:{widest}}  {one.title}" for one in group
        )
        lines += [f"{scope}", *rows, ""]
    lines.append('To change one: [keys] in config.toml, then its name as in `ask = "a"`.')
    report(arguments, {"keys": documents}, lines)
