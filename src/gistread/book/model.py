"""The book model: one normalised text, with chapters and paragraphs as character offsets into it.

The SHA-256 of the text identifies the book. The text is NFC; an empty line separates paragraphs.
Inside a paragraph, a line feed marks a line end of the author (verse, tables). The text has no
other control characters.
"""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import TypeVar
from weakref import WeakValueDictionary

from gistread.words import count_words


class ParagraphKind(StrEnum):
    TEXT = "text"
    HEADING = "heading"
    VERSE = "verse"
    QUOTE = "quote"
    LIST = "list"
    TABLE = "table"
    CODE = "code"  # Preformatted text
    NOTE = "note"
    IMAGE = "image"  # A picture, represented by its caption or description
    BREAK = "break"  # A scene break: asterisks, a rule


class Style(StrEnum):
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
    start: int
    end: int
    style: Style


@dataclass(frozen=True, slots=True)
class Link:
    """`Book.text[start:end]` links to another place in the book or to an address."""

    start: int
    end: int
    target: int | None = None  # Offset in this book; None for an external link
    # End of the note; None if the link is not a note reference
    target_end: int | None = None
    address: str = ""  # URL of an external link. Never opened unasked.


@dataclass(frozen=True, slots=True)
class Image:
    """`Book.text[start:end]` represents a picture: its caption or description."""

    start: int
    end: int
    # Path in the book's file (EPUB, DOCX), id in it (FB2), or path beside it (HTML, Markdown)
    source: str


