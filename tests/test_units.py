"""Sizes and durations."""

import pytest

from gistread.units import format_duration, format_size


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


def test_a_size_has_two_or_three_digits() -> None:
    assert [format_size(size) for size in (512, 98_000_000, 999_600_000)] == ["1 kB", "98 MB", "1.0 GB"]
