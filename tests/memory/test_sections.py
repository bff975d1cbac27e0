"""Sections of a whole book, read or not."""

from itertools import pairwise
from random import Random

import pytest

from gistread.book.model import Book
from gistread.memory.cutting import section_ends
from gistread.memory.gaps import GapFiller
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.memory.passages import without
from gistread.memory.sections import Sections
from gistread.words import count_words
from tests.memory.books import make_book, prose
from tests.readers.memories import make_memory


def _book() -> Book:
    """Twenty chapters of 100 to 860 words, in paragraphs of twenty."""
    lengths = (5 + 2 * chapter for chapter in range(20))
    chapters = [
        [prose(20, seed=number) for number in range(length)] for length in lengths
    ]
    return make_book(*chapters)


@pytest.mark.parametrize("read", [0, 1, 5, 40])
def test_sections_cover_the_book_in_order(read: int) -> None:
    memory = make_memory(read, 40)
    sections = Sections(memory)
    all_sections = [sections.numbered(number) for number in range(1, sections.last + 1)]
    assert all(all_sections)
    known = [section for section in all_sections if section]
    assert known[0].start == 0
    assert known[-1].end == len(memory.book.text)
    for before, after in pairwise(known):
        assert before.end == after.start
        assert before.number + 1 == after.number


@pytest.mark.parametrize("read", [0, 5])
def test_every_offset_is_in_its_section(read: int) -> None:
    memory = make_memory(read, 40)
    sections = Sections(memory)
    for offset in range(0, len(memory.book.text), 17):
        section = sections.at(offset)
        assert section is not None
        assert section.start <= offset < section.end


def test_an_unread_section_keeps_its_number_while_others_are_read() -> None:
    """Whatever the lengths of the pages that the model chooses."""
    book = _book()
    size = PageSize(40, 120)
    place = book.chapters[15].start
    read: dict[int, MemoryEntry] = {}
    numbers = set()
    start = 0
    random = Random(7)
    while start < book.chapters[5].start:
        words = random.uniform(size.min_words, size.max_words)
        chapter_end = book.chapters[book.chapter_index(start) + 1].start
        end = section_ends(book, start, chapter_end, words)[0]
        page = Page(1, start, end, count_words(book.text[start:end]))
        read[start] = MemoryEntry(page, Gist("Read.", 1, GistSource.MODEL))
        memory = GistMemory(book, size, "model", GapFiller(book, size).arranged(read))
        section = Sections(memory).at(place)
        assert section is not None
        assert section.start == place
        numbers.add(section.number)
        start = end
    assert max(numbers) - min(numbers) <= 0.1 * max(numbers)


def test_a_gap_and_the_end_are_cut_alike() -> None:
    """After a jump, the sections that were estimated have the same numbers."""
    book, size = _book(), PageSize(40, 120)
    before = Sections(GistMemory(book, size, "model"))
    place = book.chapters[10]
    page = Page(1, place.start, book.chapters[11].start, 300)
    read = {page.start: MemoryEntry(page, Gist("Read.", 1, GistSource.MODEL))}
    after = Sections(
        GistMemory(book, size, "model", GapFiller(book, size).arranged(read))
    )
    for offset in range(0, place.start, 50):
        assert before.at(offset) == after.at(offset)


def test_there_is_no_section_beyond_the_book() -> None:
    sections = Sections(make_memory(3, 40))
    assert sections.numbered(0) is None
    assert sections.numbered(sections.last + 1) is None
    assert sections.places_of([0, sections.last + 1]) == []


def test_what_is_left_of_a_span() -> None:
    assert without((0, 10), []) == [(0, 10)]
    assert without((0, 10), [(8, 12), (2, 4), (3, 5)]) == [(0, 2), (5, 8)]
    assert without((4, 10), [(0, 6)]) == [(6, 10)]
    assert without((4, 10), [(0, 20)]) == []
