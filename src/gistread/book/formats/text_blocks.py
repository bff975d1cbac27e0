"""Groups the lines of plain text into paragraphs, verse, lists and tables.

The layout of the whole file decides.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from gistread.book.model import ParagraphKind


@dataclass(frozen=True, slots=True)
class TextBlock:
    """The lines of one paragraph as in the file, without line ends."""

    lines: tuple[str, ...]
    kind: ParagraphKind
    gap: int  # Number of empty lines before it

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def keeps_lines(self) -> bool:
        return self.kind in (
            ParagraphKind.VERSE,
            ParagraphKind.LIST,
            ParagraphKind.TABLE,
        )


# Lines up to this length were wrapped (Project Gutenberg: 72 to 80).
_WRAPPED_COLUMNS = 90
# Between these limits, a file counts as wrapped only if its lines fill one width.
_WIDEST_COLUMNS = 140
# Share of the lines of a wrapped file that end although the next word would fit
_MOST_SHORT_LINES = 0.2
_WIDE_LINES_PERCENT = 95  # Share of the lines that are within the width
_COLUMNS_TO_SPARE = 5  # A space, and four columns that a program may leave free
_COLUMNS_OF_A_TAB = 4
# A text with more bytes a character has letters that take two.
_MOST_BYTES_A_CHARACTER = 1.1

# Empty lines separate paragraphs if there is at least one for this many other lines.
_LINES_FOR_ONE_EMPTY = 25
# Share of indented lines if indents begin paragraphs; with more, the whole text is indented.
_LEAST_INDENTED = 0.02
_MOST_INDENTED = 0.7
# Share of wrapped lines that end with a sentence; with more, each line is a paragraph.
_MOST_SENTENCE_ENDS = 0.6
_END_CHARACTERS = 8  # The part of a line that may contain its sentence end

# Two or three lines at the margin are nearly always speech; verse among them is much shorter.
_MOST_LINES_OF_SPEECH = 3
_LONGEST_VERSE_AT_MARGIN = 0.8  # Share of the width
_LEAST_SHORT_IN_VERSE = 0.6  # Share of the lines
_LEAST_IN_COLUMNS = 0.6  # Share of the lines of a table

# Prose in a narrow column.
_FEWEST_NARROW_LINES = 4
_NARROWEST = 0.55  # Share of the width
_MOST_CAPITALS = 0.5  # Share of the lines: those that begin like a sentence
_LEAST_FULL = 0.9  # Share of the lines in which the next word would not fit

# ".", '?"' at the end of a line
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*$")
# "* * *", "-----", "§"
_BREAK = re.compile(r"(?:[*•·#~_=⁂–—-] ?(?:[ \t]*[*•·#~_=⁂–—-]){2,}|[*#⁂§]|\* \* \*)$")
# "- an item"
_BULLET = re.compile(r"\s*[-*•–·] +\S")
# "12. an item", "(a) an item", "IV. an item"
_NUMBERED = re.compile(r"\s*(?:\(?\d{1,3}[.)]|\(?[a-z]\)|[IVXLC]{1,7}\.)\s+\S")
# "one   two", "one | two"
_COLUMNS = re.compile(r"\S {3,}\S|\S\t+\S|\S *\| *\S")
# "* A note", "* (2) A note"
_STARRED_NOTE = re.compile(r"\* ?(?:\(\d{1,2}\) ?)?\S")
# "[Footnote"
_NOTE = re.compile(r"\s*\[(?:Foot)?note\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Wrapping:
    """How the lines of a file were wrapped."""

    width: int
    in_bytes: bool  # Whether the width counts UTF-8 bytes, as some English tools do
    # Whether indents, not empty lines, begin paragraphs
    has_indents: bool = False

    def is_short(self, line: str, following: str, share: float = 1.0) -> bool:
        """Whether the first word of `following` would fit into a line.

        The line is full at `share` of the width.
        """
        room = self.width * share - _COLUMNS_TO_SPARE - self._columns(line)
        next_word = _first_word(following)
        return room > 1 and self._columns(next_word) <= room

    def _columns(self, line: str) -> int:
        if self.in_bytes and not line.isascii():
            return len(line.encode())
        return len(line)


def _first_word(line: str) -> str:
    return line.lstrip().partition(" ")[0]


def split_into_blocks(text: str) -> Iterator[TextBlock]:
    """The blocks of `text`, which `normalise.clean` has cleaned, in order.

    >>> [block.kind.value for block in split_into_blocks("A line.\\n* * *\\nAnother one.")]
    ['text', 'break', 'text']
    """
    lines = [line.rstrip() for line in text.expandtabs(_COLUMNS_OF_A_TAB).split("\n")]
    # Texts whose letters mostly take two bytes are not wrapped by bytes.
    in_bytes = len(text.encode()) < len(text) * _MOST_BYTES_A_CHARACTER
    wrapping = _detect_wrapping(lines, in_bytes=in_bytes)
    if wrapping is None:
        return _line_blocks(lines)
    return _mark_starred_notes(_wrapped_blocks(lines, wrapping))


def _wrapped_blocks(lines: Iterable[str], wrapping: _Wrapping) -> Iterator[TextBlock]:
    for group, gap in _groups(lines):
        parts = _indented_parts(group) if wrapping.has_indents else [group]
        for part in parts:
            yield from _classify(part, wrapping, gap)
            gap = 0


def _mark_starred_notes(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Make notes of the blocks that begin with an asterisk, below a block that contains one."""
    has_star = False
    for block in blocks:
        may_be_note = has_star and block.kind is not ParagraphKind.BREAK
        if may_be_note and _STARRED_NOTE.match(block.lines[0].lstrip()):
            yield replace(block, kind=ParagraphKind.NOTE)
        else:
            has_star = "*" in block.text
            yield block


