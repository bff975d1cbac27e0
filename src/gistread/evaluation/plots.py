"""The plots of a run as PNG: scores over tokens in context, and heat maps of needle tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gistread.errors import GistreadError, StorageError
from gistread.evaluation.outcomes import AnsweredQuestion
from gistread.evaluation.table import Cells, Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*<>hp"  # Readers differ in shape and in colour
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""By Okabe and Ito; distinguishable with any colour vision."""
_DPI = 150
_MAPS_ACROSS = 3

TOKENS = "context-tokens"


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One reader's mean score by length of the text and depth of the needle."""

    name: str
    lengths: tuple[float, ...]  # In tokens, ascending
    depths: tuple[float, ...]  # From 0 to 1, ascending
    # Rows are depths, columns lengths; from 0 to 100, None if nothing was asked.
    cells: tuple[tuple[float | None, ...], ...]


def shown_metric(table: Table) -> str:
    return max(table.metrics or table.costs, key=lambda name: sum(name in row.figures for row in table.rows))


def plotted(table: Table, metric: str) -> list[Row]:
    return [row for row in table.rows if row.figures.keys() >= {metric, TOKENS}]


def heat_maps(asked: Mapping[str, Sequence[AnsweredQuestion]], metric: str) -> list[HeatMap]:
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


def _short_number(tokens: float) -> str:
    """For an axis: `500`, `4k`, `128k`."""
    return f"{tokens:.0f}" if tokens < 1000 else f"{tokens / 1000:.3g}k"


def heat_map_cells(drawn: HeatMap) -> Cells:
    """A heat map as a table: a row a depth, a column a length."""
    head = [f"{drawn.name}: depth", *map(_short_number, drawn.lengths)]
    rows = zip(drawn.depths, drawn.cells, strict=True)
    return [head, *([f"{depth:.0%}", *("–" if one is None else f"{one:.0f}" for one in row)] for depth, row in rows)]


def draw_scatter(rows: Sequence[Row], metric: str, title: str, path: Path) -> None:
    """Plot each reader's score over its tokens in context. Raises GistreadError without matplotlib, StorageError."""
    figure = _figure(8.0, 5.0)
    axes = figure.add_subplot()
    tokens, scores = [row.figures[TOKENS].mean for row in rows], [row.figures[metric] for row in rows]
    for index, (row, score) in enumerate(zip(rows, scores, strict=True)):
        low, high = score.low, score.high
        axes.errorbar(
            [tokens[index]],
            [score.mean],
            yerr=None if low is None or high is None else [[score.mean - low], [high - score.mean]],
            fmt=_MARKERS[index % len(_MARKERS)],
            color=_COLORS[index % len(_COLORS)],
            markersize=8,
            capsize=3,
            clip_on=False,
            elinewidth=1,
            label=row.name,
        )
    axes.set_xlabel("tokens in context")
    axes.set_ylabel(f"{metric} (%), 95% interval")
    axes.set_title(title)
    highest = max((score.high or score.mean for score in scores), default=100.0)
    axes.set_ylim(0, min(100.0, 10.0 * (highest // 10 + 1)))
    axes.set_xlim(left=-0.03 * max(tokens, default=1.0))
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    _save(figure, path)


def draw_heat_maps(maps: Sequence[HeatMap], metric: str, title: str, path: Path) -> None:
    """A map for each reader, with a number in every cell. Raises as `draw_scatter`."""
    across = min(_MAPS_ACROSS, len(maps))
    down = -(-len(maps) // across)
    columns, rows = max(len(one.lengths) for one in maps), max(len(one.depths) for one in maps)
    figure = _figure((1.2 + 0.55 * columns) * across + 1.0, (1.2 + 0.42 * rows) * down + 0.6)
    image: Any = None
    every = figure.subplots(down, across, squeeze=False)
    for index, axes in enumerate(every.flat):
        if index >= len(maps):
            axes.set_visible(False)
            continue
        one = maps[index]
        shown = [[float("nan") if score is None else score for score in row] for row in one.cells]
        image = axes.imshow(shown, vmin=0, vmax=100, cmap="cividis", aspect="auto")
        for row, scores in enumerate(one.cells):
            for column, score in enumerate(scores):
                if score is not None:
                    color = "black" if score > 55 else "white"
                    axes.text(column, row, f"{score:.0f}", ha="center", va="center", color=color, fontsize=8)
        axes.set_xticks(range(len(one.lengths)), [_short_number(length) for length in one.lengths])
        axes.set_yticks(range(len(one.depths)), [f"{depth:.0%}" for depth in one.depths])
        axes.set_title(one.name, fontsize=10)
        axes.set_xlabel("tokens of the text", fontsize=8)
        axes.set_ylabel("depth of the needle", fontsize=8)
        axes.tick_params(labelsize=8)
    figure.suptitle(title)
    figure.colorbar(image, ax=[axes for axes in every.flat if axes.get_visible()], label=f"{metric} (%)")
    _save(figure, path)


def _figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches, without pyplot, which would need a screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GistreadError(
            "Plots need matplotlib, which is not installed.", "python3 -m pip install 'gistread[eval]'"
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: "Figure", path: Path) -> None:
    try:
        figure.savefig(path, dpi=_DPI, format="png", bbox_inches="tight")
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error
