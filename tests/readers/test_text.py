"""The steps of a reader in words that are true of whichever reader it is."""

import pytest

from gistread.readers.events import Restarted, Started, Stopped, StopReason, Unfit
from gistread.readers.text import describe, in_quotes


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "The model sees nothing of the book's text."),
        (0.004, "The model sees under 1% of the book's text."),
        (0.25, "The model sees 25% of the book's text."),
        (1.0, ""),
        (None, ""),
    ],
)
def test_the_share_of_the_text_shown_is_reported(share: float | None, words: str) -> None:
    assert describe(Started("closed-book", 3, 3, True, share_shown=share)) == words


def test_a_search_without_a_find_leaves_it_to_the_answer_to_say_so() -> None:
    assert describe(Started("gistread", 3, 3, True, share_shown=0.0, bound_share=0.1)) == ""


@pytest.mark.parametrize("reason", StopReason)
def test_every_stop_reason_has_a_message(reason: StopReason) -> None:
    assert describe(Stopped(reason)).strip()


def test_a_page_that_does_not_fit_is_reported_as_closed_or_partly_read() -> None:
    assert describe(Unfit(3)) == "   page 3 does not fit the model's window"
    assert "page 3" in describe(Unfit(3, 0.42))
    assert "up to 42%" in describe(Unfit(3, 0.42))


@pytest.mark.parametrize("reason", ["the server broke off", "The model's process ended; it is started again."])
def test_a_restarted_answer_says_why(reason: str) -> None:
    assert describe(Restarted(reason)) == f"The answer begins again: {reason.rstrip('.')}."


def test_quotation_marks_inside_a_quotation_are_single() -> None:
    assert in_quotes("“Go,” he said.") == "“‘Go,’ he said.”"
