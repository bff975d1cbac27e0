"""What the plots show, before anything is drawn: a point a reader, and the cells of a needle test.

Drawn in a terminal by `text_plots.py`, as pictures by `pictures.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gistread.evaluation.bootstrap import Estimate
from gistread.evaluation.outcomes import AnsweredQuestion
from gistread.evaluation.table import Table

TOKENS = "context-tokens"


@dataclass(frozen=True, slots=True)
class Point:
    """How well a reader answers, and with how much before the model."""

    name: str
    tokens: float
    """Mean tokens in the context of the answer."""
    score: Estimate


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One reader's mean score by length of the text and depth of the needle."""

    name: str
    lengths: tuple[float, ...]
    """In tokens, ascending."""
    depths: tuple[float, ...]
    """From 0 to 1, ascending."""
    cells: tuple[tuple[float | None, ...], ...]
    """A row a depth, a column a length; from 0 to 100, None where nothing was asked."""


def shown_metric(table: Table) -> str:
    """The most telling metric of those that most readers have: not all of them open pages."""
    return max(table.metrics or table.costs, key=lambda name: sum(name in row.figures for row in table.rows))


def points(table: Table, metric: str) -> list[Point]:
    """The readers that have both figures."""
    return [
        Point(row.name, row.figures[TOKENS].mean, row.figures[metric])
        for row in table.rows
        if metric in row.figures and TOKENS in row.figures
    ]


def heat_maps(asked: Mapping[str, Sequence[AnsweredQuestion]], metric: str) -> list[HeatMap]:
    """A map a row of the table, over the questions that have a cell; none where no question has."""
    maps = []
    for name, each in asked.items():
        values: dict[tuple[float, float], list[float]] = {}
        for one in each:
            score = dict(one.outcome.scores).get(metric)
            if one.question.cell is not None and score is not None:
                values.setdefault(one.question.cell, []).append(score)
        if not values:
            continue
        lengths = tuple(sorted({length for length, _ in values}))
        depths = tuple(sorted({depth for _, depth in values}))
        cells = tuple(tuple(_mean(values.get((length, depth))) for length in lengths) for depth in depths)
        maps.append(HeatMap(name, lengths, depths, cells))
    return maps


def _mean(values: list[float] | None) -> float | None:
    return sum(values) / len(values) if values else None


def tokens_said(tokens: float) -> str:
    """As on an axis: `500`, `4k`, `128k`."""
    return f"{tokens:.0f}" if tokens < 1000 else f"{tokens / 1000:.3g}k"
