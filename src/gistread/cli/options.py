"""Options that several commands share, and parsers of their values, which raise ArgumentTypeError or UsageError."""

import argparse
from collections.abc import Callable, Collection
from pathlib import Path

from gistread.errors import UsageError
from gistread.readers.bound import parse_bound


def add_session_models(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--asking-model", metavar="MODEL", help="the model that answers (default: the one that reads)")


def add_book(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    parser.add_argument(
        "book",
        metavar="BOOK",
        nargs="?" if optional else None,
        type=book_name,
        help="a file, a title or part of one, a number in `gistread books`, sample, or - for standard input",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "-m",
        "--model",
        metavar="MODEL",
        help="a GGUF model by path or name (with +ADAPTER), a server address, or `starter`",
    )
    option("--context", dest="context_tokens", type=count(256), metavar="N", help="context length in tokens")


def add_reading(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--reading",
        choices=["single-pass", "careful"],
        help="single-pass: evaluate each token of the book once (default); careful: the papers' two passes",
    )
    add_focus(parser)
    option("--min-words", type=count(1), metavar="N", help="fewest words of a section")
    option("--max-words", type=count(2), metavar="N", help="most words of a section")


def add_focus(parser: argparse.ArgumentParser) -> None:
    """What the gists keep."""
    parser.add_argument(
        "--preset", metavar="NAME", help="what gists keep: fiction, meeting, paper, manual, code, your own, or auto"
    )
    parser.add_argument("--task", metavar="TEXT", help="focus the gists on what you are looking for")


def add_formats(parser: argparse.ArgumentParser, *, events: bool = False) -> None:
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--json", action="store_true", help='one JSON document on standard output; {"error": …} on failure'
    )
    if events:
        formats.add_argument("--events", action="store_true", help="print each event as a line of JSON")
    add_quiet(parser)


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="print no messages and no progress, only errors")


def count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number


def book_name(text: str) -> str:
    """The name of a book; one that begins with a dash becomes `./-weird.txt`. Raises UsageError for an address."""
    if "://" in text:
        raise UsageError(f"{text} is an address, and gistread opens files.", "Download it, then open the file.")
    return f"./{text}" if text.startswith("-") and text != "-" else text


def output_path(text: str) -> Path:
    path = Path(text)
    if text.endswith("/") and not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path


def port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number (0 to 65535)")
    return int(text)


def reader(text: str) -> str:
    from gistread.readers.registry import find_method

    return find_method(text).name


def readers(text: str) -> tuple[str, ...]:
    from gistread.readers.registry import METHODS

    return tuple(METHODS) if text == "all" else tuple(dict.fromkeys(reader(name.strip()) for name in text.split(",")))


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """As `choices`, which argparse also applies to an empty list."""

    def name(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(names)}")
        return text

    return name


def bound(text: str) -> str:
    try:
        parse_bound(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
