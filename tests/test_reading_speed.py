"""Reading speed: credible samples and their storage."""

from pathlib import Path

import pytest

from gistread.errors import StorageError
from gistread.journal import Journal
from gistread.reading_speed import DEFAULT_WPM, ReadingSpeedFile, SpeedSample, estimate_speed


def read_at(words_per_minute: float, words: float = 200) -> SpeedSample:
    return SpeedSample(words, 60 * words / words_per_minute)


def test_until_enough_is_known_the_usual_pace_is_taken() -> None:
    assert estimate_speed([]) == DEFAULT_WPM
    assert estimate_speed([read_at(400)] * 3) == DEFAULT_WPM


def test_the_pace_is_the_median_so_that_some_slow_and_some_fast_stretches_do_not_move_it() -> None:
    steady = [read_at(300)] * 20
    assert estimate_speed(steady) == pytest.approx(300)
    assert estimate_speed([*steady, *[read_at(70)] * 5, *[read_at(790)] * 5]) == pytest.approx(300)


def test_what_nobody_reads_at_counts_for_nothing() -> None:
    assert estimate_speed([read_at(5)] * 50) == DEFAULT_WPM
    assert estimate_speed([read_at(5000)] * 50) == DEFAULT_WPM
    assert estimate_speed([SpeedSample(200, 0)] * 50) == DEFAULT_WPM


def test_a_person_who_becomes_faster_is_believed() -> None:
    assert estimate_speed([*[read_at(200)] * 100, *[read_at(320)] * 40]) == pytest.approx(320)


def test_each_language_has_its_own_pace_and_its_regions_share_it(tmp_path: Path) -> None:
    user_data = ReadingSpeedFile(tmp_path / "data" / "pace.jsonl")
    assert user_data.samples("en") == []
    user_data.add("en-GB", [read_at(300)] * 10)
    user_data.add("de", [read_at(180)] * 10)
    assert estimate_speed(user_data.samples("en-US")) == pytest.approx(300)
    assert estimate_speed(user_data.samples("de-AT")) == pytest.approx(180)
    assert estimate_speed(user_data.samples("")) == DEFAULT_WPM


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "pace.jsonl"
    user_data = ReadingSpeedFile(file)
    user_data.add("de", [read_at(180)] * 10)
    for _ in range(60):
        user_data.add("en", [read_at(300)] * 20)
    assert len(file.read_bytes().splitlines()) < 450
    assert estimate_speed(user_data.samples("de")) == pytest.approx(180)


def test_a_file_of_a_later_version_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "pace.jsonl"
    with Journal(file) as journal:
        journal.append({"kind": "pace", "version": 2, "language": "en", "words": 1, "seconds": 1})
    before = file.read_bytes()
    with pytest.raises(StorageError):
        ReadingSpeedFile(file).add("en", [read_at(300)])
    assert file.read_bytes() == before
