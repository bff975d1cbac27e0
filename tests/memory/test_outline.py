"""The shape of the memory tree: chapters first, then parts."""

from dataclasses import replace

import pytest

from gistread.book.normalise import count_words
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from gistread.memory.tree import MAX_CHILDREN, PageRange, chapter_of, group_sizes, nodes, outline
from tests.memory.books import make_book, prose


def memory_of(pages_by_chapter: list[int], levels: list[int] | None = None) -> GistMemory:
    """Chapters of so many pages each, a paragraph a page; a chapter of none is a title."""
    chapters = [
        [f"# Chapter {index}", *(prose(30, seed=100 * index + page) for page in range(pages))]
        for index, pages in enumerate(pages_by_chapter)
    ]
    book = make_book(*chapters)
    if levels:
        pairs = zip(book.chapters, levels, strict=True)
        book = replace(book, chapters=tuple(replace(chapter, level=level) for chapter, level in pairs))
    memory = GistMemory(book, PageSize(20, 40), "fake")
    ends = [p.end for p in book.paragraphs if not p.level]
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), start=1):
        gist = f"Page {number} tells."
        memory.entries.append(
            MemoryEntry(Page(number, start, end, count_words(book.text[start:end])), Gist(gist, 3, GistSource.MODEL))
        )
    return memory


def shape(stretch: PageRange) -> object:
    """Nested lists of page numbers."""
    return [shape(child) for child in stretch.children] if stretch.children else stretch.first


def test_pages_of_a_chapter_are_grouped_before_those_of_another() -> None:
    assert shape(outline(memory_of([3, 2, 1]))) == [[1, 2, 3], [4, 5], 6]


def test_chapters_of_a_part_are_grouped_before_those_of_the_next() -> None:
    memory = memory_of([0, 2, 2, 0, 1, 3], levels=[1, 2, 2, 1, 2, 2])
    assert shape(outline(memory)) == [[[1, 2], [3, 4]], [5, [6, 7, 8]]]


def test_text_of_a_part_before_its_first_chapter_has_its_own_node() -> None:
    memory = memory_of([2, 1, 2, 1], levels=[1, 2, 2, 1])
    assert shape(outline(memory)) == [[[1, 2], 3, [4, 5]], 6]


def test_a_page_that_begins_with_the_title_of_its_part_belongs_to_its_chapter() -> None:
    memory = memory_of([0, 2, 2], levels=[1, 2, 2])
    assert [chapter_of(memory.book, entry.page) for entry in memory.entries] == [1, 1, 2, 2]


def test_a_book_without_chapters_is_grouped_evenly() -> None:
    top = outline(memory_of([20]))
    assert shape(top) == [list(range(1, 8)), list(range(8, 15)), list(range(15, 21))]


def test_a_single_page_has_a_parent() -> None:
    assert shape(outline(memory_of([1]))) == [1]


@pytest.mark.parametrize("chapters", [[1] * 100, [30] * 10, [0, 3, 9, 1, 17] * 5, [500]])
def test_every_page_occurs_once_and_no_node_has_too_many_children(chapters: list[int]) -> None:
    memory = memory_of(chapters)
    top = outline(memory)

    def pages(stretch: PageRange) -> list[int]:
        return [n for child in stretch.children for n in pages(child)] if stretch.children else [stretch.first]

    assert pages(top) == [entry.page.number for entry in memory.entries]
    assert all(2 <= len(stretch.children) <= MAX_CHILDREN for stretch in nodes(top) if stretch.children)
    assert all((s.first, s.last) == (s.children[0].first, s.children[-1].last) for s in nodes(top) if s.children)


@pytest.mark.parametrize("count", range(1, 200))
def test_children_are_spread_evenly_over_the_fewest_parents(count: int) -> None:
    sizes = group_sizes(count)
    assert sum(sizes) == count
    assert max(sizes) <= MAX_CHILDREN
    assert max(sizes) - min(sizes) <= 1
    assert count <= MAX_CHILDREN or min(sizes) >= 4
