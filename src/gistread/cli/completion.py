"""`gistread completion SHELL`: a completion script for bash, zsh, fish, tcsh or PowerShell, written by shtab."""

import argparse
from typing import Any

import shtab

from gistread.cli.cache import PARTS
from gistread.cli.opening import library_entries
from gistread.cli.output import write
from gistread.cli.parser import whole_parser
from gistread.engine.catalogue import read_catalogue
from gistread.engine.model_search import found_models, starter_path
from gistread.engine.models import STARTER
from gistread.errors import ExitStatus, UsageError
from gistread.library.entries import words_of
from gistread.paths import default_paths
from gistread.presets import AUTO, read_presets
from gistread.readers.registry import METHODS

_PATHS = {"PATH": shtab.FILE, "FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
_Words = dict[str, Any]


def run(arguments: argparse.Namespace) -> ExitStatus:
    if arguments.names:
        for name in completion_names(arguments.names):
            write(name)
    elif arguments.shell:
        write(completion_script(arguments.shell))
    else:
        raise UsageError("Name a shell.", "`gistread help completion` lists them.")
    return ExitStatus.DONE


def completion_names(kind: str) -> list[str]:
    """The names that completion scripts ask for at each use: of books or models, without those that contain spaces."""
    if kind == "books":
        found = ["-".join(words_of(entry.title)) for entry in library_entries()]
    else:
        found = [STARTER] if starter_path() else []
        found += [model.name for model in found_models()]
    return [name for name in found if len(name.split()) == 1]


def completion_script(shell: str) -> str:
    parser = whole_parser()
    _add_completions(parser)
    text: str = shtab.complete(parser, shell)
    if shell == "bash":  # A first word may also be a book.
        text = text.replace("complete -o filenames", "complete -o default -o filenames")
    return text


def _add_completions(parser: argparse.ArgumentParser) -> None:
    presets = [AUTO, *read_presets(default_paths().presets)[0]]
    choices, catalogue = {"readers": [*METHODS], "parts": [*PARTS], "preset": presets}, read_catalogue()
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
        elif not action.choices and (words := _completion(action)):
            action.complete = words  # type: ignore[attr-defined]


def _completion(action: argparse.Action) -> _Words | None:
    if action.dest in ("model", "asking_model"):
        return _from_command("models")
    if action.metavar == "BOOK":
        return _from_command("books")
    words: _Words | None = _PATHS.get(str(action.metavar))
    return words


def _from_command(kind: str) -> _Words:
    """Names that a command prints, or files."""
    command = f"gistread completion --names {kind}"
    words: _Words = shtab.cmd(command)
    # shtab's own code would run the command for every option at once.
    function, preamble = f"_gistread_{kind}", dict(words["preamble"])
    preamble["zsh"] = f'{function}() {{ compadd -- ${{(f)"$({command})"}}; _files }}'
    preamble["bash"] = preamble["bash"].replace("\n}", "\n  compgen -f -- $1\n}")
    return words | {"zsh": function, "preamble": preamble, "fish": f"{words['fish']} {shtab.FILE['fish']}"}
