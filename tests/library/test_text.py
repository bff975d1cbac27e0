"""Formatting of progress and times."""

from datetime import datetime, timedelta

import pytest

from gistread.library.figures import relative_time
from gistread.units import progress_bar

NOW = datetime(2026, 3, 2, 0, 30)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=-5000), "just now"),
        (timedelta(seconds=20), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(minutes=50), "50 min ago"),
        (timedelta(hours=2), "yesterday"),
        (timedelta(hours=24), "yesterday"),
        (timedelta(hours=25), "2 days ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=15), "2 weeks ago"),
        (timedelta(days=200), "Aug 2025"),
    ],
)
def test_times_are_shown_relative_to_now(ago: timedelta, words: str) -> None:
    assert relative_time((NOW - ago).timestamp(), NOW.timestamp()) == words


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0, "────"), (0.001, "━───"), (0.5, "━━──"), (0.999, "━━━─"), (1, "━━━━")],
)
def test_a_bar_is_empty_only_at_0_and_full_only_at_100_percent(
    share: float, drawn: str
) -> None:
    assert progress_bar(share, 4) == drawn
