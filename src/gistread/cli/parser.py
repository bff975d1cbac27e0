"""The command line: commands, options and their help. A first word that is not a command is a book."""

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from gistread import __version__
from gistread.cli import arguments
from gistread.cli.output import write
from gistread.errors import UsageError
from gistread.readers.registry import METHODS


class _Parser(argparse.ArgumentParser):
    """Reports errors as UsageError, with the closest option for one that does not exist."""

    def error(self, message: str) -> NoReturn:
        hint = f"See `{self.prog} --help`."
        if unknown := re.match(r"unrecognized arguments: (?:[^-]\S* )*(-[^\s=]+)", message):
            near = difflib.get_close_matches(unknown[1], _options(self), n=1)
            hint = f"Did you mean {near[0]}?" if near else f"{hint} Put -- before a name that begins with a dash."
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint)

    def _print_message(self, message: str, file: object = None) -> None:
        write(message, end="")  # argparse would ignore a full disk.


@dataclass(frozen=True, slots=True)
class _Command:
    summary: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    default_action: str = ""  # The subcommand to run when none is given


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line into `command`, its `module` and options. Raises UsageError, SystemExit after `--help`."""
    argv = _command_first(argv)
    name = argv[0] if argv and argv[0] in _COMMANDS else ""
    if name:
        command = _COMMANDS[name]
        parser = _parser(f"gistread {name}", command.summary, command.examples)
        command.add_arguments(parser)
        if command.default_action:
            parsed = parser.parse_args(_with_action(argv[1:], command.default_action))
        elif "--" in argv:  # Python's intermixed parsing loses it.
            parsed = parser.parse_args(argv[1:])
        else:  # Names may stand on both sides of an option: `series FILE --add BOOK`.
            parsed = parser.parse_intermixed_args(argv[1:])
    else:
        if near := _misspelt(argv):
            raise UsageError(f"{argv[0]} is neither a command nor a book.", f"Did you mean `gistread {near}`?")
        parser = _main_parser(_command_list() + _EXAMPLES)
        arguments.add_book(parser, optional=True)
        parsed = parser.parse_args(argv)
    parsed.command = name or "read"
    parsed.module = "read" if name in ("", "sample", "last") else name
    return parsed


def whole_parser() -> argparse.ArgumentParser:
    """One parser with every command below it, for completion scripts and the manual page."""
    parser = _main_parser(_EXAMPLES)
    parser.usage = None
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, command in _COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary,
            epilog=command.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
    return parser


def _command_first(argv: Sequence[str]) -> Sequence[str]:
    """The same in one form: options stand behind the command, `help` and `version` are options."""
    match argv:
        case ["help", *words]:
            return [*words, "--help"]
        case ["version"]:
            return ["--version"]
    with_value = {
        name for action in _main_parser("")._actions if action.nargs is None for name in action.option_strings
    }
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-", "--"):
        at += 2 if argv[at] in with_value else 1
    if at < len(argv) and argv[at] in _COMMANDS:
        return [argv[at], *argv[:at], *argv[at + 1 :]]
    return argv


def _options(parser: argparse.ArgumentParser) -> set[str]:
    names: set[str] = set()
    for action in parser._actions:
        names.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            names.update(*map(_options, action.choices.values()))
    return names


def _with_action(words: Sequence[str], default: str) -> Sequence[str]:
    wants_help = {"-h", "--help"} & set(words)
    return words if wants_help or (words and not words[0].startswith("-")) else [default, *words]


def _misspelt(argv: Sequence[str]) -> str:
    """The command closest to the first word, if that is a bare word and no file."""
    if not argv or not argv[0].isalpha() or Path(argv[0]).exists():
        return ""
    return next(iter(difflib.get_close_matches(argv[0], _COMMANDS, n=1)), "")


def _main_parser(epilog: str) -> _Parser:
    parser = _parser(
        "gistread",
        "Read a long book beside a language model on your own machine. The model keeps a gist memory of the book\n"
        "and answers questions from it, with sources.",
        epilog,
    )
    parser.usage = "gistread [--model MODEL] [--context N] [BOOK]\n       gistread COMMAND …"
    parser.add_argument("-V", "--version", action="version", version=f"gistread {__version__}")
    arguments.add_session_models(parser)
    return parser


def _parser(program: str, description: str, epilog: str) -> _Parser:
    return _Parser(
        prog=program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _command_list() -> str:
    width = max(map(len, _COMMANDS)) + 2
    lines = "\n".join(f"  {name:{width}}{command.summary}" for name, command in _COMMANDS.items())
    hint = "See `gistread help COMMAND`. To open a book named like a command: gistread ./index"
    return f"commands:\n{lines}\n\n{hint}\n\n"


_EXAMPLES = """examples:
  gistread sample                      open the sample story
  gistread frankenstein.epub           read, with the model reading along
  gistread                             open the library
  gistread books --add ~/Books         add every book in a folder to the library
  gistread index frankenstein.epub     let the model read it now, without the screen
  gistread ask frankenstein.epub "Who is Justine?"
