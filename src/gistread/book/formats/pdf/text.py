"""Turns a paragraph's lines into text with marks.

Joins lines, and undoes hyphenation as the book spells the word elsewhere.
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

# A word with hyphens and apostrophes: "mother-in-law's"
_SPELLED = re.compile(r"[^\W_]+(?:[-‐‑'’][^\W_]+)*")
_LAST_SPELLED = re.compile(r"[^\W_]+(?:[-‐‑'’][^\W_]+)*$")
_HYPHENS = "-‐‑\u00ad" + HYPHEN
_SHORTEST_KNOWN_PART = 3  # Letters of a part that may be a word of its own
_SHORTEST_AFTER_APART = 4  # Letters after a part such as "half"
_JOINED_CHUNKS = 6  # At both sides of a line end, to find the words there
_FIXED_ADVANCE_EMS = 0.6  # Width of a letter in a font of fixed width
_MOST_INDENT = 60  # Spaces before code
_MIDDLE_EMS = 0.3  # Height of the middle of lower-case letters above the baseline
_UNSPACED = re.compile(
    "[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]"
)
_DASHES = "—–―"


_TABLES = tomllib.loads(Path(__file__).with_name("hyphenation.toml").read_text("utf-8"))
_BEGINNINGS = word_set(_TABLES["beginnings"])
_ENDINGS = word_set(_TABLES["endings"])
_APART = word_set(_TABLES["apart"])


class WordCounts:
    """Counts a document's words, except those split at line ends."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        self._part_counts: Counter[str] = Counter()  # Of hyphenated words
        for line in lines:
            # The first word may be the end of a divided one, the last its beginning.
            words = _SPELLED.findall(line)[1:]
            if line.endswith(tuple(_HYPHENS)):
                words = words[:-1]
            self._counts.update(
                word.casefold().replace("‐", "-").replace("‑", "-") for word in words
            )
        for word, count in self._counts.items():
            if "-" in word:
                for part in set(word.split("-")):
                    self._part_counts[part] += count

    def junction(self, before: str, after: str) -> tuple[int, str]:
        """How to join two lines: (number of characters to drop from `before`, text to insert)."""
        if not before or not after:
            return 0, ""
        if before[-1] not in _HYPHENS:
            return 0, _separator(before, after)
        stem = before[:-1]
        is_dash = not stem or stem[-1] in " -"
        if is_dash:
            # A dash of two hyphens right after a word has no space after it either.
            if before.endswith("--") and _has_word_before(before, dash="--"):
                return 0, ""
            return 1, "- "
        if self._is_one_word(stem, after):
            return 1, ""
        return 1, "-"

    def _is_one_word(self, stem: str, after: str) -> bool:
        """Whether a hyphen at a line end only divides a word, by how the book spells it."""
        head = _LAST_SPELLED.search(stem)
        tail = _SPELLED.match(after)
        if head is None or tail is None:
            return False
        head_word = head[0]
        tail_word = tail[0]
        # The hyphen of "1914-18" or "B-52" is its own.
        if head_word[-1].isdigit() or tail_word[0].isdigit():
            return False
        first = head_word.casefold()
        second = tail_word.casefold()
        whole_count = self._counts[first + second]
        hyphenated_count = self._counts[f"{first}-{second}"]
        if whole_count or hyphenated_count:
            return whole_count >= hyphenated_count
        if "-" in first or "-" in second:
            are_words = self._counts[first] and self._counts[second]
            return not are_words
        # "Anglo-Saxon"; in a title, "CHAP-TER" is one word.
        if tail_word[0].isupper() and not head_word.isupper():
            return False
        return self._are_parts(first, second)

    def _are_parts(self, first: str, second: str) -> bool:
        """Whether two strings are parts of a word that the book does not have elsewhere."""
        if min(len(first), len(second)) < _SHORTEST_KNOWN_PART:
            return True
        if first in _BEGINNINGS or second in _ENDINGS:
            return True
        if first in _APART and len(second) >= _SHORTEST_AFTER_APART:
            return False
        # "multiple-choice", "self-made": both parts are words of the book.
        are_words = self._is_known(first) and self._is_known(second)
        return not are_words

    def _is_known(self, word: str) -> bool:
        return bool(self._counts[word] or self._part_counts[word])


