"""The outcomes of a run as a table of readers and metrics, beside a baseline.

Means have intervals, and so have paired differences from the baseline. Questions about one document
are not independent, so documents are resampled: the percentile bootstrap over clusters (Efron and
Tibshirani, 1993, chapters 13 and 8).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from research.evaluation.metrics import COSTS, METRICS
from research.evaluation.outcomes import AnsweredQuestion

Key = tuple[str, str]  # Document and question
_MIDDLE = 50  # Per cent
_THREE_DIGITS = 100  # From here on, no decimals
_LEAST_WIDTH = 3  # Of a column in Markdown: `---`


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions, and its confidence interval for the population of documents."""

    mean: float
    low: float | None  # None, like `high`, for a single question
    high: float | None
    questions: int
    documents: int

    @property
    def excludes_zero(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0


def estimate(
    values: Mapping[Key, float],
    *,
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> Estimate | None:
    """The mean and its interval, by drawing documents, or the questions of a single one.

    None without values.
    """
    if not values:
        return None
    of_document: dict[str, list[float]] = defaultdict(list)
    # Independent of the order in which a run was resumed
    for (document, _), value in sorted(values.items()):
        of_document[document].append(value)
    clusters = list(of_document.values())
    documents = len(clusters)
    if documents == 1:
        clusters = [[value] for value in clusters[0]]
    mean = math.fsum(values.values()) / len(values)
    if len(clusters) == 1:
        return Estimate(mean, None, None, len(values), documents)
    import numpy as np  # slow to import

    sums = np.array([sum(cluster) for cluster in clusters])
    counts = np.array([len(cluster) for cluster in clusters])
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(clusters), (draws, len(clusters)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    tail = _MIDDLE * (1 - level)
    low, high = np.percentile(means, (tail, 100 - tail))
    return Estimate(mean, float(low), float(high), len(values), documents)


def difference(
    first: Mapping[Key, float], other: Mapping[Key, float], *, seed: int = 0
) -> Estimate | None:
    """The mean of `first` − `other` over their common questions, as `estimate` gives it."""
    shared = {key: value - other[key] for key, value in first.items() if key in other}
    return estimate(shared, seed=seed)


# Marks of differences
BETTER = "▲"
WORSE = "▼"
UNSURE = ""  # The interval contains zero
FEWEST = 10  # With fewer questions, a bootstrap interval is too narrow to be trusted


@dataclass(frozen=True, slots=True)
class Row:
    name: str  # Reader, and the run if there are several
    questions: int
    documents: int
    figures: Mapping[str, Estimate]  # By metric, if it applies to any question
    against_baseline: Mapping[str, Estimate]  # Differences from the baseline, by metric
    baseline: str  # Name of the row it is compared with, or empty


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[Row, ...]
    # Metrics of answers that any row has, most informative first
    metrics: tuple[str, ...]
    costs: tuple[str, ...]


def tabulate(
    outcomes: Mapping[str, Sequence[AnsweredQuestion]],
    metrics: Sequence[str],
    baselines: Mapping[str, str],
    *,
    seed: int = 0,
) -> Table:
    """The table of these outcomes by row. `baselines` names the row that each is compared with."""
    values_of_rows = {name: _values(answers) for name, answers in outcomes.items()}
    measured = set().union(*values_of_rows.values())
    applicable = [
        name for name in dict.fromkeys((*metrics, *COSTS)) if name in measured
    ]
    rows: list[Row] = []
    for name, answers in outcomes.items():
        values = values_of_rows[name]
        baseline = baselines.get(name, "")
        baseline_values = values_of_rows.get(baseline, {})
        own_metrics = [metric for metric in applicable if metric in values]
        row = Row(
            name,
            questions=len(answers),
            documents=len({answered.outcome.document for answered in answers}),
            figures=_means(own_metrics, values, seed),
            against_baseline=_gains(own_metrics, values, baseline_values, seed),
            baseline=baseline if baseline_values else "",
        )
        rows.append(row)
    answer_metrics = tuple(name for name in applicable if name not in COSTS)
    costs = tuple(name for name in applicable if name in COSTS)
    return Table(tuple(rows), answer_metrics, costs)


ValuesByMetric = Mapping[str, Mapping[Key, float]]


def _means(
    metrics: Iterable[str], values: ValuesByMetric, seed: int
) -> dict[str, Estimate]:
    """The mean of each metric."""
    means: dict[str, Estimate] = {}
    for metric in metrics:
        mean = estimate(values[metric], seed=seed)
        if mean is not None:
            means[metric] = mean
    return means


def _gains(
    metrics: Iterable[str], values: ValuesByMetric, baseline: ValuesByMetric, seed: int
) -> dict[str, Estimate]:
    """The difference of each metric from a baseline, if both have it for some questions."""
    gains: dict[str, Estimate] = {}
    for metric in metrics:
        if metric not in baseline:
            continue
        gain = difference(values[metric], baseline[metric], seed=seed)
        if gain is not None:
            gains[metric] = gain
    return gains


def _values(outcomes: Iterable[AnsweredQuestion]) -> dict[str, dict[Key, float]]:
    """The value of each metric for each question."""
    values: dict[str, dict[Key, float]] = {}
    for answered in outcomes:
        key = (answered.outcome.document, answered.outcome.question)
        for name, value in answered.outcome.scores:
            values.setdefault(name, {})[key] = value
    return values


def to_json(table: Table) -> dict[str, Any]:
    names = (*table.metrics, *table.costs)
    return {
        "metrics": {name: METRICS[name].facts for name in names},
        "rows": [asdict(row) for row in table.rows],
    }


Cells = list[list[str]]  # Rows of equal length; the first holds the column heads


def figures(table: Table, names: Sequence[str]) -> Cells:
    """The means of these metrics, a row for each reader."""
    cells: Cells = [["reader", "n", *map(_head, names)]]
    for row in table.rows:
        means = [_cell(row.figures.get(name), name) for name in names]
        cells.append([row.name, str(row.questions), *means])
    return cells


def differences(table: Table) -> Cells:
    """The differences of each row from its baseline; only heads if there are none."""
    names = table.metrics
    compared = [row for row in table.rows if row.against_baseline]
    baselines = {row.baseline for row in compared}
    has_one_baseline = len(baselines) == 1
    first_heads = (
        [f"− {baselines.pop()}"] if has_one_baseline else ["reader", "against"]
    )
    cells: Cells = [[*first_heads, *map(_head, names)]]
    for row in compared:
        first_cells = [row.name] if has_one_baseline else [row.name, row.baseline]
        gains = [_difference(row.against_baseline.get(name), name) for name in names]
        cells.append([*first_cells, *gains])
    return cells


def _head(name: str) -> str:
    return f"{name} %" if METRICS[name].unit == "%" else name


def _cell(figure: Estimate | None, name: str) -> str:
    if figure is None:
        return "–"
    places = _places(name, figure.mean)
    mean = f"{figure.mean:.{places}f}"
    if name in COSTS and name != "ended":
        return mean
    if figure.low is None or figure.high is None:
        return mean
    return f"{mean} [{figure.low:.{places}f}, {figure.high:.{places}f}]"


def _difference(gain: Estimate | None, name: str) -> str:
    if gain is None:
        return "–"
    places = _places(name, gain.mean)
    mean = f"{gain.mean:+.{places}f}".replace("-", "−")
    if gain.low is None or gain.high is None:
        return mean
    interval = f"[{gain.low:+.{places}f}, {gain.high:+.{places}f}]".replace("-", "−")
    return f"{mean} {interval} {_verdict(gain, name)}".rstrip()


def _verdict(gain: Estimate, name: str) -> str:
    if not gain.excludes_zero or gain.questions < FEWEST:
        return UNSURE
    is_more = gain.mean > 0
    less_is_better = METRICS[name].more_is_better is False
    return WORSE if is_more == less_is_better else BETTER


def _places(name: str, value: float) -> int:
    """Decimals of a value."""
    unit = METRICS[name].unit
    if unit == "tokens" or not math.isfinite(value):
        return 0
    return 1 if unit == "%" or abs(value) < _THREE_DIGITS else 0


def markdown(cells: Cells) -> str:
    """A Markdown table with aligned columns, numbers from the second on."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in cells]
    columns = zip(*rows, strict=True)
    first_width, *widths = [max(_LEAST_WIDTH, *map(len, column)) for column in columns]
    padded: list[list[str]] = []
    for first, *others in rows:
        numbers = [
            cell.rjust(width) for cell, width in zip(others, widths, strict=True)
        ]
        padded.append([first.ljust(first_width), *numbers])
    rule = ["-" * first_width, *("-" * (width - 1) + ":" for width in widths)]
    padded.insert(1, rule)
    return "\n".join(f"| {' | '.join(row)} |" for row in padded)
