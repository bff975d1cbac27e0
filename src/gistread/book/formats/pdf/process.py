"""Runs PDFium in a limited worker process; skips pages that crash or hang it."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast

import orjson
import psutil

from gistread.book.formats.pdf.pages import Font, PagePosition, PdfDocument, decode_page
from gistread.child_process import start_python
from gistread.errors import BookError
from gistread.system import is_limited_below, wait_for_data

_WORKER = "gistread.book.formats.pdf.worker"
_MEMORY_BYTES = 560 * 1024 * 1024
# Processor time: a busy machine may leave little of it.
_PAGE_S = 4.0  # Per page; a hundred times the usual
_OPEN_S = 8.0  # To start the worker and open the document
_OPEN_S_PER_BYTE = 0.2 / 2**20
_STALLED_S = 60.0  # Without an answer
_TOTAL_S, _TOTAL_S_PER_BYTE, _MOST_TOTAL_S = 3.0, 10.0 / 2**20, 120.0  # For the whole document
_POLL_S = 0.1
_READ_BYTES = 2**16
_LEAST_PAGES, _BYTES_OF_A_PAGE = 1_000, 200
"""A page takes at least 200 bytes of a file; one that is listed again and again does not."""


def read_document(stream: BinaryIO, cancelled: Callable[[], bool] = lambda: False) -> PdfDocument:
    """All pages of the PDF in a seekable stream.

    Raises OSError if it is damaged, MemoryError, and BookError, with a message that follows the
    file's name.
    """
    document = PdfDocument()
    with _as_file(stream) as file:
        size = os.fstat(file.fileno()).st_size
        opening_s = _OPEN_S + _OPEN_S_PER_BYTE * size
        left_s = min(_MOST_TOTAL_S, _TOTAL_S + _TOTAL_S_PER_BYTE * size)
        most_pages = max(_LEAST_PAGES, size // _BYTES_OF_A_PAGE)
        page = 0
        for _ in range(6):
            page, used_s = _run_worker(
                document, file, page, opening_s, left_s, most_pages, cancelled
            )
            left_s -= used_s
            if page >= min(document.page_count, most_pages) or left_s <= 0:
                break
            document.unread.append(page)
            page += 1
    document.unread.extend(range(page, document.page_count))
    return document


def add_record(document: PdfDocument, fonts: list[Font], record: dict[str, Any]) -> None:
    """Add a record of the worker: first the document's, then one per page.

    Raises OSError, BookError.
    """
    if "page" not in record:
        if "error" in record:
            if record["error"] == "locked":
                raise BookError(
                    "is locked with a password.",
                    "Save a copy without one in a PDF viewer, and open that.",
                )
            raise OSError("PDFium cannot open it")
        document.page_count = min(record["pages"], 20_000)
        document.metadata = record["metadata"]
        document.language = record["language"]
        entries = record["outline"]
        document.outline = tuple(
            (title, level, PagePosition(*at) if at else None) for title, level, at in entries
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
    left_s: float,
    most_pages: int,
    cancelled: Callable[[], bool],
) -> tuple[int, float]:
    """Read pages from `first_page` on.

    Returns the page it stopped at, and the processor time it took.
    """
    process, output = start_python(_WORKER, str(first_page), str(_MEMORY_BYTES), stdin=file)
    page = first_page
    is_open = False
    fonts: list[Font] = []
    unfinished = bytearray()
    used_s, most_s, stalled_at = 0.0, opening_s, time.monotonic() + _STALLED_S
    try:
        while not (is_open and page >= min(document.page_count, most_pages)):
            now_s = _used_s(process)
            if (
                now_s - used_s > most_s
                or (is_open and now_s > left_s)
                or time.monotonic() > stalled_at
            ):
                break
            if cancelled():
                raise BookError("was not read: cancelled.")
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
        raise MemoryError if is_limited_below(_MEMORY_BYTES) else OSError("PDFium did not open it")
    return page, used_s


def _used_s(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a process; 0 if it has ended."""
    with suppress(psutil.Error):
        times = psutil.Process(process.pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


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
