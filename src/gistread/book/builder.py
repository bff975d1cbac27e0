"""Puts a book together: paragraphs in order, marks where chapters begin, and out comes a `Book`.

Every format ends here, so the normalised text is defined in one place: see `model.py` for what it promises. Knows
nothing of files; a format decides what is a paragraph, of which kind, and where a chapter starts.
"""

from dataclasses import dataclass

from gistread.book.characters import clean, kept_lines, one_line
from gistread.book.model import Book, Chapter, Kind, Paragraph
from gistread.book.words import count_words

# Title page, dedication and a short table of contents go with the first chapter; more than this (about half a page
# of print) is worth a place of its own in the outline.
_FRONT_MATTER_WORDS = 150

_KEEPS_LINES = frozenset({Kind.VERSE, Kind.TABLE, Kind.LIST})


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
        self._length = 0

    @property
    def characters(self) -> int:
        """Length of the text so far."""
        return self._length

    def add(self, text: str, kind: Kind = Kind.TEXT, level: int = 0, *, lines: bool = False) -> bool:
        """Append one paragraph; `lines` keeps its line ends (verse, lists and tables always do).

        False when nothing readable is left of it, or when it is a scene break after another one.
        """
        return self.add_clean(clean(text), kind, level, lines=lines)

    def add_clean(self, text: str, kind: Kind = Kind.TEXT, level: int = 0, *, lines: bool = False) -> bool:
        """`add` for text that has been through `characters.clean` already."""
        keeps = lines or kind in _KEEPS_LINES
        text = kept_lines(text, keep_spacing=kind is Kind.TABLE) if keeps else one_line(text)
        if not text:
            return False
        if kind is Kind.BREAK and (not self._paragraphs or self._paragraphs[-1].kind is Kind.BREAK):
            return False
        start = self._length + 2 if self._parts else 0
        self._length = start + len(text)
        self._parts.append(text)
        self._paragraphs.append(Paragraph(start, self._length, kind, level))
        return True

    def chapter(self, title: str, level: int = 1) -> None:
        """A chapter begins with the next paragraph that is added."""
        start = self._length + 2 if self._parts else 0
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
    ) -> Book:
        """The book. There must be at least one paragraph."""
        text = "\n\n".join(self._parts)
        name = one_line(clean(title)) or "Untitled"
        return Book(
            text=text,
            title=name,
            paragraphs=tuple(self._paragraphs),
            chapters=self._chapters(text, name),
            authors=tuple(author for author in (one_line(clean(a)) for a in authors) if author),
            language=language,
            source_format=source_format,
            notices=notices,
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
