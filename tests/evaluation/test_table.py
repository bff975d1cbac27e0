"""The table says what the outcomes say: figures worked out by hand."""

from dataclasses import replace

import pytest

from gistread.evaluation.table import Table, differences, figures, markdown, tabulate, text, to_json
from tests.evaluation.runs import make_asked

# Differences of f1 question by question: +20, +40, +60, all above zero; of page-recall +100, 0, -100.
BM25 = [make_asked("a", "1", "bm25", f1=10, page_recall=0, context_tokens=900),
        make_asked("a", "2", "bm25", f1=20, page_recall=50, context_tokens=1000),
        make_asked("b", "1", "bm25", f1=30, page_recall=100, context_tokens=1100)]  # fmt: skip
OURS = [make_asked("a", "1", "ours", f1=30, page_recall=100, context_tokens=10),
        make_asked("a", "2", "ours", f1=60, page_recall=50, context_tokens=20),
        make_asked("b", "1", "ours", f1=90, page_recall=0, context_tokens=33)]  # fmt: skip
CLOSED = [make_asked("a", "1", "closed-book", f1=0, context_tokens=0)]


@pytest.fixture
def table() -> Table:
    rows = {"bm25": BM25, "ours": OURS, "closed-book": CLOSED}
    return tabulate(rows, ("f1", "page-recall", "accuracy"), {"ours": "bm25", "closed-book": "bm25"})


def test_a_row_has_the_means_of_a_reader(table: Table) -> None:
    assert [(row.name, row.questions, row.documents) for row in table.rows] == [
        ("bm25", 3, 2),
        ("ours", 3, 2),
        ("closed-book", 1, 1),
    ]
    bm25, ours, closed = table.rows
    assert (bm25.figures["f1"].mean, ours.figures["f1"].mean, closed.figures["f1"].mean) == (20, 60, 0)
    assert ours.figures["page-recall"].mean == 50
    assert "page-recall" not in closed.figures
    assert ours.figures["context-tokens"].mean == 21


def test_a_metric_that_never_applies_has_no_column(table: Table) -> None:
    assert table.metrics == ("f1", "page-recall")
    assert table.costs == ("context-tokens",)


def test_readers_are_compared_with_the_baseline_question_by_question(table: Table) -> None:
    bm25, ours, closed = table.rows
    assert (bm25.against_baseline, bm25.baseline) == ({}, "")
    assert ours.baseline == "bm25"
    assert ours.against_baseline["f1"].mean == 40
    # Two documents: drawn are the means 30 (twice a), 40 (both), 60 (twice b).
    assert (ours.against_baseline["f1"].low, ours.against_baseline["f1"].high) == (30, 60)
    assert ours.against_baseline["f1"].excludes_zero
    assert ours.against_baseline["page-recall"].mean == 0
    # The one question that closed-book was asked too.
    assert (closed.against_baseline["f1"].mean, closed.against_baseline["f1"].questions) == (-10, 1)


def test_cells_show_figures_with_intervals(table: Table) -> None:
    cells = figures(table, table.metrics)
    assert cells[0] == ["reader", "n", "f1 %", "page-recall %"]
    assert cells[2] == ["ours", "3", "60.0 [45.0, 90.0]", "50.0 [0.0, 75.0]"]
    assert cells[3] == ["closed-book", "1", "0.0", "–"]


def test_a_difference_has_its_interval(table: Table) -> None:
    head, ours, closed = differences(table)
    assert head == ["− bm25", "f1 %", "page-recall %"]
    # Three questions are too few to tell by, whatever their interval.
    assert ours == ["ours", "+40.0 [+30.0, +60.0]", "+0.0 [−100.0, +50.0]"]
    assert closed == ["closed-book", "−10.0", "–"]


@pytest.mark.parametrize(("metric", "first", "second"), [("f1", "▲", "▼"), ("context-tokens", "▼", "▲")])
def test_differences_beyond_their_interval_are_marked(metric: str, first: str, second: str) -> None:
    name = metric.replace("-", "_")
    more = [make_asked(str(number), "1", "more", **{name: 50 + number}) for number in range(12)]
    less = [make_asked(str(number), "1", "less", **{name: 40 - number}) for number in range(12)]
    for row, base, sign in (("more", "less", first), ("less", "more", second)):
        table = tabulate({"more": more, "less": less}, (metric,), {row: base})
        assert differences(replace(table, metrics=(metric,)))[1][1].endswith(sign)


def test_rows_with_different_baselines_name_them() -> None:
    table = tabulate({"a": BM25, "b": OURS, "c": CLOSED}, ("f1",), {"b": "a", "c": "b"})
    assert [cells[:2] for cells in differences(table)] == [["reader", "against"], ["b", "a"], ["c", "b"]]


def test_a_decrease_is_better_for_costs(table: Table) -> None:
    worse = tabulate({"a": BM25, "b": OURS}, ("context-tokens",), {"a": "b"})
    assert figures(worse, ("context-tokens",))[1:] == [["a", "3", "1000"], ["b", "3", "21"]]


def test_markdown_output_is_a_table(table: Table) -> None:
    assert markdown([["reader", "f1 %"], ["a|b", "1"]]).splitlines() == [
        "| reader | f1 % |",
        "| --- | ---: |",
        "| a\\|b | 1 |",
    ]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_text_output_fits_the_terminal_and_has_every_cell(table: Table, columns: int) -> None:
    cells = figures(table, table.metrics)
    shown = text(cells, columns)
    assert max(map(len, shown.splitlines())) <= columns
    assert all(cell in shown for row in cells for cell in row)


def test_json_output_has_every_figure(table: Table) -> None:
    document = to_json(table)
    ours = document["rows"][1]
    assert ours["against_baseline"]["f1"] == {"mean": 40, "low": 30, "high": 60, "questions": 3, "documents": 2}
    assert document["metrics"]["f1"]["more_is_better"] is True
