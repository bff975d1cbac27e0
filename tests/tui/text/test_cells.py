"""Widths agree with Rich's, and no character that a terminal obeys gets through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gistread.tui.text.cells import clean, fit, is_narrow

ANYTHING = st.text(max_size=80)


def test_every_narrow_character_takes_one_cell_and_is_safe() -> None:
    for code in range(0x10000):
        character = chr(code)
        if character != "\n" and is_narrow(character) and not character.isascii():
            assert cell_len(character) == 1, hex(code)
            assert clean(character) == character
            assert not unicodedata.combining(character), hex(code)


@given(ANYTHING)
def test_cleaning_keeps_the_length_and_is_done_at_once(text: str) -> None:
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200f", "\u00ad", "\ufeff"]
)
def test_direction_overrides_and_soft_hyphens_become_invisible(character: str) -> None:
    assert clean(f"a{character}b") == "a\u2060b"


def test_a_joiner_stays_between_emoji_only() -> None:
    assert clean("👩\u200d👧") == "👩\u200d👧"
    assert cell_len(clean("a\u200db")) == 2


@given(ANYTHING.map(clean), st.integers(1, 20))
def test_fitting_returns_at_least_one_character(text: str, width: int) -> None:
    if text:
        end = fit(text, 0, len(text), width)
        assert end > 0
        assert cell_len(text[:end]) <= max(width, 2)
