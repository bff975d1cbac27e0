"""Instructions that a model repeats do not reach the person."""

import pytest

from gistread.prompts import TRAINED
from gistread.readers.leaks import without_leaks

LEAK = "If this does not tell what is asked, say: The book does not say."


@pytest.mark.parametrize("before", ["", "Die große Straße liegt draußen. " * 12])
def test_sentences_that_repeat_the_instruction_go(before: str) -> None:
    answer = without_leaks(f"{before}{LEAK} It was Dunstan.")
    assert answer.endswith("It was Dunstan.")
    assert answer.startswith(before.strip())
    assert "what is asked" not in answer


def test_an_answer_in_its_own_words_stays() -> None:
    for answer in (
        "It was Dunstan.",
        "The book does not say.",
        "Above the door there was a book.",
    ):
        assert without_leaks(answer) == answer


def test_the_trained_wording_has_instructions_of_its_own() -> None:
    leaked = "Answer the question from the text above, in one or two short sentences."
    assert without_leaks(leaked, TRAINED) != leaked
    assert without_leaks(leaked) == leaked
