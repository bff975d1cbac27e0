"""What a book is: one normalised text, and chapters and paragraphs as offsets into it.

Every place in a book (a page's bounds, a reading position, a citation) is a character offset into `Book.text`
(design D1). A book is known by the SHA-256 of that text, so the same words are the same book whatever their
file is called. Nothing here knows files, models or screens.

The normalised text: paragraphs joined by one empty line; inside a paragraph single line feeds stand only where
the author wanted a line to end (verse, tables). No other control characters, no carriage returns, NFC.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from gistread.book.words import count_words


class Kind(StrEnum):
    """What a paragraph is, as far as its display and its reading differ."""

    TEXT = "text"
    HEADING = "heading"
    VERSE = "verse"
    QUOTE = "quote"
    LIST = "list"
    TABLE = "table"
    NOTE = "note"
    BREAK = "break"
    """A scene break: asterisks, a rule."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`Book.text[start:end]`, without the empty lines around it."""

    start: int
    end: int
    kind: Kind = Kind.TEXT
    level: int = 0
    """Of a heading: 1 is the highest. Of a list item or quotation: its depth. Otherwise 0."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """`Book.text[start:end]`, its heading included. Chapters follow one another and leave nothing out."""

    title: str
    start: int
    end: int
    level: int = 1


@dataclass(frozen=True)
class Book:
    """A book as everything above sees it."""

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

    def paragraph_index(self, offset: int) -> int:
        """Index of the paragraph that holds `offset`, or the last that starts before it."""
        return max(0, bisect_right(self._paragraph_starts, offset) - 1)

    def chapter_index(self, offset: int) -> int:
        """Index of the chapter that holds `offset`."""
        return max(0, bisect_right(self._chapter_starts, offset) - 1)

    def paragraphs_between(self, start: int, end: int) -> Iterator[Paragraph]:
        """The paragraphs that share at least one character with `[start, end)`."""
        for index in range(self.paragraph_index(start), len(self.paragraphs)):
            paragraph = self.paragraphs[index]
            if paragraph.start >= end:
                return
            if paragraph.end > start:
                yield paragraph
