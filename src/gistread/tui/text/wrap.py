"""Breaks a paragraph or a table into rows, greedily and in linear time.

A row may end at white space; after a dash, or a hyphen between letters; between two characters of
Chinese or Japanese by the core of kinsoku shori (JIS X 4051); between words of Thai, Lao, Burmese
and Khmer (`word_breaks.py`). Words are hyphenated only where a row would otherwise end far from the
edge, never in two consecutive rows and never in the last row of a line.

A table has one line per row with ` | ` between cells. It is shown in columns, or as records with a
row per cell.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from gistread.tui.text.cells import cell_len, fit, get_character_cell_size, is_narrow
from gistread.tui.text.word_breaks import (
    UNSPACED_CLASS,
    is_between_clusters,
    is_inside,
    may_break,
)

# A hyphen between letters ("well-known"), or a dash with no closing mark after it ("no—never")
_DASH = re.compile(r"(?<=[^\W_])[-‐](?=[^\W\d_])|[—–]+(?![\s—–…’”\"')\]}»›!?.,;:*_-])")
_DASHES = "-‐—–"
_SPACES = " \t\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u200b\u205f\u3000"
_IDEOGRAPHS = (
    "\u2e80-\u2fff\u3001-\u30ff\u3105-\u312f\u31a0-\u4dbf\u4e00-\ua4cf"
    "\uf900-\ufaff\ufe30-\ufe4f\uff01-\uffef"
    "\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
)
_IDEOGRAPHIC = re.compile(f"[{_IDEOGRAPHS}]")
_BREAKABLE = re.compile(f"[{_DASHES}{_SPACES}{_IDEOGRAPHS}{UNSPACED_CLASS}]")
_STARTS_NO_ROW = frozenset(
    "、。，．・：；？！゛゜ヽヾゝゞ々〻ー’”）〕］｝〉》」』】〗〙…‥〜～％"
    "ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ｡､｣ﾞﾟ,.!?:;)]}»›"
)
_ENDS_NO_ROW = frozenset("‘“（〔［｛〈《「『【〖〘｢([{«‹")
_WORD_JOINER = "\u2060"

SEPARATOR = " | "
DRAWN_SEPARATOR = " │ "
RECORD_INDENT = 2
# "1,204.50", "−3 %", "$20", "12 km"; also a lone dash, and an empty cell
_FIGURE = re.compile(r"[-+−–]?[$€£¥]?\s?\d[\d\s.,:/]*(?:\s?[%‰°]|[a-z]{1,2})?|[-–—]?")
# Longer tables are shown as records: measuring them would take too long
_MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class Hyphens:
    # `last_hyphen` for the block's languages
    last: Callable[[str, int, int], int | None]
    slack: int  # Cells that a row may leave empty before a word is hyphenated
    # Filled by `wrap`: ends of rows that get a hyphen
    parted: set[int] = field(default_factory=set)


def wrap(
    text: str,
    width: int,
    *,
    first: int = 0,
    turnover: int = 0,
    hyphens: Hyphens | None = None,
    narrow: bool = False,
) -> list[tuple[int, int]]:
    """Rows of `text` as `(start, end)`, without white space at breaks; at least one.

    No row exceeds `width` cells, unless a single glyph does. A line feed ends a row; white space
    after it is kept, for verse. `first` and `turnover`: cells by which the first row, and rows that
    continue a line, are narrower. `narrow`: whether `is_narrow(text)` is known to hold.
    """
    width = max(1, width)
    turned_over = max(1, width - turnover)
    rows: list[tuple[int, int]] = []
    narrow = narrow or is_narrow(text)
    for start, end in lines_of(text):
        opening = width if start else max(1, width - first)
        rows += _break_line(
            text,
            start,
            end,
            width=opening,
            next_width=turned_over,
            hyphens=hyphens,
            narrow=narrow,
        )
    return rows


def is_ideographic(text: str) -> bool:
    """Whether the text has Chinese or Japanese characters, between which a row may end."""
    return not text.isascii() and _IDEOGRAPHIC.search(text) is not None


def _break_line(
    text: str,
    start: int,
    end: int,
    *,
    width: int,
    next_width: int,
    hyphens: Hyphens | None,
    narrow: bool,
) -> Iterator[tuple[int, int]]:
    """Rows of a line; `next_width` is that of every row but the first.

    `narrow`: whether each character of the text takes one cell.
    """
    end = start + len(text[start:end].rstrip(_SPACES))
    # Where the first word of the row begins
    word_start = end - len(text[start:end].lstrip(_SPACES))
    if word_start - start >= width:  # White space that does not fit
        start = word_start
    while True:
        limit = start + width if narrow else fit(text, start, end, width)
        if limit >= end:
            yield start, end
            return
        place = _last_break(text, word_start, limit, end)
        stop, after = _spaces_around(text, place, word_start, end)
        fits_hyphen = width > 1
        if hyphens is not None and fits_hyphen:
            row = _Row(
                start=start,
                stop=stop,
                after=after,
                line_end=end,
                limit=limit,
                width=width,
                narrow=narrow,
            )
            hyphen = _hyphen_in(text, row, hyphens)
            if hyphen is not None:
                # The rest of the word begins the next row.
                stop = after = hyphen
                hyphens.parted.add(hyphen)
        yield start, stop
        # White space at a break is dropped: the next row begins with a word.
        start = word_start = after
        width = next_width


def _spaces_around(text: str, place: int, start: int, end: int) -> tuple[int, int]:
    """Where the white space before and after a place begins and ends, in `text[start:end]`."""
    first = last = place
    while first > start and text[first - 1] in _SPACES:
        first -= 1
    while last < end and text[last] in _SPACES:
        last += 1
    return first, last


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as it would be without a hyphen."""

    start: int
    stop: int  # Where its text ends
    after: int  # Where the next one would start
    line_end: int
    limit: int  # Where the row is full
    width: int
    narrow: bool  # Whether each character takes one cell


