"""Widths agree with Rich's, and no character that a terminal obeys gets through."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gistread.tui.text.cells import clean, crop, fit, index_at, is_narrow

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


@pytest.mark.parametrize("code", [*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xD800, 0xDFFF])
def test_controls_and_lone_surrogates_never_reach_the_screen(code: int) -> None:
    shown = clean(f"a{chr(code)}b")
    assert shown[0] == "a"
    assert shown[2] == "b"
    assert shown[1] in " \ufffd"
    shown.encode("utf-8")


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200f", "\u00ad", "\ufeff"])
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


@given(ANYTHING.map(clean), st.integers(0, 20))
def test_a_cropped_text_fits(text: str, width: int) -> None:
    assert cell_len(crop(text, width)) <= width


def test_a_cell_names_the_character_over_it() -> None:
    assert [index_at("a字b", cell) for cell in range(5)] == [0, 1, 1, 2, 3]
    assert [index_at("e\u0301x", cell) for cell in range(3)] == [0, 2, 3]
    assert index_at("abc", -1) == 0
