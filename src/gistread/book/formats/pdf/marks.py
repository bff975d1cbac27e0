"""Puts the marks of Thai and Lao after the letters they stand on, and names a vowel's lost half.

Fonts place them by moving back, and PDFium then lists them after later letters. They draw AM as a
ring and AA, and some PDFs name the AA only.
"""

import re
from collections.abc import Iterable
from itertools import islice

from gistread.book.formats.pdf.characters import PageCharacters

_MARK = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]")
# After vowels
_TONES = "\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0ec8\u0ec9\u0eca\u0ecb\u0ecc"
_LETTER = re.compile("[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf]")
# A letter, a ring that has no name, perhaps a tone, and AA
_PARTED_AM = re.compile(
    "[\u0e01-\u0e2e\u0e81-\u0eae]([^\u0e00-\u0eff])[\u0e47-\u0e4c\u0ec8-\u0ecb]?([\u0e32\u0eb2])"
)
_AM_OF_AA = {"\u0e32": "\u0e33", "\u0eb2": "\u0eb3"}
_MOST_MARKS = 20_000  # Of a page
_NEAR_CHARACTERS = 120  # Between a mark and its letter
_NEAR_LINE_POINTS = 3  # Between their baselines
_MOST_BETWEEN_EMS = 0.15  # Between letters of a word


def place_marks(page: PageCharacters, dropped: str) -> None:
    """Move each mark that follows another letter than its own; `dropped` replaces it."""
    changed: dict[int, str] = {}
    for match in islice(_MARK.finditer(page.characters), _MOST_MARKS):
        mark = match.start()
        changed.update((space, dropped) for space in _made_spaces(page, mark))
        own = _first_below(page, mark, _before(page, mark)) is not None
        if own:
            continue
        near = range(
            max(0, mark - _NEAR_CHARACTERS), min(page.count, mark + _NEAR_CHARACTERS)
        )
        letter = _first_below(
            page, mark, sorted(near, key=lambda index: abs(index - mark))
        )
        if letter is None:
            continue
        if match[0] not in _TONES:
            place = letter
        else:
            place = _last_of_cluster(page, letter, changed)
        marks = page.moved.get(place, "") + match[0]
        page.moved[place] = "".join(sorted(marks, key=_TONES.__contains__))
        changed[mark] = dropped
    page.replace(changed)


def join_vowels(page: PageCharacters, dropped: str) -> None:
    """Write AM where its ring has no name; `dropped` replaces the ring."""
    changed: dict[int, str] = {}
    for match in islice(_PARTED_AM.finditer(page.characters), _MOST_MARKS):
        ring, aa = match.start(1), match.start(2)
        if page.is_guessed(ring):
            changed |= {ring: dropped, aa: _AM_OF_AA[page.characters[aa]]}
    page.replace(changed)


def _before(page: PageCharacters, mark: int) -> Iterable[int]:
    """The letter before a mark, if only marks are between."""
    index = mark - 1
    while index >= 0 and _MARK.match(page.characters[index]):
        index -= 1
    return range(max(0, index), mark)


def _first_below(page: PageCharacters, mark: int, indices: Iterable[int]) -> int | None:
    """The first of these letters that has the middle of the mark above or below it."""
    box = page.box(mark)
    middle = (box.left + box.right) / 2
    _, baseline = page.origin(mark)
    for index in indices:
        if not _LETTER.match(page.characters[index]):
            continue
        left, right = page.advance(index, 0)
        _, line = page.origin(index)
        if left <= middle <= right and abs(line - baseline) < _NEAR_LINE_POINTS:
            return index
    return None


def _last_of_cluster(page: PageCharacters, letter: int, changed: dict[int, str]) -> int:
    """The last of the marks that follow a letter, or the letter."""
    last = letter
    for index in range(letter + 1, page.count):
        is_mark = index not in changed and _MARK.match(page.characters[index])
        if not is_mark:
            break
        last = index
    return last


def _made_spaces(page: PageCharacters, mark: int) -> Iterable[int]:
    """The spaces that PDFium puts beside a mark, if the letters around are close."""
    spaces = [
        index
        for index in (mark - 1, mark + 1)
        if page.characters[index : index + 1] == " "
    ]
    if not spaces:
        return
    before, after = _next_letter(page, mark, -1), _next_letter(page, mark, 1)
    if before is None or after is None:
        return
    size, _ = page.size_and_turn(before)
    _, right = page.advance(before, 0)
    left, _ = page.advance(after, 0)
    if abs(left - right) < _MOST_BETWEEN_EMS * size:
        yield from spaces


def _next_letter(page: PageCharacters, mark: int, step: int) -> int | None:
    """The nearest character in one direction that is no mark and no space, in the same line."""
    index = mark + step
    while 0 <= index < page.count and (
        page.characters[index] == " " or _MARK.match(page.characters[index])
    ):
        index += step
    is_in_line = 0 <= index < page.count and page.characters[index] not in "\r\n"
    return index if is_in_line else None
