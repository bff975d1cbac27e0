"""Relevance of passages to a question."""

import gc
import tracemalloc
from random import Random

import pytest

from gistread.search import ranked
from gistread.search.ranked import NEAR_WORDS, Relevance, spread

FILLING = "the wind went round and the clock struck the hours " * 10
KEEPER = f"Martha kept the lighthouse at Saltness. {FILLING}"
LODGER = f"He came ashore with a wooden leg. {FILLING}"


def best(passages: list[str], question: str, language: str = "") -> int:
    scores = Relevance(passages, language).scores(question)
    return scores.order[0]


def test_a_passage_with_the_words_comes_first() -> None:
    assert best([FILLING, KEEPER, FILLING], "Who kept the lighthouse?") == 1


def test_relevant_neighbours_raise_a_passage() -> None:
    passages = [
        FILLING,
        KEEPER,
        FILLING,
        FILLING,
        FILLING,
        LODGER,
        KEEPER,
        f"Martha saw the leg. {FILLING}",
    ]
    question = "What did Martha of the lighthouse say to the man with the wooden leg?"
    order = list(Relevance(passages).scores(question).order)
    assert order.index(6) < order.index(1), (
        "the same passage, among relevant neighbours"
    )


def test_an_isolated_passage_with_all_the_words_is_among_the_first_two() -> None:
    alone = "Ferrand, Petrel, ledger and reef."
    crowd = [f"The reef and the ledger. {FILLING}"] * 4
    passages = [*crowd, *[FILLING] * 30, alone, *[FILLING] * 30]
    scores = Relevance(passages).scores(
        "Did Ferrand of the Petrel take the ledger from the reef?"
    )
    assert passages.index(alone) in scores.order[:2]


def test_help_from_neighbours_is_symmetric_and_fades_with_distance() -> None:
    scores = spread(
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0, 100, 200, 300, 400, 200 + 4 * NEAR_WORDS]
    )
    assert scores[2] == 2.0
    assert scores[1] == pytest.approx(scores[3])
    assert scores[0] == pytest.approx(scores[4])
    assert 0 < scores[0] < scores[1] < 1
    assert scores[5] == 0.0


def test_options_only_decide_between_equal_passages() -> None:
    knave, queen = (
        f"The tarts were stolen by the knave. {FILLING}",
        f"The tarts were baked by the queen. {FILLING}",
    )
    relevance = Relevance([queen, knave])
    assert (
        relevance.scores(
            "Who had the tarts?", ["the knave", "the hatter"]
        ).of_own_words[1]
        > relevance.scores("tarts").of_own_words[1]
    )
    scores = relevance.scores(
        "Who stole the stolen tarts?", ["the queen", "the queen who baked"]
    )
    assert scores.of_own_words[1] > scores.of_own_words[0]
    assert relevance.scores("Which is it?", ["the knave", "the hatter"]).has_matches


def test_the_index_of_a_book_up_to_another_place_is_not_kept() -> None:
    passages = [f"Mile {number} of the long road {FILLING}" for number in range(20)]
    other = [f"Step {number} of the long stair {FILLING}" for number in range(20)]
    Relevance(other)
    for end in (10, 15, 20):
        Relevance(passages[:end])
    kept = [len(middles) for _, middles in ranked._indexes.values()]
    assert kept == [len(other), len(passages)]


@pytest.mark.slow
def test_the_indexes_of_an_evening_take_little_memory() -> None:
    """Each question up to a later place indexes more passages.

    Neither they nor all earlier indexes are kept.
    """
    dice = Random(1)
    words = [f"word{number}" for number in range(500)]

    def passages(count: int) -> list[str]:
        return [" ".join(dice.choices(words, k=100)) for _ in range(count)]

    size = sum(map(len, passages(300)))
    # What is imported and compiled once
    Relevance(passages(200)).scores("word1 and word2")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for count in range(210, 310, 10):
            Relevance(passages(count)).scores("word1 and word2")
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 3 * size
    finally:
        tracemalloc.stop()
