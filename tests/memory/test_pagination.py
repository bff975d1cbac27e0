"""The pause points offered to the model, and pages found without it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gistread.book.model import Book
from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE
from gistread.errors import EngineError
from gistread.memory.model import Page, PageSize, Pauses
from gistread.memory.pagination import find_passage, next_page
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose


def words_between(book: Book, start: int, end: int) -> int:
    return count_words(book.text[start:end])


async def all_pages(book: Book, size: PageSize, engine: FakeEngine, pauses: Pauses = Pauses.CHOSEN) -> list[Page]:
    pages: list[Page] = []
    at = 0
    while at < len(book.text):
        page, _ = await next_page(book, at, size, engine, pauses=pauses)
        pages.append(page)
        at = page.end
    return pages


def test_labels_stand_between_paragraphs_after_the_minimum() -> None:
    book = make_book([prose(40, seed=i) for i in range(20)])
    passage = find_passage(book, 0, PageSize(100, 300))
    assert [words_between(book, 0, end) for end in passage.pauses] == [120, 160, 200, 240, 280]
    assert all(book.text[end - 2 : end] == "\n\n" for end in passage.pauses)


def test_a_page_never_crosses_the_end_of_a_chapter() -> None:
    book = make_book([prose(70)], [prose(70, seed=1)])
    passage = find_passage(book, 0, PageSize(100, 300))
    assert passage.pauses == (book.chapters[0].end,)


def test_the_model_still_chooses_if_the_rest_of_a_chapter_fits() -> None:
    book = make_book([prose(50, seed=i) for i in range(6)])
    passage = find_passage(book, 0, PageSize(100, 400))
    assert [words_between(book, 0, end) for end in passage.pauses] == [100, 200, 300]


def test_labels_in_a_conversation_are_few_and_stand_where_a_scene_ends() -> None:
    lines = [prose(10, seed=i) for i in range(70)]
    plain = find_passage(make_book(lines), 0, PageSize(280, 600))
    assert plain.numbers == (28, 35, 42, 49, 56)
    with_heading = find_passage(make_book([*lines[:38], "# Evening", *lines[38:]]), 0, PageSize(280, 600))
    assert with_heading.numbers == (28, 38, 46, 57)


def test_no_label_leaves_a_very_short_rest_of_the_chapter() -> None:
    book = make_book([prose(50, seed=i) for i in range(5)] + [prose(20, seed=9)])
    within = find_passage(book, 0, PageSize(100, 400))
    assert [words_between(book, 0, end) for end in within.pauses] == [100, 200, 270]
    cut_by_the_maximum = find_passage(book, 0, PageSize(100, 260))
    assert [words_between(book, 0, end) for end in cut_by_the_maximum.pauses] == [100, 150, 200]


def test_no_pause_between_a_heading_and_its_text() -> None:
    book = make_book([prose(100), "# Of Whales", *(prose(60, seed=i) for i in range(1, 4))])
    passage = find_passage(book, 0, PageSize(50, 200))
    assert all(not book.text[:end].rstrip().endswith("Of Whales") for end in passage.pauses)


def test_a_chapter_that_is_only_a_heading_is_read_with_the_next() -> None:
    book = make_book(["# PART ONE"], ["# I", prose(80)], ["# II", prose(80, seed=1)])
    assert find_passage(book, 0, PageSize(50, 300)).pauses == (book.chapters[1].end,)


def test_a_long_paragraph_is_divided_at_its_sentences() -> None:
    book = make_book([prose(500)])
    passage = find_passage(book, 0, PageSize(50, 100))
    assert [words_between(book, 0, end) for end in passage.pauses] == [50, 60, 70, 80, 90, 100]
    assert all(book.text[:end].rstrip().endswith(".") for end in passage.pauses)


def test_a_short_beginning_is_filled_with_sentences_of_the_next_paragraph() -> None:
    book = make_book([prose(10), prose(95, seed=1), prose(60, seed=2)])
    passage = find_passage(book, 0, PageSize(50, 100))
    assert [words_between(book, 0, end) for end in passage.pauses] == [50, 60, 70, 80, 90, 100]


def test_a_sentence_longer_than_a_page_is_divided_between_words() -> None:
    book = make_book(["word " * 999 + "word."])
    passage = find_passage(book, 0, PageSize(50, 100))
    assert words_between(book, 0, passage.end) <= 100
    assert book.text[passage.end - 1] == " "


async def test_a_line_without_spaces_is_divided() -> None:
    book = make_book(["x" * 100_000])
    pages = await all_pages(book, PageSize(50, 100), FakeEngine(count=len, context_tokens=4000))
    assert pages[-1].end == len(book.text)
    assert all(page.end - page.start <= 4000 for page in pages)


async def test_three_megabytes_in_one_paragraph_cost_no_more_than_the_page_asked_for() -> None:
    book = make_book([" ".join(f"Sentence number {i} is here." for i in range(110_000))])
    sizes: list[int] = []
    engine = FakeEngine(count=lambda text: sizes.append(len(text)) or len(text) // 4)  # type: ignore[func-returns-value]
    page, _ = await next_page(book, 0, PageSize(280, 600), engine)
    assert 280 <= page.words <= 600
    assert max(sizes) < 10_000


async def test_the_models_choice_is_the_page() -> None:
    book = make_book([prose(40, seed=i) for i in range(20)])
    engine = FakeEngine(chooses=["<5>"])
    page, usage = await next_page(book, 0, PageSize(100, 300), engine)
    assert page == Page(0, 0, find_passage(book, 0, PageSize(100, 300)).pauses[2], 200)
    # The label of a pause is the number of paragraphs before it.
    assert engine.calls[0].options == ("<3>", "<4>", "<5>", "<6>", "<7>")
    assert usage.generated == 1


async def test_a_single_pause_needs_no_request() -> None:
    book = make_book([prose(70)])
    engine = FakeEngine()
    page, usage = await next_page(book, 0, PageSize(100, 300), engine)
    assert (page.end, usage, engine.calls) == (len(book.text), NO_USAGE, [])


async def test_braces_and_labels_in_the_book_are_text() -> None:
    book = make_book(["{passage} <1> <99> " + prose(40), *(prose(40, seed=i) for i in range(1, 10))])
    engine = FakeEngine(chooses=["<3>"])
    page, _ = await next_page(book, 0, PageSize(60, 200), engine)
    assert "{passage} <1> <99>" in engine.calls[0].text
    assert page.end == find_passage(book, 0, PageSize(60, 200)).pauses[1]


async def test_a_passage_beyond_the_window_is_shortened() -> None:
    book = make_book([prose(40, seed=i) for i in range(60)])
    engine = FakeEngine(context_tokens=1000)
    pages = await all_pages(book, PageSize(400, 2000), engine)
    assert pages[-1].end == len(book.text)
    assert all(page.words < 1000 for page in pages)


async def test_a_window_too_small_for_any_page_is_an_error_with_both_numbers() -> None:
    book = make_book([prose(400)])
    with pytest.raises(EngineError, match=r"too small for one page.*\d+ tokens.*has 100\b"):
        await next_page(book, 0, PageSize(280, 600), FakeEngine(context_tokens=100))


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(1, 160), min_size=1, max_size=8), min_size=1, max_size=4),
    low=st.integers(1, 80),
    more=st.integers(0, 100),
    choice=st.integers(0, 5),
)
async def test_pages_cover_the_whole_text_without_gap(
    lengths: list[list[int]], low: int, more: int, choice: int
) -> None:
    book = make_book(*[[prose(words, seed=i) for i, words in enumerate(chapter)] for chapter in lengths])
    engine = FakeEngine(chooses=lambda _, options: min(choice, len(options) - 1))
    pages = await all_pages(book, PageSize(low, low + more), engine)
    assert [page.start for page in pages] == [0, *(page.end for page in pages[:-1])]
    ends = {page.end for page in pages}
    assert all(chapter.end in ends for chapter in book.chapters)
    assert all(0 < page.words <= low + more for page in pages)


async def test_uniform_pages_are_equally_long_without_requests() -> None:
    book = make_book([prose(70, seed=i) for i in range(20)])
    engine = FakeEngine()
    pages = await all_pages(book, PageSize(100, 300), engine, Pauses.UNIFORM)
    assert engine.calls == []
    assert [page.words for page in pages] == [200] * 7
    # They end where a sentence does, whether a paragraph ends there or not.
    assert all(book.text[: page.end].rstrip().endswith(".") for page in pages)
    assert any(not book.text[: page.end].endswith("\n\n") for page in pages[:-1])


async def test_uniform_pages_end_without_a_very_short_page_or_a_heading() -> None:
    book = make_book(["# One", prose(230)], ["# Two", prose(190, seed=1), "# A part", prose(400, seed=2)])
    pages = await all_pages(book, PageSize(200, 200), FakeEngine(), Pauses.UNIFORM)
    assert {chapter.end for chapter in book.chapters} <= {page.end for page in pages}
    assert [page.words for page in pages] == [231, 191, 202, 200]
    assert not any(book.text[: page.end].rstrip().endswith("part") for page in pages)


@settings(max_examples=20, deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(1, 160), min_size=1, max_size=8), min_size=1, max_size=4),
    words=st.integers(1, 120),
)
async def test_uniform_pages_cover_the_whole_text_without_gap(lengths: list[list[int]], words: int) -> None:
    book = make_book(*[[prose(words, seed=i) for i, words in enumerate(chapter)] for chapter in lengths])
    pages = await all_pages(book, PageSize(words, words), FakeEngine(), Pauses.UNIFORM)
    assert [page.start for page in pages] == [0, *(page.end for page in pages[:-1])]
    assert all(0 < page.words <= 1.5 * words + 10 for page in pages)
