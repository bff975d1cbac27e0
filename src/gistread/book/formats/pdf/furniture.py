"""Finds what pages have beside their text: running heads, page numbers and line numbers."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median_high
from typing import NamedTuple

from gistread.book.formats.pdf.gutters import inner_edges
from gistread.book.formats.pdf.layout import half_points
from gistread.book.formats.pdf.lines import TextLine
from gistread.book.formats.pdf.pages import PdfPage, TextRun
from gistread.book.numbers import parse_roman

_EDGE_ROWS = 3  # At the top and at the bottom of a page
_NUMBER = re.compile(r"\d{1,5}|\b[ivxlcdm]{1,9}\b|\b[IVXLCDM]{1,9}\b")
# Page numbers, without spaces, with "#" for the number.
_PAGE_NUMBERS = ("#", "-#-", "–#–", "page#", "[#]")
# `_Key.words` of rows that start or end with a number: the words change with the chapters.
_NUMBER_FIRST = "# and words"
_NUMBER_LAST = "words and #"
_NO_NUMBER = -1
_FIRST_IS_1 = 100_000  # `_Key.first_number` if page numbers count from 1

_SAME_HEIGHT_POINTS = 6.0
_TITLE_POINTS = 0.5  # A row that is this much larger than the text may be a title
_LEAST_PAGES = 3  # With the same furniture
# A running head recurs within this distance, even on alternate pages or around a figure.
_NEAR_PAGES = 4
# Shares of the pages: of numbers that grow by one a page, at changing places; of numbers beside
# words; of numbers anywhere; of furniture at its usual place.
_LEAST_SHARE_OF_COUNT = 0.5
_LEAST_SHARE_BESIDE_WORDS = 0.3
_LEAST_SHARE_ANYWHERE = 0.25
_USUAL_SHARE = 0.4
_MOST_LETTERS_SHARE = 0.3  # Share of a document's letters that are furniture


class _Sides(NamedTuple):
    """The outermost rows of a page, from its edge inwards."""

    top: Sequence[TextLine]
    bottom: Sequence[TextLine]


class _Key(NamedTuple):
    """What a row has in common with rows of other pages."""

    words: str  # Without case; "#" for a number in them
    # The number that the first page would have if it grows by one a page, plus a constant.
    first_number: int = _NO_NUMBER

    @property
    def is_page_number(self) -> bool:
        return self.words.replace(" ", "") in _PAGE_NUMBERS

    @property
    def is_number_beside_words(self) -> bool:
        return self.words in (_NUMBER_FIRST, _NUMBER_LAST)


def find_furniture(pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
    """The furniture rows of each page, given its rows from the top down."""
    edges = [_Sides(rows[:_EDGE_ROWS], rows[::-1][:_EDGE_ROWS]) for rows in pages]
    sizes = [row.size for rows in pages for row in rows]
    body_size = median_high(sizes) if sizes else 0
    recurring = _RecurringRows(edges, body_size)
    recurring_rows = [list(recurring.on_page(number)) for number in range(len(pages))]
    furniture = _with_strays(edges, recurring_rows)
    letters = _count_letters(pages)
    if _count_letters(furniture) > _MOST_LETTERS_SHARE * letters:
        # Uniform pages (forms, slides) would lose their content
        return [[] for _ in pages]
    return furniture


def _count_letters(pages: Sequence[Sequence[TextLine]]) -> int:
    return sum(len(row.text) for rows in pages for row in rows)


def _with_strays(
    edges: Sequence[_Sides], furniture: Sequence[list[TextLine]]
) -> list[list[TextLine]]:
    """Add rows that do not recur, where furniture usually is: the head of a one-page chapter."""
    places = Counter(_place_of(row) for rows in furniture for row in rows)
    least = max(_LEAST_PAGES, _USUAL_SHARE * len(furniture))
    usual_places = {place for place, count in places.items() if count >= least}
    complete: list[list[TextLine]] = []
    for sides, recurring in zip(edges, furniture, strict=True):
        # Only on a page without recurring rows.
        outermost = [side[0] for side in sides if side]
        strays = [row for row in outermost if _place_of(row) in usual_places]
        complete.append(recurring or strays)
    return complete


def _place_of(row: TextLine) -> tuple[int, int]:
    """Height and size, rounded."""
    return round(row.baseline), half_points(row.size)


def _keys(text: str, page: int) -> Iterator[_Key]:
    """What a row on a page (from 0) may share: its words, and each number in them."""
    yield _Key(" ".join(text.split()).casefold())
    for match in _NUMBER.finditer(text):
        is_decimal = match[0].isdigit()
        number = int(match[0]) if is_decimal else parse_roman(match[0])
        if number is None:
            continue
        start, end = match.span()
        other_words = f"{text[:start]}#{text[end:]}".casefold()
        first_number = number - page + _FIRST_IS_1 - 1
        yield _Key(" ".join(other_words.split()), first_number)
        if is_decimal and start == 0:
            yield _Key(_NUMBER_FIRST, first_number)
        elif is_decimal and end == len(text):
            yield _Key(_NUMBER_LAST, first_number)


@dataclass(slots=True)
class _Places:
    """The places of rows with the same key: page and baseline, in the order of pages."""

    rows: list[tuple[int, float]] = field(default_factory=list)
    # Sorted, as soon as all rows are known
    _baselines: list[float] = field(default_factory=list)

    def count_at(self, baseline: float) -> int:
        """The number of rows at this height."""
        if not self._baselines:
            self._baselines = sorted(height for _, height in self.rows)
        start = bisect_left(self._baselines, baseline - _SAME_HEIGHT_POINTS)
        end = bisect_right(self._baselines, baseline + _SAME_HEIGHT_POINTS)
        return end - start

    def count_near(self, page: int, distance: int, baseline: float) -> int:
        """The number of rows at this height on pages at most `distance` from `page`."""
        start = bisect_left(self.rows, (page - distance,))
        end = bisect_left(self.rows, (page + distance + 1,))
        heights = [height for _, height in self.rows[start:end]]
        return sum(abs(height - baseline) <= _SAME_HEIGHT_POINTS for height in heights)


class _RecurringRows:
    """The rows at the edges of all pages, to tell which of them recur."""

    def __init__(self, edges: Sequence[_Sides], body_size: float) -> None:
        self._edges = edges
        self._body_size = body_size
        self._top = defaultdict[_Key, _Places](_Places)
        self._bottom = defaultdict[_Key, _Places](_Places)
        self._numbers = Counter[int]()  # Rows by `_Key.first_number`
        for page, sides in enumerate(edges):
            for row in sides.top:
                self._add(row, page, self._top)
            for row in sides.bottom:
                self._add(row, page, self._bottom)

    def _add(
        self, row: TextLine, page: int, places: defaultdict[_Key, _Places]
    ) -> None:
        for key in _keys(row.text, page):
            places[key].rows.append((page, row.baseline))
            if key.first_number != _NO_NUMBER and not key.is_number_beside_words:
                self._numbers[key.first_number] += 1

    def on_page(self, page: int) -> Iterator[TextLine]:
        """The rows from each edge inwards, up to the first that does not recur."""
        sides = self._edges[page]
        for row in sides.top:
            if not self._recurs(row, page, self._top):
                break
            yield row
        for row in sides.bottom:
            # A number that fits its page does not have to recur.
            is_numbered = self._is_numbered_from_1(row, page)
            if not is_numbered and not self._recurs(row, page, self._bottom):
                break
            yield row

    def _is_numbered_from_1(self, row: TextLine, page: int) -> bool:
        """Whether a row is the page's number, counted from 1."""
        keys = _keys(row.text, page)
        return any(
            key.is_page_number and key.first_number == _FIRST_IS_1 for key in keys
        )

    def _recurs(
        self, row: TextLine, page: int, places_of: defaultdict[_Key, _Places]
    ) -> bool:
        """Whether a row shares something with enough other pages."""
        keys = list(_keys(row.text, page))
        # Numbers that grow by one a page count in any place: a page number may be at the foot where
        # a chapter begins, and in the head elsewhere.
        least_pages_counted = _LEAST_SHARE_OF_COUNT * len(self._edges)
        for key in keys:
            pages_counted = self._numbers[key.first_number]
            if key.is_page_number and pages_counted > least_pages_counted:
                return True
        may_be_title = row.size > self._body_size + _TITLE_POINTS
        if may_be_title:
            # "Chapter 3" is a title, and no head with a number.
            keys = [key for key in keys if not key.is_number_beside_words]
        return any(self._key_recurs(key, row, page, places_of[key]) for key in keys)

    def _key_recurs(self, key: _Key, row: TextLine, page: int, places: _Places) -> bool:
        """Whether rows on enough other pages have the same words or the number that fits."""
        on_page = places.count_near(page, 0, row.baseline)
        elsewhere = places.count_at(row.baseline) - on_page  # At the same height
        if key.is_number_beside_words:
            share_of_pages = _LEAST_SHARE_BESIDE_WORDS * len(self._edges)
            return elsewhere + 1 >= max(_LEAST_PAGES, share_of_pages)
        if key.first_number != _NO_NUMBER:
            return self._number_recurs(key, places, elsewhere)
        if elsewhere + 1 < _LEAST_PAGES:
            return False
        has_letters = any(map(str.isalpha, key.words))
        if not has_letters:
            return True
        # A running head recurs on pages near by; the same words far apart may be headings.
        near = places.count_near(page, _NEAR_PAGES, row.baseline)
        return near > on_page

    def _number_recurs(self, key: _Key, places: _Places, elsewhere: int) -> bool:
        """Whether enough pages have the number that fits.

        `elsewhere`: how many other rows have it at the same height.
        """
        page_count = len(self._edges)
        if page_count < _LEAST_PAGES:
            return key.is_page_number and key.first_number == _FIRST_IS_1
        row_count = len(places.rows)
        is_frequent = row_count > _LEAST_SHARE_ANYWHERE * page_count
        return row_count >= _LEAST_PAGES and (elsewhere > 0 or is_frequent)


