"""Finds the front matter of a book (title page, imprint, contents) and the back matter.

No model reads them.
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
# Words of a paragraph that is too long for a title page or a table of contents
_PROSE_WORDS = 40


def front_matter_end(book: Book) -> int:
    """Offset of the first chapter after the front matter; 0 if the book has none or is a series."""
    if book.volumes:
        return 0
    for chapter in book.chapters:
        title = _plain(chapter.title)
        if title not in _TITLES and not (
            title == _plain(book.title) and not _has_prose(book, chapter)
        ):
            return _heading_after_titles(book, chapter) or chapter.start
    return 0


def back_matter_start(book: Book) -> int:
    """Offset of the imprint or notes behind the last chapter.

    The length of the text if there are none.
    """
    story = [
        chapter.end
        for chapter in book.chapters[1:]
        if _plain(chapter.title) not in _TITLES
    ]
    return max(story, default=len(book.text))


def imprint_start(book: Book) -> int:
    """Offset of the colophon and imprint that end the book.

    The length of the text if there are none. Notes before them do not count.
    """
    start = len(book.text)
    story_end = back_matter_start(book)
    for chapter in reversed(book.chapters):
        if chapter.start < story_end or not _is_imprint(chapter):
            break
        start = chapter.start
    return start


def story_of(book: Book) -> tuple[int, int]:
    """(start, end) of the text without front and back matter; of all if nothing else is there."""
    start, end = front_matter_end(book), back_matter_start(book)
    if book.text[start:end].strip():
        return start, end
    return 0, len(book.text)


def _heading_after_titles(book: Book, chapter: Chapter) -> int:
    """Offset of the first chapter's first heading if only title page and contents precede it.

    Otherwise 0.
    """
    headings = (
        paragraph.start
        for paragraph in book.paragraphs
        if paragraph.kind is ParagraphKind.HEADING
    )
    heading = next(
        (start for start in headings if chapter.start < start < chapter.end), 0
    )
    if chapter.start or _has_prose(book, replace(chapter, end=heading)):
        return 0
    return heading


def _plain(title: str) -> str:
    return re.sub(r"[\W_]+", "", title.casefold())


def _has_prose(book: Book, chapter: Chapter) -> bool:
    """Whether the chapter has prose.

    A title page and contents, as at the start of a plain text, have none.
    """
    return any(
        paragraph.kind is ParagraphKind.TEXT
        and count_words(book.text[paragraph.start : paragraph.end]) >= _PROSE_WORDS
        for paragraph in book.paragraphs
        if chapter.start <= paragraph.start < chapter.end
    )


@dataclass(frozen=True, slots=True)
class StoryPart:
    """The part of a book that a memory tells: no title page before it, no colophon after it."""

    start: int = 0
    end: int | None = None  # None: the end of the book

    @classmethod
    def of(cls, book: Book) -> "StoryPart":
        return cls(front_matter_end(book), imprint_start(book))

    def leaves_out(self, page: Page) -> bool:
        """Whether most of a page is front matter, or the page is of the imprint at the end."""
        is_before = (page.start + page.end) // 2 < self.start
        return is_before or (self.end is not None and page.start >= self.end)


def without_imprint(memory: GistMemory, book: Book) -> GistMemory:
    """The memory without title page, imprint and colophon; other sections keep their numbers.

    `book`: the whole book, if the memory ends at a bound.
    """
    part = StoryPart.of(book)
    story = [entry for entry in memory.entries if not part.leaves_out(entry.page)]
    return replace(memory, entries=story)


def sections_ahead(memory: GistMemory, book: Book, end: int) -> list[Page]:
    """The sections that the model has read from the offset `end` on, without the imprint.

    `memory`: not cut at `end`. `book`: the whole book.
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
    chapters = {chapter.start for chapter in book.chapters}
    pauses = [
        paragraph.start
        for paragraph in book.paragraphs
        if start < paragraph.start < end
    ]
    for at, following in pairwise([*pauses, end]):
        if at in chapters or count_words(book.text[start:following]) > max_words:
            yield _entry(book, start, at)
            start = at
    yield _entry(book, start, end)


def _entry(book: Book, start: int, end: int) -> MemoryEntry:
    text = " ".join(book.text[start:end].split())
    words = count_words(text)
    gist = text if words <= _GIST_WORDS else extract(text, _GIST_WORDS)
    source = GistSource.VERBATIM if gist == text else GistSource.EXTRACTIVE
    return MemoryEntry(
        Page(0, start, end, words), Gist(gist, count_words(gist), source)
    )
