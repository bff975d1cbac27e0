"""`gistread completion SHELL`: a completion script for bash, zsh or fish, written by shtab."""

import argparse

import shtab

from gistread.cli.cache import PARTS
from gistread.cli.output import write
from gistread.cli.parser import whole_parser
from gistread.engine.catalogue import read_catalogue
from gistread.paths import default_paths
from gistread.presets import AUTO, read_presets

_PATHS = {"PATH", "FILE", "BOOK", "MODEL"}


def run(arguments: argparse.Namespace) -> None:
    write(completion_script(arguments.shell))


def completion_script(shell: str) -> str:
    parser = whole_parser()
    _add_completions(parser)
    text: str = shtab.complete(parser, shell)
    if shell == "bash":  # A first word may also be a book.
        text = text.replace("complete -o filenames", "complete -o default -o filenames")
    return text


def _add_completions(parser: argparse.ArgumentParser) -> None:
    presets = [AUTO, *read_presets(default_paths().presets)[0]]
    choices, catalogue = {"parts": [*PARTS], "preset": presets}, read_catalogue()
    # argparse has no public list of a parser's actions.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in list(action.choices.values()):
                _add_completions(command)
            if "docs" in action.choices:  # `help COMMAND`, which the parser turns around
                action.add_parser("help").add_argument("name", choices=[*action.choices])
        elif action.dest == "model" and parser.prog.endswith(" get"):
            action.choices = [entry.name for entry in (*catalogue.entries, catalogue.starter)]
        elif action.dest in choices:
            action.choices = choices[action.dest]
        elif not action.choices and action.metavar in _PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
