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
_MOST_SHORT_LINES = 0.2  # Of a wrapped file: those that the next word would fit in
_WIDE_LINES_PERCENT = 95  # Of the lines, those that are not wider than the width
_COLUMNS_TO_SPARE = 5  # A space, and four columns that a program may leave free
_COLUMNS_OF_A_TAB = 4
# A text with more bytes a character has letters that take two.
_MOST_BYTES_A_CHARACTER = 1.1

# Fewer empty lines than one in so many do not separate paragraphs.
_LINES_FOR_ONE_EMPTY = 25
# Of lines, if indents begin paragraphs; with more indents the text is set in.
_LEAST_INDENTED = 0.02
_MOST_INDENTED = 0.7
_MOST_SENTENCE_ENDS = 0.6  # Of wrapped lines; with more, each line is a paragraph
_END_CHARACTERS = 8  # Where a line's sentence end is looked for

# Two or three lines at the margin are nearly always speech; verse among them is much shorter.
_MOST_LINES_OF_SPEECH = 3
_LONGEST_VERSE_AT_MARGIN = 0.8  # Of the width
_LEAST_SHORT_IN_VERSE = 0.6
_LEAST_IN_COLUMNS = 0.6  # Of the lines of a table

# Prose in a narrow column.
_FEWEST_NARROW_LINES = 4
_NARROWEST = 0.55  # Of the width
_MOST_CAPITALS = 0.5  # Of lines that begin inside sentences
_LEAST_FULL = 0.9  # Of lines: those that the next word would not fit in

