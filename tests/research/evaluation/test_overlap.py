"""ROUGE, F1 and exact match against cases worked out by hand."""

import pytest

from research.evaluation.metrics import exact_match, rouge, token_f1


def test_rouge_compares_stems_and_is_0_for_an_empty_text() -> None:
    assert rouge("Climbing horses!", "climbed the horse")["rouge1"] == pytest.approx(
        2 * 1 * (2 / 3) / (1 + 2 / 3)
    )
    assert set(rouge("", "a word").values()) == {0}


@pytest.mark.parametrize(
    ("answer", "reference", "f1", "exact"),
    [
        ("The Eiffel Tower!", "eiffel tower", 1, 1),
        ("the big red cat", "A red cat sat.", 2 * 2 / 6, 0),
        ("cat cat cat", "cat cat", 2 * 2 / 5, 0),
        ("U.S.", "us", 1, 1),
        ("another", "other", 0, 0),
        ("", "", 1, 1),
        ("", "cat", 0, 0),
        ("the", "a", 1, 1),
        ("dog", "cat", 0, 0),
    ],
)
def test_f1_and_exact_match_are_those_of_squad(
    answer: str, reference: str, f1: float, exact: float
) -> None:
    assert token_f1(answer, reference) == pytest.approx(f1)
    assert token_f1(reference, answer) == pytest.approx(f1)
    assert exact_match(answer, reference) == exact
