"""Blocks: the lines of a paragraph of a PDF, and properties of lines that show where it ends."""

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
# Most difference of the distances at both sides, as a share of the column
_CENTRED_TOLERANCE = 0.1
_NARROW_SHARE = 0.6  # Most width of a table's cell, as a share of the column

# The end of a line, perhaps with the number of a note: '."', ".12"
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’»)\]]*\d{0,3}$")
# "• an item"
_BULLET = re.compile(r"[•‣◦▪■●○∙·–*-]\s+\S|[•‣◦▪■●○∙]\S")
# "12. an item", "(a) an item"
_NUMBERED = re.compile(r"(?:\(?\d{1,2}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}\))\s+\S")
# Dots between a title and its page: ". . . . . "
_LEADERS = re.compile(r"(?:\s?\.){4,}\s*|(?:\s?…){2,}\s*")


@dataclass(slots=True)
class Block:
    """A paragraph, and the edges of the column that it is in."""

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
    space_needed = word_width * _WORD_TOLERANCE + _WORD_GAP_EMS * line.size
    return right - line.right > space_needed


def has_bullet(line: TextLine) -> bool:
    return bool(_BULLET.match(line.text))


def starts_item(line: TextLine) -> bool:
    """Whether the line has the bullet or number of a list's item."""
    return has_bullet(line) or bool(_NUMBERED.match(line.text))


def is_bold(line: TextLine) -> bool:
    """Whether all letters and digits of a line are bold."""
    runs = [run for run in line.runs if any(map(str.isalnum, run.text))]
    return bool(runs) and all(run.font.is_bold for run in runs)


def is_code(line: TextLine, layout: PageLayout) -> bool:
    """Whether a line has a font of fixed width, in a document whose text has not."""
    return not layout.is_fixed and all(run.font.is_fixed for run in line.runs)


def is_centred(line: TextLine, block: Block) -> bool:
    """Whether the line is centred between the edges of a block's column."""
    margin_left = line.left - block.left
    margin_right = block.right - line.right
    tolerance = _CENTRED_TOLERANCE * (block.right - block.left)
    is_in_middle = abs(margin_left - margin_right) < tolerance
    return is_in_middle and margin_left > _CENTRED_EMS * line.size


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
