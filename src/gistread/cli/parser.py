"""The command line: commands, options and their help.

A first word that is not a command is a book.
"""

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

from gistread import __version__
from gistread.cli import arguments
from gistread.cli.output import write
from gistread.errors import GistreadError, UsageError

_VERSION = f"gistread {__version__}"
_SEE_HELP = "`gistread help` lists the commands."


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps prose; indented lines, such as examples, stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import fill

        groups = groupby(text.splitlines(), lambda line: line[:1] not in ("", " "))
        return "\n".join(
            fill(" ".join(lines), width) if is_prose else "\n".join(lines)
            for is_prose, lines in groups
        )


class Parser(argparse.ArgumentParser):
    """Reports errors as UsageError."""

    def __init__(self, prog: str, description: str = "", epilog: str = "", **options: Any) -> None:
        width = min(100, shutil.get_terminal_size().columns) - 2
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=partial(_HelpFormatter, width=width),
            allow_abbrev=False,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        hint = f"See `{self.prog} --help`."
        if message.startswith("unrecognized arguments"):
            hint += " Put -- before a name that begins with a dash."
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint)

    def _print_message(self, message: str, file: object = None) -> None:
        write(message, end="")  # argparse would ignore a full disk.


@dataclass(frozen=True, slots=True)
class _Command:
    summary: str
    examples: str
    module: str = ""  # In `gistread.cli`, if not named like the command
    default_action: str = ""  # The subcommand to run when none is given
    takes_words: bool = False  # Words that are no subcommand are arguments of the default one


@cache
def _commands() -> dict[str, _Command]:
    import tomllib

    tables = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
    return {
        name: _Command(**table | {"examples": table["examples"].strip()})
        for name, table in tables.items()
    }


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line into `command`, its `module` and options.

    Raises UsageError, SystemExit after `--help`.
    """
    if argv and argv[0] in (
        "version",
        "--version",
        "-V",
    ):  # Answered without reading the table of commands
        write(_VERSION)
        raise SystemExit
    argv = _help_last(argv)
    name = argv[0] if argv and argv[0] in _commands() else ""
    if name:
        command = _commands()[name]
        parser = Parser(f"gistread {name}", command.summary, command.examples)
        getattr(arguments, f"add_{name}")(parser)
        if command.default_action:
            names, words = parser._get_positional_actions()[0].choices or (), argv[1:]
            is_named = bool(words) and (
                words[0] in names if command.takes_words else not words[0].startswith("-")
            )
            asks_help = bool({"-h", "--help"} & set(words))
            parsed = parser.parse_args(
                words if is_named or asks_help else [command.default_action, *words]
            )
        elif "--" in argv:  # Intermixed parsing drops it.
            parsed = parser.parse_args(argv[1:])
        else:  # Positional arguments may surround an option: `people BOOK --all NAME`.
            parsed = parser.parse_intermixed_args(argv[1:])
    else:
        if near := _misspelt(argv):
            raise UsageError(
                f"{argv[0]} is neither a command nor a book.", f"Did you mean `gistread {near}`?"
            )
        parser = _main_parser(_command_list() + _EXAMPLES)
        arguments.add_book(parser, optional=True)
        parsed = parser.parse_args(argv)
    parsed.command = name or "read"
    parsed.module = (_commands()[name].module or name) if name else "read"
    return parsed


def whole_parser() -> argparse.ArgumentParser:
    """A parser with all commands as subparsers, for completion scripts and the manual page."""
    parser = _main_parser(_EXAMPLES)
    parser.usage = None
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=Parser
    )
    for name, command in _commands().items():
        sub = commands.add_parser(
            name, help=command.summary, description=command.summary, epilog=command.examples
        )
        getattr(arguments, f"add_{name}")(sub)
    return parser


def _help_last(argv: Sequence[str]) -> Sequence[str]:
    """Normalise a command line: `help COMMAND` becomes an option."""
    if argv[:1] == ["help"]:
        if (names := [word for word in argv[1:2] if not word.startswith("-")]) and names[
            0
        ] not in _commands():
            near = _misspelt(names)
            raise UsageError(
                f"{names[0]} is not a command.", f"Did you mean {near}?" if near else _SEE_HELP
            )
        return [*argv[1:], "--help"]
    return argv


def _misspelt(argv: Sequence[str]) -> str:
    """The command that is meant by the first word, unless that is a book.

    Empty if there is none.
    """
    if not argv or not argv[0].isalpha() or Path(argv[0]).exists():
        return ""
    from difflib import get_close_matches

    if near := get_close_matches(argv[0], _commands(), n=1):
        from gistread.cli.opening import book_path
        from gistread.library.entries import UnknownBookError

        try:
            book_path(argv[0])
        except UnknownBookError:
            return near[0]
        except GistreadError:
            return ""  # Opening it says what is wrong.
    return ""


def _main_parser(epilog: str) -> Parser:
    parser = Parser(
        "gistread",
        "Read a long book beside a language model on your own machine. The model keeps a gist "
        "memory of the book\n"
        "and answers questions from it, with sources.",
        epilog,
    )
    parser.usage = "gistread [--model MODEL] [--context N] [BOOK]\n       gistread COMMAND …"
    parser.add_argument("-V", "--version", action="version", version=_VERSION)
    arguments.add_session_models(parser)
    return parser


def _command_list() -> str:
    width = max(map(len, _commands())) + 2
    lines = "\n".join(f"  {name:{width}}{command.summary}" for name, command in _commands().items())
    hint = "See `gistread help COMMAND`. To open a book named like a command: gistread ./index"
    return f"commands:\n{lines}\n\n{hint}\n\n"


_EXAMPLES = """examples:
  gistread sample                      open the sample story
  gistread frankenstein.epub           open a book where you left it
  gistread                             open the library
  gistread books --add ~/Books         add every book in a folder to the library
  gistread index frankenstein.epub     let the model read it now
  gistread ask frankenstein.epub "Who is Justine?"
"""
