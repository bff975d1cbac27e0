"""The shape of the memory tree: chapters first, then parts."""

from dataclasses import replace

import pytest

from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.memory.tree import MAX_CHILDREN, PageRange, outline
from gistread.words import count_words
from tests.memory.books import make_book, prose


def memory_of(
    pages_by_chapter: list[int], levels: list[int] | None = None
) -> GistMemory:
    """Chapters of so many pages each, a paragraph a page; a chapter of none is a title."""
    chapters = [
        [
            f"# Chapter {index}",
            *(prose(30, seed=100 * index + page) for page in range(pages)),
        ]
        for index, pages in enumerate(pages_by_chapter)
    ]
    book = make_book(*chapters)
    if levels:
        pairs = zip(book.chapters, levels, strict=True)
        book = replace(
            book,
            chapters=tuple(replace(chapter, level=level) for chapter, level in pairs),
        )
    memory = GistMemory(book, PageSize(20, 40), "fake")
    ends = [p.end for p in book.paragraphs if not p.level]
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), start=1):
        gist = f"Page {number} tells."
        memory.entries.append(
            MemoryEntry(
                Page(number, start, end, count_words(book.text[start:end])),
                Gist(gist, 3, GistSource.MODEL),
            )
        )
    return memory


def shape(stretch: PageRange) -> object:
    """Nested lists of page numbers."""
    if stretch.children:
        return [shape(child) for child in stretch.children]
    return stretch.first


@pytest.mark.parametrize(
    "chapters", [[1] * 100, [30] * 10, [0, 3, 9, 1, 17] * 5, [500]]
)
def test_every_page_occurs_once_and_no_node_has_too_many_children(
    chapters: list[int],
) -> None:
    memory = memory_of(chapters)
    top = outline(memory)

    def pages(stretch: PageRange) -> list[int]:
        if stretch.children:
            return [n for child in stretch.children for n in pages(child)]
        return [stretch.first]

    assert pages(top) == [entry.page.number for entry in memory.entries]
    assert all(
        2 <= len(stretch.children) <= MAX_CHILDREN
        for stretch in top.nodes()
        if stretch.children
    )
    assert all(
        (s.first, s.last) == (s.children[0].first, s.children[-1].last)
        for s in top.nodes()
        if s.children
    )
