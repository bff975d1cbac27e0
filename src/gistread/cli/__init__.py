"""The command `gistread`: runs one command and reports errors.

Imports late, so that `--help` is fast.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gistread.cli.output import (
    OutputError,
    discard_output,
    fail,
    prepare_streams,
    write_json,
)
from gistread.cli.parser import parse
from gistread.errors import ExitStatus, GistreadError, UsageError, traceback_text
from gistread.paths import default_paths, install_extra
from gistread.store.files import make_folder, private_opener

# Extras by their modules
_EXTRAS = {
    "mcp": "mcp",
    "textual_serve": "serve",
    "aiohttp_jinja2": "serve",
}
# The loader's message if memory is short for a library
_NOT_MAPPED = "failed to map segment"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit status.

    Never raises.
    """
    words = sys.argv[1:] if argv is None else argv
    return report_errors(list(words), _run)


def report_errors(words: list[str], run: Callable[[list[str]], int]) -> int:
    """Run a command line and return its exit status, with errors reported to the user.

    Never raises.
    """
    prepare_streams()
    if sys.stdout is None:  # Closed by the shell: `>&-`
        fail("Standard output is closed.")
        return ExitStatus.FAILED
    try:
        return run(words)
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or 0)
    except OutputError as error:
        return _report_output_error(words, error)
    except GistreadError as error:
        return _report(words, error.message, error.hint, error.exit_status)
    except KeyboardInterrupt:
        return _report(words, "Interrupted.", "", ExitStatus.INTERRUPTED)
    except Exception as error:
        if _is_in_words(error, words):
            message = "An argument is not UTF-8 text."
            hint = "Check the locale of the terminal."
            return _report(words, message, hint, ExitStatus.USAGE)
        message, hint = _internal_error(error)
        return _report(words, message, hint, ExitStatus.FAILED)


def _report_output_error(words: list[str], error: OutputError) -> ExitStatus:
    """Report that standard output cannot be written to; a closed pipe is not reported."""
    discard_output()
    if error.message:
        fail(error.message)
        return ExitStatus.FAILED
    # A closed pipe is no error, except with --events: the work itself was cut short.
    return ExitStatus.FAILED if "--events" in words else ExitStatus.DONE


def _is_in_words(error: Exception, words: list[str]) -> bool:
    """Whether an argument has bytes that the locale cannot decode."""
    if not isinstance(error, UnicodeEncodeError):
        return False
    return error.object[error.start] in "".join(words)


def _run(words: list[str]) -> int:
    arguments = prepare(parse(words))
    if getattr(arguments, "encoding", None):
        # Imported here: few commands need it.
        from gistread.cli.opening import keep_encoding

        keep_encoding(arguments)
    try:
        command = importlib.import_module(f"gistread.cli.{arguments.module}")
        status = command.run(arguments)
        return int(status or ExitStatus.DONE)
    except ModuleNotFoundError as error:
        missing, _, _ = str(error.name).partition(".")
        if missing not in _EXTRAS:
            raise
        message = (
            f"`gistread {arguments.command}` needs {missing}, which is not installed."
        )
        raise UsageError(message, install_extra(_EXTRAS[missing])) from None


def prepare(arguments: argparse.Namespace) -> argparse.Namespace:
    """Make the user's folders and obey `--quiet`."""
    default_paths().make_private()
    prepare_streams(quiet=getattr(arguments, "quiet", False))
    return arguments


def _report(
    words: list[str], message: str, hint: str, status: ExitStatus
) -> ExitStatus:
    """Print the error, and with `--json` or `--events` also a document on standard output."""
    fail(f"{message}\n{hint}" if hint else message)
    error = {"message": message, "hint": hint, "status": int(status)}
    options = words[: words.index("--")] if "--" in words else words
    try:
        if "--json" in options:
            write_json({"error": error})
        elif "--events" in options:
            write_json({"event": "error", **error})
    except OutputError:  # The first error matters more.
        discard_output()
    return status


def _internal_error(error: Exception) -> tuple[str, str]:
    """Message and hint; the traceback goes to the log, or to standard error if GISTREAD_DEBUG=1."""
    if isinstance(error, MemoryError) or _NOT_MAPPED in str(error):
        hint = "Close other programs, or allow this one more (`ulimit -v`)."
        return "There is not enough memory.", hint
    if os.environ.get("GISTREAD_DEBUG") == "1":
        from traceback import format_exception

        traceback = "".join(format_exception(error))
        return f"Internal error.\n{traceback}", ""
    summary = f"{type(error).__name__}: {error}"
    log = default_paths().log_file
    try:
        _write_log(log, error)
    except OSError:
        return f"Internal error. {summary}", ""
    return f"Internal error; see the log. {summary}", f"The log is {log}."


def _write_log(log: Path, error: Exception) -> None:
    """Raises OSError."""
    from datetime import datetime

    time = datetime.now().astimezone().isoformat(timespec="seconds")
    make_folder(log.parent)
    with open(
        log, "a", encoding="utf-8", errors="backslashreplace", opener=private_opener
    ) as file:
        file.write(f"{time} {traceback_text(error)}\n")
