"""Cuts text that the model has not read into sections of the usual length.

The cuts depend on chapters and paragraphs, not on what was read elsewhere. So an unread section
keeps its place, and nearly its number, while the model reads other parts of the book.
"""

from bisect import bisect_left, bisect_right

from gistread.book.model import Book


def section_ends(book: Book, start: int, end: int, words: float) -> list[int]:
    """Where the sections of `book.text[start:end]` end, the last of them at `end`.

    Each chapter is cut in equal parts. `words`: the usual length of a section.
    """
    if start >= end:
        return []
    usual_characters = words * characters_per_word(book)
    chapters = [chapter.start for chapter in book.chapters]
    inside = chapters[bisect_right(chapters, start) : bisect_left(chapters, end)]
    ends: list[int] = []
    chapter_start = start
    for chapter_end in (*inside, end):
        ends += _ends_in_chapter(book, chapter_start, chapter_end, usual_characters)
        chapter_start = chapter_end
    return ends


def characters_per_word(book: Book) -> float:
    """The mean length of a word with the space after it.

    >>> round(characters_per_word(book), 1)
    5.0
    """
    return len(book.text) / max(1, book.words)


def _ends_in_chapter(
    book: Book, start: int, end: int, usual_characters: float
) -> list[int]:
    """Where equal parts of a chapter end, each before a paragraph."""
    count = max(1, round((end - start) / usual_characters))
    paragraphs = book.paragraphs
    ends: list[int] = []
    for number in range(1, count):
        near = start + round(number * (end - start) / count)
        index = bisect_left(paragraphs, near, key=lambda paragraph: paragraph.start)
        if index == len(paragraphs):
            break
        cut = paragraphs[index].start
        last = ends[-1] if ends else start
        if last < cut < end:
            ends.append(cut)
    return [*ends, end]
