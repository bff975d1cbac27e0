"""Answers that were written anew beside others."""

from pathlib import Path

from gistread.session.questions import thread_of
from gistread.store.model import SavedQuestion
from gistread.store.user_data import UserData
from tests.folders import paths_in


def test_a_thread_goes_on_from_the_last_of_answers_written_anew(tmp_path: Path) -> None:
    first = SavedQuestion("Who?", "Ada.", True, asked_at=1.0)
    anew = SavedQuestion(
        "Who?", "Finch.", True, asked_at=2.0, thread=1.0, beside=1.0, left_out=(6,)
    )
    later = SavedQuestion("Why?", "He fell.", True, asked_at=3.0, thread=1.0)
    data = UserData(paths_in(tmp_path))
    for question in (first, anew, later):
        data.add_question("sha", question)
    (thread,) = data.threads("sha")
    assert thread.questions == (first, anew, later)
    assert [exchange.answer for exchange in thread_of(thread.questions)] == [
        "Finch.",
        "He fell.",
    ]


def test_an_answer_written_anew_twice_keeps_its_place_before_later_questions() -> None:
    first = SavedQuestion("Who?", "Ada.", True, asked_at=1.0)
    later = SavedQuestion("Why?", "He fell.", True, asked_at=2.0, thread=1.0)
    anew = SavedQuestion("Who?", "Finch.", True, asked_at=3.0, thread=1.0, beside=1.0)
    again = SavedQuestion("Who?", "Bob.", True, asked_at=4.0, thread=1.0, beside=1.0)
    last = SavedQuestion("Who?", "Eve.", True, asked_at=5.0, thread=1.0, beside=4.0)
    questions = [first, later, anew, again, last]
    assert [exchange.answer for exchange in thread_of(questions)] == [
        "Eve.",
        "He fell.",
    ]


def test_an_answer_stays_until_the_new_one_is_written() -> None:
    first = SavedQuestion("Who?", "Ada.", True, asked_at=1.0)
    begun = SavedQuestion("Who?", "", False, asked_at=2.0, thread=1.0, beside=1.0)
    assert [exchange.answer for exchange in thread_of([first, begun])] == ["Ada."]
