"""`gistread [BOOK]`: the screen, with a book or with the library."""

import argparse
import os
import sys
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.opening import STANDARD_INPUT, open_named, settings
from gistread.errors import ExitStatus, UsageError
from gistread.paths import default_paths


def run(arguments: argparse.Namespace) -> ExitStatus:
    piped = arguments.book == STANDARD_INPUT
    return open_screen(Path(arguments.book) if arguments.book and not piped else None, arguments, piped=piped)


def open_screen(path: Path | None, arguments: argparse.Namespace, *, piped: bool = False) -> ExitStatus:
    """Run the screen to its end: on a file, on what is `piped` in, or on the library.

    Raises UsageError where there is no terminal to draw on, BookError for a book that cannot be read.
    """
    if not _served() and (not sys.stdout.isatty() or not (piped or sys.stdin.isatty())):
        raise _no_terminal()
    config = settings(arguments)
    book: Path | Book | None = path
    if piped:
        book = open_named(STANDARD_INPUT)
        _take_keys_from_terminal()
    from gistread.tui.app import run as run_screen

    return ExitStatus(run_screen(book, paths=default_paths(), config=config, model=arguments.model or ""))


def _served() -> bool:
    """Whether a browser stands in for the terminal (`gistread serve`)."""
    return bool(os.environ.get("TEXTUAL_DRIVER"))


def _take_keys_from_terminal() -> None:
    """Standard input has given the book to its end; from now on it is the keyboard."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY)
    except (OSError, AttributeError):
        raise _no_terminal() from None
    os.dup2(terminal, sys.stdin.fileno())
    os.close(terminal)


def _no_terminal() -> UsageError:
    return UsageError(
        "gistread needs a terminal for its screen, and there is none here.",
        "`gistread index BOOK`, `gistread ask BOOK QUESTION` and `gistread pages BOOK` work without.",
    )
