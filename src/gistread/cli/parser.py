"""The command line as it is typed: commands, options, their help. Knows nothing of what the commands do.

A first word that is not a command is a book; a book that is named like a command is given as `./index`.
"""

import argparse
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NoReturn

from gistread import __version__
from gistread.errors import UsageError
from gistread.evaluation.tasks.registry import TASKS
from gistread.readers.registry import METHODS

_EVAL_READERS = ("gistread", "readagent-s", "gists", "bm25", "dos")
"""Asked unless others are named: ours, the first of the papers, and the cheapest ones to hold them against."""


class BoundUnit(Enum):
    OFFSET = "offset"
    PERCENT = "percent"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class Bound:
    """How far into the book may be known: what follows `--upto`."""

    unit: BoundUnit
    value: float


class _Parser(argparse.ArgumentParser):
    """Says what is wrong as every other part of the program does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"`{self.prog} --help` shows what can be given.")


@dataclass(frozen=True, slots=True)
class _Command:
    summary: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """What was typed, with `command` naming the module that does it.

    Raises UsageError, or SystemExit after `--help` and `--version`.
    """
    if argv and argv[0] in _COMMANDS:
        name = argv[0]
        arguments = _command_parser(name).parse_args(argv[1:])
    else:
        name = "read"
        if near := _misspelt(argv):
            raise UsageError(f"{argv[0]} is neither a command nor a book.", f"Did you mean `gistread {near}`?")
        arguments = _main_parser().parse_args(argv)
    arguments.command = name
    return arguments


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of every command by its name, and that of `gistread [BOOK]` by an empty one."""
    return {"": _main_parser(), **{name: _command_parser(name) for name in _COMMANDS}}


def _command_parser(name: str) -> argparse.ArgumentParser:
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
    _add_model(parser)
    _add_embedding_model(parser)
    return parser


def _add_screen(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    _add_embedding_model(parser)


def _add_index(parser: argparse.ArgumentParser) -> None:
    _add_book(parser)
    _add_model(parser)
    _add_embedding_model(parser)
    _add_reading(parser)
    parser.add_argument(
        "--for",
        dest="readers",
        type=_readers,
        default=(),
        metavar="READER[,READER]",
        help="make as well what these readers need beside the gists: memwalker, graphreader …",
    )
    _add_formats(parser, events=True)


def _add_ask(parser: argparse.ArgumentParser) -> None:
    _add_book(parser)
    parser.add_argument("question", metavar="QUESTION")
    _add_model(parser)
    _add_embedding_model(parser)
    parser.add_argument("--reader", choices=list(METHODS), help="how it is answered: see below")
    parser.add_argument("--max-pages", type=_count(0), metavar="N", help="most pages the agent may open (5)")
    parser.add_argument("--expand", type=_page_numbers, default=(), metavar="3,7", help="pages to open beforehand")
    parser.add_argument(
        "--choice", metavar="TEXT", action="append", default=[], help="an option: twice or more, and one is the answer"
    )
    parser.add_argument(
        "--upto",
        type=_bound,
        metavar="PLACE",
        help="know nothing of the book past this place: an offset, a share such as 40%%, or page:N",
    )
    parser.add_argument("--index", action="store_true", help="let the model read the book to its end first")
    _add_reading(parser).add_argument(
        "--for-question", action="store_true", help="ask the memory whose gists are made for this very question"
    )
    _add_formats(parser, events=True)


def _add_pages(parser: argparse.ArgumentParser) -> None:
    _add_book(parser)
    parser.add_argument("--model", metavar="NAME", help="the memory of this model; without it the fullest one")
    _add_aim(parser)
    parser.add_argument("--list", action="store_true", help="every memory of the book instead of the pages of one")
    _add_formats(parser)


def _add_books(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORDS", nargs="*", help="list only books with these in title, author or file")
    orders = ["last-read", "title", "author", "progress"]
    parser.add_argument("--sort", choices=orders, default=orders[0], help="the order of the list (last-read)")
    parser.add_argument(
        "--add", metavar="PATH", action="append", default=[], help="a folder with all books in it, or one book"
    )
    parser.add_argument(
        "--remove",
        metavar="BOOK",
        action="append",
        default=[],
        help="take a book out of the list, by its path or words of its title; no file is deleted",
    )
    _add_formats(parser)


def _add_search(parser: argparse.ArgumentParser) -> None:
    _add_book(parser)
    parser.add_argument("words", metavar="WORDS", nargs="+", help="words as they stand in the book")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--regex", action="store_true", help="WORDS are a regular expression")
    how.add_argument("--ranked", action="store_true", help="passages about WORDS in any of their forms, the best first")
    how.add_argument("--whole-words", action="store_true", help='"art" is not found in "party"')
    parser.add_argument("--limit", type=_count(1), metavar="N", help="show no more than N hits")
    _add_formats(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_book(parser)
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--format",
        choices=["txt", "md", "json"],
        help="md: marks, notes, questions and gists to read (the default); json: the same for programs; "
        "txt: the text of the book",
    )
    formats.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write to this file, whose name may say the format")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")


def _add_keys(parser: argparse.ArgumentParser) -> None:
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="one JSON document on standard output")
    shape.add_argument("--toml", action="store_true", help="as lines for the settings file, to be changed there")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("book", metavar="BOOK", nargs="?", help="the book to show; without it the library")
    _add_model(parser)
    _add_embedding_model(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=_port, default=8000, metavar="N", help="the port to listen on (8000; 0: any)")


