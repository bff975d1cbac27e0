"""Runs PDFium in a worker process, within limits of time and memory.

If a page kills or hangs it, that page is skipped and a new worker continues.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import orjson

from gistread.book.formats.pdf.pages import Font, OutlineEntry, PagePosition, PdfDocument, decode_page

_WORKER = "gistread.book.formats.pdf.worker"
_MEMORY_BYTES = 600 * 1024 * 1024
_PAGE_S = 4.0
"""Per page: a hundred times the usual."""
_OPEN_S = 20.0
"""To start the worker and open the document, on a machine that is busy with a model."""
_OPEN_S_PER_BYTE = 0.2 / 2**20
_TOTAL_S = 120.0
_MAX_STARTS = 6
_MAX_PAGES = 20_000


class PdfError(Exception):
    pass


class LockedError(PdfError):
    """A password is required."""


class DamagedError(PdfError):
    """PDFium cannot open it."""


class CancelledError(PdfError):
    """The caller gave up."""


def read_document(stream: BinaryIO, cancelled: Callable[[], bool] = lambda: False) -> PdfDocument:
    """All pages of the PDF in a seekable stream; `cancelled` is polled from a thread.

    Raises LockedError, DamagedError, CancelledError, OSError.
    """
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


def add_record(document: PdfDocument, fonts: list[Font], record: dict[str, Any]) -> None:
    """Add a record of the worker: the document's first, then one a page. Raises LockedError, DamagedError."""
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
    # -P: import nothing from the working directory.
    command = [sys.executable, "-P", "-m", _WORKER, str(first_page), str(_MEMORY_BYTES)]
    process = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    page = first_page
    is_open = False
    fonts: list[Font] = []
    assert process.stdout is not None
    with _Watchdog(process, stop_at, cancelled) as watch, process.stdout as output:
        watch.expect_within(opening_s)
        for line in output:
            if not line.endswith(b"\n"):
                break  # it died in the middle of one
            record = orjson.loads(line)
            add_record(document, fonts, record)
            is_open = True
            page = record["page"] + 1 if "page" in record else page
            if page >= document.page_count:
                break
            watch.expect_within(_PAGE_S)
    if watch.was_cancelled:
        raise CancelledError
    if not is_open and not document.page_count:
        raise DamagedError
    return page


class _Watchdog:
    """Kills a process that is silent for too long, and on exit."""

    def __init__(self, process: subprocess.Popen[bytes], stop_at: float, cancelled: Callable[[], bool]) -> None:
        self.was_cancelled = False
        self._process = process
        self._cancelled = cancelled
        self._stop_at = stop_at
        self._deadline = stop_at
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._wait, name="pdf-watch", daemon=True)

    def expect_within(self, seconds: float) -> None:
        self._deadline = min(self._stop_at, time.monotonic() + seconds)

    def __enter__(self) -> "_Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._process.kill()
        self._process.wait()
        self._thread.join()

    def _wait(self) -> None:
        while not self._done.wait(0.1):
            self.was_cancelled = self._cancelled()
            if self.was_cancelled or time.monotonic() > self._deadline:
                self._process.kill()
                return


@contextmanager
def _as_file(stream: BinaryIO) -> Iterator[BinaryIO]:
    """The stream as a file that can be passed to a process."""
    try:
        stream.fileno()
    except OSError:
        with tempfile.TemporaryFile() as file:
            stream.seek(0)
            while block := stream.read(2**20):
                file.write(block)
            file.flush()
            yield file
    else:
        yield stream
