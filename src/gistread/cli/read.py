"""The commands that open the screen: `gistread [BOOK]`, `gistread sample` and `gistread last`."""

import argparse
import os
import sys
from pathlib import Path

from gistread.book.model import Book
from gistread.book.open import open_file
from gistread.cli.opening import STANDARD_INPUT, load_settings, open_named
from gistread.cli.output import say
from gistread.config import Config
from gistread.errors import BookError, ExitStatus, UsageError
from gistread.paths import default_paths
from gistread.system import terminal_path

_NEEDS_TERMINAL = "gistread needs a terminal for its screen, and this is none."


def run(arguments: argparse.Namespace) -> ExitStatus:
    config, model = load_settings(arguments), arguments.model or ""
    match arguments.command:
        case "sample":
            return _sample(config, model)
        case "last":
            return open_screen(_last_book(), config, model)
    if arguments.book == STANDARD_INPUT:
        _check_terminal(piped=True)
        book = open_named(STANDARD_INPUT)
        # Textual reads keys from standard input, which is a pipe.
        try:
            terminal = os.open(terminal_path(), os.O_RDONLY)
        except OSError:
            raise _no_terminal(_NEEDS_TERMINAL) from None
        os.dup2(terminal, sys.stdin.fileno())
        os.close(terminal)
        return open_screen(book, config, model, piped=True)
    return open_screen(Path(arguments.book) if arguments.book else None, config, model)


def open_screen(book: Path | Book | None, config: Config, model: str, *, piped: bool = False) -> ExitStatus:
    """Run the screen on a book, or on the library if None. Raises UsageError without a terminal, BookError."""
    _check_terminal(piped=piped)
    if isinstance(book, Path):
        open_file(book).close()
    from gistread.tui.app import run as run_screen

    return ExitStatus(run_screen(book, paths=default_paths(), config=config, model=model))


def _sample(config: Config, model: str) -> ExitStatus:
    from gistread.engine.model_search import starter_path
    from gistread.engine.models import STARTER
    from gistread.sample import story_path

    model = model or config.model or (STARTER if starter_path() is not None else "")
    return open_screen(story_path(), config, model)  # a named model reads along at once


def _last_book() -> Path:
    from gistread.library.catalogue import Catalogue
    from gistread.library.entries import list_entries
    from gistread.library.scanning import find_moved
    from gistread.user_data import UserData

    paths = default_paths()
    catalogue = Catalogue(paths.library)
    entries, problem = list_entries(UserData(paths.books), catalogue)
    last = next((entry for entry in entries if entry.was_opened and entry.path is not None), None)
    if last is None or last.path is None:
        raise BookError(problem or "No books yet.", "Open one with `gistread BOOK`, or the sample: `gistread sample`.")
    if not last.missing:
        return last.path
    moved = find_moved(last, () if problem else catalogue.read().folders)
    if moved is None:
        raise BookError(
            f"{last.title} is no longer at {last.path}.",
            "Open it at its new path to keep its position and marks, or choose another book with `gistread`.",
        )
    say(f"{last.title} has moved to {moved.path}.")
    return moved.path


def _check_terminal(*, piped: bool) -> None:
    if os.environ.get("TEXTUAL_DRIVER"):  # `gistread serve`: the browser is the terminal.
        return
    if not sys.stdout.isatty() or not (piped or sys.stdin.isatty()):
        raise _no_terminal(_NEEDS_TERMINAL)
    if os.environ.get("TERM") == "dumb":
        raise _no_terminal("gistread cannot draw its screen on a terminal with TERM=dumb.")


def _no_terminal(message: str) -> UsageError:
    return UsageError(
        message, "These work without one: `gistread index BOOK`, `gistread ask BOOK QUESTION`, `gistread pages BOOK`."
    )
