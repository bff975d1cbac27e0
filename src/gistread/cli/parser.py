"""The command line: commands, options and their help.

A first word that is not a command is a book.
"""

import argparse
import re
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
from gistread.units import capitalised

_VERSION = f"gistread {__version__}"
_NEEDS_NO_MODEL = "Needs no model."  # At the end of a summary: left out of the list
_SEE_HELP = "`gistread help` lists the commands."
_VERSION_WORDS = ("version", "--version", "-V")
_MOST_COLUMNS = 100  # Longer lines are hard to read

_NO_BREAK = "\u00a0"  # Stands for the blanks in `a command` while lines are broken


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps prose; indented lines, such as examples, stay as they are."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        lines = super()._split_lines(_keep_commands_whole(text), width)
        return [line.replace(_NO_BREAK, " ") for line in lines]

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import fill

        filled: list[str] = []
        for is_prose, lines in groupby(text.splitlines(), _is_prose):
            if is_prose:
                filled.append(fill(_keep_commands_whole(" ".join(lines)), width))
            else:
                filled += lines
        return "\n".join(filled).replace(_NO_BREAK, " ")


def _is_prose(line: str) -> bool:
    """Whether a line is neither empty nor indented."""
    return line[:1] not in ("", " ")


def _keep_commands_whole(text: str) -> str:
    """The text with no place for a line break within `a command`."""

    def whole(command: re.Match[str]) -> str:
        return command[0].replace(" ", _NO_BREAK)

    return re.sub(r"`[^`\n]+`", whole, text)


class Parser(argparse.ArgumentParser):
    """Reports errors as UsageError."""

    def __init__(
        self, prog: str, description: str = "", epilog: str = "", **options: Any
    ) -> None:
        self.default_action: argparse.ArgumentParser | None = None
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=partial(_HelpFormatter, width=_width()),
            allow_abbrev=False,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        hint = f"See `{self.prog} --help`."
        if message.startswith("unrecognized arguments"):
            hint += " Put -- before a name that begins with a dash."
        raise UsageError(f"{capitalised(message)}.", hint)

    def format_help(self) -> str:
        """The help; that of a group of commands has the arguments of its default action."""
        if self.default_action is None:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        for group in self.default_action._action_groups:
            actions = [
                action for action in group._group_actions if action.dest != "help"
            ]
            formatter.start_section(f"{group.title} without ACTION")
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _print_message(self, message: str, file: object = None) -> None:
        write(message, end="")  # argparse would ignore a full disk.


def _width() -> int:
    return min(_MOST_COLUMNS, shutil.get_terminal_size().columns) - 2


@dataclass(frozen=True, slots=True)
class _Command:
    summary: str
    examples: str
    module: str = ""  # In `gistread.cli`, if not named like the command
    default_action: str = ""  # The subcommand to run when none is given
    # Words that are no subcommand are arguments of the default one
    takes_words: bool = False


