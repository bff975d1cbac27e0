"""Joins lines into paragraphs, inside a column and across columns and pages."""

from collections.abc import Iterable, Sequence
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
_NOTE_DISTANCE = 6  # Blocks since the one whose note may continue


def split_into_blocks(columns: Sequence[Column], layout: PageLayout) -> list[Block]:
    """The paragraphs in reading order, with notes after the paragraph they interrupt."""
    blocks: list[Block] = []
    unfinished: Block | None = None  # A paragraph of earlier columns that may continue
    for column in columns:
        lines, notes = split_footnotes(column, layout.size)
        column_blocks = _column_blocks(replace(column, lines=tuple(lines)), layout)
        if notes and not notes[0].label:
            _continue_note(blocks, notes)
        last = column_blocks[-1] if column_blocks else None
        if unfinished:
            rest = _rest_of(unfinished, column_blocks, layout)
            if rest:
                _append(unfinished, rest)
                column_blocks.remove(rest)
                if last is rest:
                    last = unfinished
        blocks += column_blocks
        # Notes at the foot of a column follow its last paragraph.
        if last:
            last.notes += notes
        else:
            blocks += notes
        unfinished = _unfinished(column_blocks, unfinished, blocks, layout)
    return _with_notes(merge_verse(blocks, layout))


def _with_notes(blocks: Iterable[Block]) -> list[Block]:
    """The blocks, each with its notes after it."""
    all_blocks: list[Block] = []
    for block in blocks:
        all_blocks += (block, *block.notes)
    return all_blocks


def _append(block: Block, rest: Block) -> None:
    """Continue a paragraph with its rest in a later column."""
    block.lines += rest.lines
    block.left = rest.left
    block.right = rest.right


def _column_blocks(column: Column, layout: PageLayout) -> list[Block]:
    """The paragraphs of a column without notes."""
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
    """Add the first of these notes, which has no label, to the last note of earlier blocks."""
    for block in reversed(blocks[-_NOTE_DISTANCE:]):
        if block.notes:
            last_note = block.notes[-1]
            last_note.lines += notes.pop(0).lines
            return


def _rest_of(
    unfinished: Block, column_blocks: Sequence[Block], layout: PageLayout
) -> Block | None:
    """The block of a column that continues a paragraph of earlier ones.

    Other blocks may come before it: figures, tables and, in smaller letters, their captions.
    """
    candidates = [block for block in column_blocks if not _is_floating(block)]
    breaks_off = _breaks_off(unfinished)
    last_line = unfinished.last_line
    for index, block in enumerate(candidates):
        if _continues(unfinished, block, layout):
            is_in_sentence = block.first_line.text[0].islower()
            is_certain = is_in_sentence or _is_hyphenated(last_line)
            # Captions stand between only if the text surely goes on.
            may_follow_others = is_certain and breaks_off
            is_first = index == 0
            return block if is_first or may_follow_others else None
        if not breaks_off or block.first_line.size > last_line.size:
            return None
    return None


def _continues(unfinished: Block, block: Block, layout: PageLayout) -> bool:
    """Whether the text of a block may be the rest of a paragraph in an earlier column."""
    above = unfinished.last_line
    line = block.first_line
    if not _may_continue(above, block):
        return False
    if _is_hyphenated(above):
        return True
    is_indented = line.left > block.left + INDENT_EMS * line.size
    if is_indented and layout.has_indents:
        return False
    is_in_sentence = line.text[0].islower()
    has_ended = ends_sentence(above.text)
    if ends_early(above, line, unfinished.right):
        # The last line of a paragraph, unless the text shows that it goes on.
        return is_in_sentence and not has_ended
    if not is_in_sentence and _is_small_print(above, layout):
        return False  # Cells of a table, labels of a figure
    if is_in_sentence or not has_ended:
        return True
    # Between two sentences, only a missing indent tells.
    return layout.has_indents and unfinished.kind is block.kind


def _may_continue(above: TextLine, block: Block) -> bool:
    """Whether a block is running text of the same size as a line, and not an item of its own."""
    line = block.first_line
    if block.kind not in RUNNING_KINDS:
        return False
    if block.kind is ParagraphKind.LIST and starts_item(line):
        return False
    return abs(above.size - line.size) <= SIZE_TOLERANCE * above.size


def _unfinished(
    column_blocks: Sequence[Block],
    previous: Block | None,
    blocks: Sequence[Block],
    layout: PageLayout,
) -> Block | None:
    """The paragraph that the next column may continue; None if there is none.

    It is the last of this column, or the `previous` one if only small print interrupts it.
    """
    interrupted: Block | None = None
    if previous and _is_interrupted(previous, layout):
        interrupted = previous
    text_blocks = [block for block in column_blocks if not _is_floating(block)]
    if text_blocks:
        last = text_blocks[-1]
        only_interrupts = interrupted and _is_small_print(last.last_line, layout)
        if last.kind in RUNNING_KINDS and not only_interrupts:
            return last
    if interrupted and blocks:
        is_near = blocks[-1].last_line.page <= interrupted.last_line.page + 1
        return interrupted if is_near else None
    return None


def _is_interrupted(block: Block, layout: PageLayout) -> bool:
    """Whether a paragraph in the size of the text breaks off."""
    is_body = abs(block.last_line.size - layout.size) <= SIZE_TOLERANCE * layout.size
    return is_body and _breaks_off(block)


def _breaks_off(block: Block) -> bool:
    """Whether a paragraph ends inside a word or a sentence."""
    return _is_hyphenated(block.last_line) or not ends_sentence(block.last_line.text)


def _is_hyphenated(line: TextLine) -> bool:
    return line.text.endswith(HYPHEN)


def _is_floating(block: Block) -> bool:
    return block.kind in _FLOATING_KINDS


def _is_small_print(line: TextLine, layout: PageLayout) -> bool:
    return line.size < _SMALL_PRINT_RATIO * layout.size
