"""Reads lines that do not run from left to right: Hebrew and Arabic, and vertical East Asian."""

import re
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import combining, normalize

from gistread.book.formats.pdf.characters import PageCharacters
from gistread.book.formats.pdf.pages import (
    EAST_ASIAN,
    RIGHT_TO_LEFT,
    Box,
    rotate_box,
    rotate_point,
)

# Words and numbers of other scripts inside such a line
_LEFT_TO_RIGHT = re.compile(
    r"[^\W\u0590-\u08ff](?:[^\u0590-\u08ff]*[^\W\u0590-\u08ff])?"
)
_PRESENTATION_FORM = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]")
_BRACKET = re.compile(r"[][(){}«»]")
_CLOSING_BRACKETS = ")]}»"
_MIRRORED_BRACKETS = str.maketrans("()[]{}«»", ")(][}{»«")
# In a line that runs to the left, characters to each of its Hebrew or Arabic letters
_MOST_CHARACTERS_PER_LETTER = 3
_LEAST_SPACE_EMS = 0.12
# Share of the letters of a vertical line that are below the one before
_LEAST_SHARE_BELOW = 0.7
_DOWNWARD = 3  # The turn of vertical lines


@dataclass(frozen=True, slots=True)
class WholeLine:
    """A line whose order of characters is known. Positions are in the frame of its turn."""

    text: str
    left: float
    right: float
    baseline: float
    turn: int  # In quarters


@dataclass(slots=True)
class _Letter:
    text: str
    left: float
    right: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def right_to_left_line(
    page: PageCharacters, line: re.Match[str], size: float, turn: int
) -> WholeLine | None:
    """A line of mostly Hebrew or Arabic letters, in the order of speech; None for other lines.

    PDFium reverses only some words of such lines, so the positions of the letters decide.
    """
    letter_count = len(RIGHT_TO_LEFT.findall(line[0]))
    is_mostly_other = _MOST_CHARACTERS_PER_LETTER * letter_count <= len(line[0])
    if turn < 0 or is_mostly_other:
        return None
    letters = _letters_from_right(page, line, turn)
    if not letters:
        return None
    parts = [letters[0].text]
    for before, letter in pairwise(letters):
        gap = before.left - letter.right
        if gap > _LEAST_SPACE_EMS * size:
            parts.append(" ")
        parts.append(letter.text)
    _, baseline = rotate_point(*page.origin(line.start()), turn)
    return WholeLine(
        text=_in_order_of_speech("".join(parts)),
        left=min(letter.left for letter in letters),
        right=letters[0].right,
        baseline=baseline,
        turn=turn,
    )


def _in_order_of_speech(text: str) -> str:
    """A text as printed, read from the right, with words of other scripts turned around."""
    text = _LEFT_TO_RIGHT.sub(lambda match: match[0][::-1], text)
    bracket = _BRACKET.search(text)
    if bracket and bracket[0] in _CLOSING_BRACKETS:
        # An opening bracket is printed as the mirrored sign.
        text = text.translate(_MIRRORED_BRACKETS)
    return _PRESENTATION_FORM.sub(lambda match: normalize("NFKC", match[0]), text)


def _letters_from_right(
    page: PageCharacters, line: re.Match[str], turn: int
) -> list[_Letter]:
    """The letters of a line by position, each with the marks nearest to it."""
    marks: list[_Letter] = []
    bases: list[_Letter] = []
    # PDFium lists the letters of a ligature backwards. They share a position, so the sort below
    # keeps the order in which they are added here.
    for index in reversed(range(*line.span())):
        character = page.characters[index]
        if character.isspace() or not character.isprintable():
            continue
        left, right = page.advance(index, turn)
        letters = marks if combining(character) else bases
        letters.append(_Letter(character, left, right))
    bases.sort(key=lambda base: -base.middle)
    if not bases:
        return []
    for mark in marks:
        _nearest(bases, mark).text += mark.text
    return bases


def _nearest(bases: list[_Letter], mark: _Letter) -> _Letter:
    return min(bases, key=lambda base: abs(base.middle - mark.middle))


def vertical_line(page: PageCharacters, line: re.Match[str]) -> WholeLine | None:
    """A vertical line of East Asian letters, turned on its side; None for other lines."""
    letters = [
        index for index in range(*line.span()) if not page.characters[index].isspace()
    ]
    if len(letters) < 2 or not EAST_ASIAN.search(line[0]):
        return None
    boxes = [rotate_box(page.box(index), _DOWNWARD) for index in letters]
    height = max(box.top - box.bottom for box in boxes)
    pairs = list(pairwise(boxes))
    letters_below = sum(_follows(box, before, height) for before, box in pairs)
    if letters_below < _LEAST_SHARE_BELOW * len(pairs):
        return None
    return WholeLine(
        text="".join(page.characters[index] for index in letters),
        left=boxes[0].left,
        right=boxes[-1].right,
        baseline=min(box.bottom for box in boxes),
        turn=_DOWNWARD,
    )


def _follows(box: Box, before: Box, height: float) -> bool:
    """Whether a letter comes after another in one line: their middles are near."""
    twice_distance = box.bottom + box.top - before.bottom - before.top
    return box.left > before.right - 1 and abs(twice_distance) < height
