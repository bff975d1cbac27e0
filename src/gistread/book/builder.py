"""Puts a book together: paragraphs in order, marks where chapters begin, and out comes a `Book`.

Every format ends here, so the normalised text is defined in one place: see `model.py` for what it promises. Knows
nothing of files; a format decides what is a paragraph, of which kind, where a chapter starts and which place a link
means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gistread.book import inline
from gistread.book.inline import InlineMark
from gistread.book.model import Book, Chapter, Image, LanguageSpan, Link, Paragraph, ParagraphKind, Span
from gistread.book.normalise import clean, count_words, keep_lines, one_line

# Title page, dedication and a short table of contents go with the first chapter; more than this (about half a page
# of print) is worth a place of its own in the outline.
_FRONT_MATTER_WORDS = 150

_KEEPS_LINES = frozenset({ParagraphKind.VERSE, ParagraphKind.TABLE, ParagraphKind.LIST, ParagraphKind.CODE})
_KEEPS_SPACING = frozenset({ParagraphKind.TABLE, ParagraphKind.CODE})


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads inside the book: an offset of the finished text and, of a note, where it ends."""

    start: int
    end: int | None = None


Resolve = Callable[[InlineMark], Target | None]
"""The place that a link means (its mark has a `href`), or None where it leads out of the book."""


@dataclass(frozen=True, slots=True)
class _Mark:
    title: str
    start: int
    level: int


class BookBuilder:
    """Collects paragraphs and chapter marks. Offsets are those of the finished text at every moment."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._paragraphs: list[Paragraph] = []
        self._marks: list[_Mark] = []
        self._inline: list[tuple[int, int, InlineMark]] = []
        """Start, end and meaning of every mark inside a paragraph."""
        self._length = 0

    @property
    def characters(self) -> int:
        """Length of the text so far."""
        return self._length

    @property
    def next_start(self) -> int:
        """Offset at which the next paragraph will begin."""
        return self._length + 2 if self._parts else 0

    def add(
        self,
        text: str,
        kind: ParagraphKind = ParagraphKind.TEXT,
        level: int = 0,
        *,
        lines: bool = False,
        marks: Sequence[InlineMark] = (),
    ) -> bool:
        """Append one paragraph; `lines` keeps its line ends (verse, lists and tables always do).

        With `marks`, the text holds `inline.opening(i)` and `inline.closing(i)` around what `marks[i]` covers; without,
        it must hold none. False when nothing readable is left of it, or when it is a scene break after another one.
        """
        return self.add_clean(clean(text), kind, level, lines=lines, marks=marks)

    def add_clean(
        self,
        text: str,
        kind: ParagraphKind = ParagraphKind.TEXT,
        level: int = 0,
        *,
        lines: bool = False,
        marks: Sequence[InlineMark] = (),
    ) -> bool:
        """`add` for text that has been through `characters.clean` already."""
        if marks:
            text = inline.bind(text)
        keeps = lines or kind in _KEEPS_LINES
        text = keep_lines(text, keep_spacing=kind in _KEEPS_SPACING) if keeps else one_line(text)
        found: list[tuple[int, int, int]] = []
        if marks:
            text, found = inline.take_out(text)
        if not text:
            return False
        if kind is ParagraphKind.BREAK and (not self._paragraphs or self._paragraphs[-1].kind is ParagraphKind.BREAK):
            return False
        start = self.next_start
        self._length = start + len(text)
        self._parts.append(text)
        self._inline += [(start + first, start + last, marks[index]) for index, first, last in found]
        self._paragraphs.append(Paragraph(start, self._length, kind, level))
        return True

    def chapter(self, title: str, level: int = 1) -> None:
        """A chapter begins with the next paragraph that is added."""
        start = self.next_start
        title = one_line(clean(title))
        before = self._marks[-1] if self._marks else None
        if before is None or before.start != start:
            self._marks.append(_Mark(title, start, level))
        elif not before.title or before.title == title:
            self._marks[-1] = _Mark(title, start, min(level, before.level))
        elif title:
            # A part and its first chapter that begin at one place are one entry of the outline.
            self._marks[-1] = _Mark(f"{before.title}: {title}", start, min(level, before.level))

    def build(
        self,
        *,
        title: str,
        authors: tuple[str, ...] = (),
        language: str = "",
        source_format: str,
        notices: tuple[str, ...] = (),
        identifiers: tuple[str, ...] = (),
        cover: str = "",
        resolve: Resolve = lambda mark: None,
    ) -> Book:
        """The book. There must be at least one paragraph. `resolve` is asked for every link, now that all is there."""
        text = "\n\n".join(self._parts)
        name = one_line(clean(title)) or "Untitled"
        return Book(
            text=text,
            title=name,
            paragraphs=tuple(self._paragraphs),
            chapters=self._chapters(text, name),
            authors=_shown(authors),
            language=language,
            source_format=source_format,
            notices=_shown(notices),
            spans=tuple(Span(start, end, mark.style) for start, end, mark in self._inline if mark.style),
            links=tuple(_link(start, end, mark, resolve(mark)) for start, end, mark in self._inline if mark.href),
            images=tuple(Image(start, end, mark.image) for start, end, mark in self._inline if mark.image),
            foreign=tuple(
                LanguageSpan(start, end, mark.language) for start, end, mark in self._inline if mark.language
            ),
            identifiers=_shown(identifiers),
            cover=cover,
        )

    def _chapters(self, text: str, title: str) -> tuple[Chapter, ...]:
        marks = [mark for mark in self._marks if mark.start < len(text)]
        if not marks:
            return (Chapter(title, 0, len(text)),)
        first = marks[0]
        if first.start > 0:
            if count_words(text[: first.start]) > _FRONT_MATTER_WORDS:
                marks.insert(0, _Mark(title, 0, 1))
            else:
                marks[0] = _Mark(first.title, 0, first.level)
        ends = [mark.start for mark in marks[1:]] + [len(text)]
        return tuple(
            Chapter(mark.title or title, mark.start, end, mark.level) for mark, end in zip(marks, ends, strict=True)
        )


def _shown(lines: Sequence[str]) -> tuple[str, ...]:
    """What a file says of itself, a line each; a notice may name a part of it that is called anything."""
    return tuple(line for line in (one_line(clean(each)) for each in lines) if line)


def _link(start: int, end: int, mark: InlineMark, target: Target | None) -> Link:
    if target is None:
        return Link(start, end, address=one_line(clean(mark.href)))
    return Link(start, end, target.start, (target.end or target.start) if mark.is_note else None)
