"""Measures what the pages of a document share.

Text size, line spacing, margins, running heads and line numbers.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, takewhile
from statistics import median

from gistread.book.formats.pdf.lines import Column, TextLine
from gistread.book.formats.pdf.pages import PdfPage, TextRun
from gistread.book.model import Style
from gistread.book.numbers import parse_roman

_LONG_COLUMN = 12


@dataclass(frozen=True)
class PageLayout:
    """Sizes and distances in points."""

    size: float
    styles: frozenset[Style]  # Styles of running text; usually none
    is_fixed: bool
    leadings: dict[int, float]  # Distance of baselines, by text size in half points
    lefts: tuple[float, ...]  # Common left edges of running text
    widths: tuple[tuple[float, float], ...]  # (left edge, width) of long columns
    indents: bool  # Whether paragraphs start with an indent

    def leading(self, size: float) -> float:
        return self.leadings.get(round(size * 2), size * 1.2)

    def edges(self, column: Column) -> tuple[float, float]:
        """Left and right edge of running text in a column, even a short one."""
        if abs(median(line.size for line in column.lines) - self.size) > 0.6:
            return column.left, column.right
        near = [x for x in self.lefts if column.left - 45.0 <= x <= column.left + 1]
        flush = sum(abs(line.left - column.left) < 1 for line in column.lines)
        # Left and right pages may have different margins.
        own = len(column.lines) >= _LONG_COLUMN and flush >= 0.4 * len(column.lines)
        left = min(*near, column.left) if near and not own else column.left
        full = sum(line.right > column.right - 0.5 * self.size for line in column.lines)
        if full >= max(3, 0.25 * len(column.lines)):
            return left, column.right
        width = (
            median(fits)
            if (fits := [w for x, w in self.widths if abs(x - left) < 12])
            else column.right - left
        )
        return left, max(column.right, left + width)


def measure_layout(columns: Sequence[Column]) -> PageLayout:
    """The layout of a document with these columns, which have at least one line."""
    lines = [line for column in columns for line in column.lines]
    sizes, styles, fixed = Counter[int](), Counter[frozenset[Style]](), Counter[bool]()
    for line in lines:
        sizes[round(line.size * 2)] += len(line.text)
        for run in line.runs:
            styles[run.font.styles] += len(run.text)
            fixed[run.font.is_fixed] += len(run.text)
    size = sizes.most_common(1)[0][0] / 2
    body = [line for line in lines if abs(line.size - size) < 0.6]
    lefts = Counter(round(line.left) for line in body)
    return PageLayout(
        size=size,
        styles=styles.most_common(1)[0][0],
        is_fixed=fixed[True] > fixed[False],
        leadings=_leadings(columns),
        lefts=tuple(
            sorted(x for x in lefts if lefts[x] + lefts[x + 1] >= max(4, 0.04 * len(body)))
        ),
        widths=tuple((c.left, c.right - c.left) for c in columns if len(c.lines) >= _LONG_COLUMN),
        indents=_has_indents(columns, size),
    )


def _leadings(columns: Iterable[Column]) -> dict[int, float]:
    gaps: dict[int, Counter[int]] = {}
    for column in columns:
        for above, below in pairwise(column.lines):
            gap = above.bottom - below.baseline
            if abs(above.size - below.size) < 0.3 and 0.5 * below.size < gap < 3 * below.size:
                gaps.setdefault(round(below.size * 2), Counter())[round(gap * 2)] += 1
    found = {}
    for size, counts in gaps.items():
        # The most common gap may be that between paragraphs of one line: take the smallest common
        # gap.
        often = counts.most_common(1)[0][1]
        found[size] = (
            min(gap for gap in counts if counts[gap] >= max(2, often * 0.3) or often < 2) / 2
        )
    return found


def _has_indents(columns: Iterable[Column], size: float) -> bool:
    indented = flush = 0
    for column in columns:
        for above, line, below in zip(
            column.lines, column.lines[1:], column.lines[2:], strict=False
        ):
            if abs(line.size - size) > 0.6 or abs(below.size - size) > 0.6:
                continue
            indent = line.left - below.left
            if above.right < column.right - 3 * size:
                indented += 0.6 * size < indent < 5 * size
                flush += abs(indent) < 0.4 * size
    return indented > 0.5 * flush and indented > 2


_EDGE_ROWS = 3
_NUMBER = re.compile(r"\d{1,5}|\b[ivxlcdm]{1,9}\b|\b[IVXLCDM]{1,9}\b")
_USUAL_SHARE = 0.4
_NEAR_PAGES = (
    4  # A running head recurs within this distance, even on alternate pages or around a figure
)
_LEAST_PAGES = 3
_SAME_HEIGHT = 6.0
_FIRST_IS_1 = 100_000  # Key for page numbers that count from 1
_EDGES = _STARTS, _ENDS = (
    "# and words",
    "words and #",
)  # Keys for numbers beside words that change with chapters
_BARE = ("#", "-#-", "–#–", "page#", "[#]")


def find_furniture(pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
    """The furniture rows of each page, given its rows from the top down."""
    seen: dict[tuple[str, str, int], _Places] = defaultdict(_Places)
    edges = [(rows[:_EDGE_ROWS], rows[::-1][:_EDGE_ROWS]) for rows in pages]
    for number, sides in enumerate(edges):
        for side, rows in zip("tb", sides, strict=True):
            for row in rows:
                for key in _keys(row.text, number):
                    seen[(side, *key)].rows.append((number, row.baseline))

    sizes = sorted(row.size for rows in pages for row in rows)
    body = sizes[len(sizes) // 2] if sizes else 0
    counts = Counter(
        key[2]
        for key, places in seen.items()
        for _ in places.rows
        if key[2] >= 0 and key[1] not in _EDGES
    )

    def repeats(row: TextLine, number: int, side: str) -> bool:
        keys = list(_keys(row.text, number))
        # A page number may be at the foot where a chapter begins, and in the head elsewhere.
        if any(_is_bare(words) and counts[first] > 0.5 * len(pages) for words, first in keys):
            return True
        if side == "b" and any(_is_bare(words) and first == _FIRST_IS_1 for words, first in keys):
            return True
        if row.size > body + 0.5:  # A title
            keys = [key for key in keys if key[0] not in _EDGES]
        return any(_repeats(key, row, number, seen[(side, *key)], len(pages)) for key in keys)

    found: list[list[TextLine]] = [[] for _ in pages]
    for number, sides in enumerate(edges):
        for side, rows in zip("tb", sides, strict=True):
            found[number] += takewhile(partial(repeats, number=number, side=side), rows)
    found = _with_strays(edges, found)
    # Uniform pages (forms, slides) would lose their content.
    letters = sum(len(row.text) for rows in pages for row in rows)
    gone = sum(len(row.text) for rows in found for row in rows)
    return found if gone <= 0.3 * letters else [[] for _ in pages]


def _is_bare(words: str) -> bool:
    return words.replace(" ", "") in _BARE


def _with_strays(
    edges: Sequence[tuple[Sequence[TextLine], Sequence[TextLine]]], found: list[list[TextLine]]
) -> list[list[TextLine]]:
    """Add unrepeated rows where furniture usually is, such as the head of a one-page chapter."""
    where = Counter((round(row.baseline), round(row.size * 2)) for rows in found for row in rows)
    usual = {
        key for key, count in where.items() if count >= max(_LEAST_PAGES, _USUAL_SHARE * len(found))
    }
    return [
        own
        or [
            side[0]
            for side in sides
            if side and (round(side[0].baseline), round(side[0].size * 2)) in usual
        ]
        for sides, own in zip(edges, found, strict=True)
    ]


def _keys(text: str, page: int) -> Iterator[tuple[str, int]]:
    yield " ".join(text.split()).casefold(), -1
    for match in _NUMBER.finditer(text):
        number = int(match[0]) if match[0].isdigit() else parse_roman(match[0])
        if number is not None:
            around = f"{text[: match.start()]}#{text[match.end() :]}".casefold()
            first = number - page + _FIRST_IS_1 - 1
            yield " ".join(around.split()), first
            if match[0].isdigit() and not match.start():
                yield _STARTS, first
            elif match[0].isdigit() and match.end() == len(text):
                yield _ENDS, first


@dataclass(slots=True)
class _Places:
    """Where rows with the same words stand: page and baseline, by page."""

    rows: list[tuple[int, float]] = field(default_factory=list)
    _baselines: list[float] = field(default_factory=list)  # In order, once all rows are known

    def at(self, baseline: float) -> int:
        """The number of rows at this height."""
        if not self._baselines:
            self._baselines = sorted(height for _, height in self.rows)
        return bisect_right(self._baselines, baseline + _SAME_HEIGHT) - bisect_left(
            self._baselines, baseline - _SAME_HEIGHT
        )

    def near(self, page: int, distance: int, baseline: float) -> int:
        """The number of rows at this height on pages at most `distance` from `page`."""
        start, end = (
            bisect_left(self.rows, (number,)) for number in (page - distance, page + distance + 1)
        )
        return sum(abs(height - baseline) <= _SAME_HEIGHT for _, height in self.rows[start:end])


def _repeats(
    key: tuple[str, int], row: TextLine, page: int, places: _Places, page_count: int
) -> bool:
    own = places.near(page, 0, row.baseline)
    same_height = places.at(row.baseline) - own
    if key[0] in _EDGES:
        return same_height + 1 >= max(_LEAST_PAGES, 0.3 * page_count)
    if key[1] >= 0:
        if page_count < _LEAST_PAGES:
            return _is_bare(key[0]) and key[1] == _FIRST_IS_1
        return len(places.rows) >= _LEAST_PAGES and (
            same_height > 0 or len(places.rows) > page_count / 4
        )
    if not any(character.isalpha() for character in key[0]):
        return same_height + 1 >= _LEAST_PAGES
    return places.near(page, _NEAR_PAGES, row.baseline) > own and same_height + 1 >= _LEAST_PAGES


_FEWEST_LINE_NUMBERS = 4
_STEPS = (1, 2, 3, 4, 5, 10)


def without_line_numbers(pages: Sequence[PdfPage]) -> list[PdfPage]:
    """The pages without the numbers beside their lines, if most pages have them."""
    found = [_line_numbers(page.runs) for page in pages]
    if 2 * sum(map(bool, found)) <= len(pages):
        return list(pages)
    return [
        replace(
            page,
            runs=tuple(run for run in page.runs if id(run) not in gone),
            left_out=page.left_out + Counter({"line number(s)": len(gone)}),
        )
        for page, gone in zip(pages, found, strict=True)
    ]


def _line_numbers(runs: Sequence[TextRun]) -> set[int]:
    """Ids of the numbers beside the text that grow by a constant step from line to line."""
    numbers = [run for run in runs if run.text.strip().isdecimal()]
    words = [run for run in runs if any(map(str.isalpha, run.text))]
    if len(numbers) < _FEWEST_LINE_NUMBERS or not words:
        return set()
    left = sorted(run.left for run in words)[len(words) // 20]
    right = sorted(run.right for run in words)[-1 - len(words) // 20]
    found: set[int] = set()
    for side in (
        [run for run in numbers if run.right <= left],
        [run for run in numbers if run.left >= right],
    ):
        side.sort(key=lambda run: -run.baseline)
        steps = Counter(int(below.text) - int(above.text) for above, below in pairwise(side))
        step, count = steps.most_common(1)[0] if steps else (0, 0)
        if len(side) >= _FEWEST_LINE_NUMBERS and step in _STEPS and count >= 0.8 * (len(side) - 1):
            found.update(map(id, side))
    return found