def _hyphen_in(text: str, row: _Row, hyphens: Hyphens) -> int | None:
    """Where the row may end in a hyphen within a word; None if it needs none or has no place."""
    ends_at_space = row.stop < row.after
    if not ends_at_space:
        is_dash = text[row.stop - 1] in _DASHES
        if is_dash and _ends_in_dash(text, row.stop, row.line_end):
            return None  # A row may end after a dash.
    # The latest place leaves a cell for the hyphen.
    if row.narrow:
        latest = row.limit - 1
        slack = row.limit - row.stop
    else:
        latest = fit(text, row.start, row.line_end, row.width - 1)
        slack = row.width - cell_len(text[row.start : row.stop])
    if not ends_at_space:
        # The word is wider than the row.
        return hyphens.last(text, row.start, latest)
    follows_hyphen = row.start in hyphens.parted
    is_last_word = text.find(" ", row.after, row.line_end) < 0
    if slack <= hyphens.slack or follows_hyphen or is_last_word:
        return None
    return hyphens.last(text, row.after, latest)


def _last_break(text: str, word_start: int, limit: int, end: int) -> int:
    """The last place up to `limit` where a row may end, after the beginning of its first word.

    Where there is none, that word is parted at `limit` or just before it. `end`: of the line.
    """
    # A space at `limit` ends the row there. 0: no space.
    after_space = min(text.rfind(" ", word_start, limit + 1) + 1, limit)
    # A dash at the beginning stays with what follows.
    begins_with_dash = text[word_start] in _DASHES
    floor = max(after_space, word_start + begins_with_dash)
    if _BREAKABLE.search(text, floor, limit + 1):
        for place in range(limit, floor, -1):
            if _may_break(text, place, end):
                return place
    if after_space > word_start:
        return after_space
    return _end_of_cluster(text, word_start, limit)


