"""Relevance of passages to a question."""

import pytest

from gistread.search.ranked import NEAR_WORDS, Positions, Relevance, spread

FILLING = "the wind went round and the clock struck the hours " * 10
KEEPER = f"Martha kept the lighthouse at Saltness. {FILLING}"
LODGER = f"He came ashore with a wooden leg. {FILLING}"


def best(passages: list[str], question: str, language: str = "") -> int:
    scores = Relevance(passages, language).scores(question)
    return scores.order[0]


def test_a_passage_with_the_words_comes_first() -> None:
    assert best([FILLING, KEEPER, FILLING], "Who kept the lighthouse?") == 1


def test_question_words_find_nothing() -> None:
    scores = Relevance(["What did he say? Who was it, and why?", KEEPER]).scores("Why did Martha do what she did?")
    assert scores.alone[0] == 0.0
    assert scores.order[0] == 1


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "Summarize what was said."),
        ("de", "Was hat er gesagt?"),
        ("fr", "Qu’est-ce qu’il a dit ?"),
        ("de-AT", "Wer?"),
    ],
)
def test_a_question_without_search_terms_has_no_matches(language: str, question: str) -> None:
    assert not Relevance(["Was er sagte, a dit il, what was said"], language).scores(question).has_matches


def test_without_a_stop_word_list_every_word_counts() -> None:
    assert Relevance(["kdo to byl", "nikdo"], "cs").scores("kdo").has_matches


def test_relevant_neighbours_raise_a_passage() -> None:
    passages = [FILLING, KEEPER, FILLING, FILLING, FILLING, LODGER, KEEPER, f"Martha saw the leg. {FILLING}"]
    assert best(passages, "What did Martha of the lighthouse say to the man with the wooden leg?") in (5, 6, 7)


def test_an_isolated_passage_with_all_the_words_is_among_the_first_two() -> None:
    alone = "Ferrand, Petrel, ledger and reef."
    crowd = [f"The reef and the ledger. {FILLING}"] * 4
    passages = [*crowd, *[FILLING] * 30, alone, *[FILLING] * 30]
    scores = Relevance(passages).scores("Did Ferrand of the Petrel take the ledger from the reef?")
    assert passages.index(alone) in scores.order[:2]


def test_passages_without_shared_words_come_last_in_order() -> None:
    far = [f"{FILLING} {FILLING}"] * 20
    scores = Relevance([*far, KEEPER, *far]).scores("lighthouse")
    nothing = [index for index in range(41) if not scores.around[index]]
    assert scores.order[-len(nothing) :] == nothing
    assert sorted(scores.order) == list(range(41))


def test_words_count_less_the_farther_away_they_stand() -> None:
    words = ["lamp", *["wind"] * 30, "keeper", *["wind"] * 30, "reef"]
    near = Positions([words[:20], words[20:40], words[40:]]).nearness(["keeper", "lamp", "absent"])
    assert near[0] > near[1] > near[2] > 0
    together = Positions([["the", "brass", "key"], ["the", "key", *["wind"] * 9, "brass"]])
    assert together.nearness(["brass", "key"])[0] > together.nearness(["brass", "key"])[1]


def test_help_from_neighbours_is_symmetric_and_fades_with_distance() -> None:
    found = spread([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0, 100, 200, 300, 400, 200 + 4 * NEAR_WORDS])
    assert found[2] == 2.0
    assert found[1] == pytest.approx(found[3])
    assert found[0] == pytest.approx(found[4])
    assert 0 < found[0] < found[1] < 1
    assert found[5] == 0.0


def test_an_empty_text_has_no_scores() -> None:
    assert Relevance([]).scores("Who?").order == []
    assert not Relevance(["", " "]).scores("lighthouse").has_matches


def test_options_only_decide_between_equal_passages() -> None:
    knave, queen = f"The tarts were stolen by the knave. {FILLING}", f"The tarts were baked by the queen. {FILLING}"
    relevance = Relevance([queen, knave])
    assert (
        relevance.scores("Who had the tarts?", ["the knave", "the hatter"]).alone[1]
        > relevance.scores("tarts").alone[1]
    )
    scores = relevance.scores("Who stole the stolen tarts?", ["the queen", "the queen who baked"])
    assert scores.alone[1] > scores.alone[0]
    assert relevance.scores("Which is it?", ["the knave", "the hatter"]).has_matches
