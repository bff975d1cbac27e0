"""Finds where a paragraph begins inside a column: by gaps, fonts, indents and short lines."""

from collections.abc import Sequence
from itertools import pairwise

from gistread.book.formats.pdf.blocks import (
    HEADING_RATIO,
    SIZE_TOLERANCE,
    Block,
    ends_early,
    ends_sentence,
    is_bold,
    is_centred,
    is_code,
    starts_item,
)
from gistread.book.formats.pdf.layout import INDENT_EMS, PageLayout
from gistread.book.formats.pdf.lines import TextLine
from gistread.book.formats.pdf.pages import HYPHEN

# A gap between paragraphs exceeds the usual distance of baselines, and the size of the letters.
_GAP_LEADINGS = 1.28
_GAP_ROUNDING_POINTS = 0.5  # Distances are measured in half points
_GAP_EMS = 1.1
_OUTDENT_POINTS = 2  # Least distance of an item from the left edge of the line above
_MOST_HANGING_EMS = 4  # A line farther to the right is centred, or a cell of a table
_NEAR_LINES = 7  # Lines on both sides that show how the paragraphs around are indented
_OPENING_MARKS = "\"“‘'«„—–"  # Of speech


def begins_block(
    lines: Sequence[TextLine], index: int, layout: PageLayout, block: Block
) -> bool:
    """Whether a line of a column begins a paragraph. It must not be the first one.

    `block`: the one that the line above it is in.
    """
    above = lines[index - 1]
    line = lines[index]
    if _is_set_apart(above, line, layout):
        return True
    if above.text.endswith(HYPHEN):
        return False
    is_short = ends_early(above, line, block.right)
    # Only one of the lines is a row of a table.
    is_at_table = bool(above.cells) != bool(line.cells)
    if is_short and is_at_table:
        return True
    has_ended = ends_sentence(above.text)
    if starts_item(line) and _may_precede_item(above, line, block.right):
        return True
    if _is_centred_title(above, line, layout):
        # The first line of a title may fill the column.
        return is_short and has_ended
    indent = line.left - above.left
    if indent > INDENT_EMS * line.size:
        return _begins_when_indented(lines, index, block)
    if indent < -INDENT_EMS * line.size:
        return _begins_when_outdented(lines, index, block)
    return is_short or _is_next_speech(line, has_ended, block, layout)


def _is_set_apart(above: TextLine, line: TextLine, layout: PageLayout) -> bool:
    """Whether the lines differ in size, weight or kind of font, or have a gap between them."""
    if abs(above.size - line.size) > SIZE_TOLERANCE * max(above.size, line.size):
        return True
    gap = above.bottom - line.baseline
    usual_gap = _GAP_LEADINGS * layout.leading(line.size) + _GAP_ROUNDING_POINTS
    if gap > usual_gap and gap > _GAP_EMS * line.size:
        return True
    if is_bold(above) != is_bold(line):
        return True
    return is_code(above, layout) != is_code(line, layout)


def _may_precede_item(above: TextLine, line: TextLine, right: float) -> bool:
    """Whether the line above an item's number is not the beginning of the item's sentence."""
    is_indented = above.left > line.left + _OUTDENT_POINTS
    return is_indented or ends_sentence(above.text) or ends_early(above, line, right)


def _is_centred_title(above: TextLine, line: TextLine, layout: PageLayout) -> bool:
    """Whether two lines as large as headings have the same middle, but not the same left edge."""
    if line.size < HEADING_RATIO * layout.size:
        return False
    least_indent = INDENT_EMS * line.size
    indent = line.left - above.left
    twice_shift_of_middle = line.left + line.right - above.left - above.right
    return abs(indent) > least_indent > abs(twice_shift_of_middle)


def _begins_when_indented(lines: Sequence[TextLine], index: int, block: Block) -> bool:
    """Whether a line to the right of the one above begins a paragraph.

    It does, unless both are centred or it continues a paragraph with a hanging indent.
    """
    above = lines[index - 1]
    line = lines[index]
    is_short = ends_early(above, line, block.right)
    has_ended = ends_sentence(above.text)
    if is_centred(above, block) and is_centred(line, block):
        return is_short and has_ended
    if _has_hanging_indent(lines, index, block.right):
        return False
    first_letter = line.text[0]
    begins_sentence = first_letter.isupper() or first_letter in _OPENING_MARKS
    return is_short or has_ended or begins_sentence


def _begins_when_outdented(lines: Sequence[TextLine], index: int, block: Block) -> bool:
    """Whether a line to the left of the one above begins a paragraph.

    As a rule it is the second line of an indented paragraph. Otherwise it begins one if the text
    above has ended, or if paragraphs here have hanging indents.
    """
    above = lines[index - 1]
    line = lines[index]
    is_short = ends_early(above, line, block.right)
    has_ended = ends_sentence(above.text)
    if len(block.lines) == 1:
        return is_short and has_ended and not is_centred(above, block)
    is_at_edge = line.left < block.left + INDENT_EMS * line.size
    if is_short or (has_ended and is_at_edge):
        return True
    return _has_hanging_indent(lines, index - 1, block.right)


def _is_next_speech(
    line: TextLine, has_ended: bool, block: Block, layout: PageLayout
) -> bool:
    """Whether an indented line is the next speech of a dialogue.

    The paragraph above is then one full line, indented as well, that ends a sentence.
    """
    is_indented = line.left > block.left + INDENT_EMS * line.size
    follows_first_line = len(block.lines) == 1
    return is_indented and has_ended and layout.has_indents and follows_first_line


def _has_hanging_indent(lines: Sequence[TextLine], index: int, right: float) -> bool:
    """Whether indented lines near this one continue paragraphs more often than they begin them."""
    continuing = 0
    beginning = 0
    first_near = max(0, index - _NEAR_LINES - 1)
    near_lines = lines[first_near : index + _NEAR_LINES + 1]
    for above, line in pairwise(near_lines):
        indent = line.left - above.left
        if not INDENT_EMS * line.size < indent < _MOST_HANGING_EMS * line.size:
            continue
        if ends_sentence(above.text) or ends_early(above, line, right):
            beginning += 1
        else:
            continuing += 1
    return continuing > beginning
