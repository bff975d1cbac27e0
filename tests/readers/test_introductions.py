"""Which sentences introduce a name."""

import pytest

from gistread.memory.model import GistMemory, PageSize
from gistread.people.index import index_of
from gistread.readers.introductions import introducing_sentences, introductions
from tests.memory.books import make_book

TEXT = (
    "CONTENTS I The Arrival of Mr Verrall II Mr Verrall Departs III Saltness",
    "Mr Verrall came at dusk, and Mrs Oake let him in. Nobody had ever seen Mr Verrall laugh.",
    (
        "Mr Verrall was tall and grave, with a purse that never opened. He called on his sister, "
        "Natália, at once."
    ),
    "Mrs Oake, a widow with two sons, kept the inn. The dog was called Biscuit.",
    (
        "Mr Penn, the Clerk, wrote it down for the vicar. Mr Penn was wiping his pen, and the rain "
        "came in."
    ),
    "Mr Penn owned the Gannet, which had no sail. The ferry was called the Gannet, and it leaked.",
    "Mr Penn liked Duchess best. They drove home behind an old white horse called Duchess.",
    "That evening I walked home to my old friend, the Belgian ex-detective, Achille Corvin.",
    (
        "“Do you remember how Justine came?” Of four children Justine was the third. “And where is "
        "old Walton now?”"
    ),
)


def memory() -> GistMemory:
    rain = (
        "and the rain fell on the roof of the house and on the road to the sea, as it always did "
        "in the spring. "
    )
    return GistMemory(make_book([*TEXT, 6 * rain]), PageSize(50, 150), "fake")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is Mr. Verrall?", "Mr. Verrall"),
        ("who was the Clerk of the Board", "the Clerk of the Board"),
        ("And who’s Biscuit?", "Biscuit"),
        ("who is mr verrall", "Mr Verrall"),
        ("Who is Ferrand?", "Ferrand"),
        ("Who is he?", None),
        ("who is the vicar", None),
        ("Who is the man with the purse?", None),
        ("Who killed Mr. Verrall?", None),
        ("What is it?", None),
        ("Where is Saltness?", None),
    ],
)
def test_a_question_asks_to_explain_a_name_or_something_else(
    question: str, name: str | None
) -> None:
    introduction = introductions(question, memory())
    assert (introduction.name if introduction else None) == name


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("Mr. Verrall", ["Mr Verrall was tall and grave"]),
        ("Natalia", ["He called on his sister"]),
        ("Mrs Oake", ["Mrs Oake, a widow"]),
        ("Biscuit", ["The dog was called"]),
        ("the Gannet", ["The ferry was called the Gannet"]),
        ("Duchess", ["They drove home behind"]),
        ("Mr Arthur Penn", ["Mr Penn, the Clerk"]),
        ("the Clerk of the Board", ["Mr Penn, the Clerk"]),
        ("Justine", ["Of four children"]),
        ("Walton", ["“And where is old Walton now?”"]),
        ("Ferrand", []),
    ],
)
def test_names_are_introduced_by_what_is_said_of_them_or_by_their_first_mention(
    name: str, sentences: list[str]
) -> None:
    introduction = introductions(f"Who is {name}?", memory())
    assert introduction is not None
    places = zip(introduction.sentences, sentences, strict=True)
    assert [
        memory().book.text[start : start + len(begin)] for (start, _), begin in places
    ] == sentences


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("Biscuit", True),
        ("the Gannet", True),
        ("Duchess", True),
        ("Mrs Oake", True),
        ("Corvin", True),
        ("Walton", False),
    ],
)
def test_a_sentence_tells_if_it_says_what_somebody_or_something_is(
    name: str, tells: bool
) -> None:
    introduction = introductions(f"Who is {name}?", memory())
    assert introduction is not None
    assert introduction.tells == tells


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Madame de Villefort", "Villefort was a magistrate of the town."),
        ("Vincent van Gogh", "Van Gogh was a painter."),
        ("Jack the Ripper", "Jack was a sailor."),
    ],
)
def test_a_particle_belongs_to_the_family_name(name: str, sentence: str) -> None:
    sentences = (
        "Madame Danglars was the wife of a banker.",
        "The Ripper was seen.",
        "Gogh was a town.",
        sentence,
    )
    rain = 6 * (
        "the rain fell on the roof of the house and on the road to the sea, as it always did "
        "in the spring. "
    )
    known = GistMemory(make_book([*sentences, rain]), PageSize(50, 150), "fake")
    introduction = introductions(f"Who is {name}?", known)
    assert introduction is not None
    assert [known.book.text[start:end] for start, end in introduction.sentences] == [
        sentence
    ]


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        ("“What is it, Bunter?” he asked.", None),
        ("“Come here, Bunter, and bring my hat.” Bunter’s coat lay there.", None),
        (
            "“What is it, Bunter?” he asked. Bunter had once been in the army.",
            "Bunter had once been in the army.",
        ),
        (
            "They looked for Bunter. Bunter brought coffee and the evening papers.",
            "Bunter brought coffee and the evening papers.",
        ),
    ],
)
def test_a_card_has_a_sentence_that_tells_something_or_none(
    sentences: str, expected: str | None
) -> None:
    book = make_book([f"{sentences} It rained upon the road.", "“Thank you, Bunter.”"])
    entity = index_of(book).find("Bunter")[0]
    quotes = [
        book.text[start:end] for start, end in introducing_sentences(entity, book)
    ]
    assert quotes == ([expected] if expected else [])
