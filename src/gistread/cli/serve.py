"""`gistread serve [BOOK]`: gistread in a browser."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from gistread.book.open import open_file
from gistread.cli.opening import STANDARD_INPUT
from gistread.cli.output import say
from gistread.errors import ExitStatus, UsageError


def run(arguments: argparse.Namespace) -> ExitStatus:
    if find_spec("textual_serve") is None:
        raise UsageError(
            "`gistread serve` needs textual-serve, which is not installed.", "python3 -m pip install 'gistread[serve]'"
        )
    from gistread.tui.serving import is_loopback, serve

    if not is_loopback(arguments.host):
        say(
            f"Warning: other machines can reach {arguments.host}, and nothing is encrypted. "
            "Anyone with the address below can read your files."
        )
    serve(
        _screen_command(arguments),
        arguments.host,
        arguments.port,
        lambda address: say(f"gistread is at {address}\nPress Ctrl+C to stop."),
    )
    return ExitStatus.DONE


def _screen_command(arguments: argparse.Namespace) -> list[str]:
    options = {
        "--model": arguments.model,
        "--asking-model": arguments.asking_model,
        "--embedding-model": arguments.embedding_model,
        "--context": arguments.context_tokens,
    }
    words = [sys.executable, "-m", "gistread"]
    for option, value in options.items():
        if value:
            words += [option, str(value)]
    if arguments.book == STANDARD_INPUT:
        raise UsageError("A browser page cannot read standard input.", "Name a file.")
    if arguments.book:
        open_file(Path(arguments.book)).close()
        words += ["--", str(Path(arguments.book).absolute())]
    return words
