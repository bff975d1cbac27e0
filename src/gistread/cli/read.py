"""`gistread [BOOK]`: the screen, with a book or with the library."""

import argparse
import sys
from pathlib import Path

from gistread.cli.opening import STANDARD_INPUT, settings
from gistread.errors import ExitStatus, UsageError
from gistread.paths import default_paths


def run(arguments: argparse.Namespace) -> ExitStatus:
    return open_screen(Path(arguments.book) if arguments.book else None, arguments)


def open_screen(book: Path | None, arguments: argparse.Namespace) -> ExitStatus:
    """Run the screen to its end. Raises UsageError where there is no terminal to draw on."""
    if not sys.stdout.isatty() or not (sys.stdin.isatty() or str(book) == STANDARD_INPUT):
        raise UsageError(
            "gistread needs a terminal for its screen, and this is none.",
            "`gistread index BOOK`, `gistread ask BOOK QUESTION` and `gistread pages BOOK` work without.",
        )
    config = settings(arguments)
    from gistread.tui.app import run as run_screen

    return ExitStatus(run_screen(book, paths=default_paths(), config=config, model=arguments.model))
