"""Reading speed: credible samples and their storage."""

from pathlib import Path

import pytest

from gistread.store.pace import DEFAULT_WPM, ModelPaces, Pace, estimate_speed
from tests.folders import paths_in


def read_at(words_per_minute: float, words: float = 200) -> Pace:
    return Pace(words, 60 * words / words_per_minute)


def test_until_enough_is_known_the_usual_pace_is_taken() -> None:
    assert estimate_speed([]) == DEFAULT_WPM
    assert estimate_speed([read_at(400)] * 3) == DEFAULT_WPM


def test_the_pace_is_the_median_so_that_some_slow_and_some_fast_stretches_do_not_move_it() -> (
    None
):
    steady = [read_at(300)] * 20
    assert estimate_speed(steady) == pytest.approx(300)
    assert estimate_speed(
        [*steady, *[read_at(70)] * 5, *[read_at(790)] * 5]
    ) == pytest.approx(300)


def test_the_pace_of_a_model_follows_its_latest_work(tmp_path: Path) -> None:
    paces = ModelPaces(paths_in(tmp_path))
    assert paces.pace("model", "single-pass") is None
    paces.add("model", "single-pass", 100, 10)
    assert paces.pace("model", "single-pass") == Pace(400, 40)
    for _ in range(20):
        paces.add("model", "single-pass", 100, 5)
    slow = paces.pace("model", "single-pass")
    assert slow is not None
    assert slow.words / slow.seconds == pytest.approx(20, rel=0.05)
    assert paces.pace("model", "careful") is None
