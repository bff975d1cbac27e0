"""Intervals: of documents, not of questions; the same for the same seed."""

import random

import pytest

from gistread.evaluation.table import difference, estimate


def values(*documents: list[float]) -> dict[tuple[str, str], float]:
    return {(f"d{d}", f"q{q}"): value for d, one in enumerate(documents) for q, value in enumerate(one)}


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
    assert clustered.high - clustered.low > 3 * (alone.high - alone.low)  # type: ignore[operator]


def test_the_interval_has_its_nominal_coverage() -> None:
    chance = random.Random(7)
    held = 0
    for trial in range(200):
        drawn = [[chance.gauss(m, 5) for _ in range(3)] for m in (chance.gauss(50, 10) for _ in range(30))]
        found = estimate(values(*drawn), seed=trial, draws=200)
        assert found is not None
        held += found.low <= 50 <= found.high  # type: ignore[operator]
    assert 175 <= held <= 199


def test_the_interval_depends_on_the_seed_and_not_on_the_order() -> None:
    one = values(*([float(n * n % 17)] * (n % 3 + 1) for n in range(40)))
    turned = dict(reversed(one.items()))
    assert estimate(one, seed=3) == estimate(turned, seed=3)
    assert estimate(one, seed=3) != estimate(one, seed=4)


def test_a_higher_level_has_a_wider_interval() -> None:
    one = values(*([float(n)] for n in range(30)))
    narrow, wide = estimate(one, level=0.5), estimate(one, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[union-attr, operator]


def test_a_difference_covers_the_questions_that_both_have() -> None:
    one, other = values([10, 20], [30], [40]), values([9, 18], [27])
    found = difference(one, other)
    assert found is not None
    assert (found.mean, found.questions) == (2, 3)
    assert found.excludes_zero
    assert not difference(one, one).excludes_zero  # type: ignore[union-attr]
    assert difference(one, {}) is None


def test_questions_of_a_single_document_are_resampled() -> None:
    found = estimate(values([0, 100, 0, 100, 100]))
    assert found is not None
    assert found.documents == 1
    assert found.low is not None
    lonely = estimate(values([100]))
    assert lonely is not None
    assert (lonely.mean, lonely.low, lonely.high, lonely.excludes_zero) == (100, None, None, False)
    assert estimate({}) is None
