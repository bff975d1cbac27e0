"""Each metric on one question, worked out by hand."""

import pytest

from gistread.engine.protocol import Usage
from gistread.evaluation.metrics import COSTS, METRICS, Case, scores
from gistread.evaluation.model import Rating
from gistread.evaluation.tasks.registry import TASKS
from tests.evaluation.cases import of, outcome, question

PAGES = ((0, 100), (100, 200), (200, 300), (300, 400))


def test_every_metric_of_a_task_exists() -> None:
    for task in TASKS.values():
        assert task.metrics
        assert set(task.metrics) <= set(METRICS)
    assert set(COSTS) <= set(METRICS)


def test_accuracy_compares_the_chosen_option() -> None:
    asked = question(choices=("a", "b"), gold_choice=1)
    assert of("accuracy", Case(asked, outcome(choice=1))) == 100
    assert of("accuracy", Case(asked, outcome(choice=0))) == 0
    assert of("accuracy", Case(asked, outcome(choice=None))) == 0
    assert of("accuracy", Case(asked, outcome(choice=1, ended=False))) == 0
    assert of("accuracy", Case(question(references=("b",)), outcome(choice=1))) is None


def test_the_nearest_of_several_references_counts() -> None:
    case = Case(question(references=("a small dog", "big cat")), outcome(answer="The big cat"))
    assert (of("f1", case), of("exact-match", case)) == (100, 100)
    assert of("rouge-l", case) == pytest.approx(80)


def test_a_failed_question_counts_as_wrong() -> None:
    case = Case(question(references=("cat",)), outcome(answer="cat", ended=False), rating=Rating.NONE)
    names = ("f1", "exact-match", "rouge-1", "rouge-2", "rouge-l", "lr-1", "lr-2", "ended")
    assert dict(scores(case, names)) == dict.fromkeys(names, 0.0)
    assert of("context-tokens", case) is of("compression-rate", case) is None, "there was no prompt for an answer"


def test_not_found_is_right_for_an_unanswerable_question() -> None:
    asked = question(answerable=False)
    refused = Case(asked, outcome(answer="The book does not say.", found=False))
    invented = Case(asked, outcome(answer="Ann did."))
    failed = Case(asked, outcome(ended=False, found=False))
    for name in ("f1", "exact-match", "contains", "refused"):
        assert [of(name, case) for case in (refused, invented, failed)] == [100, 0, 0]
    assert of("not-found", refused) is of("rouge-l", refused) is None


def test_not_found_is_wrong_for_an_answerable_question() -> None:
    asked = question(references=("it does not say a word",))
    refused = Case(asked, outcome(answer="It does not say", found=False))
    assert (of("not-found", refused), of("f1", refused), of("refused", refused)) == (100, 0, None)
    assert of("not-found", Case(asked, outcome(answer="x"))) == 0


@pytest.mark.parametrize(
    ("rating", "lr_1", "lr_2"), [(Rating.EXACT, 100, 100), (Rating.PARTIAL, 0, 100), (Rating.NONE, 0, 0)]
)
def test_lr_1_counts_agreement_and_lr_2_partial_agreement_too(rating: Rating, lr_1: float, lr_2: float) -> None:
    case = Case(question(references=("x",)), outcome(answer="y"), rating=rating)
    assert (of("lr-1", case), of("lr-2", case)) == (lr_1, lr_2)
    assert of("lr-1", Case(question(references=("x",)), outcome(answer="y"))) is None, "without a judge"


def test_page_metrics_compare_look_ups_with_gold_pages() -> None:
    asked = question(gold_places=((150, 160), (190, 210), (350, 360)))  # pages 2, 3 and 4
    names = ("page-recall", "page-any", "page-all", "page-precision")

    def told(*lookups: int) -> list[float | None]:
        return [of(name, Case(asked, outcome(lookups=lookups), PAGES)) for name in names]

    assert told(2, 1, 3) == [pytest.approx(200 / 3), 100, 0, pytest.approx(200 / 3)]
    assert told(4, 3, 2) == [100, 100, 100, 100]
    assert told(1) == [0, 0, 0, 0]
    assert told() == [0, 0, 0, None]
    assert of("page-recall", Case(asked, outcome(lookups=(2,)))) is None, "a reader without pages"
    assert of("page-recall", Case(question(), outcome(lookups=(2,)), PAGES)) is None, "a question without gold places"


def test_gold_coverage_counts_characters_seen() -> None:
    asked = question(gold_places=((0, 100), (200, 300)))
    assert of("gold-coverage", Case(asked, outcome(seen=((50, 250),)))) == 50
    assert of("gold-coverage", Case(asked, outcome())) == 0
    assert of("gold-coverage", Case(question(), outcome(seen=((0, 9),)))) is None


def test_costs_are_those_of_the_outcome() -> None:
    made = outcome(
        lookups=(3, 1), compression_rate=81.5, context_tokens=700, usage=Usage(prefilled=900, reused=50), seconds=1.5
    )
    assert dict(scores(Case(question(), made), COSTS)) == {
        "not-found": 0,
        "ended": 100,
        "compression-rate": 81.5,
        "lookups": 2,
        "context-tokens": 700,
        "prompt-tokens": 950,
        "prefilled-tokens": 900,
        "seconds": 1.5,
    }


def test_scores_are_the_applicable_metrics_in_the_order_of_the_table() -> None:
    case = Case(question(references=("cat",), gold_places=((0, 5),)), outcome(answer="cat"), PAGES, Rating.EXACT)
    told = scores(case)
    assert [name for name, _ in told] == [name for name in METRICS if name in dict(told)]
    assert not {"accuracy", "refused", "page-precision"} & set(dict(told))
    assert scores(case, ["exact-match", "accuracy"]) == (("exact-match", 100),)
