"""Plots show the points that they are given."""

from pathlib import Path

from PIL import Image

from gistread.evaluation.plots import TOKENS, HeatMap, draw_heat_maps, draw_scatter, heat_map_cells, heat_maps, plotted
from gistread.evaluation.table import Estimate, Row, tabulate
from tests.evaluation.runs import make_asked


def make_row(name: str, tokens: float, score: Estimate) -> Row:
    return Row(name, 10, 3, {TOKENS: Estimate(tokens, None, None, 10, 3), "f1": score}, {}, "")


ROWS = [
    make_row("bm25", 2000, Estimate(40, 30, 50, 10, 3)),
    make_row("dos", 2000, Estimate(40, 35, 45, 10, 3)),
    make_row("gists", 500, Estimate(20, None, None, 1, 1)),
    make_row("closed-book", 0, Estimate(0, 0, 0, 10, 3)),
]
CELLS = ((100.0, 50.0), (0.0, None))
MAP = HeatMap("dos", (1000, 128_000), (0.0, 1.0), CELLS)


def test_only_readers_with_both_figures_have_a_point() -> None:
    rows = {
        "bm25": [make_asked("a", "1", "bm25", f1=10, context_tokens=800)],
        "new": [make_asked("a", "1", "new", context_tokens=800)],
    }
    (row,) = plotted(tabulate(rows, ("f1",), {}), "f1")
    assert (row.name, row.figures[TOKENS].mean, row.figures["f1"].mean) == ("bm25", 800, 10)


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


def test_the_table_of_a_heat_map_has_all_its_numbers() -> None:
    assert heat_map_cells(MAP) == [["dos: depth", "1k", "128k"], ["0%", "100", "50"], ["100%", "0", "–"]]


def test_plots_are_written_and_not_blank(tmp_path: Path) -> None:
    draw_scatter(ROWS, "f1", "a title", tmp_path / "scatter.png")
    draw_heat_maps([MAP] * 2, "accuracy", "a title", tmp_path / "map.png")
    for name in ("scatter.png", "map.png"):
        with Image.open(tmp_path / name) as image:
            assert image.width > 500
            assert len(image.resize((300, 200)).convert("RGB").getcolors(1 << 16) or ()) > 50
