"""Reading figures: what was recorded by day, and when a book will be finished."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from gistread.library.entries import LibraryEntry
from gistread.library.figures import (
    Figures,
    describe_book_figures,
    describe_figures,
    reading_figures,
)
from gistread.store.user_data import UserData
from tests.folders import paths_in

TODAY = date(2026, 11, 22)
BOOK, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def user_data(tmp_path: Path) -> UserData:
    data = UserData(paths_in(tmp_path))
    for sha256, title in ((BOOK, "The Lamp"), (OTHER, "The Door")):
        data.record_opening(sha256, title=title, authors=(), length=1000, path=None)
    return data


def read(
    data: UserData,
    sha256: str,
    monkeypatch: pytest.MonkeyPatch,
    *days: tuple[int, float, float],
) -> None:
    """Record (days ago, words, minutes)."""
    for ago, words, minutes in days:
        day = TODAY - timedelta(days=ago)
        monkeypatch.setattr(
            "gistread.store.user_data.date",
            type("Date", (date,), {"today": staticmethod(lambda d=day: d)}),
        )
        data.add_reading(sha256, words, 60 * minutes)


def figures(data: UserData) -> Figures:
    lamp = LibraryEntry(
        "The Lamp", (), None, sha256=BOOK, words=40_000, length=1000, position=250
    )
    return reading_figures(data, [lamp], TODAY)


def test_days_add_up(user_data: UserData, monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock goes forward a week and back again: each day keeps its own sum.
    read(user_data, BOOK, monkeypatch, (0, 100, 1), (-7, 70, 1), (0, 50, 0.5))
    assert [
        (reading_day.day, reading_day.words, reading_day.seconds)
        for reading_day in user_data.reading_days()[BOOK]
    ] == [
        ("2026-11-22", 150, 90),
        ("2026-11-29", 70, 60),
    ]
    for _ in range(60):
        user_data.add_reading(BOOK, 1, 1)
    assert user_data.reading_days()[BOOK][0].words == 210


def test_today_the_week_and_each_book(
    user_data: UserData, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(
        user_data,
        BOOK,
        monkeypatch,
        (0, 2400, 10),
        (6, 2400, 10),
        (7, 4800, 20),
        (-3, 240, 1),
    )
    read(user_data, OTHER, monkeypatch, (6, 2000, 10))
    shown = figures(user_data)
    assert shown.today_s == 600
    assert shown.week == (1200, 0, 0, 0, 0, 0, 600)
    lamp, door = shown.books
    assert (lamp.title, lamp.seconds, lamp.words_per_minute, lamp.share) == (
        "The Lamp",
        41 * 60,
        240,
        0.25,
    )
    assert (door.title, door.last_day) == ("The Door", TODAY - timedelta(days=6))
    today, week = describe_figures(shown)
    assert today == "Today: 10 min"
    assert week == "Last 7 days: 30 min  ▇·····▄"
    assert describe_book_figures(lamp) == "41 min · 240 words a minute · 25%"
