"""Figures of a memory, and the memory up to the spoiler bound."""

import pytest

from gistread.book.model import Book, Chapter, Paragraph
from gistread.book.normalise import count_words
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from tests.memory.books import make_book, prose


def make_memory(pages: int = 4, read: int | None = None) -> GistMemory:
    """Pages of 100 words in chapters of their own, each with a gist of 10."""
    book = make_book(*[["# " + f"Chapter{i}", prose(99, seed=i)] for i in range(1, pages + 1)])
    memory = GistMemory(book, PageSize(50, 150), "fake")
    for number, chapter in enumerate(book.chapters[: pages if read is None else read], start=1):
        words = count_words(book.text[chapter.start : chapter.end])
        gist = " ".join(f"gist{number}x{i}" for i in range(10))
        memory.entries.append(
            MemoryEntry(Page(number, chapter.start, chapter.end, words), Gist(gist, 10, GistSource.MODEL))
        )
    return memory


def test_the_compression_rate_is_defined_as_in_the_paper() -> None:
    memory = make_memory()
    assert memory.compression_rate() == pytest.approx(90.0)


def test_pages_past_the_bound_are_absent() -> None:
    memory = make_memory()
    bound = memory.entry(2).page.end
    told = memory.upto(bound)
    assert [entry.page.number for entry in told.entries] == [1, 2]
    assert told.complete


def test_nothing_past_the_bound_is_reachable() -> None:
    memory = make_memory()
    bound = memory.entry(2).page.start + 60
    told = memory.upto(bound)
    assert told.book.text == memory.book.text[:bound]
    assert max(p.end for p in told.book.paragraphs) <= bound
    assert max(c.end for c in told.book.chapters) <= bound
    assert (told.book.title, told.book.authors) == ("", ())


def test_a_page_across_the_bound_is_cut_and_loses_its_gist() -> None:
    memory = make_memory()
    page = memory.entry(2).page
    bound = page.start + 60
    cut = memory.upto(bound).entry(2)
    assert (cut.page.start, cut.page.end) == (page.start, bound)
    assert cut.page.words == count_words(memory.book.text[page.start : bound])
    assert "gist2" not in cut.gist.text
    assert cut.gist.source is GistSource.EXTRACTIVE
    assert set(cut.gist.text.split()) <= set(memory.book.text[page.start : bound].split())


def test_a_bound_at_the_start_leaves_nothing() -> None:
    assert make_memory().upto(0).entries == []


def test_a_bound_past_the_end_leaves_everything() -> None:
    memory = make_memory()
    assert memory.upto(10**9).entries == memory.entries


def test_a_bound_past_the_last_read_page_leaves_all_read_pages() -> None:
    memory = make_memory(4, read=2)
    told = memory.upto(memory.book.chapters[2].end)
    assert [entry.page.number for entry in told.entries] == [1, 2]
    assert not told.complete


def test_a_title_page_does_not_distort_the_estimated_page_count() -> None:
    text = "A Title\n\n" + "word " * 60_000
    book = Book(text, "A Title", (Paragraph(0, 7), Paragraph(9, len(text))), (Chapter("A Title", 0, len(text)),))
    memory = GistMemory(book, PageSize(280, 600), "none")
    guessed = memory.estimated_pages
    memory.entries.append(MemoryEntry(Page(1, 0, 9, 2), Gist("A Title", 2, GistSource.VERBATIM)))
    assert guessed <= memory.estimated_pages <= 1.5 * guessed
