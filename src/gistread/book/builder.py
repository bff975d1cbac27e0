"""Assembles a `Book` from paragraphs, chapter starts and inline marks. Every format ends here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gistread.book import inline
from gistread.book.inline import InlineMark
from gistread.book.model import Book, Chapter, Image, LanguageSpan, Link, Paragraph, ParagraphKind, Span
from gistread.book.normalise import clean, count_words, keep_lines, one_line

# A title page, dedication and short table of contents belong to the first chapter; more words than this, about half a
# printed page, get a chapter of their own.
_FRONT_MATTER_WORDS = 150

_KEEPS_LINES = frozenset({ParagraphKind.VERSE, ParagraphKind.TABLE, ParagraphKind.LIST, ParagraphKind.CODE})
_KEEPS_SPACING = frozenset({ParagraphKind.TABLE, ParagraphKind.CODE})


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Target of an internal link: an offset of the finished text and, for a note, its end."""

    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ChapterStart:
    """A chapter that starts at the paragraph `index` of a document."""

    index: int
    title: str
    level: int


ResolveLink = Callable[[InlineMark], LinkTarget | None]
"""Finds the target of a link; None if it leads out of the book."""


@dataclass(frozen=True, slots=True)
class _ChapterMark:
    title: str
    start: int
    level: int


class BookBuilder:
    """Collects paragraphs and chapters. Offsets are final as soon as they are returned."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._paragraphs: list[Paragraph] = []
        self._marks: list[_ChapterMark] = []
        self._inline: list[tuple[int, int, InlineMark]] = []
        """(start, end, mark) of every inline mark."""
        self._length = 0

    @property
    def characters(self) -> int:
        return self._length

    @property
    def next_start(self) -> int:
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
        """Append a paragraph; `lines` keeps line breaks, which verse, lists and tables always keep.

        With `marks`, the text contains `inline.opening(i)` and `inline.closing(i)` around the words of `marks[i]`.
        Returns False for empty text and for a scene break right after another.
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
        """`add` for text already cleaned by `normalise.clean`."""
        if marks:
            text = inline.attach_marks(text)
        keeps = lines or kind in _KEEPS_LINES
        text = keep_lines(text, keep_spacing=kind in _KEEPS_SPACING) if keeps else one_line(text)
        found: list[tuple[int, int, int]] = []
        if marks:
            text, found = inline.extract_marks(text)
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
        """Start a chapter at the next paragraph."""
        start = self.next_start
        title = one_line(clean(title))
        before = self._marks[-1] if self._marks else None
        if before is None or before.start != start:
            self._marks.append(_ChapterMark(title, start, level))
        elif not before.title or before.title == title:
            self._marks[-1] = _ChapterMark(title, start, min(level, before.level))
        elif title:
            # A part and its first chapter that start together share one entry.
            self._marks[-1] = _ChapterMark(f"{before.title}: {title}", start, min(level, before.level))

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
        resolve: ResolveLink = lambda mark: None,
    ) -> Book:
        """Build the book, which must have at least one paragraph. `resolve` is called for every link."""
        text = "\n\n".join(self._parts)
        name = one_line(clean(title)) or "Untitled"
        return Book(
            text=text,
            title=name,
            paragraphs=tuple(self._paragraphs),
            chapters=self._chapters(text, name),
            authors=_clean_lines(authors),
            language=language,
            source_format=source_format,
            notices=_clean_lines(notices),
            spans=tuple(Span(start, end, mark.style) for start, end, mark in self._inline if mark.style),
            links=tuple(_link(start, end, mark, resolve(mark)) for start, end, mark in self._inline if mark.href),
            images=tuple(Image(start, end, mark.image) for start, end, mark in self._inline if mark.image),
            language_spans=tuple(
                LanguageSpan(start, end, mark.language) for start, end, mark in self._inline if mark.language
            ),
            identifiers=_clean_lines(identifiers),
            cover=cover,
        )

    def _chapters(self, text: str, title: str) -> tuple[Chapter, ...]:
        marks = [mark for mark in self._marks if mark.start < len(text)]
        if not marks:
            return (Chapter(title, 0, len(text)),)
        first = marks[0]
        if first.start > 0:
            if count_words(text[: first.start]) > _FRONT_MATTER_WORDS:
                marks.insert(0, _ChapterMark(title, 0, 1))
            else:
                marks[0] = _ChapterMark(first.title, 0, first.level)
        ends = [mark.start for mark in marks[1:]] + [len(text)]
        return tuple(
            Chapter(mark.title or title, mark.start, end, mark.level) for mark, end in zip(marks, ends, strict=True)
        )


def _clean_lines(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in (one_line(clean(each)) for each in lines) if line)


def _link(start: int, end: int, mark: InlineMark, target: LinkTarget | None) -> Link:
    if target is None:
        return Link(start, end, address=one_line(clean(mark.href)))
    return Link(start, end, target.start, (target.end or target.start) if mark.is_note else None)
