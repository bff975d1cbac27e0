"""Turns a paragraph's lines into text with marks.

Joins lines, undoes hyphenation by the book's own spelling.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gistread.book import inline
from gistread.book.formats.pdf.blocks import Block, without_leaders
from gistread.book.formats.pdf.layout import PageLayout
from gistread.book.formats.pdf.lines import TextLine, is_lowered, is_raised
from gistread.book.formats.pdf.pages import HYPHEN, LinkArea, TextRun
from gistread.book.inline import InlineMark
from gistread.book.model import ParagraphKind, Style
from gistread.book.normalise import word_set

_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_WORD = re.compile(r"\S+\s*")
_CELL_GAP = "   "

_SPELLED = re.compile(r"[^\W_]+(?:[-‐‑'’][^\W_]+)*")
_LAST_PART = re.compile(r"[^\W_]+(?:[-‐‑'’][^\W_]+)*$")
_HYPHENS = "-‐‑\u00ad" + HYPHEN
_SHORTEST_KNOWN_PART = 3  # Letters of a part that may be a word of its own
_SHORTEST_AFTER_APART = 4  # Letters after a part such as "half"
_JOINED_CHUNKS = 6  # At both sides of a line end, to find the words there
_FIXED_ADVANCE_EMS = 0.6  # Width of a letter
_MOST_INDENT = 60  # Spaces before code
_MIDDLE_EMS = 0.3  # Of lower-case letters, above the baseline
_UNSPACED = re.compile(
    "[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]"
)
_DASHES = "—–―"


_TABLES = tomllib.loads(Path(__file__).with_name("hyphenation.toml").read_text("utf-8"))
_BEGINNINGS, _ENDINGS, _APART = (
    word_set(_TABLES[name]) for name in ("beginnings", "endings", "apart")
)


class WordCounts:
    """Counts a document's words, except those split at line ends."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        self._halves: Counter[str] = Counter()  # Parts of hyphenated words
        for line in lines:
            words = _SPELLED.findall(line)[1:]
            if line.endswith(tuple(_HYPHENS)):
                words = words[:-1]
            self._counts.update(
                word.casefold().replace("‐", "-").replace("‑", "-") for word in words
            )
        for word, count in self._counts.items():
            if "-" in word:
                self._halves.update(dict.fromkeys(word.split("-"), count))

    def junction(self, before: str, after: str) -> tuple[int, str]:
        """How to join two lines: (number of characters to drop from `before`, text to insert)."""
        if not before or not after:
            return 0, ""
        if before[-1] not in _HYPHENS:
            return 0, _separator(before, after)
        stem = before[:-1]
        if not stem or stem[-1] in " -":  # A dash written with hyphens
            if before.endswith("--") and before[-3:-2] not in ("", " "):
                return 0, ""
            return 1, "- "
        if self._is_one_word(stem, after):
            return 1, ""
        return 1, "-"

    def _is_one_word(self, stem: str, after: str) -> bool:
        """Whether a hyphen at a line end only divides a word: as the book spells it elsewhere."""
        head = _LAST_PART.search(stem)
        tail = _SPELLED.match(after)
        if not head or not tail or head[0][-1].isdigit() or tail[0][0].isdigit():
            return False
        first = head[0].casefold()
        second = tail[0].casefold()
        whole = self._counts[first + second]
        parted = self._counts[f"{first}-{second}"]
        if whole or parted:
            return whole >= parted
        if "-" in first or "-" in second:
            return not (self._counts[first] and self._counts[second])
        if tail[0][0].isupper() and not head[0].isupper():
            return False
        return self._are_parts(first, second)

    def _are_parts(self, first: str, second: str) -> bool:
        """Whether two strings are parts of a word that the book has nowhere else."""
        if min(len(first), len(second)) < _SHORTEST_KNOWN_PART:
            return True
        if first in _BEGINNINGS or second in _ENDINGS:
            return True
        if first in _APART and len(second) >= _SHORTEST_AFTER_APART:
            return False
        # "multiple-choice", "self-made": both parts are words of the book.
        return not (self._is_known(first) and self._is_known(second))

    def _is_known(self, word: str) -> bool:
        return bool(self._counts[word] or self._halves[word])


