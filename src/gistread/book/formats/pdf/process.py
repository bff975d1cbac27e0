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

from gistread.book.formats.pdf.pages import (
    Font,
    OutlineEntry,
    PagePosition,
    PdfDocument,
    decode_page,
)
from gistread.child_process import start_python
from gistread.errors import BookError
from gistread.system import is_limited_below, wait_for_data

_WORKER = "gistread.book.formats.pdf.worker"
_MEMORY_BYTES = 560 * 1024 * 1024
# Seconds of processor time, since a busy machine may leave little of it.
_PAGE_S = 4.0  # Per page; a hundred times the usual
_OPEN_S = 8.0  # To start the worker and open the document
_OPEN_S_PER_BYTE = 0.2 / 2**20
# For the whole document.
_TOTAL_S = 3.0
_TOTAL_S_PER_BYTE = 10.0 / 2**20
_MOST_TOTAL_S = 120.0
# Seconds by the clock.
_STALLED_S = 60.0  # Without an answer
_POLL_S = 0.1
_READ_BYTES = 2**16
_MOST_WORKERS = 6  # One more for each page that ends a worker
_MOST_PAGES = 20_000
# A page takes at least 200 bytes of a file; one that is listed again and again does not.
_LEAST_PAGES = 1_000
_BYTES_OF_A_PAGE = 200


def read_document(
    stream: BinaryIO, cancelled: Callable[[], bool] = lambda: False
) -> PdfDocument:
    """All pages of the PDF in a seekable stream.

    Raises OSError if it is damaged, MemoryError, and BookError, with a message that follows the
    file's name.
    """
    document = PdfDocument()
    with _as_file(stream) as file:
        size = os.fstat(file.fileno()).st_size
        opening_s = _OPEN_S + _OPEN_S_PER_BYTE * size
        remaining_s = min(_MOST_TOTAL_S, _TOTAL_S + _TOTAL_S_PER_BYTE * size)
        most_pages = max(_LEAST_PAGES, size // _BYTES_OF_A_PAGE)
        page = 0
        for _ in range(_MOST_WORKERS):
            worker = _Worker(document, file, page, opening_s)
            worker.read_pages(most_pages, remaining_s, cancelled)
            page = worker.page
            remaining_s -= worker.used_s
            is_last = page >= min(document.page_count, most_pages)
            if is_last or remaining_s <= 0:
                break
            # This page ended the worker; another one reads those after it.
            document.unread.append(page)
            page += 1
    document.unread.extend(range(page, document.page_count))
    return document


def add_record(
    document: PdfDocument, fonts: list[Font], record: dict[str, Any]
) -> None:
    """Add a record of the worker: first the document's, then one per page.

    Raises OSError, BookError.
    """
    if "page" not in record:
        _add_document_record(document, record)
    elif "error" in record:
        document.unread.append(record["page"])
    else:
        fonts.extend(Font(*font) for font in record["fonts"])
        page = decode_page(record, fonts)
        document.turns[page.number] = page.turn
        document.pages.append(page)


def _add_document_record(document: PdfDocument, record: dict[str, Any]) -> None:
    """Add what the first record states, or raise its error: OSError, BookError."""
    error = record.get("error")
    if error == "locked":
        raise BookError(
            "is locked with a password.",
            "Save a copy without one in a PDF viewer, and open that.",
        )
    if error:
        raise OSError("PDFium cannot open it")
    document.page_count = min(record["pages"], _MOST_PAGES)
    document.metadata = record["metadata"]
    document.language = record["language"]
    document.outline = tuple(
        OutlineEntry(title, level, PagePosition(*place) if place else None)
        for title, level, place in record["outline"]
    )


class _Worker:
    """A process that reads pages into a document, until one crashes it or takes too long."""

    def __init__(
        self, document: PdfDocument, file: BinaryIO, first_page: int, opening_s: float
    ) -> None:
        self.page = first_page  # The page that it is reading
        self.used_s = 0.0  # Processor time, up to its last record
        self._document = document
        self._fonts: list[Font] = []
        self._is_open = False
        self._unfinished = bytearray()  # The start of a record
        self._process, self._output = start_python(
            _WORKER, str(first_page), str(_MEMORY_BYTES), stdin=file
        )
        self._most_s = opening_s  # Processor time for the next record
        self._stalled_at = time.monotonic() + _STALLED_S

    def read_pages(
        self, most_pages: int, remaining_s: float, cancelled: Callable[[], bool]
    ) -> None:
        """Read up to the last page, in `remaining_s` of processor time.

        Raises OSError if the document cannot be opened, MemoryError, and BookError.
        """
        try:
            while not self._is_done(most_pages) and not self._is_late(remaining_s):
                if cancelled():
                    raise BookError("was not read: cancelled.")
                if not wait_for_data(self._output, _POLL_S):
                    continue
                data = self._output.read(_READ_BYTES)
                if not data:
                    break
                self._add(data)
        finally:
            self._process.kill()
            self._process.wait()
            self._output.close()
        # If a later worker does not open it, the pages read so far stay.
        if not self._is_open and not self._document.page_count:
            if is_limited_below(_MEMORY_BYTES):
                raise MemoryError
            raise OSError("PDFium did not open it")

    def _is_done(self, most_pages: int) -> bool:
        return self._is_open and self.page >= min(self._document.page_count, most_pages)

    def _is_late(self, remaining_s: float) -> bool:
        """Whether the worker takes too long for a record or for the document."""
        used_s = _used_s(self._process)
        is_record_late = used_s - self.used_s > self._most_s
        is_stalled = time.monotonic() > self._stalled_at
        is_document_late = self._is_open and used_s > remaining_s
        return is_record_late or is_stalled or is_document_late

    def _add(self, data: bytes) -> None:
        """Add the records that `data` completes."""
        self._unfinished += data
        if b"\n" not in data:
            return
        *lines, self._unfinished = self._unfinished.split(b"\n")
        for record in map(orjson.loads, lines):
            add_record(self._document, self._fonts, record)
            self._is_open = True
            if "page" in record:
                self.page = record["page"] + 1
        self.used_s = _used_s(self._process)
        # Only the first record includes the time to open the document.
        self._most_s = _PAGE_S
        self._stalled_at = time.monotonic() + _STALLED_S


def _used_s(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a process; 0 if it has ended."""
    with suppress(psutil.Error):
        times = psutil.Process(process.pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


@contextmanager
def _as_file(stream: BinaryIO) -> Iterator[BinaryIO]:
    """The stream, or a temporary copy if it is in memory."""
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