def _end_of_cluster(text: str, word_start: int, limit: int) -> int:
    """`limit`, or a place before it where a word that is wider than a row may be parted."""
    for place in range(limit, word_start, -1):
        if not is_inside(text, place) or is_between_clusters(text, place):
            return place
    return limit


def _ends_in_dash(text: str, place: int, end: int) -> bool:
    """Whether a row that ends at `place` ends in a dash, or in a hyphen between letters."""
    match = _DASH.match(text, place - 1, min(end, place + 1))
    return match is not None and match.end() == place


def _may_break(text: str, place: int, end: int) -> bool:
    """Whether a row may end at `place` in a line that ends at `end`."""
    before, after = text[place - 1], text[place]
    if before in _SPACES or after in _SPACES:
        return True
    if before in _DASHES and _ends_in_dash(text, place, end):
        return True
    if is_inside(text, place):
        return may_break(text, place)
    is_at_ideograph = _IDEOGRAPHIC.match(before) or _IDEOGRAPHIC.match(after)
    if not is_at_ideograph:
        return False
    if after in _STARTS_NO_ROW or before in _ENDS_NO_ROW or before == _WORD_JOINER:
        return False
    return get_character_cell_size(after) > 0


def cells_of(
    text: str, start: int, end: int, separator: str = SEPARATOR
) -> list[tuple[int, int]]:
    """The ranges between the separators in `text[start:end]`."""
    cells: list[tuple[int, int]] = []
    at = start
    while True:
        cell_end = text.find(separator, at, end)
        if cell_end < 0:
            return [*cells, (at, end)]
        cells.append((at, cell_end))
        at = cell_end + len(separator)


def lines_of(text: str) -> list[tuple[int, int]]:
    """The range of each line, without its line feed."""
    return cells_of(text, 0, len(text), "\n")


def column_widths(text: str, room: int) -> tuple[int, ...]:
    """Width of each column in cells, negative for right-aligned figures.

    Empty if they do not fit.
    """
    lines = lines_of(text)
    if len(lines) > _MOST_LINES or SEPARATOR not in text:
        return ()
    rows = [
        [text[first:last] for first, last in cells_of(text, start, end)]
        for start, end in lines
    ]
    between = len(SEPARATOR) * (max(map(len, rows)) - 1)
    # Checked before `zip_longest` fills all lines up to the length of an endless one
    if between > room:
        return ()
    columns = list(zip_longest(*rows, fillvalue=""))
    widths = [max(map(cell_len, column)) for column in columns]
    if sum(widths) + between > room:
        return ()
    for number, column in enumerate(columns):
        if _has_figures(column):
            widths[number] = -widths[number]
    return tuple(widths)


def _has_figures(column: Sequence[str]) -> bool:
    """Whether a column has only figures below its first cell, which may name it."""
    body = column[1:]
    return any(body) and all(map(_FIGURE.fullmatch, body))


def record_rows(text: str, room: int) -> list[tuple[int, int]]:
    """Rows of a table whose columns do not fit, in the form of `wrap`."""
    rows: list[tuple[int, int]] = []
    for start, end in lines_of(text):
        cells = [
            (first, last) for first, last in cells_of(text, start, end) if last > first
        ]
        if not cells:
            rows.append((start, end))
            continue
        first_cell, *others = cells
        rows += _wrap_part(text, first_cell, room, turnover=RECORD_INDENT)
        for cell in others:
            rows += _wrap_part(text, cell, room - RECORD_INDENT)
    return rows


def _wrap_part(
    text: str, part: tuple[int, int], width: int, *, turnover: int = 0
) -> list[tuple[int, int]]:
    """Rows of a part of the text, as offsets in the whole text."""
    start, end = part
    rows = wrap(text[start:end], max(1, width), turnover=turnover)
    return [(start + first, start + last) for first, last in rows]
