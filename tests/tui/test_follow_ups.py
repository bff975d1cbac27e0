"""A question that goes on from the last.

The chip beside it, Backspace, and the thread after a restart.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gistread.readers.events import (
    AnswerDelta,
    Expanded,
    LookedUp,
    OpenedBy,
    Written,
)
from gistread.store.model import SavedQuestion
from gistread.store.user_data import UserData
from gistread.tui.answer_blocks import BROKEN_OFF, STOPPED_EARLY, AskAgain, GoOn
from gistread.tui.reading.question_line import QuestionLine
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.widgets.row_list import RowList
from tests.tui.books import small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    lines,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)
from tests.tui.test_asking import STARTED, WIDE, answered, ask, says

CHIP = "starts afresh"
FOLLOW_UP = "and why did he"


async def test_a_follow_up_is_shown_as_one_and_backspace_drops_it(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        assert CHIP not in text_of(app)
        await ask(pilot, "which lamp was lit")
        reader.say(STARTED, answered("Finch lit the big one."))
        await until_shown(pilot, "big one")
        await pilot.press("a")
        await until_shown(pilot, CHIP)
        screen.question.value = "Who is Finch"
        await until_gone(pilot, CHIP)
        screen.question.value = ""
        await until_shown(pilot, CHIP)
        await pilot.press("backspace")
        await until_gone(pilot, CHIP)
        await pilot.press("backspace")
        await until_shown(pilot, CHIP)
        # The answer drew on more of the book than may be used now.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(QuestionLine, "bound", 10)
            assert not screen.controllers.line.follows
        await pilot.press("escape")
        await ask(pilot, FOLLOW_UP)
        await until(pilot, lambda: reader.options.thread)
        assert [question.answer for question in reader.options.thread] == [
            "Finch lit the big one."
        ]
        reader.say(STARTED, answered("He wanted to."))
        await until_shown(pilot, "He wanted to.")
        assert f"↳ {FOLLOW_UP}" in " ".join(text_of(app).split())
        await pilot.press("a", "backspace", "escape")
        await ask(pilot, FOLLOW_UP)
        await until(pilot, lambda: len(reader.questions) == 3)
        assert reader.options.thread == ()
        reader.say(STARTED, answered("Who knows."))
        await until_shown(pilot, "Who knows.")
    threads = UserData(paths_in(tmp_path)).threads(small_book().sha256)
    assert [len(thread.questions) for thread in threads] == [2, 1]


def last_answer_is(screen: ReadingScreen, answer: str) -> bool:
    return screen.answers_pane.exchanges[-1].answer == answer


async def test_the_last_thread_goes_on_after_a_restart(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    def has_asked(question: str) -> bool:
        return bool(reader.questions) and reader.questions[-1].endswith(question)

    for question in ("which lamp was lit", FOLLOW_UP):
        app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
        async with app.run_test(size=WIDE) as pilot:
            screen = await (opened if question is FOLLOW_UP else read_whole)(pilot)
            await ask(pilot, question)
            await until(pilot, partial(has_asked, question))
            reader.say(STARTED, answered(f"Said of {question}."))
            answer = f"Said of {question}."
            await until(pilot, partial(last_answer_is, screen, answer))
    assert [question.question for question in reader.options.thread] == [
        "which lamp was lit"
    ]


async def test_where_nothing_has_been_asked_three_questions_are_offered_and_a_digit_asks_one(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("a")
        await until(
            pilot, lambda: "1 Who is Finch?" in text_of(app).replace("\u00a0", " ")
        )
        assert len(screen.question.suggested) == 3
        await pilot.resize_terminal(24, 20)
        await until(
            pilot, lambda: "1 Who is Finch?" in text_of(app).replace("\u00a0", " ")
        )
        await pilot.press("1")
        await until(pilot, lambda: reader.questions == ["Who is Finch?"])
        reader.say(STARTED, answered("Much."))
        await until_shown(pilot, "Much.")
        await pilot.press("a", "1")
        await until(pilot, lambda: screen.question.value == "1")
        assert not screen.question.suggested


async def test_an_interrupted_question_is_asked_again_with_its_pages(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who lit it")
        await reader.has_question.wait()
        reader.say(STARTED, LookedUp(2, 1, ""), Expanded(2, OpenedBy.AGENT))
        await until_shown(pilot, "section 2")
        await pilot.press("escape")
        await until_shown(pilot, "ask again")
    saved = UserData(paths_in(tmp_path))
    saved.add_question(
        small_book().sha256,
        SavedQuestion("where", "In the tower.", True, asked_at=time.time()),
    )
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.answers_pane.exchanges)
        first, last = screen.answers_pane.exchanges
        assert "Interrupted" in first.problem
        assert last.answer
        await until(pilot, lambda: not screen.session.answering)
        await pilot.press("v")
        await until(pilot, lambda: screen.answers_pane.cursor_key == ("question", 1))
        await pilot.press("O")
        await until(pilot, lambda: len(reader.questions) == 2)
        assert reader.questions == ["who lit it"] * 2
        assert reader.steering.pinned == {2}
        reader.say(STARTED, answered("Finch did."))
        await until(
            pilot, lambda: screen.answers_pane.exchanges[-1].answer == "Finch did."
        )
        assert len(screen.answers_pane.exchanges) == 2
    questions = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert {question.answer for question in questions} == {
        "Finch did.",
        "In the tower.",
    }
    assert len(questions) == 2


async def test_an_answer_that_is_cancelled_is_kept_and_gone_on_with(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who lit it")
        await reader.has_question.wait()
        reader.say(STARTED, AnswerDelta("Finch [1] cl"))
        await until_shown(pilot, "Finch [1] cl")
        await pilot.press("escape")
        await until_shown(pilot, "Finch cl", BROKEN_OFF, "Go on.", "ask again")
        assert "Cancelled" not in text_of(app)
        await until(pilot, lambda: not screen.session.answering)
        await pilot.press("O")
        await until(pilot, lambda: len(reader.questions) == 2)
        assert reader.questions[1] == "Go on."
        assert reader.options.thread[-1].answer == "Finch cl"
        reader.say(STARTED, answered("imbed up."))
        await until_shown(pilot, "imbed up.")
        assert screen.answers_pane.exchanges[0].answer == "Finch cl"
        await until(pilot, lambda: not screen.session.answering)
        # Its rest has come, so there is nothing to continue or to ask again.
        offers = set(screen.answers_pane._targets.values())
        assert offers.isdisjoint([AskAgain(), GoOn()])
        await screen.controllers.questions.reopen()
        assert not screen.controllers.questions._is_starting
        # Asked again, what had come stays until there is more.
        await screen.controllers.questions.ask_again(0)
        await until(pilot, lambda: len(reader.questions) == 3)
        assert reader.questions[2] == "who lit it"
        assert "Finch cl" not in [each.answer for each in reader.options.thread]
        await pilot.press("escape")
        await until(pilot, lambda: not screen.session.answering)
        await until_shown(pilot, "Finch cl")
    questions = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert [question.begun for question in questions] == ["Finch cl", ""]


@pytest.mark.parametrize(
    ("written", "saved", "is_found"),
    [
        ("Finch did [1].", "Finch did.", True),
        ("The book does not say.", "The book does not say.", False),
    ],
)
async def test_escape_in_a_written_answer_cancels_nothing(
    tmp_path: Path, reader: ScriptedReader, written: str, saved: str, is_found: bool
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who lit it")
        await reader.has_question.wait()
        reader.say(STARTED, AnswerDelta(written), Written())
        await until_shown(pilot, "Finding the sources of the answer")
        await pilot.press("escape")
        await until_shown(pilot, STOPPED_EARLY)
        assert "Cancelled" not in text_of(app)
        assert "ask again" not in text_of(app)
        await until(pilot, lambda: not screen.session.answering)
        await pilot.press("escape")
        await pilot.pause()
        assert "Cancelled" not in text_of(app)
    (question,) = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert (question.answer, question.begun) == (saved, "")
    assert question.found == is_found


@pytest.fixture
def data(tmp_path: Path) -> UserData:
    """What is stored of a user who asked two questions, each in a thread of its own."""
    data = UserData(paths_in(tmp_path))
    sha256 = small_book().sha256
    data.add_question(
        sha256, SavedQuestion("who lit it", "Finch did.", True, asked_at=1.0, upto=9)
    )
    long_answer = "In the tower." + "\nHigh." * 20
    data.add_question(sha256, SavedQuestion("where", long_answer, True, asked_at=2.0))
    return data


def thread_names(data: UserData) -> list[str]:
    return [thread.name for thread in data.threads(small_book().sha256)]


def shown_questions(screen: ReadingScreen) -> list[str]:
    return [exchange.record.question for exchange in screen.answers_pane.exchanges]


async def test_what_had_come_of_an_answer_is_kept_when_the_book_is_closed(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who lit it")
        await reader.has_question.wait()
        reader.say(STARTED, AnswerDelta("Finch cl"))
        await until_shown(pilot, "Finch cl")
        await pilot.press("q")
    (question,) = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert (question.answer, question.begun) == ("", "Finch cl")


async def test_a_thread_is_copied_deleted_and_restored(
    tmp_path: Path,
    reader: ScriptedReader,
    data: UserData,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: list[str] = []
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("Y", "a")
        assert "In the tower." in copied[-1]
        pane = screen.answers_pane
        await until(pilot, lambda: pane.max_scroll_y > pane.scroll_offset.y > 0)
        await until_shown(pilot, "In the tower.")
        await pilot.press("escape")
        await pilot.press("J")
        await until_shown(pilot, "Past questions", "who lit it")
        await pilot.press("x")
        await until(pilot, lambda: thread_names(data) == ["who lit it"])
        await until(pilot, lambda: shown_questions(screen) == ["who lit it"])
        await pilot.press("U")
        await until(pilot, lambda: thread_names(data) == ["who lit it", "where"])
        await until(pilot, lambda: len(shown_questions(screen)) == 2)
        await pilot.press("j", "y")
        await until(pilot, lambda: "Finch did." in copied[-1])


async def test_a_thread_is_named_and_gone_back_to(
    tmp_path: Path, reader: ScriptedReader, data: UserData
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("J", "j", "e", "!", "enter")
        await until(pilot, lambda: thread_names(data) == ["who lit it!", "where"])
        await pilot.press("J")
        await until_shown(pilot, "who lit it!")
        row = next(row for row, line in enumerate(lines(app)) if "who lit it!" in line)
        await pilot.click(offset=(20, row))  # The first click only chooses it.
        await until(pilot, lambda: app.screen.query_one(RowList).cursor_key == 1)
        await pilot.click(offset=(20, row))
        await until_shown(pilot, CHIP)
        assert shown_questions(screen) == ["where", "who lit it"]
        screen.question.value = "and then"
        await pilot.press("enter")
        await until(pilot, lambda: reader.options.thread)
        assert [question.answer for question in reader.options.thread] == ["Finch did."]
        reader.say(STARTED, answered("He slept."))
        await until(
            pilot, lambda: screen.answers_pane.exchanges[-1].answer == "He slept."
        )
        await until(pilot, lambda: thread_lengths(data) == [1, 2])


def thread_lengths(data: UserData) -> list[int]:
    return [len(thread.questions) for thread in data.threads(small_book().sha256)]


async def test_a_question_asked_again_follows_only_what_was_asked_before_it(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    data = UserData(paths_in(tmp_path))
    saved = [
        SavedQuestion("who lit it", "Finch did.", True, asked_at=1.0),
        SavedQuestion("why", "", False, asked_at=2.0, thread=1.0, begun="He w"),
        SavedQuestion("where", "In the tower.", True, asked_at=3.0, thread=1.0),
    ]
    for question in saved:
        data.add_question(small_book().sha256, question)
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await until(pilot, lambda: len(screen.answers_pane.exchanges) == 3)
        await screen.controllers.questions.ask_again(1)
        await until(pilot, lambda: reader.questions == ["why"])
        assert [each.question for each in reader.options.thread] == ["who lit it"]
        reader.say(STARTED, answered("He wanted to."))
        await until_shown(pilot, "He wanted to.")
    (thread,) = data.threads(small_book().sha256)
    answers = [question.answer for question in thread.questions]
    assert answers == ["Finch did.", "He wanted to.", "In the tower."]


async def test_a_cut_answer_is_gone_on_with_by_a_key_and_by_its_row(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "list the lamps")
        await reader.has_question.wait()
        reader.say(STARTED, replace(answered("One lamp."), finish="length"))
        await until_shown(pilot, "cut off")
        await until(pilot, lambda: not screen.session.answering)
        await pilot.press("v", "O")
        await until(pilot, lambda: len(reader.questions) == 2)
        assert reader.questions[1] == "Go on."
        assert reader.options.thread[-1].answer == "One lamp."
        reader.say(STARTED, answered("Two lamps."))
        await until_shown(pilot, "Two lamps.")
        await until(pilot, lambda: not screen.session.answering)
        assert [exchange.record.cut for exchange in screen.answers_pane.exchanges] == [
            "length",
            "",
        ]
