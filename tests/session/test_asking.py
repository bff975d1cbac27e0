"""The settings with which a book is asked."""

from gistread.config import Config
from gistread.session.questions import settings_of_book
from gistread.store.model import AskingChoice

SETTINGS = Config(reader="notes", steps="ask", max_pages=7)


def test_a_book_without_a_choice_of_its_own_follows_the_settings() -> None:
    assert settings_of_book(SETTINGS, AskingChoice()) == SETTINGS


def test_each_choice_of_a_book_comes_before_the_settings() -> None:
    chosen = settings_of_book(SETTINGS, AskingChoice("memwalker", "alone", 0))
    assert (chosen.reader, chosen.steps, chosen.max_pages) == ("memwalker", "alone", 0)
    only_steps = settings_of_book(SETTINGS, AskingChoice(steps="alone"))
    assert (only_steps.reader, only_steps.max_pages) == ("notes", 7)


def test_a_method_that_no_longer_exists_counts_as_not_chosen() -> None:
    assert (
        settings_of_book(SETTINGS, AskingChoice(reader="of-yesterday")).reader
        == "notes"
    )