def _detect_wrapping(lines: list[str], *, in_bytes: bool) -> _Wrapping | None:
    """How the lines of paragraphs were wrapped; None if each line is a paragraph."""
    filled_lines = [line for line in lines if line]
    line_pairs = [pair for pair in pairwise(lines) if all(pair)]
    wrapping = _Wrapping(_usual_width(filled_lines), in_bytes)
    # Nobody wraps so wide, and without a pair nothing is wrapped.
    if wrapping.width > _WIDEST_COLUMNS or not line_pairs:
        return None
    if wrapping.width > _WRAPPED_COLUMNS and not _fills_width(line_pairs, wrapping):
        return None
    if _is_ideographic(filled_lines) and _ends_lines_early(line_pairs, wrapping.width):
        return None
    empty_count = len(lines) - len(filled_lines)
    if empty_count * _LINES_FOR_ONE_EMPTY >= len(filled_lines):
        return wrapping
    # No empty lines separate paragraphs: indents begin them, or each line is one.
    if _begins_paragraphs_by_indents(filled_lines):
        return replace(wrapping, has_indents=True)
    if _ends_sentences(filled_lines):
        return None
    return wrapping


def _usual_width(lines: Sequence[str]) -> int:
    """The width of nearly all lines."""
    if not lines:
        return 0
    lengths = sorted(map(len, lines))
    index = len(lengths) * _WIDE_LINES_PERCENT // 100
    return lengths[min(index, len(lengths) - 1)]


def _fills_width(line_pairs: Sequence[tuple[str, str]], wrapping: _Wrapping) -> bool:
    short_count = sum(wrapping.is_short(line, after) for line, after in line_pairs)
    return short_count <= len(line_pairs) * _MOST_SHORT_LINES


def _begins_paragraphs_by_indents(lines: Sequence[str]) -> bool:
    indented = sum(line.startswith(("  ", "\u3000")) for line in lines)
    return len(lines) * _LEAST_INDENTED < indented < len(lines) * _MOST_INDENTED


def _ends_sentences(lines: Sequence[str]) -> bool:
    """Whether most lines end with a sentence."""
    line_ends = [line[-_END_CHARACTERS:] for line in lines]
    sentence_ends = sum(_SENTENCE_END.search(end) is not None for end in line_ends)
    return sentence_ends > len(lines) * _MOST_SENTENCE_ENDS


# Chinese and Japanese have no spaces: their lines were wrapped only if they are full.
_FIRST_KANA = "\u3040"
_IDEOGRAPHS = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_SAMPLED_LINES = 400
_SPARE_COLUMNS = 3  # Left free by punctuation that may not begin a line
_MOST_EARLY_ENDS = 0.2  # Share of the lines


def _is_ideographic(lines: Sequence[str]) -> bool:
    sample = "".join(lines[:_SAMPLED_LINES])
    if max(sample, default="") < _FIRST_KANA:
        return False
    ideographs = len(re.findall(_IDEOGRAPHS, sample))
    return ideographs * 2 > len(sample)


def _ends_lines_early(line_pairs: Sequence[tuple[str, str]], width: int) -> bool:
    """Whether lines end before they are full, although they do not end a paragraph."""
    lines_inside = [line for line, after in line_pairs if after[0] not in " \u3000"]
    early_ends = sum(len(line) < width - _SPARE_COLUMNS for line in lines_inside)
    return early_ends > len(lines_inside) * _MOST_EARLY_ENDS


