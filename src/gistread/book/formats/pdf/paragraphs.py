"""Joins lines into paragraphs, inside a column and across columns and pages."""

from collections.abc import Sequence
from dataclasses import replace

from gistread.book.formats.pdf.block_kinds import kind_of
from gistread.book.formats.pdf.block_merging import (
    merge_labels,
    merge_rows,
    merge_verse,
)
from gistread.book.formats.pdf.block_starts import begins_block
from gistread.book.formats.pdf.blocks import (
    RUNNING_KINDS,
    SIZE_TOLERANCE,
    Block,
    ends_early,
    ends_sentence,
    starts_item,
)
from gistread.book.formats.pdf.footnotes import split_footnotes
from gistread.book.formats.pdf.layout import INDENT_EMS, PageLayout
from gistread.book.formats.pdf.lines import Column, TextLine
from gistread.book.formats.pdf.pages import HYPHEN
from gistread.book.model import ParagraphKind

_FLOATING_KINDS = (ParagraphKind.IMAGE, ParagraphKind.TABLE)
_KINDS_THAT_KEEP_LINES = (ParagraphKind.TABLE, ParagraphKind.CODE)
# Smaller letters than these, relative to the text, are small print
_SMALL_PRINT_RATIO = 0.95
_NOTE_DISTANCE = 6  # Blocks back to the one whose note may continue


def split_into_blocks(columns: Sequence[Column], layout: PageLayout) -> list[Block]:
    """The paragraphs in reading order, with notes after the paragraph they interrupt."""
    blocks: list[Block] = []
    unfinished: Block | None = None  # A paragraph of earlier columns that may continue
    for column in columns:
        lines, notes = split_footnotes(column, layout.size)
        own = _column_blocks(replace(column, lines=tuple(lines)), layout)
        if notes and not notes[0].label:
            _continue_note(blocks, notes)
        owner = own[-1] if own else None  # Of the notes
        rest = _rest_of(unfinished, own, layout) if unfinished else None
        if unfinished and rest:
            unfinished.lines += rest.lines
            unfinished.left = rest.left
            unfinished.right = rest.right
            own.remove(rest)
            owner = unfinished if owner is rest else owner
        blocks += own
        if owner:
            owner.notes += notes
        else:
            blocks += notes
        unfinished = _unfinished(own, unfinished, blocks, layout)
    merged = merge_verse(blocks, layout)
    return [part for block in merged for part in (block, *block.notes)]


def _column_blocks(column: Column, layout: PageLayout) -> list[Block]:
    left, right = layout.edges(column)
    blocks: list[Block] = []
    lines = column.lines
    for index, line in enumerate(lines):
        if blocks and not begins_block(lines, index, layout, blocks[-1]):
            blocks[-1].lines.append(line)
        else:
            blocks.append(Block([line], left=left, right=right))
    for block in blocks:
        block.kind = kind_of(block, layout)
        block.keeps_lines = block.kind in _KINDS_THAT_KEEP_LINES
    return merge_labels(merge_rows(blocks, layout), layout)


def _continue_note(blocks: Sequence[Block], notes: list[Block]) -> None:
    """Move the first of these notes to the end of the last note before."""
    with_notes = [block for block in blocks[-_NOTE_DISTANCE:] if block.notes]
    if with_notes:
        with_notes[-1].notes[-1].lines += notes.pop(0).lines


def _rest_of(
    unfinished: Block, own: Sequence[Block], layout: PageLayout
) -> Block | None:
    """The block of a column that continues a paragraph of earlier ones.

    Other blocks may come before it: figures, tables and, in smaller letters, their captions.
    """
    candidates = [block for block in own if not _is_floating(block)]
    breaks_off = _breaks_off(unfinished)
    for index, block in enumerate(candidates):
        if _continues(unfinished, block, layout):
            is_middle = block.first_line.text[0].islower() or _is_hyphenated(
                unfinished.last_line
            )
            return block if index == 0 or (is_middle and breaks_off) else None
        if not breaks_off or block.first_line.size > unfinished.last_line.size:
            return None
    return None


def _continues(unfinished: Block, block: Block, layout: PageLayout) -> bool:
    """Whether the text of a block may be the rest of a paragraph in an earlier column."""
    above, line = unfinished.last_line, block.first_line
    if not _may_continue(above, block):
        return False
    if _is_hyphenated(above):
        return True
    is_indented = line.left > block.left + INDENT_EMS * line.size
    if is_indented and layout.indents:
        return False
    is_middle = line.text[0].islower()
    has_ended = ends_sentence(above.text)
    if ends_early(above, line, unfinished.right):
        return is_middle and not has_ended
    if not is_middle and _is_small_print(above, layout):
        return False  # Cells of a table, labels of a figure
    if is_middle or not has_ended:
        return True
    return layout.indents and unfinished.kind is block.kind


def _may_continue(above: TextLine, block: Block) -> bool:
    """Whether a block is running text of the size of a line, and no item of its own."""
    line = block.first_line
    if block.kind not in RUNNING_KINDS:
        return False
    if block.kind is ParagraphKind.LIST and starts_item(line):
        return False
    return abs(above.size - line.size) <= SIZE_TOLERANCE * above.size


def _unfinished(
    own: Sequence[Block],
    before: Block | None,
    blocks: Sequence[Block],
    layout: PageLayout,
) -> Block | None:
    """The paragraph that the next column may continue.

    It is the last of this column, or the one `before` where only small print interrupts it.
    """
    interrupted = before if before and _is_interrupted(before, layout) else None
    last = next((block for block in reversed(own) if not _is_floating(block)), None)
    is_small_print = last is not None and _is_small_print(last.last_line, layout)
    if last and last.kind in RUNNING_KINDS and not (interrupted and is_small_print):
        return last
    if interrupted and blocks:
        is_near = blocks[-1].last_line.page <= interrupted.last_line.page + 1
        if not is_near:
            return None
        return interrupted
    return None


def _is_interrupted(block: Block, layout: PageLayout) -> bool:
    is_body = abs(block.last_line.size - layout.size) <= SIZE_TOLERANCE * layout.size
    return is_body and _breaks_off(block)


def _breaks_off(block: Block) -> bool:
    return _is_hyphenated(block.last_line) or not ends_sentence(block.last_line.text)


def _is_hyphenated(line: TextLine) -> bool:
    return line.text.endswith(HYPHEN)


def _is_floating(block: Block) -> bool:
    return block.kind in _FLOATING_KINDS


def _is_small_print(line: TextLine, layout: PageLayout) -> bool:
    return line.size < _SMALL_PRINT_RATIO * layout.size
