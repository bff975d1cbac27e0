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
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]")
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
            found = _SPELLED.findall(line)
            if line.endswith(tuple(_HYPHENS)):
                found = found[:-1]
            self._counts.update(
                word.casefold().replace("‐", "-").replace("‑", "-") for word in found[1:]
            )
        for word, count in self._counts.items():
            if "-" in word:
                self._halves.update(dict.fromkeys(word.split("-"), count))

    def junction(self, before: str, after: str) -> tuple[int, str]:
        """How to join two lines: (number of characters to drop from `before`, text to insert)."""
        if not before or not after:
            return 0, ""
        if before[-1] not in _HYPHENS:
            if _UNSPACED.match(before[-1]) and _UNSPACED.match(after[0]):
                return 0, ""
            return 0, "" if before[-1] in _DASHES and before[-2:-1] not in ("", " ") else " "
        stem = before[:-1]
        if not stem or stem[-1] in " -":
            # A dash written with hyphens.
            return (0, "") if before[-2:] == "--" and before[-3:-2] not in ("", " ") else (1, "- ")
        return 1, "" if self._is_one_word(stem, after) else "-"

    def _is_one_word(self, stem: str, after: str) -> bool:
        head, tail = _LAST_PART.search(stem), _SPELLED.match(after)
        if not head or not tail or head[0][-1].isdigit() or tail[0][0].isdigit():
            return False
        first, second = head[0].casefold(), tail[0].casefold()
        whole, parted = self._counts[first + second], self._counts[f"{first}-{second}"]
        if whole or parted:
            return whole >= parted
        if "-" in tail[0] or "-" in head[0]:
            return not (self._counts[first] and self._counts[second])
        if tail[0][0].isupper() and not head[0].isupper():
            return False
        if len(first) < 3 or len(second) < 3 or first in _BEGINNINGS or second in _ENDINGS:
            return True
        # "multiple-choice", "self-made": both parts are words of the book.
        return not (first in _APART and len(second) > 3) and not (
            self._is_known(first) and self._is_known(second)
        )

    def _is_known(self, word: str) -> bool:
        return bool(self._counts[word] or self._halves[word])


References = Callable[[TextLine, TextRun], str]


@dataclass(frozen=True, slots=True)
class StyledText:
    text: str
    styles: frozenset[Style]
    href: str = ""
    is_note: bool = False

    @property
    def look(self) -> tuple[frozenset[Style], str, bool]:
        return self.styles, self.href, self.is_note


def marked_text(
    block: Block,
    layout: PageLayout,
    words: WordCounts,
    areas: Sequence[LinkArea],
    references: References,
) -> tuple[str, list[InlineMark]]:
    """Text and marks of a paragraph for `BookBuilder.add`. `areas`: links on its pages."""
    chunks = partial(_chunks, kind=block.kind, layout=layout, areas=areas, references=references)
    lines = [_row(line, block.kind, words, chunks) for line in block.lines]
    if block.keeps_lines:
        left = min(line.left for line in block.lines)
        joined: list[StyledText] = []
        for source, line in zip(block.lines, lines, strict=True):
            if block.kind is ParagraphKind.TABLE and joined and joined[-1].text.endswith(HYPHEN):
                joined = _joined([joined, line], words)
                continue
            if block.kind is ParagraphKind.CODE:
                columns = round((source.left - left) / (0.6 * source.size))
            else:
                columns = 0
            joined += [
                StyledText(("\n" if joined else "") + " " * min(60, columns), frozenset()),
                *line,
            ]
    else:
        joined = _joined(lines, words)
    return _apply_marks(joined, block.kind)


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
    found: list[StyledText] = []
    for number, cell in enumerate(line.stacks or ((line,),)):
        joined = _joined([chunks(part) for part in cell], words)
        if found and found[-1].text.endswith(HYPHEN):
            found = _joined([found, joined], words)
            continue
        if number:
            found.append(StyledText(_CELL_GAP if kind is ParagraphKind.TABLE else " ", frozenset()))
        found += joined
    return found


