"""Estimates of the reading time."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.engine.protocol import EngineInfo, Placement, Rates, Usage
from gistread.engine.reading_cost import DEPTH
from gistread.memory.estimate import UNKNOWN_PACE, Pace, expected_pace, pace_of, seconds_to_read
from gistread.memory.model import MemoryEntry, ReadingMethod, ReadingMode
from gistread.memory.sizes import TOKENS_PER_WORD
from gistread.memory.store import MemoryRequest, MemoryStore
from tests.memory.test_model import make_memory


def test_no_estimate_before_a_measurement() -> None:
    assert seconds_to_read(make_memory(4, read=0), Pace()) is None


def test_half_of_the_book_takes_as_long_as_the_other_half() -> None:
    memory = make_memory(4, read=2)
    pace = Pace().after(100, 5.0).after(100, 5.0)
    assert seconds_to_read(memory, pace) == pytest.approx(10.0, rel=0.1)


def test_the_pace_follows_the_latest_pages() -> None:
    pace = Pace()
    for _ in range(10):
        pace = pace.after(100, 10.0)
    for _ in range(10):
        pace = pace.after(100, 1.0)
    assert pace.words_per_s == pytest.approx(50, rel=0.2)


def test_a_complete_book_has_no_time_left() -> None:
    assert seconds_to_read(make_memory(3), Pace()) == 0.0


def test_a_resumed_memory_knows_its_pace() -> None:
    memory = make_memory(3)
    memory.entries[:] = [MemoryEntry(e.page, e.gist, Usage(seconds=2.0)) for e in memory.entries]
    assert pace_of(memory.entries).words_per_s == pytest.approx(50)


MEASURED = EngineInfo("m", "f", 8192, "CPU", parallel=4, rates=Rates(120.0, ((1, 10.0), (4, 20.0))))


def test_the_estimate_before_the_first_page_uses_the_engines_rates() -> None:
    memory = make_memory(4, read=0)
    left_s = seconds_to_read(memory, pace_of(memory.entries, expected_pace(MEASURED, ReadingMode.SINGLE_PASS)))
    assert left_s == pytest.approx(memory.book.words * TOKENS_PER_WORD * DEPTH * (1.2 / 120 + 0.2 / 10))


def test_a_graphics_card_is_expected_to_decode_all_gists_together() -> None:
    card = replace(MEASURED, placement=Placement(33, 33, 8192, "f16", 512, 4, True))
    per_token = 1 / (TOKENS_PER_WORD * (expected_pace(card, ReadingMode.SINGLE_PASS).words_per_s or 0))
    assert per_token == pytest.approx(DEPTH * (1.2 / 120 + 0.2 / 20))


def test_a_book_whose_words_take_more_tokens_takes_longer() -> None:
    memory = make_memory(4, read=0)
    usual, longer = (
        seconds_to_read(memory, expected_pace(MEASURED, ReadingMode.SINGLE_PASS, tokens)) or 0
        for tokens in (TOKENS_PER_WORD, 2 * TOKENS_PER_WORD)
    )
    assert longer == pytest.approx(2 * usual)


def test_careful_reading_is_expected_to_take_longer() -> None:
    memory = make_memory(4, read=0)
    single, careful = (seconds_to_read(memory, expected_pace(MEASURED, way)) or 0 for way in reversed(ReadingMode))
    assert careful == pytest.approx(single * (1.6 / 120 + 0.2 / 10) / (1.2 / 120 + 0.2 / 10))


def test_an_unmeasured_engine_has_no_expected_pace() -> None:
    assert expected_pace(EngineInfo("m", "f", 8192, "CPU"), ReadingMode.CAREFUL).words_per_s is None


def test_measured_pages_soon_outweigh_the_expected_pace() -> None:
    pace = expected_pace(MEASURED, ReadingMode.SINGLE_PASS)
    for _ in range(3):
        pace = pace.after(400, 400.0)
    assert pace.words_per_s == pytest.approx(1.0, rel=0.06)


def test_a_model_is_expected_to_read_as_fast_as_it_read_another_book(tmp_path: Path) -> None:
    store, read = MemoryStore(tmp_path), make_memory(4)
    request = MemoryRequest("m", "f", read.size, ReadingMethod(ReadingMode.SINGLE_PASS))
    assert store.past_pace("f", ReadingMode.SINGLE_PASS) == UNKNOWN_PACE
    with store.open(read.book, request) as writer:
        for entry in read.entries:
            writer.add(MemoryEntry(entry.page, entry.gist, Usage(seconds=2.0)))
    assert store.past_pace("f", ReadingMode.SINGLE_PASS).words_per_s == pytest.approx(50)
    assert store.past_pace("f", ReadingMode.CAREFUL) == UNKNOWN_PACE
    assert store.past_pace("another", ReadingMode.SINGLE_PASS) == UNKNOWN_PACE
