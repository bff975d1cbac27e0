"""Plots show the points that they are given, as text and as pictures."""

from pathlib import Path

import pytest
from PIL import Image

from gistread.evaluation.bootstrap import Estimate
from gistread.evaluation.pictures import draw_heat_maps, draw_scatter
from gistread.evaluation.points import HeatMap, Point, heat_maps, points
from gistread.evaluation.table import tabulate
from gistread.evaluation.text_plots import heat_map, scatter
from tests.evaluation.runs import make_asked

POINTS = [
    Point("bm25", 2000, Estimate(40, 30, 50, 10, 3)),
    Point("dos", 2000, Estimate(40, 35, 45, 10, 3)),
    Point("gists", 500, Estimate(20, None, None, 1, 1)),
    Point("closed-book", 0, Estimate(0, 0, 0, 10, 3)),
]
CELLS = ((100.0, 50.0), (0.0, None))
MAP = HeatMap("dos", (1000, 128_000), (0.0, 1.0), CELLS)


def test_a_point_is_a_reader_with_both_figures() -> None:
    rows = {
        "bm25": [make_asked("a", "1", "bm25", f1=10, context_tokens=800)],
        "new": [make_asked("a", "1", "new", context_tokens=800)],
    }
    (point,) = points(tabulate(rows, ("f1",), {}), "f1")
    assert (point.name, point.tokens, point.score.mean) == ("bm25", 800, 10)


def test_a_cell_is_the_mean_of_its_questions() -> None:
    asked = [
        make_asked("a", "1", "dos", (1000, 0.0), accuracy=100),
        make_asked("b", "1", "dos", (1000, 0.0), accuracy=0),
        make_asked("c", "1", "dos", (2000, 1.0), accuracy=100),
        make_asked("d", "1", "dos", accuracy=100),
    ]
    (found,) = heat_maps({"dos": asked}, "accuracy")
    assert found == HeatMap("dos", (1000, 2000), (0.0, 1.0), ((50.0, None), (None, 100.0)))
    assert heat_maps({"dos": asked[3:]}, "accuracy") == []


@pytest.mark.parametrize("columns", [30, 80, 200])
def test_the_scatter_has_a_letter_for_each_reader(columns: int) -> None:
    lines = scatter(POINTS, "f1", columns).splitlines()
    plot = [line for line in lines if "│" in line or "┤" in line]
    assert sorted("".join(plot).translate({ord(c): None for c in "│┤ 0123456789"})) == ["a", "b", "c", "d"]
    assert plot[0].endswith("ba")  # Two readers at one place stand side by side, at the right and the top.
    assert "a bm25: 40.0 at 2k" in "\n".join(lines)
    assert max(map(len, plot)) <= columns


@pytest.mark.parametrize("few", [[], POINTS[3:]])
def test_a_scatter_of_nothing_is_empty_and_no_error(few: list[Point]) -> None:
    assert "0" in scatter(few, "f1", 80)


def test_the_heat_map_has_its_numbers_and_shades() -> None:
    assert heat_map(MAP).splitlines() == [
        "dos: depth of the needle (down), tokens of the text (across)",
        "        1k   128k",
        "   0% █100█ ▒50 ▒",
        " 100%   0     ·",
    ]


def test_pictures_are_there_and_not_blank(tmp_path: Path) -> None:
    draw_scatter(POINTS, "f1", "a title", tmp_path / "scatter.png")
    draw_heat_maps([MAP] * 4, "accuracy", "a title", tmp_path / "map.png")
    for name in ("scatter.png", "map.png"):
        with Image.open(tmp_path / name) as image:
            assert image.width > 500
            assert len(image.convert("RGB").getcolors(1 << 24) or ()) > 50
