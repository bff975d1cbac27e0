"""What a book is: one normalised text, and chapters and paragraphs as offsets into it.

Every place in a book (a page's bounds, a reading position, a citation) is a character offset into `Book.text`
(design D1). A book is known by the SHA-256 of that text, so the same words are the same book whatever their
file is called. Nothing here knows files, models or screens.

The normalised text: paragraphs joined by one empty line; inside a paragraph single line feeds stand only where
the author wanted a line to end (verse, tables). No other control characters, no carriage returns, NFC.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Protocol, TypeVar

from gistread.book.normalise import count_words


class ParagraphKind(StrEnum):
    """What a paragraph is, as far as its display and its reading differ."""

    TEXT = "text"
    HEADING = "heading"
    VERSE = "verse"
    QUOTE = "quote"
    LIST = "list"
    TABLE = "table"
    CODE = "code"
    """Preformatted: its spaces are the author's."""
    NOTE = "note"
    IMAGE = "image"
    """A picture, by its caption or by the words that stand for it."""
    BREAK = "break"
    """A scene break: asterisks, a rule."""


class Style(StrEnum):
    """How words inside a paragraph are set."""

    EMPHASIS = "emphasis"
    STRONG = "strong"
    CODE = "code"
    UNDERLINE = "underline"
    STRIKE = "strike"
    SUPERSCRIPT = "superscript"
    SUBSCRIPT = "subscript"
    SMALL_CAPITALS = "small-capitals"


@dataclass(frozen=True, slots=True)
class Span:
    """`Book.text[start:end]` is set in this style."""

    start: int
    end: int
    style: Style


@dataclass(frozen=True, slots=True)
class Link:
    """`Book.text[start:end]` leads to another place of the book, or out of it."""

    start: int
    end: int
    target: int | None = None
    """Offset of the place in this book; None where the link leads out of it."""
    target_end: int | None = None
    """Of a note: where it ends. None: the link is not the reference of a note."""
    address: str = ""
    """Where a link out of the book leads. Shown, copied; never opened by itself."""


@dataclass(frozen=True, slots=True)
class Image:
    """`Book.text[start:end]` stands for a picture: its caption, or the words the author gave for it."""

    start: int
    end: int
    source: str
    """Path inside the book's file (EPUB, DOCX), id inside it (FB2), or a path beside it (HTML, Markdown)."""


@dataclass(frozen=True, slots=True)
class LanguageSpan:
    """`Book.text[start:end]` is in another language than the book."""

    start: int
    end: int
    language: str
    """BCP 47."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`Book.text[start:end]`, without the empty lines around it."""

    start: int
    end: int
    kind: ParagraphKind = ParagraphKind.TEXT
    level: int = 0
    """Of a heading: 1 is the highest. Of a list item or quotation: its depth. Otherwise 0."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """`Book.text[start:end]`, its heading included. Chapters follow one another and leave nothing out."""

    title: str
    start: int
    end: int
    level: int = 1


@dataclass(frozen=True, slots=True)
class Volume:
    """A book of a series: `Book.text[start:end]` is its own text, behind a heading that gives its title."""

    title: str
    heading: int
    """Where the heading begins."""
    start: int
    end: int
    """Without the empty line that parts it from the next volume's heading."""


