"""Options that several commands share."""

import argparse
from pathlib import Path

from gistread.cli.argument_types import book_name, count


def add_session_models(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--asking-model", metavar="MODEL", help="the model that answers (default: the one that reads)")
    add_embedding_model(parser)


def add_book(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    parser.add_argument(
        "book",
        metavar="BOOK",
        nargs="?" if optional else None,
        type=book_name,
        help="a book: text, EPUB, PDF, HTML, Markdown, FB2, DOCX; - reads standard input",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("-m", "--model", metavar="MODEL", help="path or name of a GGUF model, a server address, or `starter`")
    add_adapter(parser)
    option("--context", dest="context_tokens", type=count(256), metavar="N", help="context length in tokens")


def add_adapter(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--adapter", metavar="FILE", type=Path, help="LoRA adapter (GGUF) to use the model with")


def add_embedding_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--embedding-model", metavar="MODEL", help="path or name of a GGUF embedding model")


def add_reading(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    option = parser.add_argument
    option(
        "--reading",
        choices=["single-pass", "careful"],
        help="single-pass: evaluate each token of the book once (default); careful: the papers' two passes",
    )
    tasks = add_focus(parser)
    option("--min-words", type=count(1), metavar="N", help="fewest words of a page")
    option("--max-words", type=count(2), metavar="N", help="most words of a page")
    return tasks


def add_focus(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """What the gists keep. Returns the group of options that set the task, so that a command can add another."""
    parser.add_argument(
        "--preset", metavar="NAME", help="what gists keep: fiction, meeting, paper, manual, code, your own, or auto"
    )
    tasks = parser.add_mutually_exclusive_group()
    tasks.add_argument("--task", metavar="TEXT", help="focus the gists on what you are looking for")
    return tasks


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
