"""Durations and paces."""

import pytest

from gistread.units import format_duration, format_rate


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 s"),
        (40.4, "40 s"),
        (89, "89 s"),
        (90, "2 min"),
        (3540, "59 min"),
        (3600, "1 h"),
        (7800, "2 h 10 min"),
        (36_000, "10 h"),
        (139_000, "39 h"),
    ],
)
def test_a_duration_is_as_exact_as_people_need(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("tokens_per_s", "text"),
    [
        (152.4, "152 tok/s"),
        (10.0, "10 tok/s"),
        (2.34, "2.3 tok/s"),
        (0.4, "2.5 s a token"),
        (0.02, "50 s a token"),
    ],
)
def test_a_slow_pace_is_never_shown_as_zero(tokens_per_s: float, text: str) -> None:
    assert format_rate(tokens_per_s) == text
