"""`gistread completion SHELL`: a completion script for bash, zsh, fish, tcsh or PowerShell, written by shtab."""

import argparse

import shtab

from gistread.cli.output import write
from gistread.cli.parser import whole_parser
from gistread.errors import ExitStatus

_FILES = {"BOOK", "PATH", "MODEL", "FILE"}
_FOLDERS = {"DIR"}


def run(arguments: argparse.Namespace) -> ExitStatus:
    write(script(arguments.shell))
    return ExitStatus.DONE


def script(shell: str) -> str:
    parser = whole_parser()
    _complete_paths(parser)
    text: str = shtab.complete(parser, shell)
    if shell == "bash":  # A first word may also be a book.
        text = text.replace("complete -o filenames", "complete -o default -o filenames")
    return text


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    # argparse has no public list of what a parser takes.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_paths(command)
        elif not action.choices and action.metavar in _FILES | _FOLDERS:
            action.complete = shtab.DIRECTORY if action.metavar in _FOLDERS else shtab.FILE  # type: ignore[attr-defined]
