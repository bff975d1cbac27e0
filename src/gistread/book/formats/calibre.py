"""Converts other formats to EPUB with Calibre's `ebook-convert`.

Calibre gets a private copy of the file and a time limit.
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
# Bytes of a Kindle file: the number of its records, and the offset of the first one.
_RECORD_COUNT = slice(76, 78)
_FIRST_RECORD = slice(78, 82)
# Bytes of the first record: how the book is encrypted, its code page, and the title's place.
_ENCRYPTION_AT = 12
_ENCRYPTION_BYTES = 2
_ENCRYPTED = (1, 2)
_CODE_PAGE = slice(28, 32)
_UTF8_CODE_PAGE = 65001
_TITLE_START = slice(84, 88)
_TITLE_LENGTH = slice(88, 92)
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
    with _temporary_directory() as path:
        directory = Path(path)
        source = directory / f"book{_suffix_for_calibre(name, kind)}"
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


def _temporary_directory() -> tempfile.TemporaryDirectory[str]:
    """Raises BookError."""
    try:
        return tempfile.TemporaryDirectory(
            prefix="gistread-", ignore_cleanup_errors=True
        )
    except OSError as error:
        reason = error.strerror or error
        raise BookError(f"Cannot create a temporary directory: {reason}.") from error


def _suffix_for_calibre(name: str, kind: ForeignFormat) -> str:
    """The suffix by which Calibre detects the format. It distinguishes Kindle formats itself."""
    own_suffix = PurePath(name).suffix.lower()
    if kind.suffix == ".mobi" and own_suffix in _KINDLE_SUFFIXES:
        return own_suffix
    return kind.suffix


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
    record = head[_number(head[_FIRST_RECORD]) :]
    start = _number(record[_TITLE_START])
    if not start:
        return ""
    end = start + _number(record[_TITLE_LENGTH])
    is_utf8 = _number(record[_CODE_PAGE]) == _UTF8_CODE_PAGE
    codec = "utf-8" if is_utf8 else "cp1252"
    return clean_line(record[start:end].decode(codec, "replace"))


def _has_drm(stream: BinaryIO) -> bool:
    """Whether a Kindle book is encrypted."""
    head = stream.read(_FIRST_RECORD.stop)
    is_whole = len(head) == _FIRST_RECORD.stop
    if not is_whole or _number(head[_RECORD_COUNT]) == 0:
        return False
    stream.seek(_number(head[_FIRST_RECORD]) + _ENCRYPTION_AT)
    return _number(stream.read(_ENCRYPTION_BYTES)) in _ENCRYPTED


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _run(
    command: list[str], directory: Path, description: str, cancelled: Callable[[], bool]
) -> None:
    """Run the converter in a directory. Raises BookError, OSError."""
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
        message = f"{description}; {COMMAND} could not convert it"
        if reason:
            message += f": {reason}"
        raise BookError(f"{message}.", _BY_HAND)


def _reason(log: Path, directory: Path) -> str:
    """The last line of output, without the temporary path."""
    output = log.read_text("utf-8", errors="replace")
    output = output.replace(f"{directory}{os.sep}", "")
    lines = output.strip().splitlines()
    if not lines:
        return ""
    last_line = clean_line(lines[-1])
    return last_line[:_LONGEST_REASON].rstrip(". ")


def _wait(
    process: subprocess.Popen[bytes], description: str, cancelled: Callable[[], bool]
) -> None:
    """Wait for the converter to end. Raises BookError if it takes too long or is cancelled."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while process.poll() is None:
        if cancelled():
            raise BookError(f"{description}; the conversion was cancelled.")
        if time.monotonic() > deadline:
            minutes = f"{LIMIT_SECONDS / 60:g}"
            raise BookError(
                f"{description}; {COMMAND} was stopped after {minutes} minutes without a result.",
                _BY_HAND,
            )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)


def _drm_error(description: str) -> BookError:
    message = f"{description} that is protected by DRM; it opens only in the shop's own reader."
    return BookError(message, "gistread reads books without DRM.")
