"""The choice of page sizes."""

import pytest

from gistread.errors import EngineError, UsageError
from gistread.memory.model import PageSize
from gistread.memory.sizes import PAGE_SIZES, choose_size, measure_tokens_per_word
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book, prose


@pytest.mark.parametrize(
    ("book_words", "context_tokens", "name"),
    [
        (8_000, 8_192, "quality"),
        (120_000, 32_768, "script"),
        (70_000, 131_072, "quality"),
        (800_000, 131_072, "novel"),
    ],
)
def test_the_smallest_pages_whose_gists_leave_room_for_two_open_pages(
    book_words: int, context_tokens: int, name: str
) -> None:
    assert choose_size(book_words, context_tokens) == PAGE_SIZES[name]


def test_a_very_long_memory_leaves_half_of_the_window_to_open_pages() -> None:
    assert choose_size(566_000, 8_192) == PAGE_SIZES["script"]


def test_a_small_window_makes_small_pages() -> None:
    size = choose_size(8_000, 2_048)
    assert 2 * size.max_words * 1.5 < 2_048 / 2
    assert 1 <= size.min_words < size.max_words


def test_sizes_set_by_the_user_are_kept() -> None:
    assert choose_size(8_000, 8_192, min_words=100, max_words=200) == PageSize(100, 200)
    assert choose_size(8_000, 8_192, max_words=150) == PageSize(70, 150)
    assert choose_size(8_000, 8_192, min_words=900) == PageSize(900, 900)


@pytest.mark.parametrize(("low", "high"), [(0, None), (None, 0), (300, 200), (-1, 5)])
def test_impossible_sizes_are_usage_errors(low: int | None, high: int | None) -> None:
    with pytest.raises(UsageError):
        choose_size(8_000, 8_192, min_words=low, max_words=high)


@pytest.mark.parametrize(("context", "high"), [(512, None), (2_048, 5_000)])
def test_a_window_too_small_for_one_page_is_an_error_with_both_numbers(context: int, high: int | None) -> None:
    with pytest.raises(EngineError, match=rf"too small for one page.* \d+ tokens.* has {context}\b"):
        choose_size(8_000, context, max_words=high)


async def test_tokens_per_word_are_measured_on_the_book() -> None:
    book = make_book([prose(3_000)])
    assert await measure_tokens_per_word(book, FakeEngine(count=lambda text: 3 * len(text.split()))) == pytest.approx(3)
    half = make_book([prose(3_000).replace("w", "q"), prose(3_000)])
    doubled = FakeEngine(count=lambda text: len(text.split()) + sum("q" in word for word in text.split()))
    assert 1.1 < await measure_tokens_per_word(half, doubled) < 1.9, "of more than one place in the book"
    assert await measure_tokens_per_word(make_book(["x"]), FakeEngine(count=lambda text: 0)) == 1