def _add_models(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    listing = actions.add_parser("list", help="the GGUF models on this machine", allow_abbrev=False)
    _add_formats(listing)
    use = actions.add_parser("use", help="the model to use from now on", allow_abbrev=False)
    use.add_argument("model", metavar="NAME", help="a name from the list, a path, or `starter`")
    _add_formats(use)
    convert = actions.add_parser("convert", help="make a faster copy of a model, if it is one", allow_abbrev=False)
    convert.add_argument("model", metavar="NAME", help="a name from the list, a path, or `starter`")
    _add_formats(convert)


def _add_act(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="FILE", help="a web page, saved as HTML; - reads standard input")
    parser.add_argument("task", metavar="TASK", help="what is to be done on the page, or on the site")
    parser.add_argument(
        "--done", metavar="STEP", action="append", default=[], help='a step that was taken before, as in "click Log in"'
    )
    parser.add_argument("--history", metavar="FILE", type=Path, help="a file with such steps, one a line")
    parser.add_argument(
        "--depth", type=_count(1), metavar="N", help="depth of the page's elements at which it is cut into parts (6)"
    )
    parser.add_argument("--max-parts", type=_count(0), metavar="N", help="most parts that the model may open (5)")
    _add_model(parser)
    _add_formats(parser, events=True)


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "task",
        metavar="TASK",
        choices=[*TASKS, "list", "report"],
        help=f"{', '.join(TASKS)}; `list`: every task, and where to get its file; `report`: the table of runs",
    )
    parser.add_argument("dirs", metavar="DIR", nargs="*", type=Path, help="of `report`: the folders of runs")
    parser.add_argument("--data", metavar="FILE", type=Path, help="the file of the task, or its folder")
    parser.add_argument("--readers", type=_readers, default=_EVAL_READERS, metavar="A,B", help="readers, or `all`")
    _add_model(parser)
    _add_embedding_model(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, help="where the run is kept, and goes on (eval-TASK)")
    parser.add_argument(
        "--limit", type=_count(0), default=50, metavar="N", help="questions, spread over the texts (50; 0: all)"
    )
    parser.add_argument("--documents", type=_count(0), default=0, metavar="N", help="texts at most (0: all)")
    parser.add_argument("--seed", type=_count(0), default=0, metavar="N", help="decides which questions and texts (0)")
    parser.add_argument(
        "--budget-tokens",
        type=_count(0),
        default=0,
        metavar="N",
        help="tokens of text and gists before the model for an answer, the same for all (0: what each takes)",
    )
    parser.add_argument("--max-pages", type=_count(0), metavar="N", help="look-ups at most (5)")
    parser.add_argument(
        "--timeout", type=_count(0), default=1800, metavar="S", help="seconds a question may take (1800; 0: any)"
    )
    parser.add_argument("--retry", action="store_true", help="ask again what did not end")
    parser.add_argument("--no-closed-book", action="store_true", help="leave out the row without any text")
    parser.add_argument(
        "--baseline",
        choices=list(METHODS),
        default="bm25",
        metavar="READER",
        help="whom to hold readers against (bm25)",
    )
    parser.add_argument("--judge", metavar="MODEL", help="the model that rates answers: LR-1 and LR-2")
    parser.add_argument("--memories", metavar="DIR", type=Path, help="memories to share with other runs (DIR/memories)")
    parser.add_argument("--reading", choices=["single-pass", "careful"], help="how memories are made (single-pass)")
    parser.add_argument(
        "--pages",
        choices=["chosen", "uniform"],
        default="chosen",
        help="pause where the model does, or after equal parts",
    )
    parser.add_argument(
        "--page-size",
        default="",
        metavar="WORDS",
        help="quality, script, novel, the most words as 600, or both as 280-600",
    )
    parser.add_argument("--no-guard", action="store_true", help="keep gists as the model writes them")
    parser.add_argument(
        "--preset", metavar="NAME", help="the kind of text that gists are made for (as the task has it)"
    )
    parser.add_argument(
        "--task", dest="gist_task", default="", metavar="TEXT", help="what gists are made for (whatever may be asked)"
    )
    parser.add_argument("--lengths", type=_numbers(100), metavar="N,N", help="of needles: tokens of the texts")
    parser.add_argument("--depths", type=_shares, metavar="P,P", help="of needles: where they lie, in percent")
    parser.add_argument("--needles", type=_count(1), metavar="N", help="of needles: questions a length and depth")
    parser.add_argument("--split", default="", metavar="NAME", help="of a folder with several: train, valid, test …")
    parser.add_argument("--haystack", metavar="FILE", type=Path, help="of needles: a book to hide them in")
    _add_formats(parser)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    parser.add_argument("--measure", action="store_true", help="measure anew, where something is known from before")
    _add_formats(parser)