def _separator(before: str, after: str) -> str:
    """What stands between two lines, where the first ends without a hyphen."""
    if _UNSPACED.match(before[-1]) and _UNSPACED.match(after[0]):
        return ""
    if before[-1] in _DASHES and before[-2:-1] not in ("", " "):
        return ""
    return " "


# Finds the target of a raised run, such as the number of a note; empty if it has none.
References = Callable[[TextLine, TextRun], str]


@dataclass(frozen=True, slots=True)
class StyledText:
    text: str
    styles: frozenset[Style] = frozenset()
    href: str = ""
    is_note: bool = False

    def looks_like(self, other: "StyledText") -> bool:
        return (self.styles, self.href, self.is_note) == (
            other.styles,
            other.href,
            other.is_note,
        )


def marked_text(
    block: Block,
    layout: PageLayout,
    words: WordCounts,
    areas: Sequence[LinkArea],
    references: References,
) -> tuple[str, list[InlineMark]]:
    """Text and marks of a paragraph for `BookBuilder.add`. `areas`: links on its pages."""
    chunks = partial(
        _chunks, kind=block.kind, layout=layout, areas=areas, references=references
    )
    lines = [_row(line, block.kind, words, chunks) for line in block.lines]
    if block.keeps_lines:
        return _apply_marks(_set_out(block, lines, words), block.kind)
    return _apply_marks(_joined(lines, words), block.kind)


def _set_out(
    block: Block, lines: Sequence[list[StyledText]], words: WordCounts
) -> list[StyledText]:
    """Lines that stay lines: code with its indents, a row of a table with a divided word's end."""
    left = min(line.left for line in block.lines)
    joined: list[StyledText] = []
    for source, line in zip(block.lines, lines, strict=True):
        if block.kind is ParagraphKind.TABLE and _is_divided(joined):
            joined = _joined([joined, line], words)
            continue
        indent = 0
        if block.kind is ParagraphKind.CODE:
            indent = round((source.left - left) / (_FIXED_ADVANCE_EMS * source.size))
        line_end = "\n" if joined else ""
        joined.append(StyledText(line_end + " " * min(_MOST_INDENT, indent)))
        joined += line
    return joined


def _is_divided(chunks: Sequence[StyledText]) -> bool:
    """Whether the text ends inside a word."""
    return bool(chunks) and chunks[-1].text.endswith(HYPHEN)


def plain_text_of(block: Block, words: WordCounts) -> str:
    text = ""
    for line in block.lines:
        drop, between = words.junction(text, line.text)
        text = text[: len(text) - drop] + between + line.text
    return without_leaders(text.translate(_LIGATURES)).replace(HYPHEN, "-")


def _row(
    line: TextLine,
    kind: ParagraphKind,
    words: WordCounts,
    chunks: Callable[[TextLine], list[StyledText]],
) -> list[StyledText]:
    """A line, or the cells of a table row in order. `chunks`: reads one line."""
    row: list[StyledText] = []
    for number, parts in enumerate(line.stacks or ((line,),)):
        cell = _joined([chunks(part) for part in parts], words)
        if _is_divided(row):
            row = _joined([row, cell], words)
            continue
        if number:
            row.append(StyledText(_CELL_GAP if kind is ParagraphKind.TABLE else " "))
        row += cell
    return row


def _chunks(
    line: TextLine,
    kind: ParagraphKind,
    layout: PageLayout,
    areas: Sequence[LinkArea],
    references: References,
) -> list[StyledText]:
    chunks: list[StyledText] = []
    middle = line.baseline + _MIDDLE_EMS * line.size
    areas = [area for area in areas if area.bottom <= middle <= area.top]
    at = 0
    for index, run in enumerate(line.runs):
        # The white space between runs is in the line's text only.
        start = line.text.find(run.text.strip(), at)
        if start > at:
            is_at_cell = index in line.cells and kind is ParagraphKind.TABLE
            chunks.append(StyledText(_CELL_GAP if is_at_cell else " "))
        text = run.text.strip()
        at = max(at, start) + len(text)
        styles = _styles(line, run, kind, layout)
        is_raised_run = Style.SUPERSCRIPT in styles
        href = references(line, run) if is_raised_run else ""
        if href:
            chunks.append(StyledText(f"[{text}]", styles, href, is_note=True))
            continue
        chunks += _linked(run, text, styles, areas)
        begins_word = len(chunks) < 2 or chunks[-2].text.endswith(" ")
        if is_raised_run and begins_word:
            # Separates the number of a note or address from its first word
            chunks.append(StyledText(" "))
    return chunks


