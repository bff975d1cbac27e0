"""Writes data to standard output and messages to standard error, without control characters."""

import contextlib
import io
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from gistread.errors import GistreadError

# Control characters other than tab and newline, line separators, bidirectional controls,
# surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Version of all JSON on standard output; raised when a field is renamed, removed or means something
# else
SCHEMA = 1
Json = dict[str, Any]
_Value = TypeVar("_Value")
_quiet = False


class OutputError(GistreadError):
    """Standard output cannot be written to. The message is empty for a closed pipe."""


def prepare_streams(*, quiet: bool = False) -> None:
    """Replace characters missing in the terminal's encoding.

    `quiet` suppresses messages other than errors. An input that the shell has closed (`<&-`) is
    empty, and messages to a closed standard error are dropped.
    """
    global _quiet
    _quiet = quiet
    sys.stdin = sys.stdin or Path(os.devnull).open()  # noqa: SIM115 - open to the end
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def or_null(document: Callable[[_Value], Any], value: _Value | None) -> Any:
    """The `document` of a value; None, which is null in JSON, without one.

    >>> or_null(str, Path("story.txt")), or_null(str, None)
    ('story.txt', None)
    """
    if not value:
        return None
    return document(value)


def is_quiet() -> bool:
    return _quiet


def sanitize(text: str) -> str:
    """Replace characters that control a terminal with U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


def one_line(text: object) -> str:
    """Sanitised text without line breaks, which file names may contain."""
    return sanitize(str(text)).replace("\n", "\ufffd")


def write(text: str, end: str = "\n") -> None:
    """Print text on standard output. Raises OutputError."""
    with _output_errors():
        print(sanitize(text), end=end, flush=True)


def write_drawn(text: str) -> None:
    """Print text whose control characters are the program's own. Raises OutputError."""
    with _output_errors():
        print(text, end="", flush=True)


def write_json(fields: Mapping[str, Any]) -> None:
    """Print a JSON object with the schema's version on one line, always in UTF-8.

    Raises OutputError.
    """
    import json

    document = {"schema": SCHEMA, **fields}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # A file name may have bytes that are not UTF-8.
    text = _SURROGATE.sub("\ufffd", text)
    text = _UNSAFE.sub(_escape, text)
    write_bytes(f"{text}\n".encode())


def _escape(character: re.Match[str]) -> str:
    """The JSON escape of a character: `\\u001b`."""
    return f"\\u{ord(character[0]):04x}"


def report(
    arguments: Namespace, document: Mapping[str, Any], lines: Iterable[str]
) -> None:
    """Print the document under `--json`, else the lines. Raises OutputError."""
    if arguments.json:
        write_json(document)
    else:
        for line in lines:
            write(line)


def write_bytes(data: bytes) -> None:
    """Write to standard output unchanged. Raises OutputError."""
    with _output_errors():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def discard_output() -> None:
    """Discard remaining output.

    Python flushes it again at exit and would report the error again.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise OutputError("") from error
    except OSError as error:
        message = f"Cannot write to standard output: {error.strerror}."
        raise OutputError(message) from error


def say(text: str) -> None:
    """Print a message on standard error, unless quiet."""
    if not _quiet:
        _print_message(text)


def fail(text: str) -> None:
    """Print an error on standard error, also if quiet."""
    _print_message(f"gistread: {text}")


def _print_message(text: str) -> None:
    with contextlib.suppress(OSError):
        print(sanitize(text), file=sys.stderr, flush=True)
