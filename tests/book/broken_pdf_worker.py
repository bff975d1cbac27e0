"""A PDF worker that dies or hangs at page 2."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from gistread.book.formats.pdf import worker as pdf_worker

_read = pdf_worker.read


def read(stream: BinaryIO, first_page: int) -> Iterator[dict[str, Any]]:
    for record in _read(stream, first_page):
        if record.get("page") == 1:
            if os.environ["BROKEN_PDF_WORKER"] == "silent":
                Path(os.environ["SILENT_PDF_WORKER"]).touch()
                signal.pause()
            os.kill(os.getpid(), signal.SIGKILL)
        yield record


if __name__ == "__main__":
    pdf_worker.read = read
    pdf_worker.main(int(sys.argv[1]), int(sys.argv[2]))
