"""Questions for a number prefer passages with a number of their kind."""

import pytest

from gistread.memory.model import GistMemory, PageSize
from gistread.readers.kinds import quantity_asked_for
from gistread.readers.ranking import rank
from tests.memory.books import make_book

ASKED_AND_TOLD = [
    ("How old is David?", "David was seventeen years of age."),
    ("At what age did she marry?", "She was married, aged 19, in spring."),
    ("How long was the doctor in prison?", "He was there for eighteen long years."),
    ("For how many weeks did they sail?", "They sailed for three weeks."),
    (
        "How much money did the thief take?",
        "He took two hundred and seventy-two pounds.",
    ),
    ("For how much is the wife sold?", "“Five guineas,” said the man with the wife."),
    ("What sum was paid?", "They paid £20,000."),
    ("How many children had they?", "They had six of them."),
]


@pytest.mark.parametrize(("question", "passage"), ASKED_AND_TOLD)
def test_a_passage_tells_the_quantity_asked_for(question: str, passage: str) -> None:
    quantity = quantity_asked_for(question)
    assert quantity is not None
    assert quantity.is_told_in(passage)
    assert not quantity.is_told_in("The doctor was an old man, and nobody knew more.")


@pytest.mark.parametrize(
    "question",
    ["Who is David?", "How did he die?", "How much did she love him?", "Why so many?"],
)
def test_other_questions_ask_for_no_quantity(question: str) -> None:
    assert quantity_asked_for(question) is None


def test_the_passage_with_the_number_comes_first() -> None:
    near = "The doctor was a prisoner, said they all, a prisoner, poor doctor. " * 6
    telling = (
        "The doctor had been a prisoner for eighteen years, and he forgot his name. "
        * 4
    )
    between = "The road went on along the river, and the day was long and grey. " * 20
    book = make_book([near, between, telling, between])
    memory = GistMemory(book, PageSize(80, 160), "none")
    for question, word in (
        ("How long was the doctor a prisoner?", "eighteen"),
        ("Who said that the doctor was a prisoner?", "said they all"),
    ):
        start, end = rank(question, memory).passages[0]
        assert word in book.text[start:end]
