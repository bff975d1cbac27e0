"""The choice of page sizes."""

import pytest

from gistread.errors import EngineError, UsageError
from gistread.memory.sizes import PAGE_SIZES, choose_size


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


@pytest.mark.parametrize(("low", "high"), [(0, None), (None, 0), (300, 200), (-1, 5)])
def test_impossible_sizes_are_usage_errors(low: int | None, high: int | None) -> None:
    with pytest.raises(UsageError):
        choose_size(8_000, 8_192, min_words=low, max_words=high)


@pytest.mark.parametrize(("context", "high"), [(512, None), (2_048, 5_000)])
def test_a_window_too_small_for_one_page_is_an_error_with_both_numbers(
    context: int, high: int | None
) -> None:
    with pytest.raises(
        EngineError, match=rf"too small for one page.* \d+ tokens.* has {context}\b"
    ):
        choose_size(8_000, context, max_words=high)
