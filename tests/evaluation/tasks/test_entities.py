"""Entities: of which kind an answer is, and one put in the place of another."""

import pytest

from gistread.evaluation.tasks.entities import Entity, contains_name, find_entity, swap_entity


@pytest.mark.parametrize(
    ("answer", "question", "kind"),
    [
        ("1992", "When was it?", "year"),
        ("in 1992", "When was it?", "form in 0000"),
        ("4 May 1992", "When was it?", "form 0 month 0000"),
        ("$5 million", "How much was it?", "form $0 million"),
        ("32,463", "How many farms?", "form 00,000"),
        ("Ann Lee", "Who made it?", "person"),
        ("Ann Lee", "By whom was it made?", "person"),
        ("Ann Lee", "Which American film director made it?", "person"),
        ("Ann Lee", "The lamp was made by which artist?", "person"),
        ("the Adriatic", "Where is it?", "place"),
        ("France", "In what country is it?", "country"),
        ("Revolution Studios", "What movie studio made it?", "company"),
        ("The Interview", "What movie did Seth direct?", "film"),
        ("The Interview", "What is the name of the film?", "film"),
    ],
)
def test_the_kind_follows_from_form_and_question(answer: str, question: str, kind: str) -> None:
    found = find_entity(answer, question, f"It was {answer}, they said.")
    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize(
    ("answer", "question", "text"),
    [
        ("inherent difficulty", "What is it classified by?", ""),
        ("yes", "Is it?", ""),
        ("21", "Who has more titles, Ann or Bo?", ""),
        ("", "Who?", ""),
        ("Newton", "Who fumbled?", "Newton fumbled."),
        ("Scottish Government", "Who decides?", "Now the Scottish Government decides."),
        ("Grissom, White, and Chaffee", "Who flew?", ""),
        ("Ann Lee", "What did she do?", ""),
        ("The Ann Lee Club of Greater London Town", "Which club?", ""),
    ],
)
def test_an_answer_of_no_known_kind_is_unchanged(answer: str, question: str, text: str) -> None:
    assert find_entity(answer, question, text) is None


def test_an_article_is_not_part_of_a_name() -> None:
    assert find_entity("the Adriatic.", "Where?", "") == Entity("Adriatic", "place")


def test_an_entity_is_swapped_everywhere() -> None:
    old, new = Entity("Ann Lee", "person"), Entity("Bo Holm", "person")
    text = "Ann Lee's lamp. Miss Lee made it; ANN LEE sold it in Leeds. Leeward."
    assert swap_entity(text, old, new) == "Bo Holm's lamp. Miss Holm made it; Bo Holm sold it in Leeds. Leeward."


def test_a_number_inside_another_is_not_swapped() -> None:
    old, new = Entity("30", "form 00"), Entity("41", "form 00")
    assert swap_entity("30 of 1,305 in 2030, 3.30 and 30.5; 30,000 (30).", old, new) == (
        "41 of 1,305 in 2030, 3.30 and 30.5; 30,000 (41)."
    )
    assert not contains_name("in 2030", "30")
    assert contains_name("about 30.", "30")
