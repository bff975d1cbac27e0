"""Intervals: of documents, not of questions; the same for the same seed."""

import random

import pytest

from research.evaluation.table import estimate


def values(*documents: list[float]) -> dict[tuple[str, str], float]:
    return {
        (f"d{d}", f"q{q}"): value for d, one in enumerate(documents) for q, value in enumerate(one)
    }


def test_the_mean_over_questions_is_inside_its_interval() -> None:
    found = estimate(values([0, 100], [100], [0], [100, 100]))
    assert found is not None
    assert (found.mean, found.questions, found.documents) == (pytest.approx(400 / 6), 6, 4)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < found.mean < found.high <= 100


def test_questions_of_one_document_are_resampled_together() -> None:
    chance = random.Random(0)
    alike = [[chance.choice((0.0, 100.0))] * 20 for _ in range(10)]
    clustered = estimate(values(*alike))
    alone = estimate(values(*([value] for one in alike for value in one)))
    assert clustered is not None
    assert alone is not None
    assert clustered.mean == alone.mean
    assert clustered.high - clustered.low > 3 * (alone.high - alone.low)


def test_the_interval_has_its_nominal_coverage() -> None:
    chance = random.Random(7)
    held = 0
    for trial in range(200):
        drawn = [
            [chance.gauss(m, 5) for _ in range(3)]
            for m in (chance.gauss(50, 10) for _ in range(30))
        ]
        found = estimate(values(*drawn), seed=trial, draws=200)
        assert found is not None
        held += found.low <= 50 <= found.high
    assert 175 <= held <= 199
