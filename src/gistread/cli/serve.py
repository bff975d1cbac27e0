"""`gistread serve [BOOK]`: the screens in a browser, on this machine alone unless told otherwise."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from gistread.cli.opening import STANDARD_INPUT
from gistread.cli.output import say
from gistread.errors import ExitStatus, UsageError


def run(arguments: argparse.Namespace) -> ExitStatus:
    if find_spec("textual_serve") is None:
        raise UsageError(
            "`gistread serve` needs textual-serve, which is not installed.",
            "python3 -m pip install 'gistread[serve]'",
        )
    from gistread.tui.serving import is_loopback, serve

    if not is_loopback(arguments.host):
        say(
            f"Warning: on {arguments.host} other machines can reach this, and nothing is encrypted. "
            "Whoever has the address below can read your files."
        )
    serve(_command(arguments), arguments.host, arguments.port, _tell)
    return ExitStatus.DONE


def _command(arguments: argparse.Namespace) -> list[str]:
    """What each page that is opened runs. Raises UsageError, BookError before anything is served."""
    words = [sys.executable, "-m", "gistread"]
    if arguments.book == STANDARD_INPUT:
        raise UsageError("Standard input can be read once, but a page may be opened again.", "Name a file.")
    if arguments.model:
        words += ["--model", arguments.model]
    if arguments.asking_model:
        words += ["--asking-model", arguments.asking_model]
    if arguments.embedding_model:
        words += ["--embedding-model", arguments.embedding_model]
    if arguments.context:
        words += ["--context", str(arguments.context)]
    if arguments.book:
        from gistread.book.open import open_file

        open_file(Path(arguments.book)).close()
        words += ["--", str(Path(arguments.book).absolute())]
    return words


def _tell(address: str) -> None:
    say(f"gistread is at {address}")
    say("Ctrl+C ends it.")
