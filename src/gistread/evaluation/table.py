"""The outcomes of a run as a table: a row a reader, a column a metric, each figure with its interval; and what sets
each reader apart from a baseline, question by question.

Figures come from `bootstrap.py`, what they mean from `metrics.py`. Markdown, plain text and JSON of one table say the
same. Whose run it was, and where it lies, this does not know.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gistread.evaluation.bootstrap import Estimate, Key, difference, estimate
from gistread.evaluation.metrics import COSTS, METRICS
from gistread.evaluation.outcomes import AnsweredQuestion

BETTER, WORSE, UNSURE = "▲", "▼", ""
"""Beside a difference: the whole interval lies on one side of zero, or it does not."""
FEWEST = 10
"""Of fewer questions an interval by bootstrap is too narrow to tell anything by."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reader."""

    name: str
    """Of the reader; of several runs, of the run too."""
    questions: int
    documents: int
    figures: Mapping[str, Estimate]
    """By metric; those that apply to a question at least."""
    against: Mapping[str, Estimate]
    """Differences from the baseline, by metric."""
    baseline: str
    """Name of the row that it is held against; empty: of none."""


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    """What is measured of answers, the most telling first; those that no row has are left out."""
    costs: tuple[str, ...]


def tabulate(
    asked: Mapping[str, Sequence[AnsweredQuestion]],
    metrics: Sequence[str],
    baselines: Mapping[str, str],
    *,
    seed: int = 0,
) -> Table:
    """The table of these outcomes, by row. `baselines`: of a row, the one that it is held against."""
    values = {name: _values(each) for name, each in asked.items()}
    wanted = [name for name in dict.fromkeys((*metrics, *COSTS)) if any(name in own for own in values.values())]
    rows = []
    for name, each in asked.items():
        own, base = values[name], values.get(baselines.get(name, ""), {})
        rows.append(
            Row(
                name,
                len(each),
                len({one.outcome.document for one in each}),
                _known({metric: estimate(own[metric], seed=seed) for metric in wanted if metric in own}),
                _known({m: difference(own[m], base[m], seed=seed) for m in wanted if m in own and m in base}),
                baselines.get(name, "") if base else "",
            )
        )
    costs = tuple(name for name in wanted if name in COSTS)
    return Table(tuple(rows), tuple(name for name in wanted if name not in COSTS), costs)


def _values(asked: Iterable[AnsweredQuestion]) -> dict[str, dict[Key, float]]:
    """By metric and question."""
    values: dict[str, dict[Key, float]] = {}
    for one in asked:
        for name, value in one.outcome.scores:
            values.setdefault(name, {})[one.outcome.document, one.outcome.question] = value
    return values


def _known(estimates: Mapping[str, Estimate | None]) -> dict[str, Estimate]:
    return {name: one for name, one in estimates.items() if one is not None}


def to_json(table: Table) -> dict[str, Any]:
    """Every figure of the table, unrounded."""
    return {
        "metrics": {
            name: {
                "summary": METRICS[name].summary,
                "unit": METRICS[name].unit,
                "more_is_better": METRICS[name].more_is_better,
            }
            for name in (*table.metrics, *table.costs)
        },
        "rows": [
            {
                "name": row.name,
                "questions": row.questions,
                "documents": row.documents,
                "figures": {name: _figure(one) for name, one in row.figures.items()},
                "baseline": row.baseline,
                "against_baseline": {name: _figure(one) for name, one in row.against.items()},
            }
            for row in table.rows
        ],
    }


def _figure(one: Estimate) -> dict[str, Any]:
    return {"mean": one.mean, "low": one.low, "high": one.high, "questions": one.questions, "documents": one.documents}


Cells = list[list[str]]
"""Rows of the same length, the first of them the heads of the columns."""


def figures(table: Table, names: Sequence[str]) -> Cells:
    """The means of these metrics, with their intervals."""
    head = ["reader", "n", *(_head(name) for name in names)]
    return [
        head,
        *(
            [row.name, str(row.questions), *(_cell(row.figures.get(name), name) for name in names)]
            for row in table.rows
        ),
    ]


def differences(table: Table) -> Cells:
    """What sets each row apart from the one that it is held against; heads alone where none is."""
    names = table.metrics
    held = [row for row in table.rows if row.against]
    baselines = {row.baseline for row in held}
    one = baselines.pop() if len(baselines) == 1 else ""
    first = [f"− {one}"] if one else ["reader", "against"]
    rows = [
        [row.name, *([] if one else [row.baseline]), *(_difference(row.against.get(name), name) for name in names)]
        for row in held
    ]
    return [[*first, *(_head(name) for name in names)], *rows]


def _head(name: str) -> str:
    return f"{name} %" if METRICS[name].unit == "%" else name


def _cell(one: Estimate | None, name: str) -> str:
    if one is None:
        return "–"
    places = _places(name, one.mean)
    mean = f"{one.mean:.{places}f}"
    if name in COSTS and name != "ended":
        return mean
    return mean if one.low is None or one.high is None else f"{mean} [{one.low:.{places}f}, {one.high:.{places}f}]"


def _difference(one: Estimate | None, name: str) -> str:
    if one is None:
        return "–"
    places = _places(name, one.mean)
    mean = f"{one.mean:+.{places}f}".replace("-", "−")
    if one.low is None or one.high is None:
        return mean
    interval = f"[{one.low:+.{places}f}, {one.high:+.{places}f}]".replace("-", "−")
    return f"{mean} {interval} {_verdict(one, name)}".rstrip()


def _verdict(one: Estimate, name: str) -> str:
    if not one.excludes_zero or one.questions < FEWEST:
        return UNSURE
    return BETTER if (one.mean > 0) == (METRICS[name].more_is_better is not False) else WORSE


def _places(name: str, value: float) -> int:
    """Digits after the point: as many as anyone can read something out of."""
    if METRICS[name].unit == "tokens" or not math.isfinite(value):
        return 0
    return 1 if METRICS[name].unit == "%" or abs(value) < 100 else 0
