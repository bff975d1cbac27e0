"""Intervals: of documents, not of questions; the same for the same seed."""

import random

import pytest

from research.evaluation.table import estimate


def values(*documents: list[float]) -> dict[tuple[str, str], float]:
    return {
        (f"d{d}", f"q{q}"): value
        for d, document in enumerate(documents)
        for q, value in enumerate(document)
    }


def test_the_mean_over_questions_is_inside_its_interval() -> None:
    interval = estimate(values([0, 100], [100], [0], [100, 100]))
    assert interval is not None
    assert (interval.mean, interval.questions, interval.documents) == (
        pytest.approx(400 / 6),
        6,
        4,
    )
    assert interval.low is not None
    assert interval.high is not None
    assert 0 <= interval.low < interval.mean < interval.high <= 100


def test_questions_of_one_document_are_resampled_together() -> None:
    chance = random.Random(0)
    alike = [[chance.choice((0.0, 100.0))] * 20 for _ in range(10)]
    clustered = estimate(values(*alike))
    alone = estimate(values(*([value] for document in alike for value in document)))
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
        interval = estimate(values(*drawn), seed=trial, draws=200)
        assert interval is not None
        held += interval.low <= 50 <= interval.high
    assert 175 <= held <= 199
