"""What is printed, and where: data on standard output, words to the person on standard error.

Text of books and models is data (design D10): no control character of it reaches a terminal.
"""

import contextlib
import io
import re
import shutil
import sys
import textwrap
from typing import Any, TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LEAST_COLUMNS = 40
_SURROGATE = re.compile("[\ud800-\udfff]")


def prepare_streams() -> None:
    """A character that the terminal's encoding lacks becomes a question mark, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def harmless(text: str) -> str:
    """The text without what a terminal would obey."""
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The name of a file, which may have line breaks in it, as a part of a line."""
    return harmless(text).replace("\n", "\ufffd")


def folded(text: str, indent: str = "") -> str:
    """A line for people, in as many as their terminal needs; one line where none of them reads it."""
    if not sys.stdout.isatty():
        return f"{indent}{text}"
    columns = max(_LEAST_COLUMNS, shutil.get_terminal_size().columns)
    lines = textwrap.wrap(text, columns - len(indent) - 2, break_long_words=False, break_on_hyphens=False)
    return f"\n{indent}  ".join([f"{indent}{lines[0]}", *lines[1:]]) if lines else indent


def write(text: str, end: str = "\n") -> None:
    """Data for people, on standard output."""
    print(harmless(text), end=end, flush=True)


def write_json(document: Any) -> None:
    """Data for programs: one line, always UTF-8, whatever the locale."""
    import orjson

    try:
        line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a file's name may have bytes that are no UTF-8
        line = orjson.dumps(_without_surrogates(document), option=orjson.OPT_APPEND_NEWLINE)
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _without_surrogates(value: Any) -> Any:
    """A document as it is, with U+FFFD for what UTF-8 lacks."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(one) for key, one in value.items()}
    return [_without_surrogates(one) for one in value] if isinstance(value, list | tuple) else value


def say(text: str) -> None:
    """A line to the person, on standard error."""
    _to_person(sys.stderr, text)


def fail(text: str) -> None:
    """Why nothing comes of it."""
    _to_person(sys.stderr, f"gistread: {text}")


def _to_person(stream: TextIO, text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(harmless(text), file=stream, flush=True)
