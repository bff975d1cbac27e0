"""Finds the front matter of a book (title page, imprint, contents) and the back matter.

The model reads neither.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from gistread.book.model import Book, Chapter, ParagraphKind
from gistread.memory.extractive import extract
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page
from gistread.words import count_words

# Headings that tell what a text is, in lower case.
HEADINGS: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("headings.toml").read_text("utf-8")
)
_TITLES = frozenset(re.sub(r"[\W_]+", "", title) for title in HEADINGS["front_matter"])
_TOLD_AT_THE_END = frozenset(
    ("endnotes", "footnotes", "transcribersnote", "transcribersnotes", "abouttheauthor")
)
_GIST_WORDS = 40
# A paragraph with so many words is too long for a title page or a table of contents.
_PROSE_WORDS = 40


def front_matter_end(book: Book) -> int:
    """Offset of the first chapter after the front matter; 0 if the book has none or is a series."""
    if book.volumes:
        return 0
    for chapter in book.chapters:
        if not _is_front_matter(book, chapter):
            return _heading_after_titles(book, chapter) or chapter.start
    return 0


def _is_front_matter(book: Book, chapter: Chapter) -> bool:
    """Whether a chapter has a title such as "Imprint", or is a title page."""
    title = _plain(chapter.title)
    if title in _TITLES:
        return True
    book_title = book.title
    if not book_title and chapter.start > 0:
        # A view has no title (`Book.upto`), but its title page has one, which a half-title repeats.
        book_title, _, _ = book.text.partition("\n")
    return title == _plain(book_title) and not _has_prose(book, chapter)


def back_matter_start(book: Book) -> int:
    """Offset of the imprint or notes after the last chapter; else the length of the text."""
    # If all chapters after the first have such titles, they are the book itself.
    ends_of_story = [
        chapter.end
        for chapter in book.chapters[1:]
        if _plain(chapter.title) not in _TITLES
    ]
    return max(ends_of_story, default=len(book.text))


def imprint_start(book: Book) -> int:
    """Offset of the colophon and imprint that end the book; else the length of the text.

    Notes before them do not count.
    """
    start = len(book.text)
    story_end = back_matter_start(book)
    for chapter in reversed(book.chapters):
        if chapter.start < story_end or not _is_imprint(chapter):
            break
        start = chapter.start
    return start


def story_of(book: Book) -> tuple[int, int]:
    """(start, end) of the text without front and back matter; of all text if that is empty."""
    start, end = front_matter_end(book), back_matter_start(book)
    if book.text[start:end].strip():
        return start, end
    return 0, len(book.text)


def without_imprint_of(book: Book) -> tuple[int, int]:
    """(start, end) of the text without title page, contents and imprint; notes stay.

    Of all text if that is empty.
    """
    start, end = front_matter_end(book), imprint_start(book)
    if book.text[start:end].strip():
        return start, end
    return 0, len(book.text)


def _heading_after_titles(book: Book, chapter: Chapter) -> int:
    """Offset of the first heading within a book's first chapter, after title page and contents.

    0 if there is none, or if it follows prose.
    """
    if chapter.start > 0:
        return 0
    for paragraph in book.paragraphs:
        if paragraph.start >= chapter.end:
            break
        if paragraph.kind is ParagraphKind.HEADING and paragraph.start > 0:
            before = replace(chapter, end=paragraph.start)
            return 0 if _has_prose(book, before) else paragraph.start
    return 0


def _plain(title: str) -> str:
    """The letters and digits of a title in lower case."""
    return re.sub(r"[\W_]+", "", title.casefold())


def _has_prose(book: Book, chapter: Chapter) -> bool:
    """Whether the chapter has prose; a title page and contents have none."""
    for paragraph in book.paragraphs:
        is_within = chapter.start <= paragraph.start < chapter.end
        if is_within and paragraph.kind is ParagraphKind.TEXT:
            text = book.text[paragraph.start : paragraph.end]
            if count_words(text) >= _PROSE_WORDS:
                return True
    return False


@dataclass(frozen=True, slots=True)
class StoryPart:
    """The part of a book that a memory tells, without title page and colophon."""

    start: int = 0
    end: int | None = None  # None: the end of the book

    @classmethod
    def of(cls, book: Book) -> "StoryPart":
        return cls(front_matter_end(book), imprint_start(book))

    def leaves_out(self, page: Page) -> bool:
        """Whether most of a page is front matter, or the page is of the imprint at the end."""
        middle = (page.start + page.end) // 2
        if middle < self.start:
            return True
        return self.end is not None and page.start >= self.end


def without_imprint(memory: GistMemory, book: Book) -> GistMemory:
    """The memory without title page, imprint and colophon; other sections keep their numbers.

    `book`: the whole book, if the memory ends at a bound.
    """
    story_part = StoryPart.of(book)
    story = [entry for entry in memory.entries if not story_part.leaves_out(entry.page)]
    return replace(memory, entries=story)


def sections_ahead(memory: GistMemory, book: Book, end: int) -> list[Page]:
    """The sections from the offset `end` on that the model has read, without the imprint.

    `memory` must not be cut at `end`. `book`: the whole book.
    """
    read = without_imprint(memory, book).read_entries
    return [entry.page for entry in read if entry.page.start >= end]


def _is_imprint(chapter: Chapter) -> bool:
    """Whether a chapter of the back matter has neither notes nor words about the author."""
    title = _plain(chapter.title)
    return title in _TITLES and title not in _TOLD_AT_THE_END


def front_matter_entries(
    book: Book, start: int, end: int, max_words: int
) -> Iterator[MemoryEntry]:
    """Pages for `book.text[start:end]`, at least one for each chapter.

    Their gists are extractive or verbatim.
    """
    chapter_starts = {chapter.start for chapter in book.chapters}
    pauses = [
        paragraph.start
        for paragraph in book.paragraphs
        if start < paragraph.start < end
    ]
    for pause, next_pause in pairwise([*pauses, end]):
        # A page also ends where one more paragraph would make it too long.
        is_too_long = count_words(book.text[start:next_pause]) > max_words
        if pause in chapter_starts or is_too_long:
            yield _entry(book, start, pause)
            start = pause
    yield _entry(book, start, end)


def _entry(book: Book, start: int, end: int) -> MemoryEntry:
    """A page with a gist of its own words."""
    text = " ".join(book.text[start:end].split())
    page = Page(0, start, end, count_words(text))
    words = text if page.words <= _GIST_WORDS else extract(text, _GIST_WORDS)
    source = GistSource.VERBATIM if words == text else GistSource.EXTRACTIVE
    return MemoryEntry(page, Gist(words, count_words(words), source))
