"""The command line as it is typed: commands, options, their help. Knows nothing of what the commands do.

A first word that is not a command is a book; a book that is named like a command is given as `./index`.
"""

import argparse
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from gistread import __version__
from gistread.cli import arguments
from gistread.errors import UsageError
from gistread.readers.registry import METHODS


class _Parser(argparse.ArgumentParser):
    """Says what is wrong as every other part of the program does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"`{self.prog} --help` shows what can be given.")

    def parse_in_any_order(self, words: Sequence[str]) -> argparse.Namespace:
        """As `parse_args`, which refuses names behind an option where there may be none of them: `FILE --add BOOK`."""
        # What has actions of its own cannot be parsed so, and needs not: what follows an action is for its parser.
        return self.parse_args(words) if self._subparsers else self.parse_intermixed_args(words)


@dataclass(frozen=True, slots=True)
class _Command:
    summary: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    usual: str = ""
    """The action that is meant where none is named."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """What was typed, with `command` naming the module that does it.

    Raises UsageError, or SystemExit after `--help` and `--version`.
    """
    if argv and argv[0] in _COMMANDS:
        name = argv[0]
        arguments = _command_parser(name).parse_in_any_order(_with_action(argv[1:], _COMMANDS[name].usual))
    else:
        name = "read"
        if near := _misspelt(argv):
            raise UsageError(f"{argv[0]} is neither a command nor a book.", f"Did you mean `gistread {near}`?")
        arguments = _main_parser().parse_args(argv)
    arguments.command = name
    return arguments


def _with_action(words: Sequence[str], usual: str) -> Sequence[str]:
    """Options alone are those of the usual action, but for the plea for help."""
    asks = {"-h", "--help"} & set(words)
    return [usual, *words] if usual and not asks and all(word.startswith("-") for word in words[:1]) else words


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every command by its name, and that of `gistread [BOOK]` by an empty one."""
    return {"": _main_parser(), **{name: _command_parser(name) for name in _COMMANDS}}


def _command_parser(name: str) -> _Parser:
    command = _COMMANDS[name]
    parser = _parser(f"gistread {name}", command.summary, command.examples)
    command.add_arguments(parser)
    return parser


def _misspelt(argv: Sequence[str]) -> str:
    """The command that a first word seems to mean, if it is a bare word and no file."""
    if not argv or not argv[0].isalpha() or Path(argv[0]).exists():
        return ""
    return next(iter(difflib.get_close_matches(argv[0], _COMMANDS, n=1)), "")


