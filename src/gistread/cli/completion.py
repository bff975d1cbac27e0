"""`gistread completion SHELL`: a completion script for bash, zsh, fish, tcsh or PowerShell, written by shtab."""

import argparse
from typing import Any

import shtab

from gistread.cli.cache import PARTS
from gistread.cli.output import write
from gistread.cli.parser import whole_parser
from gistread.errors import ExitStatus, UsageError
from gistread.paths import default_paths
from gistread.readers.registry import METHODS

_PATHS = {"PATH": shtab.FILE, "FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
_MODELS = {"model", "asking_model"}
_Words = dict[str, Any]
_CHOICES = {"readers": METHODS, "parts": PARTS}


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
    """The names that completion scripts offer, without those that contain spaces."""
    paths = default_paths()
    found: list[str]
    if kind == "presets":
        from gistread.presets import AUTO, read_presets

        found = [AUTO, *read_presets(paths.presets)[0]]
    elif kind == "catalogue":
        from gistread.engine.catalogue import read_catalogue

        catalogue = read_catalogue()
        found = [entry.name for entry in (*catalogue.entries, catalogue.starter)]
    elif kind == "books":
        from gistread.cli.opening import library_entries
        from gistread.library.entries import words_of

        found = ["-".join(words_of(entry.title)) for entry in library_entries()]
    else:
        from gistread.engine.model_search import found_models, starter_path
        from gistread.engine.models import STARTER

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
    # argparse has no public list of a parser's actions.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in list(action.choices.values()):
                _add_completions(command)
            if "docs" in action.choices:  # `help COMMAND`, which the parser turns around
                action.add_parser("help").add_argument("name", choices=[*action.choices])
        elif action.dest in _CHOICES:
            action.choices = list(_CHOICES[action.dest])
        elif not action.choices and (words := _completion(action, parser.prog)):
            action.complete = words  # type: ignore[attr-defined]


def _completion(action: argparse.Action, program: str) -> _Words | None:
    if action.dest == "preset":
        return _from_command("presets")
    if action.dest in _MODELS:
        if program.endswith(" get"):
            return _from_command("catalogue")
        return _from_command("models", or_file=True)
    if action.metavar == "BOOK":
        return _from_command("books", or_file=True)
    words: _Words | None = _PATHS.get(str(action.metavar))
    return words


def _from_command(kind: str, *, or_file: bool = False) -> _Words:
    command = f"gistread completion --names {kind}"
    words: _Words = shtab.cmd(command)
    # shtab's own code would run the command for every option at once.
    function, files = f"_gistread_{kind}", "; _files" if or_file else ""
    preamble = {**words["preamble"], "zsh": f'{function}() {{ compadd -- ${{(f)"$({command})"}}{files} }}'}
    words |= {"zsh": function, "preamble": preamble}
    if or_file:
        preamble["bash"] = preamble["bash"].replace("\n}", "\n  compgen -f -- $1\n}")
        words |= {"fish": f"{words['fish']} {shtab.FILE['fish']}", "tcsh": shtab.FILE["tcsh"]}
    return words
