"""Each metric on one question, worked out by hand."""

import pytest

from research.evaluation.metrics import Case
from tests.research.evaluation.cases import of, outcome, question

PAGES = ((0, 100), (100, 200), (200, 300), (300, 400))


def test_accuracy_compares_the_chosen_option() -> None:
    with_choices = question(choices=("a", "b"), gold_choice=1)
    assert of("accuracy", Case(with_choices, outcome(choice=1))) == 100
    assert of("accuracy", Case(with_choices, outcome(choice=0))) == 0
    assert of("accuracy", Case(with_choices, outcome(choice=None))) == 0
    assert of("accuracy", Case(with_choices, outcome(choice=1, ended=False))) == 0
    assert of("accuracy", Case(question(references=("b",)), outcome(choice=1))) is None


def test_not_found_is_wrong() -> None:
    with_reference = question(references=("it does not say a word",))
    refused = Case(with_reference, outcome(answer="It does not say", has_answer=False))
    assert (of("not-found", refused), of("f1", refused)) == (100, 0)
    assert of("not-found", Case(with_reference, outcome(answer="x"))) == 0


def test_page_metrics_compare_look_ups_with_gold_pages() -> None:
    # pages 2, 3 and 4
    with_pages = question(gold_places=((150, 160), (190, 210), (350, 360)))

    def recall_of(*lookups: int) -> float | None:
        return of("page-recall", Case(with_pages, outcome(lookups=lookups), PAGES))

    assert recall_of(2, 1, 3) == pytest.approx(200 / 3)
    assert (recall_of(4, 3, 2), recall_of(1), recall_of()) == (100, 0, 0)
    assert of("page-recall", Case(with_pages, outcome(lookups=(2,)))) is None, (
        "a reader without pages"
    )
    assert of("page-recall", Case(question(), outcome(lookups=(2,)), PAGES)) is None, (
        "a question without gold places"
    )
