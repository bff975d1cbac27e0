"""`gistread last`: the screen, on the book that was read last and whose file can be found."""

import argparse
from pathlib import Path

from gistread.cli.output import say
from gistread.cli.read import open_screen
from gistread.errors import BookError, ExitStatus
from gistread.library.catalogue import Catalogue
from gistread.library.entries import list_entries
from gistread.library.finding import find_moved
from gistread.paths import default_paths
from gistread.user_data import UserData


def run(arguments: argparse.Namespace) -> ExitStatus:
    return open_screen(_last(), arguments)


def _last() -> Path:
    """Raises BookError where no book was opened, or the last one cannot be found."""
    paths = default_paths()
    catalogue = Catalogue(paths.library)
    entries, problem = list_entries(UserData(paths.books), catalogue)
    opened = [entry for entry in entries if entry.was_opened and entry.path is not None]
    if not opened:
        raise BookError(
            problem or "No book was opened yet.", "`gistread BOOK` opens one, `gistread sample` the sample."
        )
    last = opened[0]
    assert last.path is not None
    if not last.missing:
        return last.path
    moved = find_moved(last, () if problem else catalogue.read().folders)
    if moved is None:
        raise BookError(
            f"{last.title} was {last.path} and is no longer there.",
            "Open it by its new path, and it is the same book; `gistread` shows the others.",
        )
    say(f"{last.title} is now {moved.path}.")
    return moved.path