@dataclass(frozen=True, slots=True)
class LanguageSpan:
    """`Book.text[start:end]` is in a language other than the book's."""

    start: int
    end: int
    language: str  # BCP 47


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`Book.text[start:end]`, without the empty lines around it."""

    start: int
    end: int
    kind: ParagraphKind = ParagraphKind.TEXT
    level: int = 0


@dataclass(frozen=True, slots=True)
class Chapter:
    """`Book.text[start:end]`, including the heading. Chapters are contiguous."""

    title: str
    start: int
    end: int
    level: int = 1


@dataclass(frozen=True, slots=True)
class Volume:
    """A book in a series: `Book.text[start:end]` is its text, after a heading with its title."""

    title: str
    heading: int
    start: int
    end: int


_Range = TypeVar("_Range", Span, Image, Paragraph)

WORDS_A_PAGE = 250  # Of a printed page, as publishers estimate
# `Book.source_format` of gistread's own documents, which no library lists.
DOCUMENTATION = "documentation"


@dataclass(frozen=True)
class Book:
    """A book, or a series of books read as one."""

    text: str
    title: str
    paragraphs: tuple[Paragraph, ...]
    chapters: tuple[Chapter, ...]
    authors: tuple[str, ...] = ()
    language: str = ""  # BCP 47; empty if unknown
    source_format: str = "text"
    notices: tuple[str, ...] = ()  # What could not be read, one line each, for the user
    # By start, outer before inner; likewise links, images and foreign words.
    spans: tuple[Span, ...] = ()
    links: tuple[Link, ...] = ()
    images: tuple[Image, ...] = ()
    language_spans: tuple[LanguageSpan, ...] = ()
    identifiers: tuple[str, ...] = ()
    cover: str = ""
    volumes: tuple[Volume, ...] = ()  # The books of a series; empty for a single book

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the text as UTF-8, in hexadecimal: the book's identity."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    @cached_property
    def words(self) -> int:
        return count_words(self.text)

    @cached_property
    def page_count(self) -> int:
        """The number of printed pages, at least 1."""
        return max(1, round(self.words / WORDS_A_PAGE))

    def page_at(self, offset: int) -> int:
        """The number of the printed page at an offset, from 1."""
        characters = max(1, len(self.text))
        pages_before = max(0, offset) * self.page_count // characters
        return min(self.page_count, pages_before + 1)

    def page_start(self, page: int) -> int:
        """The first offset of a printed page; of the nearest page if there is no such number."""
        pages_before = min(max(1, page), self.page_count) - 1
        return -(-pages_before * len(self.text) // self.page_count)  # Rounded up

    def spans_between(self, start: int, end: int) -> Iterator[Span]:
        return self._overlapping(self.spans, start, end)

    def images_between(self, start: int, end: int) -> Iterator[Image]:
        return self._overlapping(self.images, start, end)

    def paragraphs_between(self, start: int, end: int) -> Iterator[Paragraph]:
        return self._overlapping(self.paragraphs, start, end)

    def _overlapping(
        self, ranges: Sequence[_Range], start: int, end: int
    ) -> Iterator[_Range]:
        """The ranges that overlap `[start, end)`."""
        # Each range lies within one paragraph: those of earlier ones cannot overlap.
        paragraph_start = 0
        if self.paragraphs:
            paragraph_start = self.paragraphs[self.paragraph_index(start)].start
        first = bisect_left(ranges, paragraph_start, key=lambda item: item.start)
        for item in islice(ranges, first, None):
            if item.start >= end:
                return
            if item.end > start:
                yield item

    def paragraph_index(self, offset: int) -> int:
        """Index of the paragraph at `offset`, or of the last one before it."""
        following = bisect_right(
            self.paragraphs, offset, key=lambda paragraph: paragraph.start
        )
        return max(0, following - 1)

    def chapter_index(self, offset: int) -> int:
        following = bisect_right(
            self.chapters, offset, key=lambda chapter: chapter.start
        )
        return max(0, following - 1)

    @cached_property
    def chapter_numbers(self) -> tuple[str, ...]:
        """The number of each chapter: `1`, then `1.1` for its first part."""
        numbers: list[str] = []
        # The levels of the chapter and of those it is part of, and the number of each there.
        levels: list[int] = []
        positions: list[int] = []
        for chapter in self.chapters:
            siblings_before = 0
            while levels and levels[-1] >= chapter.level:
                levels.pop()
                siblings_before = positions.pop()
            levels.append(chapter.level)
            positions.append(siblings_before + 1)
            numbers.append(".".join(map(str, positions)))
        return tuple(numbers)

    def chapter_end(self, index: int) -> int:
        """The end of a chapter with its parts."""
        level = self.chapters[index].level
        for chapter in self.chapters[index + 1 :]:
            if chapter.level <= level:
                return chapter.start
        return len(self.text)

    @cached_property
    def volume_books(self) -> tuple["Book", ...]:
        """Each volume's text as a book without chapters and marks, to identify its memory."""
        books = []
        for volume in self.volumes:
            text = self.text[volume.start : volume.end]
            chapter = Chapter(volume.title, 0, len(text))
            books.append(Book(text, volume.title, paragraphs=(), chapters=(chapter,)))
        return tuple(books)

    def volume_index(self, offset: int) -> int:
        """Index of the volume at `offset`, its heading included. Requires volumes."""
        following = bisect_right(
            self.volumes, offset, key=lambda volume: volume.heading
        )
        return max(0, following - 1)

    def volume_end(self, index: int) -> int:
        """End of a volume, including the empty line after it."""
        if index + 1 < len(self.volumes):
            return self.volumes[index + 1].heading
        return len(self.text)

    def is_volume_heading(self, offset: int) -> bool:
        if not self.volumes:
            return False
        return self.volumes[self.volume_index(offset)].heading == offset

    def volume_title(self, offset: int) -> str:
        if not self.volumes:
            return ""
        return self.volumes[self.volume_index(offset)].title

    def chapter_title(self, offset: int) -> str:
        """Title of the chapter at `offset`, prefixed with that of its volume."""
        chapter = self.chapters[self.chapter_index(offset)]
        titles = (self.volume_title(offset), chapter.title)
        distinct = dict.fromkeys(title for title in titles if title)
        return " · ".join(distinct)

    @cached_property
    def _views(self) -> WeakValueDictionary[int, "Book"]:
        """The views in use, by their end. Weak, since each has a copy of the text."""
        return WeakValueDictionary()

    def upto(self, offset: int) -> "Book":
        """The book as known to a reader at `offset`: without title, authors and marks.

        In a series, numbers replace the titles of volumes. Callers with the same offset share one
        view while one of them uses it.
        """
        offset = max(0, min(offset, len(self.text)))
        view = self._views.get(offset)
        if view is None:
            view = self._views[offset] = self._cut(offset)
        return view

    def _cut(self, offset: int) -> "Book":
        """A new view up to an offset of the text."""
        paragraphs = [
            replace(paragraph, end=min(paragraph.end, offset))
            for paragraph in self.paragraphs
            if paragraph.start < offset
        ]
        # The first chapter stays even at offset 0.
        chapters = [
            replace(chapter, end=min(chapter.end, offset))
            for chapter in self.chapters
            if chapter.start < offset or chapter.start == 0
        ]
        volumes = [volume for volume in self.volumes if volume.heading < offset]
        untitled_volumes = [
            replace(volume, title="", end=min(volume.end, offset)) for volume in volumes
        ]
        # The text may end inside the last title; a whole number would make it longer.
        text = _number_volumes(self.text[:offset], volumes)[:offset]
        return Book(
            text=text,
            title="",
            paragraphs=tuple(paragraphs),
            chapters=tuple(chapters),
            language=self.language,
            source_format=self.source_format,
            volumes=tuple(untitled_volumes),
        )


def _number_volumes(text: str, volumes: Iterable[Volume]) -> str:
    """Replace the titles of volumes by their numbers, padded or cut to the same length."""
    for number, volume in enumerate(volumes, start=1):
        length = len(volume.title)
        number_as_title = str(number).ljust(length)[:length]
        after = volume.heading + length
        text = text[: volume.heading] + number_as_title + text[after:]
    return text
