"""Which method answers: by model, question, length of the text and pace of the machine."""

from dataclasses import replace

import pytest

from gistread.memory.sizes import unread_memory
from gistread.readers import cost
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered, LookedUp, ReaderEvent, Shown, Started
from gistread.readers.model_class import BASIC, LARGE, SMALL, ModelClass
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from gistread.readers.trace import describe_scope
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import make_memory

QUESTION = "Who stole the brass key?"


async def ask(
    question: str = QUESTION,
    *,
    pages: int = 8,
    engine: FakeEngine | None = None,
    options: ReaderOptions | None = None,
    steering: Steering | None = None,
) -> list[ReaderEvent]:
    engine = engine or FakeEngine(
        says=lambda _: "Ferrand stole it.", chooses=lambda _, options: len(options) - 1
    )
    memory = make_memory(pages)
    reader = METHODS["auto"].reader()
    return [
        event
        async for event in reader(
            Asking(
                question,
                memory,
                engine,
                steering or Steering(),
                options or ReaderOptions(),
            )
        )
    ]


def choice(events: list[ReaderEvent]) -> tuple[str, str]:
    assert isinstance(events[0], Started)
    return events[0].reader, events[0].choice


@pytest.fixture
def long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of the memory is longer than what may be shown at once."""
    monkeypatch.setattr(cost, "_COMFORTABLE", 0.05)


async def test_a_text_that_fits_is_shown_as_a_whole() -> None:
    events = await ask()
    assert choice(events) == ("gistread", "the whole text: it fits the model's window")
    assert [event.places for event in events if isinstance(event, Shown)] == [
        ((0, len(make_memory().book.text)),)
    ]
    assert not any(isinstance(event, LookedUp) for event in events)


async def test_a_text_with_gaps_is_not_called_whole() -> None:
    steering = Steering(refused={2})
    events = await ask(steering=steering)
    assert choice(events)[1].startswith(
        "the text without the sections that you left out:"
    )
    events = await ask(steering=Steering(pinned={2}, only=True))
    assert choice(events)[1].startswith("the sections that you named:")


async def test_a_text_of_two_sentences_is_shown_to_its_end() -> None:
    book = make_book(["The fox slept.", "Then the hen slept."])
    asking = Asking(
        QUESTION,
        unread_memory(book),
        FakeEngine(says=lambda _: "The hen."),
        Steering(),
        ReaderOptions(),
    )
    events = [event async for event in METHODS["auto"].reader()(asking)]
    assert [event.places[-1][1] for event in events if isinstance(event, Shown)] == [
        len(book.text.rstrip())
    ]


@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize(
    ("model", "pages", "reader", "why"),
    [
        (LARGE, 8, "readagent-s", "the gists of the whole book, with look-ups"),
        (
            SMALL,
            8,
            "gistread",
            "passages nearest to the question",
        ),
        (
            BASIC,
            8,
            "gistread",
            "passages nearest to the question",
        ),
        (
            LARGE,
            3,
            "gistread",
            "passages nearest to the question",
        ),
        (
            LARGE,
            0,
            "gistread",
            "passages nearest to the question",
        ),
    ],
)
async def test_large_models_look_pages_up_and_others_get_ranked_passages(
    model: ModelClass, pages: int, reader: str, why: str
) -> None:
    assert choice(await ask(pages=pages, options=ReaderOptions(model=model))) == (
        reader,
        why,
    )


@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize(
    "question", ["What has happened so far?", "Summarise the story so far."]
)
async def test_the_story_so_far_is_told_from_the_gists(question: str) -> None:
    engine = FakeEngine(says=lambda _: "Ferrand stole it.")
    events = await ask(question, engine=engine)
    assert choice(events) == ("gistread", "the story so far, from the gists")
    assert all(f"(gist {number})" in engine.calls[-1].text for number in range(1, 9))


@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize("pages", [0, 3])
async def test_without_gists_of_most_of_it_the_story_is_told_from_passages_of_all_parts(
    pages: int,
) -> None:
    events = await ask("What has happened so far?", pages=pages)
    reader, why = choice(events)
    assert isinstance(events[0], Started)
    assert (reader, f"{why}. {describe_scope(events[0])}".count("no gists")) == (
        "gistread",
        1,
    )


@pytest.mark.usefixtures("long_text")
async def test_passages_of_all_parts_are_not_shown_for_words_of_the_question() -> None:
    book = make_book(
        ["The boat went far out to sea, and the storm blew it far away."] * 99
    )
    memory = unread_memory(book)
    asking = Asking(
        "What has happened so far?", memory, FakeEngine(), Steering(), ReaderOptions()
    )
    events = [event async for event in METHODS["auto"].reader()(asking)]
    shown = [event for event in events if isinstance(event, Shown)]
    assert [any(event.reasons) for event in shown] == [False]


@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize(
    "question",
    [
        "How many storms are there?",
        "And in how many storms did he sail?",
        "Please count the storms.",
        "Which of the fishermen play cards?",
        "List the people on the island.",
        "Compare Martha and Ferrand.",
        "Who are all the people in it?",
    ],
)
async def test_a_question_about_all_of_it_reads_the_whole_book_and_says_so_first(
    question: str,
) -> None:
    events = await ask(question)
    assert choice(events) == (
        "notes",
        "the whole text, part by part: the question is about all of it",
    )
    assert isinstance(events[-1], Answered)


@pytest.mark.usefixtures("long_text")
async def test_a_server_is_said_to_be_sent_the_whole_book() -> None:
    engine = FakeEngine(says=lambda _: "Nothing new.")
    engine._info = replace(engine.info, is_remote=True)
    book = make_book(
        ["The boat went far out to sea, and the storm blew it far away."] * 400
    )
    memory = unread_memory(book)
    asking = Asking("List all the storms.", memory, engine, Steering(), ReaderOptions())
    events = [event async for event in METHODS["auto"].reader()(asking)]
    assert choice(events) == (
        "notes",
        "the whole text, part by part: the question is about all of it, about 10,000 tokens sent",
    )


@pytest.mark.usefixtures("long_text")
@pytest.mark.parametrize(
    "question",
    ["Who is the journalist?", "Who is Count Ferrand?", "Count Ferrand: who is he?"],
)
async def test_a_word_that_only_looks_like_a_request_for_all_of_it_is_none(
    question: str,
) -> None:
    assert choice(await ask(question))[0] != "notes"
