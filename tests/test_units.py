"""Sizes and durations."""

import pytest

from gistread.units import format_duration


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
