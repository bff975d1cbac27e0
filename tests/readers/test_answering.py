"""What an answer is, and what it is not."""

import pytest

from gistread.readers.answering import is_looping, not_found_note, says_not_found


@pytest.mark.parametrize(
    "answer",
    [
        "The book does not say.",
        "the book doesn't say",
        "The text above does not mention her age.",
        "The book does not explicitly state who did it.",
        "It is not mentioned in the passage.",
        "There is no information about his wife.",
        "That cannot be determined from the text.",
        "Das Buch sagt es nicht.",
        "Le livre ne le dit pas.",
        "El libro no lo dice.",
        "В книге об этом не говорится.",
        "书中没有说。",
        "本には書かれていません。",
    ],
)
def test_the_book_does_not_say(answer: str) -> None:
    assert says_not_found(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Ferrand stole the key.",
        "He does not say a word to his brother and leaves.",
        "She was never told by her mother that the house was sold... no, she knew.",
        "No.",
        "The book that he reads is a ledger.",
    ],
)
def test_an_answer_is_an_answer(answer: str) -> None:
    assert not says_not_found(answer)


@pytest.mark.parametrize("tail", ["the key of the key, ", "no ", "他走了。", "a very long sentence about the sea. "])
def test_circles(tail: str) -> None:
    assert is_looping("He went. " + tail * 20)


@pytest.mark.parametrize(
    "text", ["No, no, no!", "Ha ha ha, he said.", "", "She took the key and went. She took it home."]
)
def test_no_circles(text: str) -> None:
    assert not is_looping(text)


@pytest.mark.parametrize(
    ("answer", "found", "said"),
    [
        ("Ferrand stole the key.", True, ""),
        ("The book does not say.", False, ""),
        ("It was Napoleon.", False, "Not supported by the book."),
        ("", False, "The model gave no answer."),
    ],
)
def test_beside_an_answer_that_does_not_count_stands_why_not(answer: str, found: bool, said: str) -> None:
    assert not_found_note(answer, found=found) == said
