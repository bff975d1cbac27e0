"""A story often uses another word than the question: both count for the same passage."""

import pytest

from gistread.search.ranked import Ranker, Relevance
from gistread.search.related import related_stems
from gistread.search.tokens import Terms

FILLING = "the wind went round and the clock struck the hours " * 10


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Who stole the gold?", "Dunstan was the man that robbed the weaver."),
        (
            "What disease was in the house?",
            "The cholera had broken out in its fatal form.",
        ),
        ("How did the captain die?", "He was killed by a train at the crossing."),
    ],
)
def test_a_passage_with_a_related_word_comes_before_others(
    question: str, passage: str
) -> None:
    passages = [FILLING, f"{passage} {FILLING}", FILLING]
    assert Relevance(passages).scores(question).order[0] == 1


def test_the_word_itself_counts_more_than_a_related_one() -> None:
    related = related_stems("en")
    own, other, _ = Ranker(["They stole it.", "They robbed it.", "It rained."]).scores(
        "stole", related
    )
    assert own > other > 0


def test_irregular_forms_are_related_to_their_word_and_to_what_it_means() -> None:
    stem = Terms("en").stem
    related = related_stems("en")
    assert {stem("steal"), stem("rob")} <= related[stem("stole")]
    assert stem("stole") in related[stem("steal")]


def test_a_name_of_the_question_is_only_a_name() -> None:
    stem = Terms("en").stem
    assert stem("cook") in related_stems("en")
    assert stem("cook") not in related_stems("en", leave_out={"cook"})
    passages = [f"The dinner was served by the chef. {FILLING}", FILLING]
    scores = Relevance(passages).scores("Where did Captain Cook go?")
    assert scores.of_own_words == (0.0, 0.0)


def test_other_languages_have_no_related_words() -> None:
    assert related_stems("de") == {}


def test_weights_prefer_a_part_of_the_book() -> None:
    passages = [
        f"Martha saw the lamp. {FILLING}",
        FILLING,
        f"Martha saw the lamp. {FILLING}",
    ]
    assert Relevance(passages).scores("What did Martha see?").order[0] == 0
    assert (
        Relevance(passages).scores("What did Martha see?", weights=(1, 1, 2)).order[0]
        == 2
    )