def _chunks(
    line: TextLine,
    kind: ParagraphKind,
    layout: PageLayout,
    areas: Sequence[LinkArea],
    references: References,
) -> list[StyledText]:
    found: list[StyledText] = []
    middle = line.baseline + 0.3 * line.size
    areas = [area for area in areas if area.bottom <= middle <= area.top]
    at = 0
    for index, run in enumerate(line.runs):
        # The white space between runs is in the line's text only.
        start = line.text.find(run.text.strip(), at)
        if start > at:
            gap = _CELL_GAP if index in line.cells and kind is ParagraphKind.TABLE else " "
            found.append(StyledText(gap, frozenset()))
        text = run.text.strip()
        at = max(at, start) + len(text)
        styles = _styles(line, run, kind, layout)
        href = references(line, run) if Style.SUPERSCRIPT in styles else ""
        if href:
            found.append(StyledText(f"[{text}]", styles, href, is_note=True))
        else:
            found += _linked(run, text, styles, areas)
        if (
            Style.SUPERSCRIPT in styles
            and not href
            and (len(found) < 2 or found[-2].text.endswith(" "))
        ):
            found.append(
                StyledText(" ", frozenset())
            )  # Separates the number of a note or address from its first word
    return found


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
    return styles | {Style.SUBSCRIPT} if is_lowered(line, run) else styles


def _linked(
    run: TextRun, text: str, styles: frozenset[Style], areas: Sequence[LinkArea]
) -> Iterator[StyledText]:
    if not areas:
        yield StyledText(text, styles)
        return
    width = (run.right - run.left) / max(1, len(text))
    for match in _WORD.finditer(text):
        middle = run.left + width * (match.start() + len(match[0].rstrip()) / 2)
        href = next((area.href for area in areas if area.left <= middle <= area.right), "")
        yield StyledText(match[0], styles, href)


def _joined(lines: list[list[StyledText]], words: WordCounts) -> list[StyledText]:
    joined: list[StyledText] = []
    for line in lines:
        if not line:
            continue
        if joined:
            before, after = (
                "".join(chunk.text for chunk in part) for part in (joined[-6:], line[:6])
            )
            drop, between = words.junction(before, after)
            # Keeps a word across a line end in one chunk.
            last = joined[-1]
            end = last.text[: len(last.text) - drop]
            joined[-1] = replace(last, text=end if between == " " else end + between)
            if between == " ":
                joined.append(StyledText(" ", frozenset()))
        joined += line
    return joined


def _apply_marks(chunks: list[StyledText], kind: ParagraphKind) -> tuple[str, list[InlineMark]]:
    parts: list[str] = []
    marks: list[InlineMark] = []
    for chunk in _merged(chunks):
        text = inline.strip_marks(chunk.text.replace(HYPHEN, "-").translate(_LIGATURES))
        if kind is not ParagraphKind.CODE:
            text = without_leaders(text)
        opened = len(marks)
        if chunk.text.strip():
            marks += [InlineMark(style=style) for style in Style if style in chunk.styles]
            if chunk.href:
                marks.append(InlineMark(href=chunk.href, is_note=chunk.is_note))
        if len(marks) > inline.MAX_MARKS:
            del marks[opened:]
        opening = "".join(inline.opening(index) for index in range(opened, len(marks)))
        closing = "".join(inline.closing(index) for index in reversed(range(opened, len(marks))))
        parts.append(opening + text + closing)
    return "".join(parts), marks


def _merged(chunks: list[StyledText]) -> list[StyledText]:
    found: list[StyledText] = []
    for chunk in chunks:
        last = found[-1].text if found else ""
        if found and found[-1].look == chunk.look:
            found[-1] = replace(chunk, text=last + chunk.text)
        elif (
            len(found) > 1
            and found[-2].look == chunk.look
            and not last.strip()
            and "\n" not in last
        ):
            found[-2:] = [replace(chunk, text=found[-2].text + last + chunk.text)]
        else:
            found.append(chunk)
    return found
