"""Instructions that a model repeats do not reach the person."""

from gistread.prompts import TRAINED
from gistread.readers.leaks import repeats_instruction, without_leaks


def test_sentences_that_repeat_the_instruction_go() -> None:
    leaked = "If this does not tell what is asked, say: The book does not say. It was Dunstan."
    assert repeats_instruction(leaked)
    assert without_leaks(leaked).endswith("It was Dunstan.")
    assert "what is asked" not in without_leaks(leaked)


def test_an_answer_in_its_own_words_stays() -> None:
    for answer in ("It was Dunstan.", "The book does not say.", "Above the door there was a book."):
        assert without_leaks(answer) == answer


def test_the_trained_wording_has_instructions_of_its_own() -> None:
    leaked = "Answer the question from the text above, in one or two short sentences."
    assert repeats_instruction(leaked, TRAINED)
    assert not repeats_instruction(leaked)