_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*$")
_BREAK = re.compile(r"(?:[*•·#~_=⁂–—-] ?(?:[ \t]*[*•·#~_=⁂–—-]){2,}|[*#⁂§]|\* \* \*)$")
_BULLET = re.compile(r"\s*[-*•–·] +\S")
_NUMBERED = re.compile(r"\s*(?:\(?\d{1,3}[.)]|\(?[a-z]\)|[IVXLC]{1,7}\.)\s+\S")
_COLUMNS = re.compile(r"\S {3,}\S|\S\t+\S|\S *\| *\S")
_STARRED_NOTE = re.compile(r"\* ?(?:\(\d{1,2}\) ?)?\S")
_NOTE = re.compile(r"\s*\[(?:Foot)?note\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Wrapping:
    width: int
    in_bytes: bool  # Whether the width counts UTF-8 bytes, as some English tools do
    # Whether an indent begins a paragraph, and not an empty line
    has_indents: bool = False

    def is_short(self, line: str, following: str, share: float = 1.0) -> bool:
        """Whether the first word of `following` would fit.

        A line is full at `share` of the width.
        """
        room = self.width * share - _COLUMNS_TO_SPARE - self._columns(line)
        return room > 1 and self._columns(following.lstrip().partition(" ")[0]) <= room

    def _columns(self, line: str) -> int:
        if self.in_bytes and not line.isascii():
            return len(line.encode())
        return len(line)


def split_into_blocks(text: str) -> Iterator[TextBlock]:
    """The blocks of `text`, which `normalise.clean` has cleaned, in order."""
    lines = [line.rstrip() for line in text.expandtabs(_COLUMNS_OF_A_TAB).split("\n")]
    # Texts whose letters mostly take two bytes are not wrapped by bytes.
    in_bytes = len(text.encode()) < len(text) * _MOST_BYTES_A_CHARACTER
    setting = _detect_wrapping(lines, in_bytes=in_bytes)
    if setting is None:
        return _line_blocks(lines)
    return _mark_starred_notes(_wrapped_blocks(lines, setting))


def _wrapped_blocks(lines: Iterable[str], setting: _Wrapping) -> Iterator[TextBlock]:
    for group, gap in _groups(lines):
        parts = _indented_parts(group) if setting.has_indents else [group]
        for part in parts:
            yield from _classify(part, setting, gap)
            gap = 0


def _mark_starred_notes(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Make notes of the blocks with an asterisk below a block with one."""
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
    filled = [line for line in lines if line]
    followed = [pair for pair in pairwise(lines) if all(pair)]
    wrapping = _Wrapping(_usual_width(filled), in_bytes)
    if wrapping.width > _WIDEST_COLUMNS or not followed:
        return None
    if wrapping.width > _WRAPPED_COLUMNS and not _fills_width(followed, wrapping):
        return None
    if _is_ideographic(filled) and _ends_lines_early(followed, wrapping.width):
        return None
    empty = len(lines) - len(filled)
    if empty * _LINES_FOR_ONE_EMPTY >= len(filled):
        return wrapping
    # Paragraphs show by indents, or each line is one.
    if _begins_paragraphs_by_indents(filled):
        return replace(wrapping, has_indents=True)
    if _ends_sentences(filled):
        return None
    return wrapping


def _usual_width(filled: Sequence[str]) -> int:
    """The width of nearly all lines."""
    lengths = sorted(map(len, filled)) or [0]
    widest = len(lengths) * _WIDE_LINES_PERCENT // 100
    return lengths[min(len(lengths) - 1, widest)]


def _fills_width(followed: Sequence[tuple[str, str]], wrapping: _Wrapping) -> bool:
    short = sum(wrapping.is_short(line, after) for line, after in followed)
    return short <= len(followed) * _MOST_SHORT_LINES


def _begins_paragraphs_by_indents(filled: Sequence[str]) -> bool:
    indented = sum(line.startswith(("  ", "\u3000")) for line in filled)
    return len(filled) * _LEAST_INDENTED < indented < len(filled) * _MOST_INDENTED


def _ends_sentences(filled: Sequence[str]) -> bool:
    """Whether most lines end with a sentence."""
    ends = sum(
        _SENTENCE_END.search(line[-_END_CHARACTERS:]) is not None for line in filled
    )
    return ends > len(filled) * _MOST_SENTENCE_ENDS


# Chinese and Japanese have no spaces: a row of theirs was wrapped only if it is full.
_FIRST_KANA = "\u3040"
_IDEOGRAPHS = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_SAMPLED_LINES = 400
_SPARE_COLUMNS = 3  # Punctuation that may not begin a row leaves so many free
_MOST_EARLY_ENDS = 0.2


def _is_ideographic(lines: Sequence[str]) -> bool:
    sample = "".join(lines[:_SAMPLED_LINES])
    if max(sample, default="") < _FIRST_KANA:
        return False
    return len(re.findall(_IDEOGRAPHS, sample)) * 2 > len(sample)


def _ends_lines_early(followed: Sequence[tuple[str, str]], width: int) -> bool:
    """Whether lines end before they are full, and the next one is not indented either."""
    within = [line for line, following in followed if following[0] not in " \u3000"]
    early = sum(len(line) < width - _SPARE_COLUMNS for line in within)
    return early > len(within) * _MOST_EARLY_ENDS


def _groups(lines: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    gap = 0
    for has_words, run in groupby(lines, key=bool):
        group = list(run)
        if has_words:
            yield group, gap
        gap = len(group)


def _line_blocks(lines: Iterable[str]) -> Iterator[TextBlock]:
    for group, gap in _groups(lines):
        for set_in, run in groupby(group, key=lambda line: line.startswith("  ")):
            together = tuple(run)
            if set_in and len(together) > 1:
                yield TextBlock(together, _kind_of_lines(together), gap)
            else:
                yield from _single_lines(together, gap)
            gap = 0


def _single_lines(lines: Iterable[str], gap: int) -> Iterator[TextBlock]:
    for line in lines:
        yield TextBlock((line,), _single_kind(line), gap)
        gap = 0


def _indented_parts(group: list[str]) -> list[list[str]]:
    starts = [i for i, line in enumerate(group) if line[0] in " \u3000"]
    if not starts or len(starts) == len(group):
        return [group]
    cuts = sorted({0, *starts})
    return [group[start:end] for start, end in pairwise([*cuts, len(group)])]


def _classify(group: list[str], setting: _Wrapping, gap: int) -> Iterator[TextBlock]:
    """The blocks of a group: one, unless scene breaks stand at its edges without empty lines."""
    if len(group) == 1 or is_break(group[0]) or is_break(group[-1]):
        yield from _single_lines(group, gap)
    else:
        yield TextBlock(tuple(group), _kind_of_group(group, setting), gap)


def is_break(line: str) -> bool:
    text = line.strip()
    return len(text) < _WRAPPED_COLUMNS and bool(_BREAK.match(text))


def _single_kind(line: str) -> ParagraphKind:
    if is_break(line):
        return ParagraphKind.BREAK
    if (
        _BULLET.match(line)
        and line.lstrip()[0] in "-*•"
        and len(line) < _WRAPPED_COLUMNS
    ):
        return ParagraphKind.LIST
    if _NOTE.match(line):
        return ParagraphKind.NOTE
    return ParagraphKind.TEXT


def _kind_of_group(group: list[str], setting: _Wrapping) -> ParagraphKind:
    if _NOTE.match(group[0]):
        return ParagraphKind.NOTE
    indented = all(line[0] == " " for line in group)
    may_be_speech = not indented and len(group) <= _MOST_LINES_OF_SPEECH
    share = _LONGEST_VERSE_AT_MARGIN if may_be_speech else 1.0
    short = sum(setting.is_short(line, after, share) for line, after in pairwise(group))
    if short < (len(group) - 1) * _LEAST_SHORT_IN_VERSE:
        # Dialogue and lists may have long items; wrapped prose has list markers only by chance.
        return ParagraphKind.LIST if _is_marked(group) else ParagraphKind.TEXT
    kind = _kind_of_lines(group)
    if kind is ParagraphKind.VERSE and _is_narrow_prose(group, setting.width):
        return ParagraphKind.QUOTE if indented else ParagraphKind.TEXT
    return kind


def _kind_of_lines(group: Sequence[str]) -> ParagraphKind:
    if _is_marked(group):
        return ParagraphKind.LIST
    in_columns = sum(_COLUMNS.search(line.strip()) is not None for line in group)
    if in_columns >= max(2, len(group) * _LEAST_IN_COLUMNS):
        return ParagraphKind.TABLE
    return ParagraphKind.VERSE


def _is_narrow_prose(group: list[str], width: int) -> bool:
    """Whether short lines are prose in a narrow column.

    They fill its width and begin inside sentences.
    """
    own_width = max(map(len, group))
    if len(group) < _FEWEST_NARROW_LINES or own_width < width * _NARROWEST:
        return False
    firsts = [line.lstrip()[0] for line in group[1:]]
    capitals = sum(first.isupper() or first in "\"'“‘«" for first in firsts)
    full = 0
    for line, after in pairwise(group):
        next_word = after.lstrip().partition(" ")[0]
        full += len(line) + 1 + len(next_word) > own_width
    is_full = full > (len(group) - 1) * _LEAST_FULL
    return is_full and capitals < len(group) * _MOST_CAPITALS


def _is_marked(group: Sequence[str]) -> bool:
    """Whether the lines are list items, with continuation lines indented under them."""
    pattern = _BULLET if _BULLET.match(group[0]) else _NUMBERED
    margin = _indent_of(group[0])
    others = [line for line in group if not pattern.match(line)]
    has_items = len(group) - len(others) >= 2
    return has_items and all(_indent_of(line) > margin for line in others)


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