def _separator(before: str, after: str) -> str:
    """The text to insert between two lines, if the first ends without a hyphen."""
    if _UNSPACED.match(before[-1]) and _UNSPACED.match(after[0]):
        return ""
    if before[-1] in _DASHES and _has_word_before(before, dash=before[-1]):
        return ""
    return " "


def _has_word_before(text: str, dash: str) -> bool:
    """Whether the dash at the end of a text follows a word without a space."""
    words = text.removesuffix(dash)
    return words[-1:] not in ("", " ")


# Finds the target of a raised run, such as the number of a note; empty if it has none.
References = Callable[[TextLine, TextRun], str]


@dataclass(frozen=True, slots=True)
class StyledText:
    """A piece of text with one style and one link."""

    text: str
    styles: frozenset[Style] = frozenset()
    href: str = ""
    is_note: bool = False

    def looks_like(self, other: "StyledText") -> bool:
        """Whether style and link are the same."""
        if self.styles != other.styles or self.href != other.href:
            return False
        return self.is_note is other.is_note


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
        text = _line_by_line(block, lines, words)
    else:
        text = _joined(lines, words)
    return _apply_marks(text, block.kind)


def _line_by_line(
    block: Block, lines: Sequence[list[StyledText]], words: WordCounts
) -> list[StyledText]:
    """The lines of code with their indents, or of a table, with the ends of divided words."""
    left = min(line.left for line in block.lines)
    text: list[StyledText] = []
    for source, line in zip(block.lines, lines, strict=True):
        if block.kind is ParagraphKind.TABLE and _is_divided(text):
            text = _joined([text, line], words)
            continue
        indent = 0
        if block.kind is ParagraphKind.CODE:
            indent = round((source.left - left) / (_FIXED_ADVANCE_EMS * source.size))
        line_end = "\n" if text else ""
        text.append(StyledText(line_end + " " * min(_MOST_INDENT, indent)))
        text += line
    return text


def _is_divided(chunks: Sequence[StyledText]) -> bool:
    """Whether the text ends inside a word."""
    return bool(chunks) and chunks[-1].text.endswith(HYPHEN)


def plain_text_of(block: Block, words: WordCounts) -> str:
    """The text of a paragraph on one line, without marks."""
    text = ""
    for line in block.lines:
        dropped_count, between = words.junction(text, line.text)
        end = len(text) - dropped_count
        text = text[:end] + between + line.text
    text = without_leaders(text.translate(_LIGATURES))
    return text.replace(HYPHEN, "-")


def _row(
    line: TextLine,
    kind: ParagraphKind,
    words: WordCounts,
    chunks: Callable[[TextLine], list[StyledText]],
) -> list[StyledText]:
    """A line, or the cells of a table row in order. `chunks`: reads one line."""
    row: list[StyledText] = []
    lines_by_cell = line.stacks or ((line,),)
    for cell_lines in lines_by_cell:
        cell = _joined([chunks(cell_line) for cell_line in cell_lines], words)
        if _is_divided(row):
            row = _joined([row, cell], words)
            continue
        if cell_lines is not lines_by_cell[0]:
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
    """The text of a line, run by run. `areas`: links on its pages."""
    chunks: list[StyledText] = []
    middle = line.baseline + _MIDDLE_EMS * line.size
    areas_on_line = [area for area in areas if area.bottom <= middle <= area.top]
    end = 0  # Of the last run in the line's text
    for index, run in enumerate(line.runs):
        text = run.text.strip()
        # The white space between runs is in the line's text only.
        start = line.text.find(text, end)
        if start > end:
            is_at_cell = index in line.cells and kind is ParagraphKind.TABLE
            chunks.append(StyledText(_CELL_GAP if is_at_cell else " "))
        end = max(end, start) + len(text)
        styles = _styles(line, run, kind, layout)
        is_raised_run = Style.SUPERSCRIPT in styles
        href = references(line, run) if is_raised_run else ""
        if href:
            chunks.append(StyledText(f"[{text}]", styles, href, is_note=True))
            continue
        chunks += _linked(run, text, styles, areas_on_line)
        begins_word = len(chunks) < 2 or chunks[-2].text.endswith(" ")
        if is_raised_run and begins_word:
            # Separates the number of a note or address from its first word
            chunks.append(StyledText(" "))
    return chunks


