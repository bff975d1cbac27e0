"""`gistread completion SHELL`: a completion script for bash, zsh or fish, written by shtab."""

import argparse
from typing import Any

import shtab

from gistread.cli.cache import PARTS
from gistread.cli.output import write
from gistread.cli.parser import whole_parser
from gistread.engine.catalogue import read_catalogue
from gistread.paths import default_paths
from gistread.presets import AUTO, read_presets

_DEFAULT_ACTIONS = ("list", "status")
_PATHS = {"PATH", "FILE", "BOOK", "MODEL"}
_BASH_FIRST_WORD = """

_gistread() {
  _shtab_gistread "$@"
  local word="${COMP_WORDS[COMP_CWORD]}" line
  if [[ $COMP_CWORD = 1 && $word != -* ]]; then
    compopt -o filenames 2>/dev/null || :
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
  fi
}
"""
_FISH_FIRST_WORD = """
complete -c gistread -n '_shtab_gistread_using; and test $_shtab_gistread_npos -eq 0' \\
  -ka "(__fish_complete_path (commandline -ct))"
"""


def run(arguments: argparse.Namespace) -> None:
    write(completion_script(arguments.shell))


def completion_script(shell: str) -> str:
    parser = whole_parser()
    _add_completions(parser)
    text: str = shtab.complete(parser, shell)
    return _with_books_as_first_word(text, shell)


def _with_books_as_first_word(script: str, shell: str) -> str:
    """The script that completes a first word to a command or a file; shtab offers only commands."""
    if shell == "zsh":
        commands = "_describe 'gistread commands' _commands"
        return script.replace(commands, f"{commands}\n  _files")
    if shell == "fish":
        return script + _FISH_FIRST_WORD
    function = "_shtab_gistread gistread"
    return script.replace(f"-F {function}", "-F _gistread gistread") + _BASH_FIRST_WORD


def _add_completions(parser: argparse.ArgumentParser) -> None:
    """Add what the arguments of a parser, and of its commands, are completed to."""
    # argparse has no public list of a parser's actions.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            _add_to_subparsers(parser, action)
        else:
            _add_to_argument(parser, action)


def _add_to_subparsers(
    parser: argparse.ArgumentParser, action: "argparse._SubParsersAction[Any]"
) -> None:
    names = list(action.choices)
    for subparser in list(action.choices.values()):
        _add_completions(subparser)
    has_commands = "docs" in action.choices
    if has_commands:
        # `help COMMAND`, which the parser takes for `COMMAND --help`
        help_parser = action.add_parser("help", help="Show the help of a command.")
        help_parser.add_argument("name", choices=names)
    else:
        default = next(name for name in _DEFAULT_ACTIONS if name in action.choices)
        _take_over_options(parser, action.choices[default])


def _add_to_argument(parser: argparse.ArgumentParser, action: argparse.Action) -> None:
    """Complete an argument to known names, or to files."""
    if action.dest == "model" and parser.prog.endswith(" get"):
        catalogue = read_catalogue()
        models = (*catalogue.entries, catalogue.starter)
        action.choices = [model.name for model in models]
    elif action.dest == "parts":
        action.choices = list(PARTS)
    elif action.dest == "preset":
        presets, _ = read_presets(default_paths().presets)
        action.choices = [AUTO, *presets]
    elif not action.choices and action.metavar in _PATHS:
        action.complete = shtab.FILE  # type: ignore[attr-defined]


def _take_over_options(
    parser: argparse.ArgumentParser, default: argparse.ArgumentParser
) -> None:
    """Offer the options of a group's default action beside its actions."""
    for action in default._actions:
        if action.option_strings and action.dest != "help":
            parser._add_action(action)
