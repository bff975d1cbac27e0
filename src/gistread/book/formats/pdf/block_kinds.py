"""Tells what a block of lines is: a heading, a table, an item of a list and so on."""

import re

from gistread.book.formats.pdf.blocks import (
    HEADING_RATIO,
    Block,
    has_bullet,
    is_bold,
    is_code,
    is_narrow,
    starts_item,
)
from gistread.book.formats.pdf.layout import PageLayout
from gistread.book.model import ParagraphKind

# "Figure 3.1: ", "Abb. 2"
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)|illustration|plate|scheme|abbildung|abb\.|ilustración|figura"
    r"|рис(?:унок|\.)|図)\s*[\dIVX]+(?:[.–-]\d+)*\s*(?:[.:|—–]|$)",
    re.IGNORECASE,
)
# "* * *"
_BREAK = re.compile(r"(?:[*•·#~⁂–—-]\s*){1,7}$")
_LONGEST_BREAK_CHARACTERS = 19

_LONGEST_HEADING_CHARACTERS = 250
_MOST_HEADING_LINES = 5
_MOST_HEADING_COMMAS = 3  # More are a list of names
_LONGEST_HEADING_NUMBER = 5  # Characters of a heading without letters
# For headings that differ from text only by bold letters
_MOST_BOLD_HEADING_LINES = 3
_LEAST_BOLD_HEADING_RATIO = 0.95

_LEAST_ROWS_SHARE = 0.6  # Share of a table's lines that have cells
_QUOTE_EMS = 1.2  # Least margin of all lines of a quotation


def kind_of(block: Block, layout: PageLayout) -> ParagraphKind:
    """The first kind that fits a block, by its letters and its place in the column."""
    if _is_break(block):
        return ParagraphKind.BREAK
    if _CAPTION.match(block.text):
        return ParagraphKind.IMAGE
    if _is_heading(block, layout):
        return ParagraphKind.HEADING
    if all(is_code(line, layout) for line in block.lines):
        return ParagraphKind.CODE
    if _has_rows(block) or _has_stacked_rows(block):
        return ParagraphKind.TABLE
    if _is_item(block):
        return ParagraphKind.LIST
    if _is_quote(block):
        return ParagraphKind.QUOTE
    return ParagraphKind.TEXT


def _is_break(block: Block) -> bool:
    if len(block.lines) > 1:
        return False
    text = block.text
    return len(text) <= _LONGEST_BREAK_CHARACTERS and bool(_BREAK.match(text))


def _is_heading(block: Block, layout: PageLayout) -> bool:
    """Whether a short block has large letters, or is bold and no sentence."""
    text = block.text
    if len(text) > _LONGEST_HEADING_CHARACTERS:
        return False
    if len(block.lines) > _MOST_HEADING_LINES:
        return False
    is_name_list = text.count(",") > _MOST_HEADING_COMMAS
    if is_name_list or not any(map(str.isalnum, text)):
        return False
    size = block.first_line.size
    if size >= HEADING_RATIO * layout.size:
        return any(map(str.isalpha, text)) or len(text) <= _LONGEST_HEADING_NUMBER
    if len(block.lines) > _MOST_BOLD_HEADING_LINES or text[-1] in ".,;:":
        return False
    if size < _LEAST_BOLD_HEADING_RATIO * layout.size:
        return False
    return all(is_bold(line) and not line.cells for line in block.lines)


def _has_rows(block: Block) -> bool:
    """Whether the block has several lines, and most of them have cells."""
    rows = sum(bool(line.cells) for line in block.lines)
    return len(block.lines) > 1 and rows > _LEAST_ROWS_SHARE * len(block.lines)


def _has_stacked_rows(block: Block) -> bool:
    """Whether the block has rows with cells of several lines, and nothing wider than a cell."""
    if not any(line.stacks for line in block.lines):
        return False
    return all(line.stacks or is_narrow(line, block) for line in block.lines)


def _is_item(block: Block) -> bool:
    """Whether the block is an item of a list; one numbered line at the edge may be a sentence."""
    first = block.first_line
    if not starts_item(first):
        return False
    return len(block.lines) > 1 or first.left > block.left or has_bullet(first)


def _is_quote(block: Block) -> bool:
    """Whether several lines all have a wide left margin."""
    margin = min(line.left for line in block.lines) - block.left
    return len(block.lines) > 1 and margin > _QUOTE_EMS * block.first_line.size
