"""Which sentence tells who somebody is."""

import pytest

from gistread.people.index import Index
from gistread.people.telling import find_holder, telling_sentences
from tests.memory.books import make_book

FILLER = (
    "The rain fell on the roof of the house and on the road to the sea, as it always did in the "
    "spring. "
) * 3


def best(name: str, *sentences: str) -> str:
    book = make_book([*sentences, FILLER])
    best_sentence = telling_sentences(
        name, Index.from_book(book).find(name)[0].forms, book
    )[0]
    return book.text[slice(*best_sentence.span)] if best_sentence.tells else ""


@pytest.mark.parametrize(
    "telling",
    [
        "Irene Penn was the daughter of a miller.",
        "They met the well-known adventuress, Irene Penn, on the stairs.",
        "Then Irene Penn, the captain of the brig, said no.",
        "He wrote to his cousin Irene Penn.",
        "They had taken a governess named Irene Penn.",
        "It was Irene Penn. She was a teacher in the town.",
        "He saw Lieutenant Irene Penn at the door.",
        "The captain who spoke was Irene Penn.",
        "And if he went to Irene Penn, a great singer, would she take him into the house, or "
        "leave him to stand "
        "at the door in the rain?",
        "He had never liked Irene Penn; she’s the finest singer in the town.",
    ],
)
def test_a_sentence_that_says_what_somebody_is_comes_before_those_that_only_name_them(
    telling: str,
) -> None:
    named = (
        "It was not that he felt any emotion for Irene Penn, and Irene Penn knew it.",
        "Irene Penn came in, and he saw the doctor, the clerk, and Irene Penn.",
        "“You are the worst judge in the world, Irene Penn,” he said, and Irene Penn laughed.",
        (
            "“You are a good lawyer, Irene Penn!” he said, and she went with Irene Penn’s mother, "
            "the nurse, to the sea."
        ),
        "The face of Irene Penn was a master’s.",
        (
            "Irene Penn sat beside Tobias Finn, who was not a mender of clocks but the chemist of "
            "the town."
        ),
    )
    assert best("Irene Penn", *named, telling) == telling
    assert best("Irene Penn", *named) == ""


def test_a_kinswoman_is_no_man_and_the_next_of_a_list_is_somebody_else() -> None:
    listed = (
        "There were Lucie, his daughter, Mr. Lorry, the solicitor for the defence, and its "
        "counsel. Mr. Lorry was late."
    )
    assert (
        best("Mr. Lorry", listed, "Mr. Lorry, a clerk of the bank, sat down.")
        == "Mr. Lorry, a clerk of the bank, sat down."
    )


def test_a_role_is_held_by_the_one_of_whom_it_is_said() -> None:
    book = make_book(
        [
            "Mr. Hose, the captain of a trading brig, drank. Mr. Hose said no.",
            "Captain Orm was there, and Mr. Penn, the captain of the guard, too.",
            FILLER,
        ]
    )
    holder = find_holder("captain", ["brig"], Index.from_book(book))
    assert holder is not None
    assert book.text[slice(*holder.span)].startswith(
        "Mr. Hose, the captain of a trading brig"
    )
    assert find_holder("captain", ["lugger"], Index.from_book(book)) is None
    assert find_holder("vicar", [], Index.from_book(book)) is None


def test_a_man_is_found_only_by_all_that_is_asked_of_him() -> None:
    book = make_book(
        ["Mr. Thipps was a small, nervous man. Mr. Thipps opened the door.", FILLER]
    )
    index = Index.from_book(book)
    assert find_holder("man", ["nervous"], index) is not None
    assert find_holder("man", ["bath"], index) is None
    assert find_holder("man", [], index) is None
