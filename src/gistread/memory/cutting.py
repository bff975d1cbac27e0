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
    chapter_starts = [chapter.start for chapter in book.chapters]
    first_inside = bisect_right(chapter_starts, start)
    first_after = bisect_left(chapter_starts, end)
    starts_inside = chapter_starts[first_inside:first_after]
    ends: list[int] = []
    chapter_start = start
    for chapter_end in (*starts_inside, end):
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
    characters = end - start
    count = max(1, round(characters / usual_characters))
    paragraphs = book.paragraphs
    ends: list[int] = []
    last_cut = start
    for number in range(1, count):
        exact_cut = start + round(number * characters / count)
        index = bisect_left(
            paragraphs, exact_cut, key=lambda paragraph: paragraph.start
        )
        if index == len(paragraphs):
            break
        cut = paragraphs[index].start
        # Several cuts may be moved to the end of the same long paragraph.
        if last_cut < cut < end:
            ends.append(cut)
            last_cut = cut
    return [*ends, end]
