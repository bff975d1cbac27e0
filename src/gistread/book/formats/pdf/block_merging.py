"""Joins blocks of one thing: the rows of a table, the labels of a figure, the lines of a poem."""

from collections.abc import Iterator

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
_LONGEST_LABEL_CHARACTERS = 40  # A line
_MOST_ROW_LEADINGS = 2.2  # Between the baselines of a table's rows

_FEWEST_VERSES = 3  # Blocks, most of them a line
_MOST_VERSE_LINES = 2  # Of a block; a long verse is broken
_VERSE_GAP_EMS = 1.5  # Least space at the end of a verse
_MOST_VERSE_LEADINGS = 1.15
_VERSE_INDENT_EMS = 0.9  # Least margin of verses that are set in
# Of the verses of a poem
_LEAST_CAPITAL_SHARE = 0.6  # Begin with a capital
_MOST_LEADERS_SHARE = 0.4  # End as entries of a table of contents
_MOST_ENDED_SHARE = 0.5  # End a sentence
_MOST_ENDED_SHARE_SET_IN = 0.75


def merge_rows(blocks: list[Block], layout: PageLayout) -> list[Block]:
    """Join neighbouring parts of a table or of code."""
    merged: list[Block] = []
    for block in blocks:
        before = merged[-1] if merged else None
        is_near = before is not None and _is_near(before, block, layout)
        if before and is_near and _continues_table(before, block):
            before.lines += block.lines
            before.kind = ParagraphKind.TABLE
            before.keeps_lines = True
        elif (
            before
            and is_near
            and before.kind is block.kind
            and block.kind in _KINDS_OF_ROWS
        ):
            before.lines += block.lines
        else:
            merged.append(block)
    return merged


def _is_near(above: Block, below: Block, layout: PageLayout) -> bool:
    most = _MOST_ROW_LEADINGS * layout.leading(below.first_line.size)
    return 0 < gap_between(above, below) < most


def _continues_table(before: Block, block: Block) -> bool:
    """Whether a row follows a row, or a cell and a row of large cells follow each other."""
    if _is_single_row(block) and before.last_line.cells:
        return True
    if _has_stacks(block):
        return _is_fragment(before)
    return _has_stacks(before) and _is_fragment(block)


def _is_single_row(block: Block) -> bool:
    is_line = block.kind is ParagraphKind.TEXT and len(block.lines) == 1
    return is_line and bool(block.first_line.cells)


def _has_stacks(block: Block) -> bool:
    return block.kind is ParagraphKind.TABLE and any(
        line.stacks for line in block.lines
    )


def _is_fragment(block: Block) -> bool:
    """Whether the block may be a cell of a table."""
    return block.kind in RUNNING_KINDS and all(
        is_narrow(line, block) for line in block.lines
    )


def merge_labels(blocks: list[Block], layout: PageLayout) -> list[Block]:
    """Join the labels inside a figure, above its caption, into one paragraph."""
    merged: list[Block] = []
    for block in blocks:
        labels: list[TextLine] = []
        while (
            block.kind is ParagraphKind.IMAGE
            and merged
            and _is_label(merged[-1], layout)
        ):
            labels[:0] = merged.pop().lines
        if labels:
            merged.append(
                Block(labels, ParagraphKind.IMAGE, left=block.left, right=block.right)
            )
        merged.append(block)
    return merged


def _is_label(block: Block, layout: PageLayout) -> bool:
    if block.kind not in _KINDS_OF_LABELS:
        return False
    is_other_size = (
        abs(block.first_line.size - layout.size) > SIZE_TOLERANCE * layout.size
    )
    is_short = all(len(line.text) <= _LONGEST_LABEL_CHARACTERS for line in block.lines)
    return is_other_size and is_short


def merge_verse(blocks: list[Block], layout: PageLayout) -> Iterator[Block]:
    """Join successive short paragraphs that are lines of a poem."""
    groups: list[list[Block]] = []
    for block in blocks:
        last = groups[-1][-1] if groups else None
        if (
            last
            and _may_be_verse(last)
            and _may_be_verse(block)
            and _follows(last, block, layout)
        ):
            groups[-1].append(block)
        else:
            groups.append([block])
    for group in groups:
        if _is_verse(group):
            yield _poem(group)
        else:
            yield from group


def _may_be_verse(block: Block) -> bool:
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


def _is_verse(group: list[Block]) -> bool:
    """Whether lines are a poem: by capitals, and by sentences that go on in the next line."""
    if len(group) < _FEWEST_VERSES:
        return False
    texts = [block.text for block in group]
    capitals = sum(text[0].isupper() or not text[0].isalnum() for text in texts)
    entries = sum(has_leaders(text) or text[-1].isdigit() for text in texts)
    ended = sum(map(ends_sentence, texts))
    most_ended = (
        _MOST_ENDED_SHARE_SET_IN if all(map(_is_set_in, group)) else _MOST_ENDED_SHARE
    )
    return (
        capitals > _LEAST_CAPITAL_SHARE * len(group)
        and entries < _MOST_LEADERS_SHARE * len(group)
        and ended < most_ended * len(group)
    )


def _is_set_in(block: Block) -> bool:
    first = block.first_line
    return first.left > block.left + _VERSE_INDENT_EMS * first.size


def _poem(verses: list[Block]) -> Block:
    return Block(
        lines=[line for verse in verses for line in verse.lines],
        kind=ParagraphKind.VERSE,
        left=verses[0].left,
        right=verses[0].right,
        keeps_lines=True,
        notes=[note for verse in verses for note in verse.notes],
    )
