"""`gistread serve [BOOK]`: gistread in a browser."""

import argparse

from gistread.book.open import open_file
from gistread.child_process import python_command
from gistread.cli.opening import STANDARD_INPUT, book_path
from gistread.cli.output import say
from gistread.errors import ExitStatus, UsageError


def run(arguments: argparse.Namespace) -> ExitStatus:
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
        "--context": arguments.context_tokens,
    }
    words = python_command("gistread", outlives_parent=True)
    for option, value in options.items():
        if value:
            words += [option, str(value)]
    if arguments.book == STANDARD_INPUT:
        raise UsageError("A browser page cannot read standard input.", "Name a file.")
    if arguments.book:
        book = book_path(arguments.book)
        open_file(book).close()
        words += ["--", str(book.absolute())]
    return words
