"""Follow-ups on the command line.

`ask --continue`, and the threads that `gistread threads` lists.
"""

from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.errors import EngineError, ExitStatus
from gistread.paths import default_paths
from gistread.readers.events import AnswerDelta, ReaderEvents, Started
from gistread.store.user_data import UserData
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine

FIRST = "What did the keeper count?"
FOLLOW_UP = "And why did he do that?"


@pytest.fixture
def asked_book(run: Run, book: Path, engine: FakeEngine) -> Path:
    """A book with one thread of two questions, and one question apart."""
    engine._says = lambda prompt: "He counted the stairs."
    for words in (("Who is it?",), (FIRST,), (FOLLOW_UP, "--continue")):
        assert (
            run("ask", book, *words, "--reader", "gistread").status == ExitStatus.DONE
        )
    return book


def test_a_follow_up_has_the_last_question_and_its_answer(
    run: Run, asked_book: Path, engine: FakeEngine
) -> None:
    assert f"{FIRST}\nAnswer: He counted the stairs." in engine.calls[-1].text
    assert f"Question: {FOLLOW_UP}" in engine.calls[-1].text
    run("ask", asked_book, "And where?", "--thread", "1", "--reader", "gistread")
    assert "Who is it?\nAnswer:" in engine.calls[-1].text
    assert FIRST not in engine.calls[-1].text


def test_threads_are_listed_and_printed(run: Run, asked_book: Path) -> None:
    listed = run("threads", asked_book).out
    assert listed == f"   1  Who is it?  (1 question)\n   2  {FIRST}  (2 questions)\n"
    printed = run("threads", asked_book, "2").out
    assert printed.index(FIRST) < printed.index(FOLLOW_UP)
    assert "Who is it?" not in printed
    questions = run("export", asked_book, "--json").json["questions"]
    apart, first, second = [question["thread"] for question in questions]
    assert first == second
    assert apart
    assert run("threads", asked_book, "--json").json["threads"][1]["name"] == FIRST


def test_an_answer_from_behind_the_bound_is_not_shown_again(
    run: Run, asked_book: Path, engine: FakeEngine
) -> None:
    run(
        "ask",
        asked_book,
        FOLLOW_UP,
        "--continue",
        "--upto",
        "50%",
        "--reader",
        "gistread",
    )
    assert "Answer: He counted" not in engine.calls[-1].text
    ran = run("ask", asked_book, "And then?", "--continue", "--reader", "gistread")
    assert "up to 50%, as the last question" in ran.err
    assert "Answer: He counted" in engine.calls[-1].text
    assert "Chapter 3" not in engine.calls[-1].text


def test_an_interrupted_question_is_kept(
    run: Run, asked_book: Path, engine: FakeEngine
) -> None:
    engine._says = lambda prompt: EngineError("The model ended.")
    ran = run(
        "ask",
        asked_book,
        "And then?",
        "--continue",
        "--upto",
        "50%",
        "--reader",
        "gistread",
    )
    assert ran.status != ExitStatus.DONE
    assert (
        "Interrupted before there was an answer." in run("threads", asked_book, "2").out
    )
    assert run("threads", asked_book).out.endswith("(3 questions, interrupted)\n")


@pytest.mark.usefixtures("asked_book")
def test_what_had_come_of_an_interrupted_answer_is_kept(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks_off(_: object) -> ReaderEvents:
        yield Started("gistread", 1, 1, True)
        yield AnswerDelta("He counted the")
        raise EngineError("The model ended.")

    monkeypatch.setattr("gistread.readers.registry.Method.reader", lambda _: breaks_off)
    ran = run(
        "ask", book, "And then?", "--continue", "--upto", "50%", "--reader", "gistread"
    )
    assert ran.status != ExitStatus.DONE
    *_, last = run("export", book, "--json").json["questions"]
    assert (last["answer"], last["begun"]) == ("", "He counted the")
    shown = run("threads", book, "2").out
    assert "He counted the …\n\n*Interrupted before the answer was complete.*" in shown


def test_continue_without_a_book_goes_on_with_the_last_one(
    run: Run, book: Path, tmp_path: Path, engine: FakeEngine
) -> None:
    nothing = run("ask", "--continue", "And why?")
    assert nothing.status == ExitStatus.FAILED
    assert "No book has been asked yet." in nothing.err
    other = tmp_path / "Other.txt"
    other.write_text(book.read_text().replace("lamp", "bell"))
    for path in (book, other):
        run("books", "--add", path)
    reader = ("--reader", "gistread")
    run("ask", other, FIRST, *reader)
    run("ask", book, FIRST, *reader)
    ran = run("ask", FOLLOW_UP, "--continue", *reader)
    assert ran.status == ExitStatus.DONE, ran.err
    assert "Asking The Lamp, the book you asked last." in ran.err
    (thread,) = UserData(default_paths()).threads(open_book(book).sha256)
    assert [saved.question for saved in thread.questions] == [FIRST, FOLLOW_UP]


def test_continue_without_a_book_knows_the_sample(run: Run, engine: FakeEngine) -> None:
    """It is in no library before it has been opened."""
    run("ask", "sample", FIRST, "--reader", "gistread")
    ran = run("ask", FOLLOW_UP, "--continue", "--reader", "gistread")
    assert ran.status == ExitStatus.DONE, ran.err
    assert "Asking the sample, the book you asked last." in ran.err
    assert FIRST in engine.calls[-1].text