@cache
def _commands() -> dict[str, _Command]:
    """The commands by name, in the order of the help."""
    import tomllib

    text = Path(__file__).with_name("commands.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    for table in tables.values():
        table["examples"] = table["examples"].strip()
    return {name: _Command(**table) for name, table in tables.items()}


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line into `command`, its `module` and options.

    Raises UsageError, SystemExit after `--help`.
    """
    # Answered without reading the table of commands
    if argv and argv[0] in _VERSION_WORDS:
        write(_VERSION)
        raise SystemExit
    argv = _help_last(argv)
    name = argv[0] if argv and argv[0] in _commands() else ""
    if name:
        parsed = _parse_command(name, argv[1:])
        parsed.command = name
        parsed.module = _commands()[name].module or name
    else:
        parsed = _parse_book(argv)
        parsed.command = "read"
        parsed.module = "read"
    return parsed


def _parse_book(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line without a command. Raises UsageError, SystemExit."""
    meant = _misspelt(argv)
    if meant:
        message = f"{argv[0]} is neither a command nor a book."
        raise UsageError(message, f"Did you mean `gistread {meant}`?")
    has_several_words = len(argv) > 1 and not argv[1].startswith("-")
    if has_several_words and argv[0].isalpha():
        _refuse_several_words(argv)
    parser = _main_parser(_command_list() + _EXAMPLES)
    arguments.add_book(parser, optional=True)
    parsed, unparsed = parser.parse_known_args(argv)
    if unparsed and parsed.book in _commands():
        message = f"{parsed.book} is a command, and comes before its options."
        raise UsageError(message, f"See `gistread {parsed.book} --help`.")
    return parser.parse_args(argv)


def _parse_command(name: str, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words after the name of a command. Raises UsageError, SystemExit."""
    command = _commands()[name]
    parser = Parser(f"gistread {name}", command.summary, command.examples)
    getattr(arguments, f"add_{name}")(parser)
    if command.default_action:
        return parser.parse_args(_with_action(words, command, parser))
    if "--" in words:  # Intermixed parsing drops it.
        return parser.parse_args(words)
    # Positional arguments may surround an option: `people BOOK --all NAME`.
    return parser.parse_intermixed_args(words)


def _with_action(
    words: Sequence[str], command: _Command, parser: Parser
) -> Sequence[str]:
    """The words of a group of commands; the default action comes first if none is named."""
    actions = parser._get_positional_actions()[0].choices
    assert isinstance(actions, dict), "a group of commands has subparsers"
    parser.default_action = actions[command.default_action]
    if "-h" in words or "--help" in words:
        return words
    if command.takes_words:
        is_named = bool(words) and words[0] in actions
    else:
        is_named = bool(words) and not words[0].startswith("-")
    if is_named:
        return words
    return [command.default_action, *words]


def _refuse_several_words(words: Sequence[str]) -> NoReturn:
    """Raises UsageError: a book is one word, and there is no such command."""
    from difflib import get_close_matches

    meant = get_close_matches(words[0], [*_commands(), "help"], n=1)
    hint = f"Did you mean `gistread {meant[0]}`?" if meant else _SEE_HELP
    raise UsageError(
        f"{words[0]} is not a command.",
        f"{hint} Put a title of several words in quotes.",
    )


def whole_parser() -> argparse.ArgumentParser:
    """A parser with all commands as subparsers, for completion scripts and the manual page."""
    parser = _main_parser(_EXAMPLES)
    parser.usage = None
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", parser_class=Parser
    )
    for name, command in _commands().items():
        sub = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary,
            epilog=command.examples,
        )
        getattr(arguments, f"add_{name}")(sub)
    return parser


def _help_last(argv: Sequence[str]) -> Sequence[str]:
    """The command line with `help COMMAND` as `COMMAND --help`. Raises UsageError."""
    if argv[:1] != ["help"]:
        return argv
    words = argv[1:]
    has_name = bool(words) and not words[0].startswith("-")
    if has_name and words[0] not in _commands():
        meant = _misspelt(words)
        hint = f"Did you mean {meant}?" if meant else _SEE_HELP
        raise UsageError(f"{words[0]} is not a command.", hint)
    return [*words, "--help"]


def _misspelt(argv: Sequence[str]) -> str:
    """The command that the first word means, unless that is a book; empty if there is none."""
    if not argv or not argv[0].isalpha() or Path(argv[0]).exists():
        return ""
    from difflib import get_close_matches

    meant = get_close_matches(argv[0], _commands(), n=1)
    if meant and not _may_be_book(argv[0]):
        return meant[0]
    return ""


def _may_be_book(word: str) -> bool:
    """Whether the library has a book of this name, or one that cannot be opened now."""
    from gistread.cli.opening import book_path
    from gistread.library.entries import UnknownBookError

    try:
        book_path(word)
    except UnknownBookError:
        return False
    except GistreadError:
        return True  # Opening it says what is wrong.
    return True


def _main_parser(epilog: str) -> Parser:
    parser = Parser(
        "gistread",
        "Read a long book beside a language model on your own machine. "
        "The model keeps a gist memory of the book\n"
        "and answers questions from it, with sources.",
        epilog,
    )
    parser.usage = (
        "gistread [--model MODEL] [--context N] [--at PLACE] [BOOK]\n"
        "       gistread COMMAND …"
    )
    parser.add_argument("-V", "--version", action="version", version=_VERSION)
    arguments.add_session_models(parser)
    arguments.add_place(parser)
    return parser


def _command_list() -> str:
    from textwrap import fill

    gap = "  "  # Before and after the name
    margin = len(gap) + max(map(len, _commands())) + len(gap)
    lines = ["commands:"]
    for name, command in _commands().items():
        heading = f"{gap}{name}".ljust(margin)
        summary = command.summary.removesuffix(_NEEDS_NO_MODEL).rstrip()
        paragraph = fill(
            summary, _width(), initial_indent=heading, subsequent_indent=" " * margin
        )
        lines.append(paragraph)
    lines.append("")
    lines.append(
        "See `gistread help COMMAND`. "
        "To open a book named like a command: `gistread ./index`"
    )
    return "\n".join(lines) + "\n\n"


_EXAMPLES = """examples:
  gistread sample                      open the sample story
  gistread frankenstein.epub           open a book where you left it
  gistread                             open the library
  gistread books --add ~/Books         add every book in a folder to the library
  gistread index frankenstein.epub     let the model read it now
  gistread ask frankenstein.epub "Who is Justine?"
"""
