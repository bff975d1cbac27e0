"""The table says what the outcomes say: figures worked out by hand."""

import pytest

from research.evaluation.table import Table, figures, tabulate
from tests.research.evaluation.runs import make_asked

# Differences of f1 question by question: +20, +40, +60, all above zero; of page-recall +100, 0,
# -100.
BM25 = [
    make_asked("a", "1", "bm25", f1=10, page_recall=0, context_tokens=900),
    make_asked("a", "2", "bm25", f1=20, page_recall=50, context_tokens=1000),
    make_asked("b", "1", "bm25", f1=30, page_recall=100, context_tokens=1100),
]
OURS = [
    make_asked("a", "1", "ours", f1=30, page_recall=100, context_tokens=10),
    make_asked("a", "2", "ours", f1=60, page_recall=50, context_tokens=20),
    make_asked("b", "1", "ours", f1=90, page_recall=0, context_tokens=33),
]
CLOSED = [make_asked("a", "1", "closed-book", f1=0, context_tokens=0)]


@pytest.fixture
def table() -> Table:
    rows = {"bm25": BM25, "ours": OURS, "closed-book": CLOSED}
    return tabulate(
        rows, ("f1", "page-recall", "accuracy"), {"ours": "bm25", "closed-book": "bm25"}
    )


def test_a_row_has_the_means_of_a_reader(table: Table) -> None:
    assert [(row.name, row.questions, row.documents) for row in table.rows] == [
        ("bm25", 3, 2),
        ("ours", 3, 2),
        ("closed-book", 1, 1),
    ]
    bm25, ours, closed = table.rows
    assert (
        bm25.figures["f1"].mean,
        ours.figures["f1"].mean,
        closed.figures["f1"].mean,
    ) == (
        20,
        60,
        0,
    )
    assert ours.figures["page-recall"].mean == 50
    assert "page-recall" not in closed.figures
    assert ours.figures["context-tokens"].mean == 21


def test_readers_are_compared_with_the_baseline_question_by_question(
    table: Table,
) -> None:
    bm25, ours, closed = table.rows
    assert (bm25.against_baseline, bm25.baseline) == ({}, "")
    assert ours.baseline == "bm25"
    assert ours.against_baseline["f1"].mean == 40
    # Two documents: drawn are the means 30 (twice a), 40 (both), 60 (twice b).
    assert (ours.against_baseline["f1"].low, ours.against_baseline["f1"].high) == (
        30,
        60,
    )
    assert ours.against_baseline["f1"].excludes_zero
    assert ours.against_baseline["page-recall"].mean == 0
    # The one question that closed-book was asked too.
    assert (
        closed.against_baseline["f1"].mean,
        closed.against_baseline["f1"].questions,
    ) == (-10, 1)


def test_cells_show_figures_with_intervals(table: Table) -> None:
    cells = figures(table, table.metrics)
    assert cells[0] == ["reader", "n", "f1 %", "page-recall %"]
    assert cells[2] == ["ours", "3", "60.0 [45.0, 90.0]", "50.0 [0.0, 75.0]"]
    assert cells[3] == ["closed-book", "1", "0.0", "–"]
