"""Reads lines that do not run from left to right: Hebrew and Arabic, and vertical East Asian lines."""

import re
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import combining, normalize

from gistread.book.formats.pdf.characters import PageCharacters
from gistread.book.formats.pdf.pages import EAST_ASIAN, RIGHT_TO_LEFT, rotate_box

_LEFT_TO_RIGHT = re.compile(r"[^\W\u0590-\u08ff](?:[^\u0590-\u08ff]*[^\W\u0590-\u08ff])?")
_PRESENTATION_FORM = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]")
_BRACKET = re.compile(r"[][(){}«»]")
_MIRRORED_BRACKETS = str.maketrans("()[]{}«»", ")(][}{»«")
_LEAST_SPACE_EMS = 0.12
_LEAST_SHARE = 0.7
_DOWNWARD = 3

# Text, (left, baseline, right) in the frame of its turn, turn in quarters.
WholeLine = tuple[str, tuple[float, float, float], int]


def right_to_left_line(page: PageCharacters, line: re.Match[str], size: float, turn: int) -> WholeLine | None:
    """A line of mostly Hebrew or Arabic letters, in the order of speech; None for other lines.

    PDFium reverses only some words of such lines, so the positions of the letters decide.
    """
    if turn < 0 or len(RIGHT_TO_LEFT.findall(line[0])) <= len(line[0]) / 3:
        return None
    # The letters of one ligature share a position; PDFium lists them backwards.
    indices = [index for index in range(line.end() - 1, line.start() - 1, -1) if page.characters[index].isprintable()]
    letters = [_Letter(page.characters[index], *page.advance(index, turn)) for index in indices]
    bases = sorted(each for each in letters if not each.text.isspace() and not combining(each.text))
    if not bases:
        return None
    for mark in letters:
        if combining(mark.text):
            min(bases, key=lambda base: abs(base.middle - mark.middle)).text += mark.text
    gaps = (before.left - after.right for before, after in pairwise(bases))
    spaces = ["", *(" " if gap > _LEAST_SPACE_EMS * size else "" for gap in gaps)]
    joined = "".join(space + base.text for space, base in zip(spaces, bases, strict=True))
    text = _LEFT_TO_RIGHT.sub(lambda found: found[0][::-1], joined)
    first = _BRACKET.search(text)
    if first and first[0] in ")]}»":  # Printed as the mirrored sign
        text = text.translate(_MIRRORED_BRACKETS)
    x, y = page.origin(line.start())
    baseline = rotate_box((x, y, x, y), turn)[1]
    text = _PRESENTATION_FORM.sub(lambda found: normalize("NFKC", found[0]), text)
    return text, (min(base.left for base in bases), baseline, bases[0].right), turn


@dataclass(slots=True)
class _Letter:
    text: str
    left: float
    right: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def __lt__(self, other: "_Letter") -> bool:
        return self.middle > other.middle


def vertical_line(page: PageCharacters, line: re.Match[str]) -> WholeLine | None:
    """A vertical line of East Asian letters, turned on its side; None for other lines."""
    letters = [index for index in range(*line.span()) if not page.characters[index].isspace()]
    if len(letters) < 2 or not EAST_ASIAN.search(line[0]):
        return None
    boxes = [rotate_box(page.box(index), _DOWNWARD) for index in letters]
    heights = [top - bottom for _, bottom, _, top in boxes]
    below = sum(
        after[0] > before[2] - 1 and abs(after[1] + after[3] - before[1] - before[3]) < max(heights)
        for before, after in pairwise(boxes)
    )
    if below < _LEAST_SHARE * (len(letters) - 1):
        return None
    text = "".join(page.characters[index] for index in letters)
    return text, (boxes[0][0], min(bottom for _, bottom, *_ in boxes), boxes[-1][2]), _DOWNWARD
