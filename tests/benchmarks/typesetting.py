"""How long a long novel takes to be laid out again, in each way it can be set, and a screen of it to be set.

What a person waits for who changes the width of the text or of the terminal, without Textual's own drawing.
"""

import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator

from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.sample import story_path
from gistread.tui.book_blocks import BookBlocks, PageStyle
from gistread.tui.text.rows import RowIndex
from gistread.tui.text.typesetting import set_row
from tests.benchmarks.figures import Finding, Spread, Table, Target
from tests.benchmarks.setting import Setting
from tests.benchmarks.texts import WAR_AND_PEACE

LAID_OUT_S = 0.25
_WIDTHS = (72, 64, 80, 56)
_NARROW = (44, 40, 36, 42)
_SCREEN_ROWS = 60
_WAYS = (
    ("ragged", PageStyle(hyphenate=True), _WIDTHS),
    ("justified, words parted", PageStyle(indent=True, justify=True, hyphenate=True), _WIDTHS),
    ("columns of a spread", PageStyle(indent=True, justify=True, hyphenate=True), _NARROW),
)


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    long = WAR_AND_PEACE.exists() and not setting.quick
    book = open_book(WAR_AND_PEACE if long else story_path())
    times = {way: list(_laid_out(book, style, widths)) for way, style, widths in _WAYS}
    rows = tuple((way, first, Spread.of(later)) for way, (first, *later) in times.items())
    columns = ("set", "the first time, with its dictionary [s]", "at another width [s]")
    yield Table(f"{book.title} laid out", columns, rows)
    drawn = tuple((way, Spread.of(list(_screens(book, style, widths[0])))) for way, style, widths in _WAYS)
    yield Table(f"A screen of {_SCREEN_ROWS} rows of it set", ("set", "[ms]"), drawn)
    yield Target("laid out at another width [s]", statistics.median(times["ragged"][1:]), at_most=LAID_OUT_S)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _laid_out(book: Book, style: PageStyle, widths: tuple[int, ...]) -> Iterator[float]:
    index = RowIndex(BookBlocks(book, style), 1)
    for width in widths:
        index.resize(width)
        yield _seconds(lambda: index.height)


def _screens(book: Book, style: PageStyle, width: int) -> Iterator[float]:
    """Milliseconds of each of a few screens, far from one another."""
    index = RowIndex(BookBlocks(book, style), width)
    for share in range(10):
        top = max(0, (index.height - _SCREEN_ROWS) * share // 9)
        yield 1000 * _seconds(lambda top=top: _set_screen(index, top))


def _set_screen(index: RowIndex, top: int) -> None:
    for row in range(top, min(top + _SCREEN_ROWS, index.height)):
        block, inner = index.locate(row)
        set_row(index.layout(block), inner)
