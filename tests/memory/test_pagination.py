"""The pause points offered to the model, and pages found without it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gistread.book.model import Book
from gistread.errors import EngineError, NoChoiceError
from gistread.memory.model import Page, PageSize
from gistread.memory.pagination import find_passage, next_page
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose


async def all_pages(book: Book, size: PageSize, engine: FakeEngine) -> list[Page]:
    pages: list[Page] = []
    at = 0
    while at < len(book.text):
        page, _ = await next_page(book, at, size, engine)
        pages.append(page)
        at = page.end
    return pages


def test_a_page_never_crosses_the_end_of_a_chapter() -> None:
    book = make_book([prose(70)], [prose(70, seed=1)])
    passage = find_passage(book, 0, PageSize(100, 300))
    assert passage.pauses == (book.chapters[0].end,)


async def test_three_megabytes_in_one_paragraph_cost_no_more_than_the_page_asked_for() -> (
    None
):
    book = make_book(
        [" ".join(f"Sentence number {i} is here." for i in range(110_000))]
    )
    sizes: list[int] = []
    engine = FakeEngine(count=lambda text: sizes.append(len(text)) or len(text) // 4)
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


async def test_a_choice_that_the_model_misses_costs_a_page_its_pause_and_nothing_else() -> (
    None
):
    def chosen(text: str, options: Sequence[str]) -> int:
        raise NoChoiceError("It named none.")

    book = make_book([prose(40, seed=i) for i in range(20)])
    pages = await all_pages(book, PageSize(100, 300), FakeEngine(chooses=chosen))
    assert pages[0].end == find_passage(book, 0, PageSize(100, 300)).pauses[-1]
    assert pages[-1].end == len(book.text)


async def test_a_passage_beyond_the_window_is_shortened() -> None:
    book = make_book([prose(40, seed=i) for i in range(60)])
    engine = FakeEngine(context_tokens=1000)
    pages = await all_pages(book, PageSize(400, 2000), engine)
    assert pages[-1].end == len(book.text)
    assert all(page.words < 1000 for page in pages)


async def test_a_window_too_small_for_any_page_is_an_error_with_both_numbers() -> None:
    book = make_book([prose(400)])
    with pytest.raises(
        EngineError, match=r"too small for one page.*\d+ tokens.*has 100\b"
    ):
        await next_page(book, 0, PageSize(280, 600), FakeEngine(context_tokens=100))


@settings(max_examples=12)
@given(
    lengths=st.lists(
        st.lists(st.integers(1, 160), min_size=1, max_size=6), min_size=1, max_size=4
    ),
    low=st.integers(1, 80),
    more=st.integers(0, 100),
    choice=st.integers(0, 5),
)
async def test_pages_cover_the_whole_text_without_gap(
    lengths: list[list[int]], low: int, more: int, choice: int
) -> None:
    book = make_book(
        *[
            [prose(words, seed=i) for i, words in enumerate(chapter)]
            for chapter in lengths
        ]
    )
    engine = FakeEngine(chooses=lambda _, options: min(choice, len(options) - 1))
    pages = await all_pages(book, PageSize(low, low + more), engine)
    assert [page.start for page in pages] == [0, *(page.end for page in pages[:-1])]
    ends = {page.end for page in pages}
    assert all(chapter.end in ends for chapter in book.chapters)
    assert all(0 < page.words <= low + more for page in pages)