_FEWEST_LINE_NUMBERS = 4  # On a page
_LINE_NUMBER_STEPS = (1, 2, 3, 4, 5, 10)
# Share of the steps from number to number that are the usual one
_LEAST_STEPS_SHARE = 0.8
_EDGE_OUTLIERS = 20  # One run in this many may stick out of the text


def without_line_numbers(pages: Sequence[PdfPage]) -> list[PdfPage]:
    """The pages without the numbers beside their lines, if most pages have them."""
    numbers_by_page = [_line_numbers(page.runs) for page in pages]
    pages_with_numbers = sum(map(bool, numbers_by_page))
    if 2 * pages_with_numbers <= len(pages):
        return list(pages)
    return list(map(_without_runs, pages, numbers_by_page))


def _without_runs(page: PdfPage, numbers: set[int]) -> PdfPage:
    """The page without line numbers. `numbers`: ids of their runs."""
    left_out = Counter({"line number(s)": len(numbers)})
    return replace(
        page,
        runs=tuple(run for run in page.runs if id(run) not in numbers),
        left_out=page.left_out + left_out,
    )


def _line_numbers(runs: Sequence[TextRun]) -> set[int]:
    """Ids of the numbers beside the text that grow by a constant step from line to line."""
    numbers = [run for run in runs if run.text.strip().isdecimal()]
    words = [run for run in runs if any(map(str.isalpha, run.text))]
    if len(numbers) < _FEWEST_LINE_NUMBERS or not words:
        return set()
    left, right = inner_edges(words, _EDGE_OUTLIERS)
    ids: set[int] = set()
    on_left = [run for run in numbers if run.right <= left]
    on_right = [run for run in numbers if run.left >= right]
    for side in (on_left, on_right):
        if _grow_steadily(side):
            ids.update(map(id, side))
    return ids


def _grow_steadily(numbers: Sequence[TextRun]) -> bool:
    """Whether nearly all numbers, from the top down, grow by the same usual step."""
    if len(numbers) < _FEWEST_LINE_NUMBERS:
        return False
    from_top = sorted(numbers, key=lambda run: -run.baseline)
    values = [int(run.text) for run in from_top]
    steps = Counter(below - above for above, below in pairwise(values))
    step, count = steps.most_common(1)[0]
    return step in _LINE_NUMBER_STEPS and count >= _LEAST_STEPS_SHARE * steps.total()
