"""Groups the lines of plain text into paragraphs, verse, lists and tables, by the layout of the
whole file.
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
        return self.kind in (ParagraphKind.VERSE, ParagraphKind.LIST, ParagraphKind.TABLE)


# Lines up to this length were wrapped (Project Gutenberg: 72 to 80).
_WRAPPED_COLUMNS = 90
# Between these limits, a file counts as wrapped only if its lines fill one width.
_WIDEST_COLUMNS = 140

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
    has_indents: bool = (
        False  # Whether paragraphs begin with an indented line, not after an empty one
    )

    def is_short(self, line: str, following: str, share: float = 1.0) -> bool:
        """Whether the first word of `following` would fit.

        A line is full at `share` of the width.
        """
        room = self.width * share - 5 - self._columns(line)  # A space, and four columns to spare
        return room > 1 and self._columns(following.lstrip().partition(" ")[0]) <= room

    def _columns(self, line: str) -> int:
        return len(line.encode()) if self.in_bytes and not line.isascii() else len(line)


def split_into_blocks(text: str) -> Iterator[TextBlock]:
    """The blocks of `text`, which `normalise.clean` has cleaned, in order."""
    lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
    # Texts whose letters mostly take two bytes are not wrapped by bytes.
    setting = _detect_wrapping(lines, in_bytes=len(text.encode()) < len(text) * 1.1)
    if setting is None:
        yield from _line_blocks(lines)
        return
    starred = False
    for group, gap in _groups(lines):
        parts = _indented_parts(group) if setting.has_indents else [group]
        for number, part in enumerate(parts):
            for block in _classify(part, setting, 0 if number else gap):
                if (
                    starred
                    and _STARRED_NOTE.match(block.lines[0].lstrip())
                    and block.kind is not ParagraphKind.BREAK
                ):
                    yield TextBlock(block.lines, ParagraphKind.NOTE, block.gap)
                else:
                    starred = "*" in block.text
                    yield block


def _detect_wrapping(lines: list[str], *, in_bytes: bool) -> _Wrapping | None:
    """How the lines of paragraphs were wrapped; None if each line is a paragraph."""
    filled = [line for line in lines if line]
    lengths = sorted(map(len, filled)) or [0]
    width = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)]
    wrapped = _Wrapping(width, in_bytes)
    followed = [(a, b) for a, b in pairwise(lines) if a and b]
    if width > _WIDEST_COLUMNS or not followed:
        return None
    if (
        width > _WRAPPED_COLUMNS
        and sum(wrapped.is_short(a, b) for a, b in followed) > len(followed) * 0.2
    ):
        return None
    if _is_ideographic(filled) and _ends_lines_early(followed, width):
        return None
    if (len(lines) - len(filled)) * 25 < len(filled):
        # Hardly any empty lines: paragraphs show by indents, or each line is one.
        indented = sum(line.startswith(("  ", "\u3000")) for line in filled)
        if len(filled) * 0.02 < indented < len(filled) * 0.7:
            return replace(wrapped, has_indents=True)
        ended = sum(bool(_SENTENCE_END.search(line[-8:])) for line in filled)
        if ended > len(filled) * 0.6:
            return None
    return wrapped


# Chinese and Japanese have no spaces: a row of theirs was wrapped only if it is full.
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_SAMPLED_LINES = 400
_SPARE_COLUMNS = 3  # Punctuation that may not begin a row leaves so many free
_MOST_EARLY_ENDS = 0.2


def _is_ideographic(lines: Sequence[str]) -> bool:
    sample = "".join(lines[:_SAMPLED_LINES])
    return len(_IDEOGRAPH.findall(sample)) * 2 > len(sample)


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
    for number, line in enumerate(lines):
        yield TextBlock((line,), _single_kind(line), 0 if number else gap)


def _indented_parts(group: list[str]) -> list[list[str]]:
    starts = [i for i, line in enumerate(group) if line[0] in " \u3000"]
    if not starts or len(starts) == len(group):
        return [group]
    cuts = sorted({0, *starts})
    return [group[a:b] for a, b in zip(cuts, [*cuts[1:], len(group)], strict=True)]


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
    if _BULLET.match(line) and line.lstrip()[0] in "-*•" and len(line) < _WRAPPED_COLUMNS:
        return ParagraphKind.LIST
    return ParagraphKind.NOTE if _NOTE.match(line) else ParagraphKind.TEXT


def _kind_of_group(group: list[str], setting: _Wrapping) -> ParagraphKind:
    if _NOTE.match(group[0]):
        return ParagraphKind.NOTE
    indented = all(line[0] == " " for line in group)
    # Two or three lines at the margin are nearly always speech; verse among them is much shorter.
    share = 1.0 if indented or len(group) > 3 else 0.8
    short = sum(setting.is_short(a, b, share) for a, b in pairwise(group))
    if short < (len(group) - 1) * 0.6:
        # Dialogue and lists may have long items; wrapped prose has list markers only by chance.
        return ParagraphKind.LIST if _is_marked(group) else ParagraphKind.TEXT
    kind = _kind_of_lines(group)
    if kind is ParagraphKind.VERSE and _is_narrow_prose(group, setting.width):
        return ParagraphKind.QUOTE if indented else ParagraphKind.TEXT
    return kind


def _kind_of_lines(group: Sequence[str]) -> ParagraphKind:
    if _is_marked(group):
        return ParagraphKind.LIST
    if sum(bool(_COLUMNS.search(line.strip())) for line in group) >= max(2, len(group) * 0.6):
        return ParagraphKind.TABLE
    return ParagraphKind.VERSE


def _is_narrow_prose(group: list[str], width: int) -> bool:
    """Whether short lines are prose in a narrow column.

    They fill its width and begin inside sentences.
    """
    own = max(map(len, group))
    if len(group) < 4 or own < width * 0.55:
        return False
    capitals = sum(line.lstrip()[0].isupper() or line.lstrip()[0] in "\"'“‘«" for line in group[1:])
    broken = sum(len(a) + 1 + len(b.lstrip().partition(" ")[0]) > own for a, b in pairwise(group))
    return capitals < len(group) * 0.5 and broken > (len(group) - 1) * 0.9


def _is_marked(group: Sequence[str]) -> bool:
    """Whether the lines are list items, with continuation lines indented under them."""
    pattern = _BULLET if _BULLET.match(group[0]) else _NUMBERED
    margin = len(group[0]) - len(group[0].lstrip())
    items = sum(bool(pattern.match(line)) for line in group)
    others = [line for line in group if not pattern.match(line)]
    return items >= 2 and all(len(line) - len(line.lstrip()) > margin for line in others)