def _parser(program: str, description: str, epilog: str) -> _Parser:
    return _Parser(
        prog=program,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _main_parser() -> _Parser:
    width = max(map(len, _COMMANDS)) + 2
    commands = "\n".join(f"  {name:{width}}{command.summary}" for name, command in _COMMANDS.items())
    parser = _parser(
        "gistread",
        "Read a long book beside a local language model that keeps a gist memory of it and answers from it.\n"
        "Everything happens on this machine.",
        f"""commands:
{commands}

`gistread COMMAND --help` tells more. A book that is named like a command: `gistread ./index`.

examples:
  gistread sample                      the story that comes with gistread
  gistread frankenstein.epub           read, with the model reading along
  gistread                             the library, the book that was read last chosen
  gistread books --add ~/Books         every book in a folder, into the library
  gistread index frankenstein.epub     let the model read it, now and without the screen
  gistread ask frankenstein.epub "Who is Justine?"
""",
    )
    parser.usage = "gistread [--model MODEL] [--context N] [BOOK]\n       gistread COMMAND …"
    parser.add_argument(
        "book",
        metavar="BOOK",
        nargs="?",
        help="a book: text, EPUB, PDF, HTML, Markdown, FB2, DOCX; - reads standard input",
    )
    parser.add_argument("--version", action="version", version=f"gistread {__version__}")
    arguments.add_model(parser)
    arguments.add_embedding_model(parser)
    return parser


_COMMANDS = {
    "sample": _Command(
        "Open the story that comes with gistread.",
        "examples:\n  gistread sample\n  gistread sample --model starter",
        arguments.add_screen,
    ),
    "last": _Command(
        "Go on with the book that was read last.",
        "examples:\n  gistread last\n  gistread last --model starter",
        arguments.add_screen,
    ),
    "index": _Command(
        "Let the model read a book: build its gist memory, or go on where it was left.",
        "examples:\n  gistread index frankenstein.epub\n  gistread index long-novel.txt --max-words 3000 --json\n"
        "  gistread index frankenstein.epub --for memwalker,graphreader\n"
        '  gistread index minutes.txt --preset meeting --task "what is decided about the budget"',
        arguments.add_index,
    ),
    "ask": _Command(
        "Ask about a book, as far as the model has read it.",
        'examples:\n  gistread ask frankenstein.epub "Who is Justine?"\n'
        '  gistread ask frankenstein.epub "What happened so far?" --upto 40%\n'
        '  gistread ask minutes.txt "When does the office move?" --index --for-question\n\n'
        "readers:\n" + "\n".join(f"  {method.name:13}{method.summary}" for method in METHODS.values()),
        arguments.add_ask,
    ),
    "pages": _Command(
        "Show the pages and gists that are in the memory of a book. Needs no model.",
        "examples:\n  gistread pages frankenstein.epub\n  gistread pages frankenstein.epub --json\n"
        "  gistread pages frankenstein.epub --list",
        arguments.add_pages,
    ),
    "books": _Command(
        "The library: every book that was opened or added, with how far you and the model got.",
        "examples:\n  gistread books\n  gistread books tolstoy --sort progress\n  gistread books --add ~/Books\n"
        '  gistread books --remove "war and peace"',
        arguments.add_books,
    ),
    "series": _Command(
        "Make one book of several: a series, with one memory. Or show what is in one. Needs no model.",
        "examples:\n  gistread series barsetshire.series warden.epub towers.epub --author 'Anthony Trollope'\n"
        "  gistread series barsetshire.series --add thorne.epub\n  gistread series barsetshire.series\n\n"
        "The file opens like any book. What a model has read of a volume is read of the series, and the other way.",
        arguments.add_series,
    ),
    "search": _Command(
        "Find words in a book: as they stand there, by a regular expression, or ranked. Needs no model.",
        "examples:\n  gistread search frankenstein.epub the monster\n"
        "  gistread search frankenstein.epub --ranked letters to his sister --limit 5\n"
        "  gistread search frankenstein.epub --regex '\\bAlps?\\b' --json\n\n"
        "Exit status 1: nothing was found. A capital in WORDS makes upper and lower case differ.",
        arguments.add_search,
    ),
    "export": _Command(
        "Write marks, notes, questions and gists as Markdown or JSON, or the text of a book. Needs no model.",
        "examples:\n  gistread export frankenstein.epub --output notes.md\n"
        "  gistread export frankenstein.epub --format txt | wc -w",
        arguments.add_export,
    ),
    "models": _Command(
        "The models on this machine, which one to use, faster copies of them, and others that can be fetched.",
        "examples:\n  gistread models list\n  gistread models use starter\n  gistread models convert starter\n"
        "  gistread models catalogue\n  gistread models get qwen3-4b-instruct --use\n"
        "  gistread models get hf:owner/repository:Q4_K_M\n\n"
        "Nothing is fetched but by `get`, which asks first. One that was stopped goes on when it is given again.",
        arguments.add_models,
        usual="list",
    ),
    "act": _Command(
        "The next step of a task on a saved web page: which element, what to do with it, and with which words.",
        'examples:\n  gistread act shop.html "Find a red kettle under 30 euros"\n'
        '  gistread act shop.html "Find a red kettle" --done "type kettle into Search" --json\n\n'
        "Nothing is done and nothing fetched: the page is read as it was saved, and the step is only told.",
        arguments.add_act,
    ),
    "eval": _Command(
        "Measure readers on questions whose answers are known.",
        "examples:\n  gistread eval list\n"
        "  gistread eval fairytaleqa --data fairytaleqa_dev.jsonl --readers readagent-s,bm25,dos --limit 20\n"
        "  gistread eval report eval-fairytaleqa\n"
        "  gistread eval report chosen uniform      two runs side by side\n\n"
        "A run that was stopped goes on when the same command is given again.",
        arguments.add_eval,
    ),
    "doctor": _Command(
        "What the engine is on this machine, how fast it is, and what would make it faster.",
        "examples:\n  gistread doctor\n  gistread doctor --model starter --json",
        arguments.add_doctor,
    ),
    "serve": _Command(
        "The same screens in a browser, on this machine alone unless told otherwise.",
        "examples:\n  gistread serve frankenstein.epub\n  gistread serve --port 9000 --model starter\n\n"
        "Whoever has the address that is shown can read your files with it, as you can. Needs the extra `serve`:\n"
        "python3 -m pip install 'gistread[serve]'. Ctrl+C ends it.",
        arguments.add_serve,
    ),
    "keys": _Command(
        "Every key, by where it works, as your settings have it.",
        "examples:\n  gistread keys\n  gistread keys --toml     lines to paste into the settings",
        arguments.add_keys,
    ),
    "completion": _Command(
        "A script that lets a shell complete commands, options and files.",
        "examples:\n  bash: echo 'eval \"$(gistread completion bash)\"' >> ~/.bashrc\n"
        '  zsh:  gistread completion zsh > "${fpath[1]}/_gistread"\n'
        "  fish: gistread completion fish > ~/.config/fish/completions/gistread.fish",
        arguments.add_completion,
    ),
    "paths": _Command("Where gistread keeps its files.", "examples:\n  gistread paths --json", arguments.add_paths),
}
