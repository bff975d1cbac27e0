"""Sections of a whole book, read or not."""

from itertools import pairwise

import pytest

from gistread.memory.passages import without
from gistread.memory.sections import Sections
from tests.readers.memories import make_memory


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