def _styles(
    line: TextLine, run: TextRun, kind: ParagraphKind, layout: PageLayout
) -> frozenset[Style]:
    """The styles of a run that differ from those of running text."""
    styles = run.font.styles - layout.styles
    if kind is ParagraphKind.HEADING:
        # The whole heading is set apart already.
        styles -= {Style.STRONG, Style.EMPHASIS}
    is_code = run.font.is_fixed and not layout.is_fixed
    if is_code and kind is not ParagraphKind.CODE:
        styles |= {Style.CODE}
    if is_raised(line, run):
        styles |= {Style.SUPERSCRIPT}
    elif is_lowered(line, run):
        styles |= {Style.SUBSCRIPT}
    return styles


def _linked(
    run: TextRun, text: str, styles: frozenset[Style], areas: Sequence[LinkArea]
) -> Iterator[StyledText]:
    """The text of a run, word by word if there are links on its line."""
    if not areas:
        yield StyledText(text, styles)
        return
    letter_width = (run.right - run.left) / max(1, len(text))
    for match in _WORD.finditer(text):
        word = match[0].rstrip()
        middle = run.left + letter_width * (match.start() + len(word) / 2)
        href = _href_at(middle, areas)
        yield StyledText(match[0], styles, href)


def _href_at(x: float, areas: Sequence[LinkArea]) -> str:
    for area in areas:
        if area.left <= x <= area.right:
            return area.href
    return ""


def _joined(lines: list[list[StyledText]], words: WordCounts) -> list[StyledText]:
    """The lines as one, with their divided words joined."""
    joined: list[StyledText] = []
    for line in lines:
        if joined and line:
            before = _text_of(joined[-_JOINED_CHUNKS:])
            after = _text_of(line[:_JOINED_CHUNKS])
            dropped_count, between = words.junction(before, after)
            last = joined[-1]
            last_text = last.text[: len(last.text) - dropped_count]
            if between == " ":
                joined[-1:] = [replace(last, text=last_text), StyledText(" ")]
            else:
                # In the same chunk, so that a word across the line end stays in one.
                joined[-1] = replace(last, text=last_text + between)
        joined += line
    return joined


def _text_of(chunks: Sequence[StyledText]) -> str:
    return "".join(chunk.text for chunk in chunks)


def _apply_marks(
    chunks: list[StyledText], kind: ParagraphKind
) -> tuple[str, list[InlineMark]]:
    """The text with marks around its chunks, and the marks."""
    parts: list[str] = []
    marks: list[InlineMark] = []
    for chunk in _merged(chunks):
        text = chunk.text.replace(HYPHEN, "-").translate(_LIGATURES)
        text = inline.strip_marks(text)
        if kind is not ParagraphKind.CODE:
            text = without_leaders(text)
        first = len(marks)
        if chunk.text.strip():
            marks += _marks_of(chunk)
        if len(marks) > inline.MAX_MARKS:
            del marks[first:]
        indices = range(first, len(marks))
        opening = "".join(map(inline.opening, indices))
        closing = "".join(map(inline.closing, reversed(indices)))
        parts.append(opening + text + closing)
    return "".join(parts), marks


def _marks_of(chunk: StyledText) -> list[InlineMark]:
    marks = [InlineMark(style=style) for style in Style if style in chunk.styles]
    if chunk.href:
        marks.append(InlineMark(href=chunk.href, is_note=chunk.is_note))
    return marks


def _merged(chunks: list[StyledText]) -> list[StyledText]:
    """Join neighbours that look alike, also if only spaces are between them."""
    merged: list[StyledText] = []
    for chunk in chunks:
        last_text = merged[-1].text if merged else ""
        is_space = not last_text.strip() and "\n" not in last_text
        if merged and merged[-1].looks_like(chunk):
            merged[-1] = replace(chunk, text=last_text + chunk.text)
        elif len(merged) > 1 and is_space and merged[-2].looks_like(chunk):
            text = merged[-2].text + last_text + chunk.text
            merged[-2:] = [replace(chunk, text=text)]
        else:
            merged.append(chunk)
    return merged
