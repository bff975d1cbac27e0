"""Why a part of a book is wanted for a question."""

from gistread.readers.reasons import Reasons

TEXT = "The keeper lit lamp 1 at nine."


def test_a_number_alone_is_no_reason() -> None:
    place = (0, len(TEXT))
    assert Reasons("What happens in chapter 1?", TEXT).of([place], "it is near") == "it is near"
    with_word = Reasons("Who lit lamp 1?", TEXT).of([place])
    assert "“lamp”" in with_word
    assert "“1”" in with_word
