"""Each statement of an answer against the text that stood before the model."""

from dataclasses import replace

import pytest

from gistread.memory.model import GistMemory, PageSize
from gistread.readers.support import check
from gistread.store.model import Citation
from tests.memory.books import make_book
from tests.readers.memories import FACTS, FILLING, make_memory

MEMORY = make_memory()
ALL = [(0, len(MEMORY.book.text))]
QUESTION = "Who stole the brass key?"


def supported(
    answer: str, question: str = QUESTION, memory: GistMemory = MEMORY
) -> list[bool]:
    statements = check(answer, question, memory, [(0, len(memory.book.text))])
    return [statement.supported for statement in statements]


def quotes(answer: str, question: str = QUESTION) -> list[Citation | None]:
    return [statement.quote for statement in check(answer, question, MEMORY, ALL)]


@pytest.mark.parametrize(
    "answer",
    [
        "Ferrand stole it.",
        "The stranger, Ferrand, confessed to it.",
        "He had lost a silver watch when playing cards.",
        "Martha noticed that the key was missing after the storm.",
        "The lamp went out and a ship was wrecked on the reef in the storm.",
        "“stolen the key to find the ledger”, as he said.",
    ],
)
def test_statements_in_the_same_or_similar_words_are_supported(answer: str) -> None:
    assert all(supported(answer))


@pytest.mark.parametrize(
    ("answer", "foreign"),
    [
        ("It was stolen by Napoleon.", ("Napoleon",)),
        ("Ferrand stole it in 1812.", ("1812",)),
        (
            "He said: “I never saw this brass key before.”",
            ("“I never saw this brass key before.”",),
        ),
        ("A dragon ate it.", ()),
        ("The king wanted a new palace for his daughters.", ()),
    ],
)
def test_statements_that_the_text_does_not_make_are_not_supported(
    answer: str, foreign: tuple[str, ...]
) -> None:
    (statement,) = check(answer, QUESTION, MEMORY, ALL)
    assert (statement.supported, statement.foreign, statement.quote) == (
        False,
        foreign,
        None,
    )


@pytest.mark.parametrize(
    ("question", "answer", "is_supported"),
    [
        ("Who drank rum with the fishermen?", "Ferrand.", True),
        ("Who drank rum with the fishermen?", "Quill.", False),
        ("For how many years was he paid to keep the books?", "Thirty-four.", True),
        ("For how many years was he paid to keep the books?", "Ten.", False),
    ],
)
def test_a_name_or_a_number_alone_must_stand_near_what_is_asked(
    question: str, answer: str, is_supported: bool
) -> None:
    pages = [
        *FACTS,
        "He was paid to keep the books for thirty-four years.",
        *FILLING,
        "They met at half past ten.",
    ]
    memory = GistMemory(make_book(pages), PageSize(50, 150), "")
    assert supported(answer, question, memory) == [is_supported]


def test_statements_are_checked_one_by_one() -> None:
    answer = "Ferrand stole it. Napoleon paid Wellington.\nHe lost his watch at cards"
    statements = check(answer, QUESTION, MEMORY, ALL)
    texts = [answer[statement.start : statement.end] for statement in statements]
    assert texts == [
        "Ferrand stole it.",
        "Napoleon paid Wellington.",
        "He lost his watch at cards",
    ]
    assert [statement.supported for statement in statements] == [True, False, True]


def test_the_quote_is_the_sentence_that_carries_the_statement() -> None:
    (quote,) = quotes("He lost his watch at cards.", "What did Ferrand lose?")
    assert quote is not None
    assert (quote.page, quote.quote) == (4, FACTS[3])
    assert MEMORY.book.text[quote.start : quote.end] == quote.quote


def test_text_that_the_model_did_not_see_supports_nothing() -> None:
    page = MEMORY.entry(4).page
    elsewhere = [(0, page.start), (page.end, len(MEMORY.book.text))]
    (statement,) = check(
        "He lost a silver watch at cards.", "What did Ferrand lose?", MEMORY, elsewhere
    )
    assert not statement.supported


def test_a_statement_supported_by_a_gist_is_quoted_from_its_page() -> None:
    (statement,) = check("He drank rum there.", "What did Ferrand do?", MEMORY, (), [4])
    assert statement.supported
    assert statement.quote == quotes("He drank rum there.", "What did Ferrand do?")[0]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (
            "Der Leuchtturm stand auf der Klippe. Martha zündete jeden Abend die Lampe an.",
            "Sie zündete die Lampe an.",
            "Er kaufte drei Pferde.",
        ),
        (
            "老人把钥匙藏在炉子后面，没有人知道。第二天早上钥匙不见了。",
            "钥匙藏在炉子后面。",
            "国王建造了一座宫殿。",
        ),
    ],
)
def test_statements_in_other_languages_are_checked(
    text: str, right: str, wrong: str
) -> None:
    language = "de" if "Martha" in text else "zh"
    memory = GistMemory(
        replace(make_book([text]), language=language), PageSize(50, 150), ""
    )
    assert supported(f"{right}\n{wrong}", "?", memory) == [True, False]


@pytest.mark.parametrize(
    ("question", "answer", "is_fit"),
    [
        ("Who stole the brass key?", "F.", False),
        ("Where was the lamp?", "In twenty-two years.", False),
        ("Who came in the storm?", "Three days.", False),
        ("Where was the lamp?", "In the storm.", True),
        ("How old was the watch?", "It was 22.", True),
        ("How old was the watch?", "It was 25.", False),
        ("Who is Ferrand?", "Ferrand.", False),
        ("Who bought Ferrand's key?", "Mr. Ferrand.", False),
        ("What was the silver watch?", "The watch.", False),
        ("Who stole it, Ferrand or Martha?", "Ferrand.", True),
        ("Did Ferrand confess?", "Ferrand did.", True),
        ("When did the ship come?", "Three days.", False),
        ("How many lamps went out?", "A silver watch.", False),
        ("How many lamps went out?", "The lamp, twice.", False),
        ("How many times did the lamp go out?", "Once.", True),
        ("How many lamps went out?", "The lamp.", False),
        ("How many ships were wrecked?", "One ship.", True),
        ("How much did the lamp cost?", "The lamp.", False),
        ("Where did the keeper go?", "Two feet.", False),
        ("Who went out?", "A second.", False),
    ],
)
def test_a_short_answer_must_fit_the_kind_of_question(
    question: str, answer: str, is_fit: bool
) -> None:
    text = MEMORY.book.text + (
        "\n\nIn twenty-two years, and in three days, F. had one ship, two feet, a second and "
        "none of them."
    )
    memory = make_memory()
    memory = replace(memory, book=replace(memory.book, text=text))
    (statement,) = check(answer, question, memory, [(0, len(text))])
    assert statement.supported is is_fit
