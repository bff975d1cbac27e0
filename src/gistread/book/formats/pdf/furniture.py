"""Finds running heads, feet, page and line numbers: text that nearby pages repeat or number at the same place."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, takewhile

from gistread.book.formats.pdf.lines import TextLine
from gistread.book.formats.pdf.pages import PdfPage, TextRun
from gistread.book.numbers import parse_roman

_EDGE_ROWS = 3
_NUMBER = re.compile(r"\d{1,5}|\b[ivxlcdm]{1,9}\b|\b[IVXLCDM]{1,9}\b")
_HEIGHT_POINTS = 6.0
_MOST_SHARE = 0.3
_USUAL_SHARE = 0.4
_COUNTED_SHARE = 0.5
_NEAR_PAGES = 4  # A running head recurs within this distance, even on alternate pages or around a figure
_LEAST_PAGES = 3
_FIRST_IS_1 = 100_000  # Key for page numbers that count from 1
_EDGES = _STARTS, _ENDS = ("# and words", "words and #")  # Keys for numbers beside words that change with chapters
_EDGE_SHARE = 0.3
_BARE = ("#", "-#-", "–#–", "page#", "[#]")


def find_furniture(pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
    """The furniture rows of each page, given its rows from the top down."""
    seen: dict[tuple[str, str, int], list[tuple[int, float]]] = defaultdict(list)
    edges = [(rows[:_EDGE_ROWS], rows[::-1][:_EDGE_ROWS]) for rows in pages]
    for number, sides in enumerate(edges):
        for side, rows in zip("tb", sides, strict=True):
            for row in rows:
                for key in _keys(row.text, number):
                    seen[(side, *key)].append((number, row.baseline))

    sizes = sorted(row.size for rows in pages for row in rows)
    body = sizes[len(sizes) // 2] if sizes else 0
    counts = Counter(key[2] for key, places in seen.items() for _ in places if key[2] >= 0 and key[1] not in _EDGES)

    def repeats(row: TextLine, number: int, side: str) -> bool:
        keys = list(_keys(row.text, number))
        # A page number may be at the foot where a chapter begins, and in the head elsewhere.
        if any(_is_bare(words) and counts[first] > _COUNTED_SHARE * len(pages) for words, first in keys):
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
    return found if gone <= _MOST_SHARE * letters else [[] for _ in pages]


def _is_bare(words: str) -> bool:
    return words.replace(" ", "") in _BARE


def _with_strays(
    edges: Sequence[tuple[Sequence[TextLine], Sequence[TextLine]]], found: list[list[TextLine]]
) -> list[list[TextLine]]:
    """Add unrepeated rows at the usual place of furniture, such as the head of a one-page chapter."""
    where = Counter((round(row.baseline), round(row.size * 2)) for rows in found for row in rows)
    usual = {key for key, count in where.items() if count >= max(_LEAST_PAGES, _USUAL_SHARE * len(found))}
    return [
        own or [side[0] for side in sides if side and (round(side[0].baseline), round(side[0].size * 2)) in usual]
        for sides, own in zip(edges, found, strict=True)
    ]


def _keys(text: str, page: int) -> Iterator[tuple[str, int]]:
    words = " ".join(text.split()).casefold()
    yield words, -1
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


def _repeats(key: tuple[str, int], row: TextLine, page: int, places: list[tuple[int, float]], page_count: int) -> bool:
    same_height = [
        other for other, baseline in places if other != page and abs(baseline - row.baseline) <= _HEIGHT_POINTS
    ]
    if key[0] in _EDGES:
        return len(same_height) + 1 >= max(_LEAST_PAGES, _EDGE_SHARE * page_count)
    if key[1] >= 0:
        if page_count < _LEAST_PAGES:
            return _is_bare(key[0]) and key[1] == _FIRST_IS_1
        return len(places) >= _LEAST_PAGES and (len(same_height) > 0 or len(places) > page_count / 4)
    if not any(character.isalpha() for character in key[0]):
        return len(same_height) + 1 >= _LEAST_PAGES
    near = sum(abs(other - page) <= _NEAR_PAGES for other in same_height)
    return near > 0 and len(same_height) + 1 >= _LEAST_PAGES


_FEWEST_LINE_NUMBERS = 4
_REGULAR_SHARE = 0.8
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
    for side in ([run for run in numbers if run.right <= left], [run for run in numbers if run.left >= right]):
        side.sort(key=lambda run: -run.baseline)
        steps = Counter(int(below.text) - int(above.text) for above, below in pairwise(side))
        step, count = steps.most_common(1)[0] if steps else (0, 0)
        if len(side) >= _FEWEST_LINE_NUMBERS and step in _STEPS and count >= _REGULAR_SHARE * (len(side) - 1):
            found.update(map(id, side))
    return found
