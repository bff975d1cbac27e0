"""An answer is compared with its sources, and gibberish is told from a model's own words."""

import pytest

from gistread.memory.sizes import unread_memory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered
from gistread.readers.evidence import citation_of
from gistread.readers.gibberish import gibberish_marks
from gistread.readers.model_class import BASIC, LARGE, ModelClass
from gistread.readers.registry import METHODS
from gistread.readers.source_marks import source_marks
from gistread.readers.steering import Steering
from gistread.store.model import with_messages
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book

RAIN = "It rained upon the river, and the road was long. " * 8
DROWNED = "On the third of May the ferryman drowned, and he was forty years old."
BOOK = make_book(
    [
        DROWNED,
        RAIN,
        "The innkeeper sold ninety barrels of beer on a Sunday in August.",
        RAIN,
        "His widow let the house to a doctor for a year.",
    ]
)
QUESTION = "How old was the ferryman?"


def place_of(words: str) -> tuple[int, int]:
    start = BOOK.text.index(words)
    return start, start + len(words)


def marked(answer: str, source: str = DROWNED) -> list[str]:
    """What is marked of an answer with this sentence as its source, and as passage [1]."""
    place = place_of(source)
    citations = [citation_of(place, unread_memory(BOOK))]
    marks = source_marks(answer, QUESTION, BOOK, citations, [place])
    return [answer[mark.start : mark.end] for mark in marks]


@pytest.mark.parametrize(
    "answer",
    [
        "He was 40 years old when he died [1].",
        "He drowned on 3 May [1]. He was forty.",
        "An accident on the water killed the ferryman [1].",
        "The book does not say how the ninety barrels got there.",
    ],
)
def test_what_the_source_tells_is_not_marked(answer: str) -> None:
    assert marked(answer) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        # The book has both, but tells them of the beer.
        ("He was ninety years old [1].", ["ninety"]),
        ("He drowned in August [1].", ["August"]),
    ],
)
def test_a_number_or_date_that_stands_elsewhere_in_the_book_is_marked(
    answer: str, words: list[str]
) -> None:
    assert marked(answer) == words


def test_a_statement_whose_passage_tells_of_something_else_is_marked() -> None:
    answer = "A storm overturned his boat [1]."
    assert marked(answer) == []
    assert marked(answer, "His widow let the house to a doctor for a year.") == [answer]


@pytest.mark.parametrize(
    ("answer", "is_marked"),
    [
        ("asdf qwer", True),
        ("Asdf.", True),
        ("The asdf qwer went to zxcv.", True),
        ("Grief.", False),
        ("Out of sheer desperation, he took to drink.", False),
        ("Er war vierzig Jahre alt und ist in dem Fluss ertrunken.", False),
    ],
)
def test_only_what_is_no_language_is_gibberish(answer: str, is_marked: bool) -> None:
    assert bool(gibberish_marks(answer, QUESTION, BOOK)) is is_marked


async def answer_of(reply: str, model: ModelClass) -> Answered:
    engine = FakeEngine(says=lambda _: reply)
    options = ReaderOptions(model=model)
    asking = Asking(QUESTION, unread_memory(BOOK), engine, Steering(), options)
    events = [event async for event in METHODS["gistread"].reader()(asking)]
    assert isinstance(events[-1], Answered)
    return events[-1]


async def test_gibberish_says_so_and_has_no_sources() -> None:
    end = await answer_of("asdf qwer", LARGE)
    shown = with_messages(end.answer, end.marks).text
    assert shown == "asdf qwer [not supported by the text]"
    assert end.citations == ()


async def test_gibberish_of_a_weak_model_is_replaced_by_sentences_of_the_book() -> None:
    end = await answer_of("asdf", BASIC)
    assert end.quoted
    assert not end.found


async def test_a_wrong_number_says_that_the_sources_lack_it() -> None:
    end = await answer_of("The ferryman was ninety.", LARGE)
    shown = with_messages(end.answer, end.marks).text
    assert shown == "The ferryman was ninety [not in the sources]."
    assert end.citations
