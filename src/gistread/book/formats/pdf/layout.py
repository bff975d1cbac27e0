"""Measures what the pages of a document share: text size, line spacing, margins, running heads and line numbers."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise, takewhile

from gistread.book.formats.pdf.lines import Column, TextLine
from gistread.book.formats.pdf.pages import EAST_ASIAN, PdfPage
from gistread.book.model import Style
from gistread.book.numbers import parse_roman

_READING_RATIO = 0.65  # Largest size of readings, relative to their characters
_KANA = re.compile("[\u3041-\u30ff ]+")


@dataclass(frozen=True)
class PageLayout:
    """Sizes and distances in points."""

    size: float
    styles: frozenset[Style]  # Styles of running text; usually none
    is_fixed: bool
    leadings: dict[int, float]  # Distance of baselines, by text size in half points
    indents: bool  # Whether paragraphs start with an indent

    def leading(self, size: float) -> float:
        return self.leadings.get(round(size * 2), size * 1.2)


def measure_layout(columns: Sequence[Column]) -> PageLayout:
    """The layout of a document with these columns, which have at least one line."""
    lines = [line for column in columns for line in column.lines]
    sizes: Counter[int] = Counter()
    styles: Counter[frozenset[Style]] = Counter()
    fixed = letters = 0
    for line in lines:
        sizes[round(line.size * 2)] += len(line.text)
        for run in line.runs:
            styles[run.font.styles] += len(run.text)
            fixed += len(run.text) * run.font.is_fixed
            letters += len(run.text)
    size = sizes.most_common(1)[0][0] / 2
    return PageLayout(
        size=size,
        styles=styles.most_common(1)[0][0],
        is_fixed=fixed > letters * 0.5,
        leadings=_leadings(columns),
        indents=_has_indents(columns, size),
    )


def _leadings(columns: Iterable[Column]) -> dict[int, float]:
    gaps: dict[int, Counter[int]] = {}
    for column in columns:
        for above, below in pairwise(column.lines):
            gap = above.baseline - below.baseline
            if abs(above.size - below.size) < 0.3 and 0.5 * below.size < gap < 3 * below.size:
                gaps.setdefault(round(below.size * 2), Counter())[round(gap * 2)] += 1
    found = {}
    for size, counts in gaps.items():
        # The most common gap may be that between paragraphs of one line: take the smallest common gap.
        often = counts.most_common(1)[0][1]
        found[size] = min(gap for gap in counts if counts[gap] >= max(2, often * 0.3) or often < 2) / 2
    return found


def _has_indents(columns: Iterable[Column], size: float) -> bool:
    indented = flush = 0
    for column in columns:
        for above, line, below in zip(column.lines, column.lines[1:], column.lines[2:], strict=False):
            if abs(line.size - size) > 0.6 or abs(below.size - size) > 0.6:
                continue
            indent = line.left - below.left
            if above.right < column.right - 3 * size:
                indented += 0.6 * size < indent < 5 * size
                flush += abs(indent) < 0.4 * size
    return indented > 0.5 * flush and indented > 2


def first_word_width(line: TextLine) -> float:
    """Estimated width of the first word, assuming letters of equal width."""
    words = len(line.text.partition(" ")[0])
    return words * (line.right - line.left) / max(1, len(line.text))


_EDGE_ROWS = 3
_NUMBER = re.compile(r"\d{1,5}|\b[ivxlcdm]{1,9}\b|\b[IVXLCDM]{1,9}\b")
_NEAR_PAGES = 4  # A running head recurs within this distance, even on alternate pages or around a figure
_LEAST_PAGES = 3
_NUMBERED_SHARE = 0.3  # Of the pages have page numbers beside words, which may change with chapters
_HEIGHT_STEP = 6.0
_BARE = ("", "--", "––", "page", "[]")  # What may stand around a page number alone


def find_furniture(pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
    """Running heads and page numbers: the furniture rows of each page, given its rows from the top down."""
    edges = [(rows[:_EDGE_ROWS], rows[::-1][:_EDGE_ROWS]) for rows in pages]
    by_words: defaultdict[str, list[int]] = defaultdict(list)  # Pages
    # The pages with numbers alone, by the number that page 1 would have; beside words, by this and the height.
    alone: defaultdict[int, set[int]] = defaultdict(set)
    beside: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for page, sides in enumerate(edges):
        for row in chain.from_iterable(sides):
            by_words[row.text.casefold()].append(page)
            for first, is_bare in _page_numbers(row.text, page):
                if is_bare:
                    alone[first].add(page)
                else:
                    beside[first, round(row.baseline / _HEIGHT_STEP)].add(page)
    sizes = sorted(row.size for rows in pages for row in rows)
    body = sizes[len(sizes) // 2] if sizes else 0

    def is_furniture(row: TextLine, page: int, *, is_foot: bool) -> bool:
        for first, is_bare in _page_numbers(row.text, page):
            # A page number may be at the foot where a chapter begins, and in the head elsewhere.
            if is_bare and (
                len(alone[first]) > 0.5 * len(pages) or (first == 1 and (is_foot or len(pages) < _LEAST_PAGES))
            ):
                return True
            numbered = beside[first, round(row.baseline / _HEIGHT_STEP)]
            if row.size <= body + 0.5 and len(numbered) >= max(_LEAST_PAGES, _NUMBERED_SHARE * len(pages)):
                return True
        found = by_words[row.text.casefold()]
        near = bisect_right(found, page + _NEAR_PAGES) - bisect_left(found, page - _NEAR_PAGES)
        return len(found) >= _LEAST_PAGES and near > found.count(page)

    found = [
        [
            row
            for is_foot, rows in zip((False, True), sides, strict=True)
            for row in takewhile(partial(is_furniture, page=page, is_foot=is_foot), rows)
        ]
        for page, sides in enumerate(edges)
    ]
    # Uniform pages (forms, slides) would lose their content.
    letters = sum(len(row.text) for rows in pages for row in rows)
    gone = sum(len(row.text) for rows in found for row in rows)
    return found if gone <= 0.3 * letters else [[] for _ in pages]


def _page_numbers(text: str, page: int) -> Iterator[tuple[int, bool]]:
    """Each number in a row, less the pages before this one, and whether it stands alone."""
    for match in _NUMBER.finditer(text):
        number = int(match[0]) if match[0].isdigit() else parse_roman(match[0])
        if number is not None:
            around = text[: match.start()] + text[match.end() :]
            yield number - page, "".join(around.casefold().split()) in _BARE


def without_readings(page: PdfPage) -> PdfPage:
    """The page without the small kana beside characters that tell how they are read (ruby)."""
    sizes: Counter[float] = Counter()
    for run in page.runs:
        if EAST_ASIAN.search(run.text):
            sizes[run.size] += len(run.text)
    size = max(sizes, key=lambda each: sizes[each], default=0.0)
    found = [run for run in page.runs if run.size < _READING_RATIO * size and _KANA.fullmatch(run.text)]
    if not found:
        return page
    runs = tuple(run for run in page.runs if run not in found)
    return replace(page, runs=runs, left_out=page.left_out + Counter({"reading(s) of characters": len(found)}))
