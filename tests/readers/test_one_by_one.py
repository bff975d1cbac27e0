"""An unreliable model is asked for a fact over each near passage alone.

The surest answer that fits counts.
"""

import pytest

from gistread.book.builder import BookBuilder
from gistread.engine.protocol import Rates
from gistread.memory.model import GistMemory
from gistread.memory.sizes import unread_memory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, ReaderEvent, Shown
from gistread.readers.model_class import LARGE, SMALL
from gistread.readers.one_by_one import one_by_one, with_surroundings
from gistread.readers.steering import Steering
from gistread.readers.voting import Vote, agree, choose
from tests.fake_engine import FakeEngine


def votes(*answers: str) -> list[Vote]:
    return [Vote((at, at + 1), answer) for at, answer in enumerate(answers)]


@pytest.mark.parametrize(
    ("question", "answers", "right"),
    [
        (
            "Who commands the brig?",
            ("The mate.", "Hoseason.", "Captain Hoseason."),
            "Hoseason.",
        ),
        (
            "What is the name of the inn?",
            ("A village.", "The Coach and Horses."),
            "The Coach and Horses.",
        ),
        (
            "How many years does he swear not to drink?",
            ("Wine.", "A long time.", "Twenty-one."),
            "Twenty-one.",
        ),
        ("What did Helen take?", ("Helen.", "The umbrella."), "The umbrella."),
        ("What did Helen take?", ("A hat.", "A coat."), "A hat."),
        ("Where does Juley live?", ("At Juley’s.", "At Swanage."), "At Swanage."),
        ("Who shot Bob?", ("It was dark.", "Finch."), "Finch."),
    ],
)
def test_the_answer_that_fits_and_that_others_share_wins(
    question: str, answers: tuple[str, ...], right: str
) -> None:
    assert choose(question, votes(*answers))[0].answer == right


def test_of_two_answers_that_fit_the_surer_one_wins_and_the_other_comes_after() -> None:
    surer = Vote((9, 10), "A coat.", log_probability=-0.2)
    assert (
        choose(
            "What did Helen take?",
            [Vote((0, 1), "A hat.", log_probability=-2.0), surer],
        )[0]
        == surer
    )
    ranked = choose(
        "Whom does she marry?", votes("Paul Wilcox.", "Henry.", "Mr. Wilcox.")
    )
    assert [vote.answer for vote in ranked] == ["Paul Wilcox.", "Mr. Wilcox.", "Henry."]
    assert choose("Whom does she marry?", []) == ()


@pytest.mark.parametrize(
    ("answer", "other", "expected"),
    [
        ("Hoseason.", "Captain Hoseason commands it.", True),
        ("Captain Hoseason.", "The captain.", True),
        ("Captain Hoseason.", "Captain Smollett.", False),
        ("A coat.", "A hat.", False),
        ("12", "15", False),
        ("Captain Hoseason.", "The brig.", False),
    ],
)
def test_answers_agree_if_one_only_says_more(
    answer: str, other: str, expected: bool
) -> None:
    assert agree("Who commands the brig?", answer, other) is expected


def test_a_passage_is_asked_with_the_sentences_around_it() -> None:
    builder = BookBuilder()
    for number in range(100):
        builder.add(
            f"This is sentence {number} of a long evening at sea. It is followed by another."
        )
    book = builder.build(title="The Brig", source_format="text")
    start = book.text.index("This is sentence 50 ")
    passage = (start, start + 60)
    beside = (start + 90, start + 150)
    far = (10, 60)
    (first, last), other = with_surroundings([passage, beside, far], book)
    assert start - 500 < first < start - 340
    assert book.text[first:].startswith(("This is sentence", "It is followed"))
    assert book.text[:last].endswith(("sea.", "another."))
    assert other[0] == 0, "what lies in an earlier one is left out"


WIND = "The wind was in the east and the rain came down upon the deck. "


def long_memory() -> GistMemory:
    """A long book that tells twice who commanded the brig."""
    noise = [
        f"The brig lay at anchor for {number} days, and nobody commanded her."
        for number in range(400)
    ]
    builder = BookBuilder()
    for text in (
        *noise[:200],
        "Hoseason commanded the brig.",
        *noise[200:],
        "The brig was commanded by Captain Hoseason, of Dysart.",
    ):
        builder.add(f"{text} {WIND * 6}")
    return unread_memory(builder.build(title="The Brig", source_format="text"))


async def ask(engine: FakeEngine, question: str) -> list[ReaderEvent]:
    asking = Asking(
        question, long_memory(), engine, Steering(), ReaderOptions(model=SMALL)
    )
    return [event async for event in one_by_one(asking)]


def says_hoseason(prompt: str) -> str:
    return "Hoseason." if "Hoseason" in prompt else "The wind was in the east."


async def test_a_long_book_is_asked_passage_by_passage() -> None:
    engine = FakeEngine(says=says_hoseason)
    answered = (await ask(engine, "Who commanded the brig?"))[-1]
    assert isinstance(answered, Answered)
    assert answered.answer == "Hoseason."
    own, *others = answered.citations
    assert "Hoseason" in own.quote
    assert not own.tells
    rivals = {source.tells for source in others if "Hoseason" not in source.quote}
    assert rivals == {"The wind was in the east."}, (
        "what other passages answer stands below, with their sources"
    )


async def test_a_fact_is_asked_for_in_few_words_and_without_a_way_out() -> None:
    engine = FakeEngine(says=says_hoseason)
    await ask(engine, "Who commanded the brig?")
    completions = [call for call in engine.calls if call.kind == "complete"]
    assert len(completions) == SMALL.passages
    assert all("in as few words as possible" in call.text for call in completions)
    assert not any("does not say" in call.text for call in completions), (
        "a way out is taken"
    )


async def test_an_answer_that_its_passage_does_not_tell_makes_it_read_on() -> None:
    engine = FakeEngine(says=lambda _: "The wind.", chooses=lambda _, __: 1)
    events = await ask(engine, "Who washed the deck in the rain?")
    answered = events[-1]
    assert isinstance(answered, Answered)
    assert not answered.found
    assert not answered.citations
    looks = [event.places for event in events if isinstance(event, Shown)]
    assert len(looks) == 2
    assert set(looks[0]) < set(looks[1]), "the next passages, not the same again"
    texts = [call.text for call in engine.calls if call.kind == "complete"]
    assert len(texts) == len(set(texts)) == 2 * SMALL.passages


async def test_the_pace_decides_how_many_passages_are_asked() -> None:
    engine = FakeEngine(says=says_hoseason)
    engine.pace(Rates(prefill=40, decode=10))
    memory = long_memory()
    options = ReaderOptions(model=LARGE, first_word_s=20)
    asking = Asking("Who commanded the brig?", memory, engine, Steering(), options)
    async for _ in one_by_one(asking):
        pass
    completions = [call for call in engine.calls if call.kind == "complete"]
    assert 1 < len(completions) < LARGE.passages