@dataclass(frozen=True)
class Book:
    """A book as everything above sees it. A series of books is one, too."""

    text: str
    title: str
    paragraphs: tuple[Paragraph, ...]
    chapters: tuple[Chapter, ...]
    """At least one; the first starts at 0, the last ends with the text."""
    authors: tuple[str, ...] = ()
    language: str = ""
    """BCP 47, or empty where the file does not say."""
    source_format: str = "text"
    notices: tuple[str, ...] = ()
    """What could not be read, one line each, for the person."""
    spans: tuple[Span, ...] = ()
    """By start, an outer one before those inside it; likewise links, images and foreign words."""
    links: tuple[Link, ...] = ()
    images: tuple[Image, ...] = ()
    foreign: tuple[LanguageSpan, ...] = ()
    identifiers: tuple[str, ...] = ()
    """Such as `isbn:9780140439182` or `urn:uuid:…`."""
    cover: str = ""
    """As `Image.source`."""
    volumes: tuple[Volume, ...] = ()
    """Of a series: its books, one after the other from the first character to the last. Of any other book: none."""
    _paragraph_starts: list[int] = field(init=False, repr=False, compare=False)
    _chapter_starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_paragraph_starts", [p.start for p in self.paragraphs])
        object.__setattr__(self, "_chapter_starts", [c.start for c in self.chapters])

    @cached_property
    def sha256(self) -> str:
        """Identity of the book: of its text, as UTF-8, in hexadecimal."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    @cached_property
    def words(self) -> int:
        return count_words(self.text)

    def spans_between(self, start: int, end: int) -> Iterator[Span]:
        """The spans that share at least one character with `[start, end)`."""
        return _between(self.spans, self._paragraph_start(start), start, end)

    def links_between(self, start: int, end: int) -> Iterator[Link]:
        """The links that share at least one character with `[start, end)`."""
        return _between(self.links, self._paragraph_start(start), start, end)

    def images_between(self, start: int, end: int) -> Iterator[Image]:
        """The pictures whose words share at least one character with `[start, end)`."""
        return _between(self.images, self._paragraph_start(start), start, end)

    def _paragraph_start(self, offset: int) -> int:
        """None of these reaches over the end of its paragraph."""
        return self.paragraphs[self.paragraph_index(offset)].start if self.paragraphs else 0

    def paragraph_index(self, offset: int) -> int:
        """Index of the paragraph that holds `offset`, or the last that starts before it."""
        return max(0, bisect_right(self._paragraph_starts, offset) - 1)

    def chapter_index(self, offset: int) -> int:
        """Index of the chapter that holds `offset`."""
        return max(0, bisect_right(self._chapter_starts, offset) - 1)

    @cached_property
    def volume_books(self) -> tuple["Book", ...]:
        """The text of each volume as a book: what its memory is known by. Without chapters and marks."""
        return tuple(
            Book(self.text[one.start : one.end], one.title, (), (Chapter(one.title, 0, one.end - one.start),))
            for one in self.volumes
        )

    def volume_index(self, offset: int) -> int:
        """Index of the volume whose heading or text holds `offset`. Only where there are volumes."""
        return max(0, bisect_right(self.volumes, offset, key=lambda volume: volume.heading) - 1)

    def volume_ends(self, index: int) -> int:
        """Where a volume ends with the empty line behind it: at the next one's heading, or with the text."""
        return self.volumes[index + 1].heading if index + 1 < len(self.volumes) else len(self.text)

    def is_title(self, offset: int) -> bool:
        """Whether the heading of a volume begins at `offset`."""
        return bool(self.volumes) and self.volumes[self.volume_index(offset)].heading == offset

    def volume_title(self, offset: int) -> str:
        """Title of the volume that holds `offset`; empty where there are no volumes."""
        return self.volumes[self.volume_index(offset)].title if self.volumes else ""

    def chapter_title(self, offset: int) -> str:
        """Title of the chapter that holds `offset`; in a series behind that of its volume."""
        titles = (self.volume_title(offset), self.chapters[self.chapter_index(offset)].title)
        return " · ".join(dict.fromkeys(title for title in titles if title))

    def paragraphs_between(self, start: int, end: int) -> Iterator[Paragraph]:
        """The paragraphs that share at least one character with `[start, end)`."""
        for index in range(self.paragraph_index(start), len(self.paragraphs)):
            paragraph = self.paragraphs[index]
            if paragraph.start >= end:
                return
            if paragraph.end > start:
                yield paragraph


class _Ranged(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


_R = TypeVar("_R", bound=_Ranged)


def _between(ranges: Sequence[_R], first: int, start: int, end: int) -> Iterator[_R]:
    """Those that share a character with `[start, end)`; none that does starts before `first`."""
    for index in range(bisect_left(ranges, first, key=lambda one: one.start), len(ranges)):
        one = ranges[index]
        if one.start >= end:
            return
        if one.end > start:
            yield one