def _add_paths(parser: argparse.ArgumentParser) -> None:
    _add_formats(parser)


def _add_book(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "book", metavar="BOOK", help="a book: text, EPUB, PDF, HTML, Markdown, FB2, DOCX; - reads standard input"
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="MODEL", help="path or name of a GGUF model, or `starter`")
    parser.add_argument("--context", type=_count(256), metavar="N", help="tokens of context to load the model with")


def _add_embedding_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embedding-model", metavar="MODEL", help="path or name of a GGUF model that makes vectors to search by"
    )


def _add_reading(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    parser.add_argument(
        "--reading",
        choices=["single-pass", "careful"],
        help="single-pass: each token of the book is evaluated once (the default); careful: the papers' two passes",
    )
    tasks = _add_aim(parser)
    parser.add_argument("--min-words", type=_count(1), metavar="N", help="words before a page may end")
    parser.add_argument("--max-words", type=_count(2), metavar="N", help="words before a page must end")
    return tasks


def _add_aim(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """For what the gists are made; the group is for those who know the task in another way."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="what gists keep: fiction, meeting, paper, manual, code, one of your own, or auto: as the book looks",
    )
    tasks = parser.add_mutually_exclusive_group()
    tasks.add_argument("--task", metavar="TEXT", help="what you look for: gists keep what bears on it")
    return tasks


def _add_formats(parser: argparse.ArgumentParser, *, events: bool = False) -> None:
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="one JSON document on standard output")
    if events:
        formats.add_argument("--events", action="store_true", help="every event as a line of JSON, as it happens")


def _count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number up to 65535")
    return int(text)


def _readers(text: str) -> tuple[str, ...]:
    if text == "all":
        return tuple(METHODS)
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in METHODS]:
        raise argparse.ArgumentTypeError(f"there is no reader {unknown[0]!r}; there are {', '.join(METHODS)}")
    return names


def _numbers(least: int) -> Callable[[str], tuple[int, ...]]:
    number = _count(least)
    return lambda text: tuple(sorted({number(part.strip()) for part in text.split(",")}))


def _shares(text: str) -> tuple[float, ...]:
    try:
        percents = {float(part) for part in text.split(",")}
    except ValueError:
        percents = {-1.0}
    if not all(0 <= percent <= 100 for percent in percents):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of percentages such as 0,50,100")
    return tuple(sorted(percent / 100 for percent in percents))


def _page_numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of page numbers such as 3,7")
    return tuple(sorted({int(part) for part in parts}))


def _bound(text: str) -> Bound:
    unit, number = BoundUnit.OFFSET, text
    if text.startswith("page:"):
        unit, number = BoundUnit.PAGE, text.removeprefix("page:")
    elif text.endswith("%"):
        unit, number = BoundUnit.PERCENT, text.removesuffix("%")
    try:
        value = float(number) if unit is BoundUnit.PERCENT else int(number)
    except ValueError:
        value = -1
    if not value >= (1 if unit is BoundUnit.PAGE else 0) or (unit is BoundUnit.PERCENT and value > 100):
        raise argparse.ArgumentTypeError(f"{text!r} is no place in a book: an offset, 40%, or page:12")
    return Bound(unit, value)


_COMMANDS = {
    "sample": _Command(
        "Open the story that comes with gistread.",
        "examples:\n  gistread sample\n  gistread sample --model starter",
        _add_screen,
    ),
    "last": _Command(
        "Go on with the book that was read last.",
        "examples:\n  gistread last\n  gistread last --model starter",
        _add_screen,
    ),
    "index": _Command(
        "Let the model read a book: build its gist memory, or go on where it was left.",
        "examples:\n  gistread index frankenstein.epub\n  gistread index long-novel.txt --max-words 3000 --json\n"
        "  gistread index frankenstein.epub --for memwalker,graphreader\n"
        '  gistread index minutes.txt --preset meeting --task "what is decided about the budget"',
        _add_index,
    ),
    "ask": _Command(
        "Ask about a book, as far as the model has read it.",
        'examples:\n  gistread ask frankenstein.epub "Who is Justine?"\n'
        '  gistread ask frankenstein.epub "What happened so far?" --upto 40%\n'
        '  gistread ask minutes.txt "When does the office move?" --index --for-question\n\n'
        "readers:\n" + "\n".join(f"  {method.name:13}{method.summary}" for method in METHODS.values()),
        _add_ask,
    ),
    "pages": _Command(
        "Show the pages and gists that are in the memory of a book. Needs no model.",
        "examples:\n  gistread pages frankenstein.epub\n  gistread pages frankenstein.epub --json\n"
        "  gistread pages frankenstein.epub --list",
        _add_pages,
    ),
    "books": _Command(
        "The library: every book that was opened or added, with how far you and the model got.",
        "examples:\n  gistread books\n  gistread books tolstoy --sort progress\n  gistread books --add ~/Books\n"
        '  gistread books --remove "war and peace"',
        _add_books,
    ),
    "search": _Command(
        "Find words in a book: as they stand there, by a regular expression, or ranked. Needs no model.",
        "examples:\n  gistread search frankenstein.epub the monster\n"
        "  gistread search frankenstein.epub --ranked letters to his sister --limit 5\n"
        "  gistread search frankenstein.epub --regex '\\bAlps?\\b' --json\n\n"
        "Exit status 1: nothing was found. A capital in WORDS makes upper and lower case differ.",
        _add_search,
    ),
    "export": _Command(
        "Write marks, notes, questions and gists as Markdown or JSON, or the text of a book. Needs no model.",
        "examples:\n  gistread export frankenstein.epub --output notes.md\n"
        "  gistread export frankenstein.epub --format txt | wc -w",
        _add_export,
    ),
    "models": _Command(
        "The models on this machine, which one to use, and faster copies of them.",
        "examples:\n  gistread models list\n  gistread models use starter\n  gistread models convert starter",
        _add_models,
    ),
    "act": _Command(
        "The next step of a task on a saved web page: which element, what to do with it, and with which words.",
        'examples:\n  gistread act shop.html "Find a red kettle under 30 euros"\n'
        '  gistread act shop.html "Find a red kettle" --done "type kettle into Search" --json\n\n'
        "Nothing is done and nothing fetched: the page is read as it was saved, and the step is only told.",
        _add_act,
    ),
    "eval": _Command(
        "Measure readers on questions whose answers are known.",
        "examples:\n  gistread eval list\n"
        "  gistread eval fairytaleqa --data fairytaleqa_dev.jsonl --readers readagent-s,bm25,dos --limit 20\n"
        "  gistread eval report eval-fairytaleqa\n"
        "  gistread eval report chosen uniform      two runs side by side\n\n"
        "A run that was stopped goes on when the same command is given again.",
        _add_eval,
    ),
    "doctor": _Command(
        "What the engine is on this machine, how fast it is, and what would make it faster.",
        "examples:\n  gistread doctor\n  gistread doctor --model starter --json",
        _add_doctor,
    ),
    "serve": _Command(
        "The same screens in a browser, on this machine alone unless told otherwise.",
        "examples:\n  gistread serve frankenstein.epub\n  gistread serve --port 9000 --model starter\n\n"
        "Whoever has the address that is shown can read your files with it, as you can. Needs the extra `serve`:\n"
        "python3 -m pip install 'gistread[serve]'. Ctrl+C ends it.",
        _add_serve,
    ),
    "keys": _Command(
        "Every key, by where it works, as your settings have it.",
        "examples:\n  gistread keys\n  gistread keys --toml     lines to paste into the settings",
        _add_keys,
    ),
    "completion": _Command(
        "A script that lets a shell complete commands, options and files.",
        "examples:\n  bash: echo 'eval \"$(gistread completion bash)\"' >> ~/.bashrc\n"
        '  zsh:  gistread completion zsh > "${fpath[1]}/_gistread"\n'
        "  fish: gistread completion fish > ~/.config/fish/completions/gistread.fish",
        _add_completion,
    ),
    "paths": _Command("Where gistread keeps its files.", "examples:\n  gistread paths --json", _add_paths),
}
