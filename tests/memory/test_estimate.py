"""How long it will take."""

import pytest

from gistread.engine.protocol import Usage
from gistread.memory.estimate import Pace, estimate, pace_of
from gistread.memory.model import Entry
from tests.memory.test_model import make_memory


def test_nothing_is_promised_before_anything_was_measured() -> None:
    left = estimate(make_memory(4, read=0), Pace())
    assert left.seconds_left is None
    assert left.pages_left == 4


def test_half_of_the_book_takes_as_long_as_the_other_half() -> None:
    memory = make_memory(4, read=2)
    pace = Pace().after(100, 5.0).after(100, 5.0)
    left = estimate(memory, pace)
    assert left.pages_left == 2
    assert left.seconds_left == pytest.approx(10.0, rel=0.1)


def test_the_pace_follows_the_latest_pages() -> None:
    pace = Pace()
    for _ in range(10):
        pace = pace.after(100, 10.0)
    for _ in range(10):
        pace = pace.after(100, 1.0)
    assert pace.words_per_s == pytest.approx(50, rel=0.2)


def test_nothing_is_left_of_a_book_that_has_been_read() -> None:
    left = estimate(make_memory(3), Pace())
    assert (left.pages_left, left.seconds_left) == (0, 0.0)


def test_a_resumed_memory_knows_its_pace() -> None:
    memory = make_memory(3)
    memory.entries[:] = [Entry(e.page, e.gist, Usage(seconds=2.0)) for e in memory.entries]
    assert pace_of(memory).words_per_s == pytest.approx(50)
