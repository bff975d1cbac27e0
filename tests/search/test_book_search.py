"""The three search modes of a book return correct ranges."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gistread.book.model import Book, Chapter, Paragraph
from gistread.search.book_search import (
    BookSearch,
    PatternError,
    SearchCancelled,
    SearchHits,
    SearchMode,
)
from tests.tui.books import long_book, small_book


def texts(hits: SearchHits) -> list[str]:
    text = small_book().text
    return [text[slice(*hits.span(index))] for index in range(len(hits))]


def test_exact_hits_are_in_order_and_may_cross_paragraphs() -> None:
    search = BookSearch(small_book())
    assert (
        texts(search.find("under the stair", SearchMode.EXACT))
        == ["under the stair"] * 2
    )
    assert texts(search.find("once. she trimmed", SearchMode.EXACT)) == [
        "once.\n\nShe trimmed"
    ]


def test_ranked_hits_are_sentences_best_first() -> None:
    search = BookSearch(small_book())
    hits = search.find("who relit the lamps with matches", SearchMode.RANKED)
    assert "wet matches" in texts(hits)[0]
    text = small_book().text
    assert {text[slice(*part)].lower() for part in hits.marked(0)} >= {
        "matches",
        "with",
    }
    for index in range(len(hits)):
        start, end = hits.span(index)
        assert text[start:end] == text[start:end].strip() != ""


def test_expressions_are_matched_or_refused() -> None:
    search = BookSearch(small_book())
    assert texts(search.find(r"\bT\w+s\b", SearchMode.REGEX)) == ["Tomas"] * 3
    with pytest.raises(PatternError):
        search.find("(", SearchMode.REGEX)


def test_an_expression_is_found_while_another_index_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = BookSearch(small_book())
    building, done = threading.Event(), threading.Event()

    def build(*_: object) -> None:
        building.set()
        done.wait(10)

    monkeypatch.setattr("gistread.search.book_search.Ranker", build)
    with ThreadPoolExecutor(2) as threads:
        try:
            threads.submit(search.prepare, SearchMode.RANKED)
            assert building.wait(10)
            search_in_thread = threads.submit(search.find, "Tomas", SearchMode.REGEX)
            assert len(search_in_thread.result(5)) == 3
        finally:
            done.set()


def test_a_cancelled_search_ends() -> None:
    with pytest.raises(SearchCancelled):
        BookSearch(long_book()).find("the", SearchMode.EXACT, stopped=lambda: True)


def test_a_hit_is_found_by_its_offset() -> None:
    hits = BookSearch(small_book()).find("tea", SearchMode.EXACT)
    assert len(hits) == 2
    assert [
        hits.index_at(at) for at in (0, hits.starts[0] + 1, hits.starts[1] + 1)
    ] == [0, 1, 2]
    assert list(hits.between(hits.starts[1], hits.starts[1] + 1)) == [1]
    assert SearchHits().index_at(5) == 0


def test_a_book_that_is_one_long_paragraph_is_ranked_in_linear_time() -> None:
    text = "wort " * 60_000 + "ende"
    book = Book(text, "", (Paragraph(0, len(text)),), (Chapter("", 0, len(text)),))
    started = time.process_time()
    assert len(BookSearch(book).find("wort", SearchMode.RANKED)) == 1
    assert time.process_time() - started < 5
