"""Cuts text that the model has not read into sections of the usual length.

Chapters and paragraphs decide, not what was read elsewhere. So an unread section keeps its place,
and nearly its number, while the model reads other parts of the book.
"""

from bisect import bisect_left, bisect_right

from gistread.book.model import Book


def section_ends(book: Book, start: int, end: int, words: float) -> list[int]:
    """Where the sections of `book.text[start:end]` end, the last of them at `end`.

    `words`: of a usual section. A chapter begins a section, and is cut in equal parts.
    """
    if start >= end:
        return []
    chapters = [chapter.start for chapter in book.chapters]
    inside = chapters[bisect_right(chapters, start) : bisect_left(chapters, end)]
    ends: list[int] = []
    at = start
    for chapter_end in (*inside, end):
        ends += _ends_in_chapter(
            book, at, chapter_end, words * characters_per_word(book)
        )
        at = chapter_end
    return ends


def characters_per_word(book: Book) -> float:
    """With the space after it.

    >>> round(characters_per_word(book), 1)
    5.0
    """
    return len(book.text) / max(1, book.words)


def _ends_in_chapter(book: Book, start: int, end: int, usual: float) -> list[int]:
    """`usual`: characters of a section."""
    count = max(1, round((end - start) / usual))
    paragraphs = book.paragraphs
    ends: list[int] = []
    for number in range(1, count):
        near = start + round(number * (end - start) / count)
        index = bisect_left(paragraphs, near, key=lambda paragraph: paragraph.start)
        cut = paragraphs[index].start if index < len(paragraphs) else end
        last = ends[-1] if ends else start
        if last < cut < end:
            ends.append(cut)
    return [*ends, end]
