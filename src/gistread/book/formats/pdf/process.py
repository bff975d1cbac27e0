"""Runs PDFium in a limited worker process; skips pages that crash or hang it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast

import orjson
import psutil

from gistread.book.formats.pdf.pages import Font, OutlineEntry, PagePosition, PdfDocument, decode_page
from gistread.system import is_limited_below, wait_for_data

_WORKER = "gistread.book.formats.pdf.worker"
_MEMORY_BYTES = 600 * 1024 * 1024
# Processor time: a busy machine may leave little of it.
_PAGE_S = 4.0  # Per page; a hundred times the usual
_OPEN_S = 20.0  # To start the worker and open the document
_OPEN_S_PER_BYTE = 0.2 / 2**20
_STALLED_S = 60.0  # Without an answer
_TOTAL_S = 120.0
_POLL_S = 0.1
_READ_BYTES = 2**16
_MAX_STARTS = 6
_MAX_PAGES = 20_000


class LockedError(Exception):
    """A password is required."""


class DamagedError(Exception):
    """PDFium cannot open it."""


class CancelledError(Exception):
    """The caller gave up."""


def read_document(stream: BinaryIO, cancelled: Callable[[], bool] = lambda: False) -> PdfDocument:
    """All pages of the PDF in a seekable stream. Raises the errors above, MemoryError, OSError."""
    document = PdfDocument()
    with _as_file(stream) as file:
        stop_at = time.monotonic() + _TOTAL_S
        opening_s = _OPEN_S + _OPEN_S_PER_BYTE * os.fstat(file.fileno()).st_size
        page = 0
        for _ in range(_MAX_STARTS):
            page = _run_worker(document, file, page, opening_s, stop_at, cancelled)
            if page >= document.page_count or time.monotonic() > stop_at:
                break
            document.unread.append(page)
            page += 1
    document.unread.extend(range(page, document.page_count))
    return document


def draw_cover(stream: BinaryIO) -> bytes:
    """Draw the first page of the PDF in a seekable stream as PPM; empty if it is text on white or fails."""
    with _as_file(stream) as file, suppress(subprocess.TimeoutExpired):
        run = subprocess.run(_command("cover"), stdin=file, capture_output=True, timeout=_OPEN_S)
        return b"" if run.returncode else run.stdout
    return b""


def add_record(document: PdfDocument, fonts: list[Font], record: dict[str, Any]) -> None:
    """Add a record of the worker: first the document's, then one per page. Raises LockedError, DamagedError."""
    if "page" not in record:
        if "error" in record:
            raise LockedError if record["error"] == "locked" else DamagedError
        document.page_count = min(record["pages"], _MAX_PAGES)
        document.metadata = record["metadata"]
        document.language = record["language"]
        document.outline = tuple(
            OutlineEntry(title, level, PagePosition(*place) if place else None)
            for title, level, place in record["outline"]
        )
    elif "error" in record:
        document.unread.append(record["page"])
    else:
        fonts.extend(Font(*font) for font in record["fonts"])
        page = decode_page(record, fonts)
        document.turns[page.number] = page.turn
        document.pages.append(page)


def _run_worker(
    document: PdfDocument,
    file: BinaryIO,
    first_page: int,
    opening_s: float,
    stop_at: float,
    cancelled: Callable[[], bool],
) -> int:
    command = _command(str(first_page))
    process = subprocess.Popen(command, bufsize=0, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout
    assert output is not None
    page = first_page
    is_open = False
    fonts: list[Font] = []
    unfinished = bytearray()
    used_s, most_s, stalled_at = 0.0, opening_s, time.monotonic() + _STALLED_S
    try:
        while not (is_open and page >= document.page_count):
            if _used_s(process) - used_s > most_s or time.monotonic() > min(stalled_at, stop_at):
                break
            if cancelled():
                raise CancelledError
            if not wait_for_data(output, _POLL_S):
                continue
            if not (data := output.read(_READ_BYTES)):
                break
            unfinished += data
            if b"\n" not in data:
                continue
            *lines, unfinished = unfinished.split(b"\n")
            for record in map(orjson.loads, lines):
                add_record(document, fonts, record)
                is_open = True
                page = record["page"] + 1 if "page" in record else page
            used_s, most_s, stalled_at = _used_s(process), _PAGE_S, time.monotonic() + _STALLED_S
    finally:
        process.kill()
        process.wait()
        output.close()
    if not is_open and not document.page_count:
        raise MemoryError if is_limited_below(_MEMORY_BYTES) else DamagedError
    return page


def _used_s(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a process; 0 if it has ended."""
    with suppress(psutil.Error):
        times = psutil.Process(process.pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def _command(part: str) -> list[str]:
    # -P: import nothing from the working directory.
    return [sys.executable, "-P", "-m", _WORKER, part, str(_MEMORY_BYTES)]


@contextmanager
def _as_file(stream: BinaryIO) -> Iterator[BinaryIO]:
    try:
        stream.fileno()
    except OSError:
        with cast(BinaryIO, tempfile.TemporaryFile()) as file:
            stream.seek(0)
            shutil.copyfileobj(stream, file)
            file.flush()
            yield file
    else:
        yield stream
