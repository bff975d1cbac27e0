"""Which sentences introduce a name."""

import pytest

from gistread.memory.model import GistMemory, PageSize
from gistread.readers.introductions import introductions, named_in
from tests.memory.books import make_book

TEXT = (
    "CONTENTS I The Arrival of Mr Verrall II Mr Verrall Departs III Saltness",
    "Mr Verrall came at dusk, and Mrs Oake let him in. Nobody had ever seen Mr Verrall laugh.",
    "Mr Verrall was tall and grave, with a purse that never opened. He called on his sister, Natália, at once.",
    "Mrs Oake, a widow with two sons, kept the inn. The dog was called Biscuit.",
    "Mr Penn, the Clerk, wrote it down. Mr Penn was wiping his pen, and the rain came in.",
)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is Mr. Verrall?", "Mr. Verrall"),
        ("who was the Clerk of the Board", "the Clerk of the Board"),
        ("Who’s Biscuit?", "Biscuit"),
        ("Who is the man with the purse?", ""),
        ("Who killed Mr. Verrall?", ""),
        ("What is it?", ""),
        ("Where is Saltness?", ""),
    ],
)
def test_a_question_asks_to_explain_a_name_or_something_else(question: str, name: str) -> None:
    assert named_in(question) == name


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("Mr. Verrall", ["Mr Verrall came at dusk", "Mr Verrall was tall and grave"]),
        ("Natalia", ["He called on his sister"]),
        ("Mrs Oake", ["Mr Verrall came at dusk", "Mrs Oake, a widow"]),
        ("Biscuit", ["The dog was called"]),
        ("Mr Arthur Penn", ["Mr Penn, the Clerk"]),
        ("the Clerk of the Board", ["Mr Penn, the Clerk"]),
        ("Ferrand", []),
    ],
)
def test_names_are_introduced_by_what_is_said_of_them_and_by_their_first_mention(
    name: str, sentences: list[str]
) -> None:
    book = make_book(list(TEXT))
    found = introductions(f"Who is {name}?", GistMemory(book, PageSize(50, 150), "fake"))
    assert [
        book.text[start : start + len(begin)] for (start, _), begin in zip(found, sentences, strict=True)
    ] == sentences