def _styles(
    line: TextLine, run: TextRun, kind: ParagraphKind, layout: PageLayout
) -> frozenset[Style]:
    styles = run.font.styles - layout.styles
    if kind is ParagraphKind.HEADING:
        styles -= {Style.STRONG, Style.EMPHASIS}
    if kind is not ParagraphKind.CODE and run.font.is_fixed and not layout.is_fixed:
        styles |= {Style.CODE}
    if is_raised(line, run):
        return styles | {Style.SUPERSCRIPT}
    if not is_lowered(line, run):
        return styles
    return styles | {Style.SUBSCRIPT}


def _linked(
    run: TextRun, text: str, styles: frozenset[Style], areas: Sequence[LinkArea]
) -> Iterator[StyledText]:
    if not areas:
        yield StyledText(text, styles)
        return
    width = (run.right - run.left) / max(1, len(text))
    for match in _WORD.finditer(text):
        word = match[0].rstrip()
        middle = run.left + width * (match.start() + len(word) / 2)
        href = next(
            (area.href for area in areas if area.left <= middle <= area.right), ""
        )
        yield StyledText(match[0], styles, href)


def _joined(lines: list[list[StyledText]], words: WordCounts) -> list[StyledText]:
    joined: list[StyledText] = []
    for line in lines:
        if not line:
            continue
        if joined:
            before = _text_of(joined[-_JOINED_CHUNKS:])
            after = _text_of(line[:_JOINED_CHUNKS])
            drop, between = words.junction(before, after)
            # Keeps a word across a line end in one chunk.
            last = joined[-1]
            end = last.text[: len(last.text) - drop]
            if between == " ":
                joined[-1:] = [replace(last, text=end), StyledText(" ")]
            else:
                joined[-1] = replace(last, text=end + between)
        joined += line
    return joined


def _text_of(chunks: Sequence[StyledText]) -> str:
    return "".join(chunk.text for chunk in chunks)


def _apply_marks(
    chunks: list[StyledText], kind: ParagraphKind
) -> tuple[str, list[InlineMark]]:
    parts: list[str] = []
    marks: list[InlineMark] = []
    for chunk in _merged(chunks):
        text = inline.strip_marks(chunk.text.replace(HYPHEN, "-").translate(_LIGATURES))
        if kind is not ParagraphKind.CODE:
            text = without_leaders(text)
        opened = len(marks)
        if chunk.text.strip():
            marks += [
                InlineMark(style=style) for style in Style if style in chunk.styles
            ]
            if chunk.href:
                marks.append(InlineMark(href=chunk.href, is_note=chunk.is_note))
        if len(marks) > inline.MAX_MARKS:
            del marks[opened:]
        opening = "".join(inline.opening(index) for index in range(opened, len(marks)))
        closing = "".join(
            inline.closing(index) for index in reversed(range(opened, len(marks)))
        )
        parts.append(opening + text + closing)
    return "".join(parts), marks


def _merged(chunks: list[StyledText]) -> list[StyledText]:
    """Join neighbours that look alike, also where only spaces are between them."""
    merged: list[StyledText] = []
    for chunk in chunks:
        last = merged[-1].text if merged else ""
        is_space = not last.strip() and "\n" not in last
        if merged and merged[-1].looks_like(chunk):
            merged[-1] = replace(chunk, text=last + chunk.text)
        elif len(merged) > 1 and is_space and merged[-2].looks_like(chunk):
            merged[-2:] = [replace(chunk, text=merged[-2].text + last + chunk.text)]
        else:
            merged.append(chunk)
    return merged
