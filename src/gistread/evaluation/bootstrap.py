"""Means with confidence intervals, and differences between two readers over the same questions.

Questions about one document are not independent, so documents are resampled: the percentile bootstrap over clusters
(Efron and Tibshirani, 1993, chapters 13 and 8).
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

Key = tuple[str, str]  # Document and question


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions, and its confidence interval for other documents of this kind."""

    mean: float
    low: float | None  # None, like `high`, for a single question
    high: float | None
    questions: int
    documents: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def estimate(values: Mapping[Key, float], *, seed: int = 0, draws: int = 2000, level: float = 0.95) -> Estimate | None:
    """The mean and its interval, by drawing documents, or the questions of a single one. None without values."""
    if not values:
        return None
    of_document: dict[str, list[float]] = defaultdict(list)
    for (document, _), value in sorted(values.items()):  # independent of the order in which a run was resumed
        of_document[document].append(value)
    clusters = list(of_document.values())
    documents = len(clusters)
    if documents == 1:
        clusters = [[value] for value in clusters[0]]
    mean = math.fsum(values.values()) / len(values)
    if len(clusters) == 1:
        return Estimate(mean, None, None, len(values), documents)
    low, high = _interval(clusters, seed, draws, level)
    return Estimate(mean, low, high, len(values), documents)


def difference(
    one: Mapping[Key, float], other: Mapping[Key, float], *, seed: int = 0, draws: int = 2000, level: float = 0.95
) -> Estimate | None:
    """The mean of `one` − `other` over their common questions, and its interval; as `estimate`."""
    shared = {key: value - other[key] for key, value in one.items() if key in other}
    return estimate(shared, seed=seed, draws=draws, level=level)


def _interval(clusters: list[list[float]], seed: int, draws: int, level: float) -> tuple[float, float]:
    import numpy as np  # slow to import

    sums = np.array([sum(cluster) for cluster in clusters])
    counts = np.array([len(cluster) for cluster in clusters])
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(clusters), (draws, len(clusters)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    tail = 50 * (1 - level)
    low, high = np.percentile(means, (tail, 100 - tail))
    return float(low), float(high)
