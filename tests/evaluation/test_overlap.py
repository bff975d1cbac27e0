"""ROUGE, F1 and exact match against cases worked out by hand."""

import builtins
from typing import Any

import pytest

from gistread.errors import GistreadError
from gistread.evaluation import metrics
from gistread.evaluation.metrics import contains, exact_match, rouge, token_f1


def test_rouge_of_a_prefix() -> None:
    # Three words of three and of six; two pairs of two and of five; the longest common subsequence is three words.
    found = rouge("The cat sat.", "the cat sat on the mat")
    assert found["rouge1"] == pytest.approx(2 * (3 / 3) * (3 / 6) / (3 / 3 + 3 / 6))
    assert found["rouge2"] == pytest.approx(2 * (2 / 2) * (2 / 5) / (2 / 2 + 2 / 5))
    assert found["rougeL"] == pytest.approx(2 / 3)


def test_rouge_l_depends_on_word_order_and_rouge_1_does_not() -> None:
    found = rouge("mat the on sat cat", "cat sat on the mat")
    assert found["rouge1"] == 1
    assert found["rouge2"] == 0
    assert found["rougeL"] == pytest.approx(1 / 5)


def test_rouge_compares_stems_and_is_0_for_an_empty_text() -> None:
    assert rouge("Climbing horses!", "climbed the horse")["rouge1"] == pytest.approx(2 * 1 * (2 / 3) / (1 + 2 / 3))
    assert set(rouge("", "a word").values()) == {0}


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.startswith("rouge_score"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    metrics._scorer.cache_clear()
    with pytest.raises(GistreadError, match="rouge-score") as refused:
        rouge("words that were", "not asked before")
    assert "gistread[eval]" in refused.value.hint
    metrics._scorer.cache_clear()


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
def test_f1_and_exact_match_are_those_of_squad(answer: str, reference: str, f1: float, exact: float) -> None:
    assert token_f1(answer, reference) == pytest.approx(f1)
    assert token_f1(reference, answer) == pytest.approx(f1)
    assert exact_match(answer, reference) == exact


@pytest.mark.parametrize(
    ("answer", "reference", "there"),
    [
        ("It was painted by Ann Lee, alone.", "The Ann Lee", 1),
        ("It was painted by Joann Lee.", "Ann Lee", 0),
        ("Ann and Lee", "Ann Lee", 0),
        ("In 1992.", "1992", 1),
        ("In 19925", "1992", 0),
        ("", "Ann", 0),
        ("Ann", "the", 0),
    ],
)
def test_a_reference_is_contained_as_consecutive_words(answer: str, reference: str, there: float) -> None:
    assert contains(answer, reference) == there
