"""Plots for a terminal, of plain characters: they need no colour, no font and no library.

A point is a letter with its legend below, a cell of a heat map its number over a shade. What is shown is decided in
`points.py`.
"""

from collections.abc import Sequence
from string import ascii_lowercase

from gistread.evaluation.points import HeatMap, Point, tokens_said

_ROWS = 12
_LEFT = 5
"""Columns of the labels of the vertical axis, the axis included."""
_SHADES = " ░▒▓█"
_TOP = 100.0


def scatter(points: Sequence[Point], metric: str, columns: int) -> str:
    """The score of each reader over its tokens in context, from 0 up to the largest of either."""
    width = max(20, min(columns, 100) - _LEFT - 1)
    most_tokens = max((point.tokens for point in points), default=0.0) or 1.0
    top = _ceiling(max((point.score.mean for point in points), default=0.0))
    grid = [[" "] * width for _ in range(_ROWS + 1)]
    legend = []
    for letter, point in zip(ascii_lowercase, points, strict=False):
        row = _ROWS - round(_ROWS * point.score.mean / top)
        column = round((width - 1) * point.tokens / most_tokens)
        # Two readers at one place stand side by side.
        free = (at for at in sorted(range(width), key=lambda at: abs(at - column)) if grid[row][at] == " ")
        grid[row][next(free, column)] = letter
        legend.append(f"{letter} {point.name}: {point.score.mean:.1f} at {tokens_said(point.tokens)}")
    lines = [f"{metric}, over tokens in context"]
    for index, cells in enumerate(grid):
        label = f"{top * (_ROWS - index) / _ROWS:.0f}" if index % (_ROWS // 2) == 0 else ""
        lines.append(f"{label:>{_LEFT - 1}}{'┤' if label else '│'}{''.join(cells)}".rstrip())
    most = tokens_said(most_tokens)
    lines.append(f"{'':{_LEFT - 1}}└{'─' * (width - 1)}┘")
    lines.append(f"{'':{_LEFT}}0{most:>{width - 1}}")
    return "\n".join([*lines, *_legend(legend, columns)])


def heat_map(drawn: HeatMap) -> str:
    """A line a depth, a column a length: the score of each cell between shades of it."""
    lines = [f"{drawn.name}: depth of the needle (down), tokens of the text (across)"]
    lines.append(f"{'':6}" + "".join(f"{tokens_said(length):^6}" for length in drawn.lengths).rstrip())
    for depth, row in zip(drawn.depths, drawn.cells, strict=True):
        lines.append(f"{depth:>5.0%} " + "".join(map(_cell, row)).rstrip())
    return "\n".join(lines)


def _cell(score: float | None) -> str:
    if score is None:
        return f"{'·':^6}"
    shade = _SHADES[min(len(_SHADES) - 1, int(score / _TOP * len(_SHADES)))]
    return f"{shade}{score:^3.0f}{shade} "


def _ceiling(score: float) -> float:
    """The next ten above."""
    return max(10.0, min(_TOP, 10.0 * -(-score // 10.0)))


def _legend(entries: Sequence[str], columns: int) -> list[str]:
    width = max(map(len, entries), default=0) + 3
    across = max(1, columns // max(1, width))
    return [
        "".join(f"{entry:{width}}" for entry in entries[at : at + across]).rstrip()
        for at in range(0, len(entries), across)
    ]
