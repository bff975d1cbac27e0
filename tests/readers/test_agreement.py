"""Answers that say the same are one, whatever they wear."""

import pytest

from gistread.readers.agreement import agree, group_answers


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


def test_groups_are_ordered_by_size_then_by_first_answer() -> None:
    assert group_answers(["Martha", "Ferrand", "ferrand.", "Ann", "the Ferrand"]) == [[1, 2, 4], [0], [3]]


def test_a_vague_answer_does_not_join_two_different_ones() -> None:
    assert group_answers(["Martha Quill", "Ann Quill", "Quill"]) == [[0, 2], [1]]
