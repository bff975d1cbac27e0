"""Puts the marks of Thai and Lao after the letters they stand on, and completes a vowel.

Fonts place marks by moving back, and PDFium then lists them after later letters. Fonts draw the
vowel AM as a ring and AA, and some PDFs name only the AA.
"""

import re
from collections.abc import Iterable
from itertools import islice

from gistread.book.formats.pdf.characters import PageCharacters

_MARK = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]")
# Marks that follow those of vowels
_TONES = "\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0ec8\u0ec9\u0eca\u0ecb\u0ecc"
_LETTER = re.compile("[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf]")
# A letter, a ring that has no name, perhaps a tone, and AA
_PARTED_AM = re.compile(
    "[\u0e01-\u0e2e\u0e81-\u0eae](?P<ring>[^\u0e00-\u0eff])"
    "[\u0e47-\u0e4c\u0ec8-\u0ecb]?(?P<aa>[\u0e32\u0eb2])"
)
_AM_OF_AA = {"\u0e32": "\u0e33", "\u0eb2": "\u0eb3"}
_MOST_MARKS = 20_000  # Of a page
_NEAR_CHARACTERS = 120  # Between a mark and its letter
_NEAR_LINE_POINTS = 3  # Between their baselines
_MOST_BETWEEN_EMS = 0.15  # Between letters of a word


def place_marks(page: PageCharacters, dropped: str) -> None:
    """Move each mark that does not follow its own letter; `dropped` replaces it there."""
    changed: dict[int, str] = {}
    for match in islice(_MARK.finditer(page.characters), _MOST_MARKS):
        mark = match.start()
        for space in _made_spaces(page, mark):
            changed[space] = dropped
        follows_own_letter = _first_below(page, mark, _before(page, mark)) is not None
        if follows_own_letter:
            continue
        letter = _first_below(page, mark, _nearest_first(page, mark))
        if letter is None:
            continue
        place = letter
        if match[0] in _TONES:
            place = _last_of_cluster(page, letter, changed)
        marks = page.moved.get(place, "") + match[0]
        tones_last = sorted(marks, key=lambda sign: sign in _TONES)
        page.moved[place] = "".join(tones_last)
        changed[mark] = dropped
    page.replace(changed)


def _nearest_first(page: PageCharacters, mark: int) -> list[int]:
    """The characters around a mark, by their distance in the file."""
    first = max(0, mark - _NEAR_CHARACTERS)
    end = min(page.count, mark + _NEAR_CHARACTERS)
    return sorted(range(first, end), key=lambda index: abs(index - mark))


def join_vowels(page: PageCharacters, dropped: str) -> None:
    """Write AM where its ring has no name; `dropped` replaces the ring."""
    changed: dict[int, str] = {}
    for match in islice(_PARTED_AM.finditer(page.characters), _MOST_MARKS):
        ring = match.start("ring")
        if page.is_guessed(ring):
            changed[ring] = dropped
            changed[match.start("aa")] = _AM_OF_AA[match["aa"]]
    page.replace(changed)


def _before(page: PageCharacters, mark: int) -> Iterable[int]:
    """The last character before a mark that is no mark itself, and the marks between."""
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
        _, letter_baseline = page.origin(index)
        is_on_line = abs(letter_baseline - baseline) < _NEAR_LINE_POINTS
        if left <= middle <= right and is_on_line:
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
    """The spaces that PDFium puts beside a mark although the letters around it are close."""
    spaces = [
        index
        for index in (mark - 1, mark + 1)
        if page.characters[index : index + 1] == " "
    ]
    if not spaces:
        return []
    before = _next_letter(page, mark, -1)
    after = _next_letter(page, mark, 1)
    if before is None or after is None:
        return []
    size, _ = page.size_and_turn(before)
    _, end_of_before = page.advance(before, 0)
    start_of_after, _ = page.advance(after, 0)
    are_close = abs(start_of_after - end_of_before) < _MOST_BETWEEN_EMS * size
    return spaces if are_close else []


def _next_letter(page: PageCharacters, mark: int, step: int) -> int | None:
    """The nearest character in one direction that is no mark and no space, in the same line."""
    index = mark + step
    while 0 <= index < page.count:
        character = page.characters[index]
        if character in "\r\n":
            return None
        if character != " " and not _MARK.match(character):
            return index
        index += step
    return None
