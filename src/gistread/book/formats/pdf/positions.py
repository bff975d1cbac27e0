"""Finds the paragraphs at positions of pages: targets of links and of the outline."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from gistread.book.formats.pdf.blocks import Block
from gistread.book.formats.pdf.pages import PagePosition
from gistread.book.model import ParagraphKind
from gistread.book.normalise import letters

# "#12:56.7:None": page, x and y
_PLACE = re.compile(r"#(\d+):(None|-?[\d.]+(?:e-?\d+)?):(None|-?[\d.]+(?:e-?\d+)?)")

_ABOVE_POINTS = 4.0  # A position may be this far below the top of its line
_MARGIN_POINTS = 20  # And this far to the left of its column
_COMPARED_CHARACTERS = 300  # Of a paragraph
_FEWEST_LETTERS = 3  # In a title that matches a part of a paragraph
# In a number that only the title or only the heading has: "Chapter XIV"
_MOST_NUMBER_LETTERS = 12


class _Match(IntEnum):
    """How well the letters of a paragraph match a title; the best first."""

    WHOLE = 0
    BUT_FOR_NUMBER = 1
    PART = 2
    NONE = 3


@dataclass(frozen=True, slots=True)
class _PlacedLine:
    top: float
    left: float
    right: float  # Edges of its column
    block: int
    begins_block: bool


class PositionIndex:
    """The paragraphs of a document, by page and position."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._on_page: dict[int, list[_PlacedLine]] = {}
        self._letters: dict[int, str] = {}
        for index, block in enumerate(blocks):
            for number, line in enumerate(block.lines):
                placed = _PlacedLine(
                    top=line.baseline + line.size,
                    left=min(block.left, line.left),
                    right=max(block.right, line.right),
                    block=index,
                    begins_block=number == 0,
                )
                self._on_page.setdefault(line.page, []).append(placed)

    def block_at(self, place: PagePosition) -> int | None:
        """The block of the first line at or below a position; None if no text follows."""
        if place.page < 0:
            return None
        lines = self._on_page.get(place.page)
        if not lines:
            return self._first_after(place.page)
        if place.y is None:
            beginnings = (line.block for line in lines if line.begins_block)
            return next(beginnings, lines[0].block)
        most_top = place.y + _ABOVE_POINTS
        below = [line for line in lines if line.top <= most_top]
        if not below:
            # All text is above: the nearest is the last line.
            below = lines[-1:]
        x = place.x
        if x is not None:
            in_column = [
                line for line in below if line.left - _MARGIN_POINTS <= x <= line.right
            ]
            below = in_column or below
        return max(below, key=lambda line: line.top).block

    def _first_after(self, page: int) -> int | None:
        """The first block on later pages; None if they have no text."""
        later_pages = [number for number in self._on_page if number > page]
        if not later_pages:
            return None
        return self._on_page[min(later_pages)][0].block

    def heading_at(self, place: PagePosition, title: str) -> int | None:
        """The block where the chapter `title` starts: by its words, otherwise by position."""
        nearest = self.block_at(place)
        if nearest is None:
            return None
        title_letters = letters(title)
        lines = self._on_page.get(place.page, ())
        on_page = list(dict.fromkeys(line.block for line in lines))
        matches = {index: self._match(index, title_letters) for index in on_page}
        headings = [index for index in on_page if matches[index] is not _Match.NONE]
        if headings:
            return min(
                headings, key=lambda index: (matches[index], abs(index - nearest))
            )
        if nearest not in on_page or self._page_of(nearest) == place.page:
            return nearest
        # The position is inside a paragraph from the previous page: take the next one.
        for index in on_page:
            if index > nearest and self._page_of(index) == place.page:
                return index
        return nearest

    def _page_of(self, index: int) -> int:
        """The page where a block begins."""
        return self._blocks[index].first_line.page

    def _match(self, index: int, title: str) -> _Match:
        """How well a block matches the letters of a title."""
        text = self._letters_of(index)
        if text == title:
            return _Match.WHOLE if text else _Match.NONE
        if min(len(title), len(text)) < _FEWEST_LETTERS:
            return _Match.NONE
        is_end = text.endswith(title) or title.endswith(text)
        if is_end and abs(len(text) - len(title)) <= _MOST_NUMBER_LETTERS:
            return _Match.BUT_FOR_NUMBER
        is_part = title in text or text in title
        is_heading = self._blocks[index].kind is ParagraphKind.HEADING
        return _Match.PART if is_part and is_heading else _Match.NONE

    def _letters_of(self, index: int) -> str:
        text = self._letters.get(index)
        if text is None:
            text = letters(self._blocks[index].text[:_COMPARED_CHARACTERS])
            self._letters[index] = text
        return text


def position_of(href: str) -> PagePosition | None:
    """The position that a `LinkArea` leads to; None if it leads out of the document."""
    match = _PLACE.fullmatch(href)
    if match is None:
        return None
    page, x, y = match.groups()
    return PagePosition(int(page), _coordinate(x), _coordinate(y))


def _coordinate(written: str) -> float | None:
    if written == "None":
        return None
    return float(written)
