"""Each metric on one question, worked out by hand."""

import pytest

from research.evaluation.metrics import Case
from tests.research.evaluation.cases import of, outcome, question

PAGES = ((0, 100), (100, 200), (200, 300), (300, 400))


def test_accuracy_compares_the_chosen_option() -> None:
    asked = question(choices=("a", "b"), gold_choice=1)
    assert of("accuracy", Case(asked, outcome(choice=1))) == 100
    assert of("accuracy", Case(asked, outcome(choice=0))) == 0
    assert of("accuracy", Case(asked, outcome(choice=None))) == 0
    assert of("accuracy", Case(asked, outcome(choice=1, ended=False))) == 0
    assert of("accuracy", Case(question(references=("b",)), outcome(choice=1))) is None


def test_not_found_is_wrong() -> None:
    asked = question(references=("it does not say a word",))
    refused = Case(asked, outcome(answer="It does not say", found=False))
    assert (of("not-found", refused), of("f1", refused)) == (100, 0)
    assert of("not-found", Case(asked, outcome(answer="x"))) == 0


def test_page_metrics_compare_look_ups_with_gold_pages() -> None:
    asked = question(gold_places=((150, 160), (190, 210), (350, 360)))  # pages 2, 3 and 4

    def told(*lookups: int) -> float | None:
        return of("page-recall", Case(asked, outcome(lookups=lookups), PAGES))

    assert told(2, 1, 3) == pytest.approx(200 / 3)
    assert (told(4, 3, 2), told(1), told()) == (100, 0, 0)
    assert of("page-recall", Case(asked, outcome(lookups=(2,)))) is None, "a reader without pages"
    assert of("page-recall", Case(question(), outcome(lookups=(2,)), PAGES)) is None, (
        "a question without gold places"
    )
