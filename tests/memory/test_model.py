"""Figures of a memory, and the memory up to the spoiler bound."""

import gc
import weakref

import pytest

from gistread.engine.protocol import EngineInfo
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
    ReadingMode,
    usual_reading_mode,
)
from gistread.prompts import TRAINED
from gistread.words import count_words
from tests.memory.books import make_book, prose


def make_memory(pages: int = 4, read: int | None = None) -> GistMemory:
    """Pages of 100 words in chapters of their own, each with a gist of 10."""
    book = make_book(
        *[["# " + f"Chapter{i}", prose(99, seed=i)] for i in range(1, pages + 1)]
    )
    memory = GistMemory(book, PageSize(50, 150), "fake")
    for number, chapter in enumerate(
        book.chapters[: pages if read is None else read], start=1
    ):
        words = count_words(book.text[chapter.start : chapter.end])
        gist = " ".join(f"gist{number}x{i}" for i in range(10))
        memory.entries.append(
            MemoryEntry(
                Page(number, chapter.start, chapter.end, words),
                Gist(gist, 10, GistSource.MODEL),
            )
        )
    return memory


def test_equal_bounds_share_one_copy_of_the_text_while_it_is_used() -> None:
    memory = make_memory()
    bound = memory.entry(2).page.end
    bounded = memory.upto(bound)
    assert memory.upto(bound).book is bounded.book
    assert memory.upto(bound - 1).book is not bounded.book
    used = weakref.ref(bounded.book)
    del bounded
    gc.collect()
    assert used() is None


def test_pages_past_the_bound_are_absent() -> None:
    memory = make_memory()
    bound = memory.entry(2).page.end
    bounded = memory.upto(bound)
    assert [entry.page.number for entry in bounded.entries] == [1, 2]
    assert bounded.complete


def test_nothing_past_the_bound_is_reachable() -> None:
    memory = make_memory()
    bound = memory.entry(2).page.start + 60
    bounded = memory.upto(bound)
    assert bounded.book.text == memory.book.text[:bound]
    assert max(p.end for p in bounded.book.paragraphs) <= bound
    assert max(c.end for c in bounded.book.chapters) <= bound
    assert (bounded.book.title, bounded.book.authors) == ("", ())


def test_a_page_across_the_bound_is_cut_and_loses_its_gist() -> None:
    memory = make_memory()
    page = memory.entry(2).page
    bound = page.start + 60
    cut = memory.upto(bound).entry(2)
    assert (cut.page.start, cut.page.end) == (page.start, bound)
    assert cut.page.words == count_words(memory.book.text[page.start : bound])
    assert "gist2" not in cut.gist.text
    assert cut.gist.source is GistSource.EXTRACTIVE
    assert set(cut.gist.text.split()) <= set(
        memory.book.text[page.start : bound].split()
    )


@pytest.mark.parametrize(
    ("parameters", "wording", "expected"),
    [
        (1_500_000_000, "", ReadingMode.CAREFUL),
        (135_000_000, TRAINED, ReadingMode.SINGLE_PASS),
        (14_000_000_000, "", ReadingMode.SINGLE_PASS),
        (0, "", ReadingMode.SINGLE_PASS),
    ],
)
def test_small_models_read_each_page_on_its_own(
    parameters: int, wording: str, expected: ReadingMode
) -> None:
    info = EngineInfo("any", "f", 8192, "CPU", parameters=parameters, wording=wording)
    assert usual_reading_mode(info) is expected
