"""The plots as PNG files, by matplotlib without a screen. It is in the optional extra `eval` and imported when used.

What is shown is decided in `points.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gistread.errors import GistreadError, StorageError
from gistread.evaluation.points import HeatMap, Point, tokens_said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*<>hp"
"""Readers are told apart by form as well as by colour."""
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito: apart for every kind of colour vision, on paper too."""
_DPI = 150
_MAPS_ACROSS = 3


def draw_scatter(points: Sequence[Point], metric: str, title: str, path: Path) -> None:
    """The score of each reader over its tokens in context, with its interval.

    Raises GistreadError without matplotlib, StorageError when the file cannot be written.
    """
    figure = _figure(8.0, 5.0)
    axes = figure.add_subplot()
    for index, point in enumerate(points):
        low, high = point.score.low, point.score.high
        error = None if low is None or high is None else [[point.score.mean - low], [high - point.score.mean]]
        axes.errorbar(
            [point.tokens],
            [point.score.mean],
            yerr=error,
            fmt=_MARKERS[index % len(_MARKERS)],
            color=_COLORS[index % len(_COLORS)],
            markersize=8,
            capsize=3,
            clip_on=False,
            elinewidth=1,
            label=point.name,
        )
    axes.set_xlabel("tokens in context")
    axes.set_ylabel(f"{metric} (%), 95% interval")
    axes.set_title(title)
    highest = max((point.score.high or point.score.mean for point in points), default=100.0)
    axes.set_ylim(0, min(100.0, 10.0 * (highest // 10 + 1)))
    axes.set_xlim(left=-0.03 * max((point.tokens for point in points), default=1.0))
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    _save(figure, path)


def draw_heat_maps(maps: Sequence[HeatMap], metric: str, title: str, path: Path) -> None:
    """A map a reader, each cell with its number. Raises as `draw_scatter`."""
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
        axes.set_xticks(range(len(one.lengths)), [tokens_said(length) for length in one.lengths])
        axes.set_yticks(range(len(one.depths)), [f"{depth:.0%}" for depth in one.depths])
        axes.set_title(one.name, fontsize=10)
        axes.set_xlabel("tokens of the text", fontsize=8)
        axes.set_ylabel("depth of the needle", fontsize=8)
        axes.tick_params(labelsize=8)
    figure.suptitle(title)
    figure.colorbar(image, ax=[axes for axes in every.flat if axes.get_visible()], label=f"{metric} (%)")
    _save(figure, path)


def _figure(width: float, height: float) -> "Figure":
    """A figure of its own, in inches: nothing of pyplot, which would look for a screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GistreadError(
            "Pictures need matplotlib, which is not installed.", "python3 -m pip install 'gistread[eval]'"
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: "Figure", path: Path) -> None:
    try:
        figure.savefig(path, dpi=_DPI, format="png", bbox_inches="tight")
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error
