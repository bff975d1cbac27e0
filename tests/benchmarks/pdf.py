"""How long it takes to open PDFs: one of 352 pages, and the real novel beside it.

The long one has an outline of 58 entries. It is set from the text of a novel, so that it can be
made anywhere; nothing is read from a cache.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import cycle, islice

from gistread.book.open import open_book, open_bytes
from gistread.sample import story_path
from tests.benchmarks.figures import Finding, Spread, Table, Target
from tests.benchmarks.setting import Setting
from tests.book.data import pdf_book
from tests.book.make_pdf import Entry, Put, Sheet, column, pdf

OPENED_S = 3.0
_PAGES, _ENTRIES = 352, 58
_LINES = 38
_TIMES = 3


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    pages = 20 if setting.quick else _PAGES
    made = _long_pdf(pages)
    times = [_seconds(lambda: open_bytes(made, "long.pdf")) for _ in range(_TIMES)]
    rows = [(f"{pages} pages, {_ENTRIES} entries of the outline", Spread.of(times))]
    try:
        novel = pdf_book("pride")
    except (OSError, StopIteration):
        pass
    else:
        rows.append(
            (
                "Pride and Prejudice, 234 pages",
                Spread.of([_seconds(lambda: open_book(novel))]),
            )
        )
    yield Table("PDFs opened for the first time", ("what", "[s]"), tuple(rows))
    yield Target(
        "a PDF of 352 pages opened [s]", sorted(times)[_TIMES // 2], at_most=OPENED_S
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _long_pdf(pages: int) -> bytes:
    paragraphs = [
        " ".join(text.split())
        for text in story_path().read_text(encoding="utf-8").split("\n\n")
        if text.strip()
    ]
    text = "\n".join(
        paragraph.encode("cp1252", "ignore").decode("cp1252")
        for paragraph in paragraphs
    )
    lines = cycle(column(text))
    sheets = [
        Sheet(
            [Put(180, 575, f"{page + 1} THE STORY", 8), *_page(islice(lines, _LINES))]
        )
        for page in range(pages)
    ]
    entries = [
        Entry(f"Part {number + 1}", number * pages // _ENTRIES, 545.0)
        for number in range(_ENTRIES)
    ]
    return pdf(sheets, outline=entries, metadata={"Title": "A long one"})


def _page(lines: Iterator[Put]) -> list[Put]:
    return [
        Put(put.x, 540 - 12 * number, put.text, put.size)
        for number, put in enumerate(lines)
    ]
