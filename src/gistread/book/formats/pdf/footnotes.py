"""Separates the footnotes of a column from its text, and finds the note of a reference."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from gistread.book.formats.pdf.blocks import Block
from gistread.book.formats.pdf.lines import Column, TextLine, is_raised
from gistread.book.formats.pdf.pages import TextRun
from gistread.book.model import ParagraphKind

_SIGNS = "*†‡§¶∗"
# The beginning of a note: "12" of "12. See", "*" of "* See"
_NUMBER = re.compile(r"(\d{1,3})(?=[.)\s]|[^\W\d_])")
_SIGN = re.compile(rf"[{_SIGNS}]{{1,3}}(?=\s?\S)")
_RAISED_LABEL = re.compile(rf"\d{{1,3}}|[a-z]|[{_SIGNS}]{{1,3}}")
_MOST_RATIO = 0.94  # Size of a note's letters, relative to the text
# Share of a column's lines in notes; a page of small print has no footnotes
_MOST_SHARE = 0.8


def split_footnotes(
    column: Column, body_size: float
) -> tuple[Sequence[TextLine], list[Block]]:
    """The lines of the text, and the notes at the foot of the column.

    The first note has no label if it continues one of the previous page.
    """
    lines = column.lines
    foot_start = len(lines)
    while foot_start and lines[foot_start - 1].size < _MOST_RATIO * body_size:
        foot_start -= 1
    small_count = len(lines) - foot_start
    note_starts = [
        index for index in range(foot_start, len(lines)) if _label_of(lines[index])
    ]
    if foot_start == 0 or not note_starts or small_count > _MOST_SHARE * len(lines):
        return lines, []
    if lines[foot_start].size != lines[note_starts[0]].size:
        # The small lines before the first label are a caption, say.
        foot_start = note_starts[0]
    edges = sorted({foot_start, *note_starts, len(lines)})
    notes = [_note(lines[first:end], column) for first, end in pairwise(edges)]
    return lines[:foot_start], notes


def _note(lines: Sequence[TextLine], column: Column) -> Block:
    label = _label_of(lines[0])
    return Block(list(lines), ParagraphKind.NOTE, label, column.left, column.right)


def _label_of(line: TextLine) -> str:
    """The number or sign with which a note starts; empty for other lines."""
    first_run = line.runs[0]
    first_text = first_run.text.strip()
    is_raised_label = is_raised(line, first_run) and _RAISED_LABEL.fullmatch(first_text)
    if is_raised_label and len(line.runs) > 1:
        return first_text
    match = _SIGN.match(line.text) or _NUMBER.match(line.text)
    return match[0] if match else ""


class NoteIndex:
    """The notes of a document, by page and label."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        notes: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        for index, block in enumerate(blocks):
            if block.kind is ParagraphKind.NOTE and block.label:
                notes[block.first_line.page, block.label].append(index)
        # A label that is twice on a page is ambiguous.
        self._notes = {
            key: indices[0] for key, indices in notes.items() if len(indices) == 1
        }
        self._first_lines = {blocks[index].first_line for index in self._notes.values()}

    def href(self, line: TextLine, run: TextRun) -> str:
        """The index of the note that a raised run refers to; empty if there is none."""
        if line in self._first_lines and run is line.runs[0]:
            return ""  # The label of the note itself
        index = self._notes.get((line.page, run.text.strip()))
        if index is None:
            return ""
        return str(index)