def _groups(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    """The lines between empty lines, and the number of empty lines before them."""
    gap = 0
    for has_words, run in groupby(lines, key=bool):
        group = list(run)
        if has_words:
            yield group, gap
        gap = len(group)


def _line_blocks(lines: Iterable[str]) -> Iterator[TextBlock]:
    """The blocks of a text that is not wrapped: each line, but indented lines together."""
    for group, gap in _groups(lines):
        for is_indented, run in groupby(group, key=lambda line: line.startswith("  ")):
            run_lines = tuple(run)
            if is_indented and len(run_lines) > 1:
                yield TextBlock(run_lines, _kind_of_lines(run_lines), gap)
            else:
                yield from _single_lines(run_lines, gap)
            gap = 0


def _single_lines(lines: Iterable[str], gap: int) -> Iterator[TextBlock]:
    for line in lines:
        yield TextBlock((line,), _single_kind(line), gap)
        gap = 0


def _indented_parts(lines: list[str]) -> list[list[str]]:
    """The paragraphs that the indented lines begin; all lines if none or all are indented."""
    starts = [i for i, line in enumerate(lines) if line[0] in " \u3000"]
    if not starts or len(starts) == len(lines):
        return [lines]
    if starts[0] > 0:
        # The first lines continue a paragraph from before, or begin one without an indent.
        starts.insert(0, 0)
    ends = [*starts[1:], len(lines)]
    return [lines[start:end] for start, end in zip(starts, ends, strict=True)]


def _classify(lines: list[str], wrapping: _Wrapping, gap: int) -> Iterator[TextBlock]:
    """One block of lines; a block for each if a scene break is the first or last of them."""
    has_break = is_break(lines[0]) or is_break(lines[-1])
    if len(lines) == 1 or has_break:
        yield from _single_lines(lines, gap)
    else:
        yield TextBlock(tuple(lines), _kind_of_group(lines, wrapping), gap)


def is_break(line: str) -> bool:
    """Whether a line is a scene break, such as "* * *"."""
    text = line.strip()
    return len(text) < _WRAPPED_COLUMNS and bool(_BREAK.match(text))


def _single_kind(line: str) -> ParagraphKind:
    if is_break(line):
        return ParagraphKind.BREAK
    # Other bullets may be dashes of speech.
    has_bullet = _BULLET.match(line) and line.lstrip()[0] in "-*•"
    if has_bullet and len(line) < _WRAPPED_COLUMNS:
        return ParagraphKind.LIST
    if _NOTE.match(line):
        return ParagraphKind.NOTE
    return ParagraphKind.TEXT


def _kind_of_group(lines: list[str], wrapping: _Wrapping) -> ParagraphKind:
    """The kind of lines that stand together in a wrapped text."""
    if _NOTE.match(lines[0]):
        return ParagraphKind.NOTE
    is_indented = all(line[0] == " " for line in lines)
    may_be_speech = not is_indented and len(lines) <= _MOST_LINES_OF_SPEECH
    share = _LONGEST_VERSE_AT_MARGIN if may_be_speech else 1.0
    line_pairs = list(pairwise(lines))
    short_count = sum(
        wrapping.is_short(line, after, share) for line, after in line_pairs
    )
    if short_count < len(line_pairs) * _LEAST_SHORT_IN_VERSE:
        # Dialogue and lists may have long items; wrapped prose has list markers only by chance.
        return ParagraphKind.LIST if _is_list(lines) else ParagraphKind.TEXT
    kind = _kind_of_lines(lines)
    if kind is ParagraphKind.VERSE and _is_narrow_prose(lines, wrapping.width):
        return ParagraphKind.QUOTE if is_indented else ParagraphKind.TEXT
    return kind


def _kind_of_lines(lines: Sequence[str]) -> ParagraphKind:
    """The kind of lines that the author has ended."""
    if _is_list(lines):
        return ParagraphKind.LIST
    in_columns = sum(_COLUMNS.search(line.strip()) is not None for line in lines)
    if in_columns >= max(2, len(lines) * _LEAST_IN_COLUMNS):
        return ParagraphKind.TABLE
    return ParagraphKind.VERSE


def _is_narrow_prose(lines: list[str], width: int) -> bool:
    """Whether short lines are prose in a narrow column.

    They fill its width and begin inside sentences.
    """
    own_width = max(map(len, lines))
    if len(lines) < _FEWEST_NARROW_LINES or own_width < width * _NARROWEST:
        return False
    starts = [line.lstrip()[0] for line in lines[1:]]
    sentence_starts = sum(sign.isupper() or sign in "\"'“‘«" for sign in starts)
    full_count = 0
    for line, after in pairwise(lines):
        line_with_next_word = f"{line} {_first_word(after)}"
        if len(line_with_next_word) > own_width:
            full_count += 1
    lines_before_last = len(lines) - 1
    is_full = full_count > lines_before_last * _LEAST_FULL
    return is_full and sentence_starts < len(lines) * _MOST_CAPITALS


def _is_list(lines: Sequence[str]) -> bool:
    """Whether the lines are list items, with continuation lines indented under them."""
    pattern = _BULLET if _BULLET.match(lines[0]) else _NUMBERED
    margin = _indent_of(lines[0])
    continuations = [line for line in lines if not pattern.match(line)]
    items = len(lines) - len(continuations)
    return items >= 2 and all(_indent_of(line) > margin for line in continuations)


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
