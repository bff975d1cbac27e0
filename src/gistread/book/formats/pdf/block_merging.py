"""Joins blocks that belong together: rows of a table, labels of a figure, lines of a poem."""

from collections.abc import Iterator
from itertools import chain

from gistread.book.formats.pdf.blocks import (
    RUNNING_KINDS,
    SIZE_TOLERANCE,
    Block,
    ends_sentence,
    gap_between,
    has_leaders,
    is_narrow,
)
from gistread.book.formats.pdf.layout import SAME_SIZE_POINTS, PageLayout
from gistread.book.formats.pdf.lines import TextLine
from gistread.book.formats.pdf.pages import HYPHEN
from gistread.book.model import ParagraphKind

_KINDS_OF_ROWS = (ParagraphKind.TABLE, ParagraphKind.CODE)
_KINDS_OF_LABELS = (ParagraphKind.TEXT, ParagraphKind.QUOTE, ParagraphKind.TABLE)
_KINDS_OF_VERSE = (ParagraphKind.TEXT, ParagraphKind.QUOTE)
_LONGEST_LABEL_CHARACTERS = 40  # Of a line
_MOST_ROW_LEADINGS = 2.2  # Between the baselines of a table's rows

_FEWEST_VERSES = 3  # Blocks; most of them are a line
_MOST_VERSE_LINES = 2  # Of a block; a long verse is broken
_VERSE_GAP_EMS = 1.5  # Least space at the end of a verse
_MOST_VERSE_LEADINGS = 1.15
_VERSE_INDENT_EMS = 0.9  # Least margin of indented verses
# Shares of the verses of a poem: those that begin with a capital; that end like entries of a table
# of contents; that end a sentence; and the latter if all verses are indented.
_LEAST_CAPITAL_SHARE = 0.6
_MOST_ENTRIES_SHARE = 0.4
_MOST_ENDED_SHARE = 0.5
_MOST_ENDED_SHARE_INDENTED = 0.75


def merge_rows(blocks: list[Block], layout: PageLayout) -> list[Block]:
    """Join neighbouring parts of a table or of code."""
    merged: list[Block] = []
    for block in blocks:
        above = merged[-1] if merged else None
        if above is None or not _is_near(above, block, layout):
            merged.append(block)
        elif _continues_table(above, block):
            above.lines += block.lines
            above.kind = ParagraphKind.TABLE
            above.keeps_lines = True
        elif above.kind is block.kind and block.kind in _KINDS_OF_ROWS:
            above.lines += block.lines
        else:
            merged.append(block)
    return merged


def _is_near(above: Block, below: Block, layout: PageLayout) -> bool:
    most = _MOST_ROW_LEADINGS * layout.leading(below.first_line.size)
    return 0 < gap_between(above, below) < most


def _continues_table(above: Block, below: Block) -> bool:
    """Whether a row follows a row, or a cell and a row of large cells follow each other."""
    if _is_single_row(below) and above.last_line.cells:
        return True
    if _has_stacks(below):
        return _may_be_cell(above)
    return _has_stacks(above) and _may_be_cell(below)


def _is_single_row(block: Block) -> bool:
    is_line = block.kind is ParagraphKind.TEXT and len(block.lines) == 1
    return is_line and bool(block.first_line.cells)


def _has_stacks(block: Block) -> bool:
    """Whether a block is a table that has cells of several lines."""
    if block.kind is not ParagraphKind.TABLE:
        return False
    return any(line.stacks for line in block.lines)


def _may_be_cell(block: Block) -> bool:
    if block.kind not in RUNNING_KINDS:
        return False
    return all(is_narrow(line, block) for line in block.lines)


def merge_labels(blocks: list[Block], layout: PageLayout) -> list[Block]:
    """Join the labels inside a figure, above its caption, into one paragraph."""
    merged: list[Block] = []
    for block in blocks:
        if block.kind is ParagraphKind.IMAGE:
            labels: list[TextLine] = []
            while merged and _is_label(merged[-1], layout):
                labels = merged.pop().lines + labels
            if labels:
                kind = ParagraphKind.IMAGE
                merged.append(Block(labels, kind, left=block.left, right=block.right))
        merged.append(block)
    return merged


def _is_label(block: Block, layout: PageLayout) -> bool:
    """Whether a block has short lines in another size than the text."""
    if block.kind not in _KINDS_OF_LABELS:
        return False
    difference = abs(block.first_line.size - layout.size)
    is_other_size = difference > SIZE_TOLERANCE * layout.size
    is_short = all(len(line.text) <= _LONGEST_LABEL_CHARACTERS for line in block.lines)
    return is_other_size and is_short


def merge_verse(blocks: list[Block], layout: PageLayout) -> Iterator[Block]:
    """Join successive short paragraphs that are lines of a poem."""
    groups: list[list[Block]] = []
    for block in blocks:
        if groups and _is_next_verse(groups[-1][-1], block, layout):
            groups[-1].append(block)
        else:
            groups.append([block])
    for group in groups:
        if _is_poem(group):
            yield _poem(group)
        else:
            yield from group


def _is_next_verse(above: Block, below: Block, layout: PageLayout) -> bool:
    """Whether two blocks may be successive lines of one stanza."""
    are_verses = _may_be_verse(above) and _may_be_verse(below)
    return are_verses and _follows(above, below, layout)


def _may_be_verse(block: Block) -> bool:
    """Whether a block may be a line of a poem: not hyphenated, with space at its end."""
    if block.kind not in _KINDS_OF_VERSE or len(block.lines) > _MOST_VERSE_LINES:
        return False
    is_hyphenated = any(line.text.endswith((HYPHEN, "-")) for line in block.lines)
    if is_hyphenated or block.first_line.cells:
        return False
    return block.last_line.right < block.right - _VERSE_GAP_EMS * block.first_line.size


def _follows(above: Block, below: Block, layout: PageLayout) -> bool:
    """Whether one verse may be the next one of the same stanza."""
    if above.last_line.page != below.first_line.page:
        return False
    size = below.first_line.size
    is_same_size = abs(above.first_line.size - size) < SAME_SIZE_POINTS
    most = _MOST_VERSE_LEADINGS * layout.leading(size)
    return is_same_size and 0 < gap_between(above, below) < most


def _is_poem(group: list[Block]) -> bool:
    """Whether lines are a poem: by capitals, and by sentences that continue in the next line."""
    if len(group) < _FEWEST_VERSES:
        return False
    texts = [block.text for block in group]
    capitals = sum(text[0].isupper() or not text[0].isalnum() for text in texts)
    entries = sum(has_leaders(text) or text[-1].isdigit() for text in texts)
    ended = sum(map(ends_sentence, texts))
    most_ended_share = _MOST_ENDED_SHARE
    if all(map(_is_indented, group)):
        most_ended_share = _MOST_ENDED_SHARE_INDENTED
    return (
        capitals > _LEAST_CAPITAL_SHARE * len(group)
        and entries < _MOST_ENTRIES_SHARE * len(group)
        and ended < most_ended_share * len(group)
    )


def _is_indented(block: Block) -> bool:
    first = block.first_line
    return first.left > block.left + _VERSE_INDENT_EMS * first.size


def _poem(verses: list[Block]) -> Block:
    return Block(
        lines=list(chain.from_iterable(verse.lines for verse in verses)),
        kind=ParagraphKind.VERSE,
        left=verses[0].left,
        right=verses[0].right,
        keeps_lines=True,
        notes=list(chain.from_iterable(verse.notes for verse in verses)),
    )
