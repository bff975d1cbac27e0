"""Estimates of the reading time."""

import random
from dataclasses import replace

import pytest

from gistread.engine.protocol import Usage
from gistread.memory.model import MemoryEntry
from gistread.memory.sizes import pace_of, seconds_to_read
from gistread.store.pace import Pace
from tests.memory.test_model import make_memory


def test_the_pace_follows_the_latest_pages() -> None:
    memory = make_memory(70)
    seconds = [10.0] * 10 + [1.0] * 60
    memory.entries[:] = [
        MemoryEntry(e.page, e.gist, Usage(seconds=page_seconds))
        for e, page_seconds in zip(memory.entries, seconds, strict=True)
    ]
    assert pace_of(memory.entries).words_per_s == pytest.approx(100, rel=0.4)


def test_a_resumed_memory_knows_its_pace() -> None:
    memory = make_memory(3)
    memory.entries[:] = [
        MemoryEntry(e.page, e.gist, Usage(seconds=2.0)) for e in memory.entries
    ]
    assert pace_of(memory.entries).words_per_s == pytest.approx(50)


def test_this_books_own_pages_soon_count_more_than_other_books() -> None:
    memory = make_memory(20)
    memory.entries[:] = [
        MemoryEntry(e.page, e.gist, Usage(seconds=10.0)) for e in memory.entries
    ]
    assert pace_of([], Pace(400, 8.0)).words_per_s == pytest.approx(50)
    assert pace_of(memory.entries, Pace(400, 8.0)).words_per_s == pytest.approx(
        10, rel=0.3
    )


def test_after_a_tenth_of_a_book_the_time_left_is_right_to_a_third() -> None:
    dice = random.Random(3)
    memory = make_memory(200, read=0)
    pages = [dice.choice((2.0, 3.0, 4.0, 9.0)) for _ in range(200)]
    entries = [
        replace(entry, usage=Usage(seconds=seconds))
        for entry, seconds in zip(make_memory(200).entries, pages, strict=True)
    ]
    for read in range(21, 151):
        memory.entries[:] = entries[:read]
        left_s = seconds_to_read(memory, pace_of(memory.entries))
        assert left_s == pytest.approx(sum(pages[read:]), rel=1 / 3)
