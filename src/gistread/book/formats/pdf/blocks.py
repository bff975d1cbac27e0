"""Blocks: paragraphs of a PDF as lines, and what lines show about the paragraph they are in."""

import re
from dataclasses import dataclass, field

from gistread.book.formats.pdf.layout import PageLayout
from gistread.book.formats.pdf.lines import TextLine
from gistread.book.model import ParagraphKind

# A page may break these in two.
RUNNING_KINDS = frozenset({ParagraphKind.TEXT, ParagraphKind.QUOTE, ParagraphKind.LIST})

HEADING_RATIO = 1.12  # Least size of a heading, relative to the text
SIZE_TOLERANCE = 0.07  # Sizes of one paragraph differ by at most this share
_WORD_TOLERANCE = 1.1  # The letters of a word may be wider than the average of its line
_WORD_GAP_EMS = 0.9  # Hyphenation and wide spaces leave less at the end of a line
_CENTRED_EMS = 2  # Least distance of a centred line from the left edge
_CENTRED_TOLERANCE = 0.1  # Of the distances at both sides, as a share of the column
_NARROW_SHARE = 0.6  # Most width of a table's cell, as a share of the column

_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’»)\]]*\d{0,3}$")
_BULLET = re.compile(r"[•‣◦▪■●○∙·–*-]\s+\S|[•‣◦▪■●○∙]\S")
_NUMBERED = re.compile(r"(?:\(?\d{1,2}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}\))\s+\S")
_LEADERS = re.compile(r"(?:\s?\.){4,}\s*|(?:\s?…){2,}\s*")


@dataclass(slots=True)
class Block:
    lines: list[TextLine]
    kind: ParagraphKind = ParagraphKind.TEXT
    label: str = ""  # A note's number or sign
    left: float = 0.0
    right: float = 0.0  # Edges of its last column
    keeps_lines: bool = False
    notes: list["Block"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def first_line(self) -> TextLine:
        return self.lines[0]

    @property
    def last_line(self) -> TextLine:
        return self.lines[-1]


def ends_sentence(text: str) -> bool:
    return bool(_SENTENCE_END.search(text))


def ends_early(line: TextLine, below: TextLine, right: float) -> bool:
    """Whether the first word of the line below would fit, if its letters had equal widths."""
    first_word = below.text.partition(" ")[0]
    word_width = len(first_word) * (below.right - below.left) / max(1, len(below.text))
    return right - line.right > word_width * _WORD_TOLERANCE + _WORD_GAP_EMS * line.size


def has_bullet(line: TextLine) -> bool:
    return bool(_BULLET.match(line.text))


def starts_item(line: TextLine) -> bool:
    """Whether the line has the bullet or number of a list's item."""
    return has_bullet(line) or bool(_NUMBERED.match(line.text))


def is_bold(line: TextLine) -> bool:
    lettered = [run for run in line.runs if any(map(str.isalnum, run.text))]
    return bool(lettered) and all(run.font.is_bold for run in lettered)


def is_code(line: TextLine, layout: PageLayout) -> bool:
    return not layout.is_fixed and all(run.font.is_fixed for run in line.runs)


def is_centred(line: TextLine, block: Block) -> bool:
    """Whether the line is centred between the edges of a block's column."""
    before = line.left - block.left
    after = block.right - line.right
    tolerance = _CENTRED_TOLERANCE * (block.right - block.left)
    return before > _CENTRED_EMS * line.size and abs(before - after) < tolerance


def is_narrow(line: TextLine, block: Block) -> bool:
    return line.right - line.left < _NARROW_SHARE * (block.right - block.left)


def gap_between(above: Block, below: Block) -> float:
    """Points between the last baseline of a block and the first one of the next."""
    return above.last_line.bottom - below.first_line.baseline


def has_leaders(text: str) -> bool:
    return bool(_LEADERS.search(text))


def without_leaders(text: str) -> str:
    """Replace the leader dots of a table of contents by one sign."""
    return _LEADERS.sub(" … ", text)
