"""Answers that say the same are one, whatever they wear."""

import pytest

from gistread.readers.agreement import agree


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Wall Street Journal", "the Wall Street Journal."),
        ("Ferrand", "It was Ferrand"),
        ("Élodie", "elodie"),
        ("1809", "in 1809"),
    ],
)
def test_equal_answers_agree(one: str, other: str) -> None:
    assert agree(one, other)
    assert agree(other, one)


@pytest.mark.parametrize(("one", "other"), [("Ferrand", "Martha"), ("1809", "1890"), ("", "Ferrand"), ("李", "王")])
def test_different_answers_disagree(one: str, other: str) -> None:
    assert not agree(one, other)
