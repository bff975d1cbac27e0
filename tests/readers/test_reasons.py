"""Why a part of a book is wanted for a question."""

import pytest

from gistread.readers.reasons import Reasons

TEXT = "The keeper lit lamp 1 at nine."


def test_a_number_alone_is_no_reason() -> None:
    place = (0, len(TEXT))
    assert (
        Reasons("What happens in chapter 1?", TEXT).of([place], "it is near")
        == "it is near"
    )
    with_word = Reasons("Who lit lamp 1?", TEXT).of([place])
    assert "“lamp”" in with_word
    assert "“1”" in with_word


SEA = "Mr. Stubb took his pipe. The captain went below, where Ahab kept the charts."
WHOLE = [(0, len(SEA))]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What did Mr. Starbuck keep in the pipe?", "because it has “pipe”"),
        ("what did mr starbuck owe?", ""),
        ("Where did Captain Ahab sleep?", "because it has “Ahab”"),
        ("Who is the captain?", "because it has “captain”"),
        ("Was the captain asleep?", "because it has “captain”"),
        ("Who?", ""),
    ],
)
def test_a_title_before_a_name_is_no_reason(question: str, reason: str) -> None:
    assert Reasons(question, SEA).of(WHOLE) == reason


def test_a_stop_word_of_the_question_in_another_language_is_no_reason() -> None:
    text = "They die at sea, and was one of them left? Ein Wal."
    reasons = Reasons("Was hat die Frau mit der Lampe und dem Wal gemacht?", text, "en")
    assert reasons.of([(0, len(text))]) == "because it has “Wal”"


def test_a_verb_that_stands_everywhere_is_a_reason_only_where_nothing_else_is_shared() -> (
    None
):
    assert (
        Reasons("Who went to the charts?", SEA).of(WHOLE) == "because it has “charts”"
    )
    assert Reasons("Who went home?", SEA).of(WHOLE) == "because it has “went”"
    near = Reasons("Who went to the pipe?", SEA).of(
        [(SEA.index("The captain"), len(SEA))]
    )
    assert near == "because near it stands “pipe”"
