"""Converts other formats to EPUB with Calibre's `ebook-convert`.

Works on a private copy and within a time limit.
"""

import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import BinaryIO

from gistread.book.normalise import clean_line
from gistread.book.sniff import ForeignFormat
from gistread.errors import BookError
from gistread.system import end_group

COMMAND = "ebook-convert"
LIMIT_SECONDS = 300.0

_INSTALL = f"Install Calibre, or convert it to EPUB elsewhere: {COMMAND} BOOK BOOK.epub"
_BY_HAND = (
    f"Try another Calibre, or convert it to EPUB by hand: {COMMAND} BOOK BOOK.epub"
)
_KINDLE_SUFFIXES = frozenset((".mobi", ".azw", ".azw3", ".prc", ".pdb"))
# In a Kindle file: how many records it has, where the first one begins, and in that one whether
# the book is encrypted.
_RECORDS = slice(76, 78)
_FIRST_RECORD = slice(78, 82)
_ENCRYPTION_AT = 12
_ENCRYPTION_BYTES = 2
_ENCRYPTED = (1, 2)
# In that record: its code page, and where in it the title begins and how long it is.
_CODE_PAGE = slice(28, 32)
_UTF8_CODE_PAGE = 65001
_TITLE_PLACE = (slice(84, 88), slice(88, 92))
_HEADER_BYTES = 64 * 1024
_LONGEST_REASON = 160
_POLL_SECONDS = 0.1


def convert_to_epub(
    stream: BinaryIO, name: str, kind: ForeignFormat, cancelled: Callable[[], bool]
) -> io.BytesIO:
    """Convert `stream` to EPUB with `ebook-convert`.

    Raises BookError on failure or if `cancelled` returns True.
    """
    description = f"{name} is {kind.name}"
    command = converter_of(stream, name, kind)
    try:
        temporary = tempfile.TemporaryDirectory(
            prefix="gistread-", ignore_cleanup_errors=True
        )
    except OSError as error:
        raise BookError(
            f"Cannot create a temporary directory: {error.strerror or error}."
        ) from error
    with temporary as path:
        directory = Path(path)
        # The converter detects the format by suffix, and distinguishes Kindle formats itself.
        own = PurePath(name).suffix.lower()
        suffix = (
            own if kind.suffix == ".mobi" and own in _KINDLE_SUFFIXES else kind.suffix
        )
        source = directory / f"book{suffix}"
        target = directory / "book.epub"
        stream.seek(0)
        try:
            with source.open("wb") as copy:
                shutil.copyfileobj(stream, copy)
            _run([command, str(source), str(target)], directory, description, cancelled)
            return io.BytesIO(target.read_bytes())
        except OSError as error:
            raise BookError(
                f"{description}; {COMMAND} could not convert it: {error.strerror or error}.",
                _BY_HAND,
            ) from error


def converter_of(stream: BinaryIO, name: str, kind: ForeignFormat) -> str:
    """The path of the program that converts the book. Raises BookError if none can."""
    description = f"{name} is {kind.name}"
    stream.seek(0)
    if kind.suffix in _KINDLE_SUFFIXES and _has_drm(stream):
        raise _drm_error(description)
    command = shutil.which(COMMAND)
    if command is None:
        raise BookError(
            f"{description}. gistread reads it through Calibre's {COMMAND}, "
            "which is not installed.",
            _INSTALL,
        )
    return command


def kindle_title(stream: BinaryIO) -> str:
    """The title in the header of a Kindle book; empty if it has none."""
    stream.seek(0)
    head = stream.read(_HEADER_BYTES)
    first = int.from_bytes(head[_FIRST_RECORD], "big")
    record = head[first:]
    start, length = (int.from_bytes(record[place], "big") for place in _TITLE_PLACE)
    is_utf8 = int.from_bytes(record[_CODE_PAGE], "big") == _UTF8_CODE_PAGE
    title = record[start : start + length] if start else b""
    return clean_line(title.decode("utf-8" if is_utf8 else "cp1252", "replace"))


def _has_drm(stream: BinaryIO) -> bool:
    head = stream.read(_FIRST_RECORD.stop)
    is_whole = len(head) == _FIRST_RECORD.stop
    if not is_whole or not int.from_bytes(head[_RECORDS], "big"):
        return False
    stream.seek(int.from_bytes(head[_FIRST_RECORD], "big") + _ENCRYPTION_AT)
    return int.from_bytes(stream.read(_ENCRYPTION_BYTES), "big") in _ENCRYPTED


def _run(
    command: list[str], directory: Path, description: str, cancelled: Callable[[], bool]
) -> None:
    log = directory / "output"
    environment = {
        **os.environ,
        "TMPDIR": str(directory),
        "CALIBRE_TEMP_DIR": str(directory),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
        try:
            _wait(process, description, cancelled)
        finally:
            if process.poll() is None:
                end_group(process.pid)
                process.wait()
    if process.returncode or not (directory / "book.epub").is_file():
        reason = _reason(log, directory)
        if "drm" in reason.lower():
            raise _drm_error(description)
        because = f": {reason}" if reason else ""
        raise BookError(
            f"{description}; {COMMAND} could not convert it{because}.", _BY_HAND
        )


def _reason(log: Path, directory: Path) -> str:
    """The last line of output, without the temporary path."""
    output = log.read_text("utf-8", errors="replace").replace(
        f"{directory}{os.sep}", ""
    )
    lines = output.strip().splitlines()
    if not lines:
        return ""
    return clean_line(lines[-1])[:_LONGEST_REASON].rstrip(". ")


def _wait(
    process: subprocess.Popen[bytes], description: str, cancelled: Callable[[], bool]
) -> None:
    until = time.monotonic() + LIMIT_SECONDS
    while process.poll() is None:
        if cancelled():
            raise BookError(f"{description}; the conversion was cancelled.")
        if time.monotonic() > until:
            stopped = (
                f"was stopped after {LIMIT_SECONDS / 60:g} minutes without a result"
            )
            raise BookError(f"{description}; {COMMAND} {stopped}.", _BY_HAND)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)


def _drm_error(description: str) -> BookError:
    message = f"{description} that is protected by DRM; it opens only in the shop's own reader."
    return BookError(message, "gistread reads books without DRM.")
