"""Positions, questions and what else is stored of a book."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.store import database
from gistread.store.model import (
    AnswerMark,
    AnswerMarkKind,
    AskingChoice,
    Citation,
    ReadingPlace,
    SavedQuestion,
    SavedThread,
)
from gistread.store.user_data import UserData
from tests.folders import paths_in

BOOK = "a" * 64
OTHER = "b" * 64
QUESTION = SavedQuestion(
    question="Who is at the door?",
    answer="Nobody.\nOnly snow.",
    found=True,
    citations=(Citation(3, 1200, 1215, "nobody was there"),),
    lookups=(3, 7),
    reader="readagent-s",
    marks=(AnswerMark(0, 7, AnswerMarkKind.NAME, "not in the text"),),
    model="SmolLM2",
    asked_at=1_700_000_000.5,
)
OF_ANOTHER_THREAD = replace(
    QUESTION, question="Where\n?", asked_at=QUESTION.asked_at + 1
)
FOLLOW_UP = replace(
    QUESTION,
    question="And why?",
    asked_at=QUESTION.asked_at + 2,
    thread=QUESTION.asked_at,
    upto=77,
    passage=(3, 9),
)
AFTER_THE_CLOCK_WAS_SET_BACK = replace(
    FOLLOW_UP, question="Truly?", asked_at=QUESTION.asked_at - 86_400
)


@pytest.fixture
def user_data(tmp_path: Path) -> UserData:
    return UserData(paths_in(tmp_path))


def put(
    user_data: UserData,
    sha256: str = BOOK,
    title: str = "The Door",
    path: Path | None = Path("/books/door.txt"),
) -> None:
    user_data.record_opening(
        sha256, title=title, authors=("A. Author", "雪"), length=5000, path=path
    )


def test_a_book_never_opened_is_at_its_beginning_and_nothing_is_created(
    user_data: UserData, tmp_path: Path
) -> None:
    assert user_data.position(BOOK) == 0
    assert user_data.questions(BOOK) == []
    assert user_data.recent() == []
    assert list(tmp_path.iterdir()) == []


def test_two_instances_lose_neither_what_was_read_nor_the_place(
    user_data: UserData,
) -> None:
    put(user_data)
    opened = ReadingPlace(100, ((0, 100),), end=150)
    user_data.set_position(BOOK, 100, read=opened.read, end=150)
    # The one reads on, the other only closes
    user_data.set_position(BOOK, 400, read=[(0, 400)], end=450, base=opened)
    user_data.set_position(BOOK, 100, read=opened.read, end=150, base=opened)
    assert user_data.reading_place(BOOK) == ReadingPlace(400, ((0, 400),), end=450)
    # Now the other reads on too: it was the last
    user_data.set_position(BOOK, 200, read=[(0, 200)], end=250, base=opened)
    place = user_data.reading_place(BOOK)
    assert (place.offset, place.end, place.furthest) == (200, 250, 450)


def test_keeps_questions_in_their_order(user_data: UserData) -> None:
    put(user_data)
    user_data.add_question(BOOK, QUESTION)
    user_data.add_question(BOOK, SavedQuestion("And then?", "", found=False))
    first, second = user_data.questions(BOOK)
    assert first == QUESTION
    assert (second.question, second.found, second.citations) == ("And then?", False, ())
    assert second.asked_at > 1_700_000_000


def test_recent_books_come_last_opened_first(user_data: UserData) -> None:
    put(user_data, BOOK, "The Door")
    put(user_data, OTHER, "The Window", path=None)
    put(user_data, BOOK, "The Door, again", path=Path("relative.txt"))
    user_data.set_position(BOOK, 42)
    door, window = user_data.recent()
    assert (door.sha256, door.title, door.authors) == (
        BOOK,
        "The Door, again",
        ("A. Author", "雪"),
    )
    assert (door.path, door.position, door.length) == (
        Path.cwd() / "relative.txt",
        42,
        5000,
    )
    assert (window.title, window.path, window.position) == ("The Window", None, 0)
    assert door.opened_at > window.opened_at


@pytest.fixture
def threads(user_data: UserData) -> list[SavedThread]:
    """Two threads of a book, the last begun first: one question, and one with two follow-ups."""
    put(user_data)
    for question in (
        QUESTION,
        OF_ANOTHER_THREAD,
        FOLLOW_UP,
        AFTER_THE_CLOCK_WAS_SET_BACK,
    ):
        user_data.add_question(BOOK, question)
    return user_data.threads(BOOK)


def thread_names(user_data: UserData) -> list[str]:
    return [thread.name for thread in user_data.threads(BOOK)]


def test_questions_are_kept_in_threads_named_by_their_first(
    threads: list[SavedThread],
) -> None:
    assert [thread.questions for thread in threads] == [
        (OF_ANOTHER_THREAD,),
        (QUESTION, FOLLOW_UP, AFTER_THE_CLOCK_WAS_SET_BACK),
    ]
    assert [thread.name for thread in threads] == ["Where ?", QUESTION.question]


def test_a_thread_can_be_named(user_data: UserData, threads: list[SavedThread]) -> None:
    user_data.rename_thread(BOOK, threads[0].id, " The  place ")
    user_data.rename_thread(BOOK, threads[1].id, "The door")
    assert thread_names(user_data) == ["The place", "The door"]


def test_a_deleted_thread_leaves_nothing_on_disk(
    user_data: UserData, threads: list[SavedThread], tmp_path: Path
) -> None:
    user_data.rename_thread(BOOK, threads[1].id, "The door")
    user_data.delete_thread(BOOK, threads[1].id)
    assert thread_names(user_data) == ["Where ?"]
    assert user_data.questions(BOOK) == [OF_ANOTHER_THREAD]
    for file in paths_in(tmp_path).data.iterdir():
        data = file.read_bytes()
        assert b"And why?" not in data
        assert b"The door" not in data
    assert [book.title for book in user_data.recent()] == ["The Door"]


def test_how_a_book_is_asked_is_its_own(user_data: UserData) -> None:
    assert user_data.asking_choice(BOOK) == AskingChoice()
    user_data.choose_asking(BOOK, AskingChoice("notes", "ask", 3))
    user_data.choose_asking(BOOK, AskingChoice("notes", "alone", 0))
    assert user_data.asking_choice(BOOK) == AskingChoice("notes", "alone", 0)
    assert user_data.asking_choice(OTHER) == AskingChoice()


def test_a_file_of_an_earlier_version_gets_what_it_lacks(user_data: UserData) -> None:
    put(user_data)
    with user_data.writing() as connection:
        connection.execute("DROP TABLE asking")
    database._checked.clear()  # as in another process
    assert user_data.asking_choice(BOOK) == AskingChoice()
    user_data.choose_asking(BOOK, AskingChoice(steps="ask"))
    assert user_data.asking_choice(BOOK).steps == "ask"
    assert user_data.recent()