"""

_COMMANDS = {
    "sample": _Command(
        "Open the sample story.",
        "examples:\n  gistread sample\n  gistread sample --model starter",
        arguments.add_session_models,
    ),
    "last": _Command(
        "Continue the book you read last.",
        "examples:\n  gistread last\n  gistread last --model starter",
        arguments.add_session_models,
    ),
    "index": _Command(
        "Build the gist memory of a book, or resume building it.",
        "examples:\n  gistread index frankenstein.epub\n  gistread index long-novel.txt --max-words 3000 --json\n"
        "  gistread index frankenstein.epub --for memwalker,graphreader\n"
        '  gistread index minutes.txt --preset meeting --task "what is decided about the budget"',
        arguments.add_index,
    ),
    "ask": _Command(
        "Ask a question about a book the model has read.",
        'examples:\n  gistread ask frankenstein.epub "Who is Justine?"\n'
        '  gistread ask frankenstein.epub "What happened so far?" --upto 40%\n'
        '  gistread ask minutes.txt "When does the office move?" --index --for-question\n\n'
        "readers:\n" + "\n".join(f"  {method.name:13}{method.summary}" for method in METHODS.values()),
        arguments.add_ask,
    ),
    "pages": _Command(
        "Show the pages and gists in a book's memory. Needs no model.",
        "examples:\n  gistread pages frankenstein.epub\n  gistread pages frankenstein.epub --json\n"
        "  gistread pages frankenstein.epub --list",
        arguments.add_pages,
    ),
    "books": _Command(
        "List the library, with how far you and the model have read.",
        "examples:\n  gistread books\n  gistread books tolstoy --sort progress\n  gistread books --add ~/Books\n"
        '  gistread books --remove "war and peace"',
        arguments.add_books,
    ),
    "series": _Command(
        "Combine several books into a series with one memory, or show a series. Needs no model.",
        "examples:\n  gistread series barsetshire.series warden.epub towers.epub --author 'Anthony Trollope'\n"
        "  gistread series barsetshire.series --add thorne.epub\n  gistread series barsetshire.series\n\n"
        "The file opens like any book. The series and its volumes share what a model has read.",
        arguments.add_series,
    ),
    "search": _Command(
        "Search a book for exact words, a regular expression, or ranked passages. Needs no model.",
        "examples:\n  gistread search frankenstein.epub the monster\n"
        "  gistread search frankenstein.epub --ranked letters to his sister --limit 5\n"
        "  gistread search frankenstein.epub --regex '\\bAlps?\\b' --json\n\n"
        "Exit status 1 means nothing was found. The search is case-sensitive if WORDS contains a capital.",
        arguments.add_search,
    ),
    "export": _Command(
        "Export marks, notes, questions and gists as Markdown or JSON, or the book's text. Needs no model.",
        "examples:\n  gistread export frankenstein.epub --output notes.md\n"
        "  gistread export frankenstein.epub --format txt | wc -w",
        arguments.add_export,
    ),
    "models": _Command(
        "List, choose, check, convert and download models.",
        "examples:\n  gistread models list\n  gistread models use starter\n  gistread models convert starter\n"
        "  gistread models catalogue\n  gistread models get qwen3-4b-instruct --use\n"
        "  gistread models get hf:owner/repository:Q4_K_M\n\n"
        "Only `get` downloads, and it asks first. Run it again to resume a stopped download.",
        arguments.add_models,
        default_action="list",
    ),
    "act": _Command(
        "Choose the next step of a task on a saved web page.",
        'examples:\n  gistread act shop.html "Find a red kettle under 30 euros"\n'
        '  gistread act shop.html "Find a red kettle" --done "type kettle into Search" --json\n\n'
        "Prints the element, the action and the text to type. Performs nothing and downloads nothing.",
        arguments.add_act,
    ),
    "eval": _Command(
        "Evaluate readers on questions with known answers.",
        "examples:\n  gistread eval list\n"
        "  gistread eval fairytaleqa --data fairytaleqa_dev.jsonl --readers readagent-s,bm25,dos --limit 20\n"
        "  gistread eval report eval-fairytaleqa\n"
        "  gistread eval report chosen uniform      compare two runs\n\n"
        "Run the same command again to resume a stopped run.",
        arguments.add_eval,
    ),
    "doctor": _Command(
        "Show the engine on this machine, its speed, and what would make it faster.",
        "examples:\n  gistread doctor\n  gistread doctor --model starter --json",
        arguments.add_doctor,
    ),
    "serve": _Command(
        "Open gistread in a browser.",
        "examples:\n  gistread serve frankenstein.epub\n  gistread serve --port 9000 --model starter\n\n"
        "Anyone with the address can read your files. Needs the extra `serve`:\n"
        "python3 -m pip install 'gistread[serve]'. Press Ctrl+C to stop.",
        arguments.add_serve,
    ),
    "keys": _Command(
        "List every key and where it works, with your settings applied.",
        "examples:\n  gistread keys\n  gistread keys --toml     as lines for config.toml",
        arguments.add_keys,
    ),
    "completion": _Command(
        "Print a shell completion script.",
        "examples:\n  bash: echo 'eval \"$(gistread completion bash)\"' >> ~/.bashrc\n"
        '  zsh:  gistread completion zsh > "${fpath[1]}/_gistread"\n'
        "  fish: gistread completion fish > ~/.config/fish/completions/gistread.fish",
        arguments.add_completion,
    ),
    "paths": _Command(
        "Show where gistread keeps its files.", "examples:\n  gistread paths --json", arguments.add_formats
    ),
}
