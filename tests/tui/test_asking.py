"""A question on the screen: the agent's steps, the pages that open, the answer and its sources."""

import gc
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.keys import _character_to_key as character_to_key
from textual.pilot import Pilot
from textual.widgets import Input

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.protocol import NO_USAGE
from gistread.errors import OutageError
from gistread.readers.bound import offset_of
from gistread.readers.cost import QUICK
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    Expanded,
    LookedUp,
    OpenedBy,
    Restarted,
    SegmentLevel,
    Started,
    Stopped,
    StopReason,
)
from gistread.readers.registry import DEFAULT_READER
from gistread.session import artifacts, questions
from gistread.session import session as session_module
from gistread.session.events import ActivityChanged, Obstacle
from gistread.store.model import (
    AnswerMark,
    AnswerMarkKind,
    BoundChoice,
    Citation,
    SavedQuestion,
)
from gistread.store.user_data import UserData
from gistread.tui.answer_blocks import Exchange
from gistread.tui.app import GistreadApp
from gistread.tui.opening import BookModel, model_of
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.services import AppServices
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    lines,
    opened,
    paths_in,
    read_whole,
    text_of,
    type_text,
    until,
    until_gone,
    until_read,
    until_shown,
)
from tests.tui.test_choosing import model

WIDE, NARROW = (130, 44), (80, 24)
STARTED = Started("readagent-s", 3, 3, True)


def says(text: str) -> str:
    return "The lamp and the boy are spoken of."


def answered(
    text: str,
    *citations: Citation,
    has_answer: bool = True,
    lookups: tuple[int, ...] = (2,),
) -> Answered:
    return Answered(text, has_answer, citations, lookups, lookups, 80.0, NO_USAGE)


def citation(screen: ReadingScreen, words: str) -> Citation:
    """A citation of these words of the book."""
    start = screen.book.text.index(words)
    return Citation(
        screen.memory_pane.memory.page_at(start).number,
        start,
        start + len(words),
        words,
    )


async def ask(pilot: Pilot[None], question: str) -> None:
    await pilot.press("a")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    await type_text(pilot, question)
    await pilot.press("enter")


@pytest.mark.parametrize(("opens", "size"), [("a", WIDE), ("/", NARROW)])
async def test_what_is_typed_at_once_with_the_key_before_it_runs_no_command(
    tmp_path: Path, size: tuple[int, int], opens: str
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        for character in f"{opens}Grow tall":
            app.post_message(events.Key(character_to_key(character), character))
        await until(
            pilot,
            lambda: isinstance(app.focused, Input) and app.focused.value == "Grow tall",
        )
        assert app.screen is app.reading


async def test_lines_pasted_as_a_first_question_become_one_and_show_their_end(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("a")
        pasted = (
            f"What does the keeper\nsay about {'the old lamp and ' * 6}the last ship?"
        )
        screen.question.post_message(events.Paste(pasted))
        await pilot.pause()
        assert screen.question.value.startswith(
            "What does the keeper say about the old lamp"
        )
        assert "the last ship?" in text_of(app)


async def test_steps_appear_one_by_one_and_opened_pages_are_shown(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who lit it")
        await until(pilot, lambda: reader.questions == ["who lit it"])
        await until_shown(pilot, "Choosing a section")
        assert screen.panes.current is Pane.BOOK
        reader.say(STARTED, LookedUp(30, 1, "the road"), Expanded(30, OpenedBy.AGENT))
        await until_shown(pilot, "opened for the answer: the road")
        assert "section 30: the road" in text_of(app)
        assert "section 31" not in text_of(app)
        reader.say(
            LookedUp(31, 2, "why not"),
            Expanded(31, OpenedBy.AGENT),
            Stopped(StopReason.ENOUGH),
        )
        await until_shown(pilot, "enough to answer")
        await until_shown(pilot, "Answering")
        reader.say(AnswerDelta("Finch "), AnswerDelta("did "))
        await until_shown(pilot, "Finch did")
        reader.say(answered("Finch did [30]."))
        await until_shown(pilot, "Finch did [30].")
        await until_shown(pilot, "memory is complete")


async def test_a_source_leads_to_its_words_in_the_book_and_to_its_page_in_the_memory(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await read_whole(pilot)
        source = citation(screen, "Finch relit it.")
        await ask(pilot, "who")
        reader.say(STARTED, answered(f"Finch [{source.page}].", source))
        await until_shown(pilot, "“Finch relit it.”")
        await pilot.press("1")
        await until(pilot, lambda: source.page in screen.memory_pane.view.opened)
        await pilot.pause(0.2)
        for pane in (screen.book_pane, screen.memory_pane):
            start, end = pane.visible_range
            assert start <= source.start < end
        assert _marks(screen) == [(source.start, source.end)]
        assert screen.memory_pane.chosen == source.page > 1, (
            "Enter there shows the whole section"
        )
        await pilot.press("2")
        await until_shown(pilot, "has no source 2")


async def test_the_next_question_frees_the_text_that_the_one_before_was_answered_from(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who")
        await until(pilot, lambda: reader.questions == ["who"])
        beginning = weakref.ref(screen.controllers.context.last_question.memory.book)
        assert beginning() is not screen.book
        reader.say(STARTED, answered("It was Finch."))
        await until_shown(pilot, "It was Finch.")
        await ask(pilot, "where")
        await until(pilot, lambda: reader.questions == ["who", "where"])
        reader.say(STARTED, answered("At the Point."))
        await until_shown(pilot, "At the Point.")

        def is_freed() -> bool:
            gc.collect()
            return beginning() is None

        await until(pilot, is_freed)


def _marks(screen: ReadingScreen) -> list[tuple[int, int]]:
    return [(mark.start, mark.end) for mark in screen.book_pane.marks if mark.style]


async def test_a_reference_in_the_answer_is_a_link_for_the_mouse(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        page = screen.memory_pane.memory.entry(30).page
        await ask(pilot, "who")
        reader.say(
            STARTED,
            replace(
                answered("Somebody did [1]."),
                citations=(Citation(30, page.start, page.end, "x"),),
            ),
        )
        await until_shown(pilot, "Somebody did [1].")
        row = next(
            row for row, line in enumerate(lines(app)) if "Somebody did [1]." in line
        )
        await pilot.click(offset=(lines(app)[row].index("[1]") + 1, row))
        await until(pilot, lambda: _marks(screen) == [(page.start, page.end)])
        start, end = screen.book_pane.visible_range
        assert start <= page.start < end


async def test_the_user_refuses_a_page_and_stops_the_lookups(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who")
        reader.say(STARTED, LookedUp(2, 1, "why not"), Expanded(2, OpenedBy.AGENT))
        await until(pilot, lambda: 2 in screen.memory_pane.view.opened)
        await until_shown(pilot, "refuse")
        await pilot.press("x")
        await until(pilot, lambda: 2 not in screen.memory_pane.view.opened)
        assert reader.steering.refused == {2}
        assert "refused" in text_of(app)
        await pilot.press("s")
        assert reader.steering.stop
        reader.say(answered("Nobody.", lookups=()))
        await until_shown(pilot, "Nobody.")


async def test_a_section_refused_too_late_is_told_with_the_answer_and_left_out_anew(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        page = screen.memory_pane.memory.entry(2).page
        source = Citation(2, page.start, page.end, "x")
        await ask(pilot, "who lit it")
        reader.say(STARTED, LookedUp(2, 1, ""), Expanded(2, OpenedBy.AGENT))
        reader.say(Stopped(StopReason.ENOUGH), AnswerDelta("Finch"))
        await until_shown(pilot, "Finch")
        await until(pilot, lambda: 2 in screen.memory_pane.view.opened)
        await pilot.press("x")
        await until_shown(pilot, "Refused: section 2")
        reader.say(answered("Finch did [1].", source))
        await until_shown(
            pilot,
            "This answer draws on section 2, which you refused while it was being",
        )
        await until_shown(pilot, "section 2, refused", "Write it anew without it")
        await until(pilot, lambda: not screen.session.answering)
        await pilot.press("v")
        screen.answers_pane.set_cursor(("refused", 0))
        screen.panes.show(Pane.ANSWERS)
        await pilot.press("enter")
        await until(pilot, lambda: len(reader.questions) == 2)
        assert reader.steering.refused == {2}
        reader.say(STARTED, answered("Nobody.", lookups=()))
        await until_shown(pilot, "Nobody.")
        await until(pilot, lambda: not screen.session.answering)
        assert "draws on" not in text_of(app).rpartition("Nobody.")[2]
    (first, _) = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert [step.is_left_out for step in first.steps] == [False]


def script_methods(monkeypatch: pytest.MonkeyPatch, *methods: str) -> None:
    """Let the scripted reader answer in place of these methods, too."""
    for module in (artifacts, questions, session_module):
        for method in methods:
            monkeypatch.setitem(module.METHODS, method, module.METHODS[DEFAULT_READER])


async def test_a_question_asked_meanwhile_waits_and_is_asked_next(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who lit it")
        await until(pilot, lambda: reader.questions == ["who lit it"])
        await ask(pilot, "where is the tower")
        await until_shown(pilot, "next: where is the tower")
        await ask(pilot, "what is dropped")
        await until_shown(pilot, "next: what is dropped", "Esc drop")
        await pilot.press("escape")
        await until_gone(pilot, "what is dropped")
        await pilot.press("a")
        await type_text(pilot, "half a ques")
        reader.say(STARTED, answered("Finch did."))
        await until(pilot, lambda: len(reader.questions) == 2)
        assert reader.questions[1] == "where is the tower"
        await until_gone(pilot, "next: where")
        assert screen.question.value == "half a ques"
        assert app.focused is screen.question
        reader.say(STARTED, answered("On the rock."))
        await until_shown(pilot, "On the rock.")
    saved = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert [question.answer for question in saved] == ["Finch did.", "On the rock."]


async def test_two_questions_asked_at_once_are_answered_one_after_the_other(
    tmp_path: Path, reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_methods(monkeypatch, QUICK)
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        assert screen.session is not None
        screen.session.reader = QUICK  # Asked without an estimate of its cost
        # The session has not yet taken up the first when the second is asked.
        for question in ("who lit it", "where is the tower"):
            screen.controllers.questions.submit(question)
        await until(pilot, lambda: reader.questions == ["who lit it"])
        await until_shown(pilot, "next: where is the tower")
        reader.say(STARTED, answered("Finch did."))
        await until(pilot, lambda: len(reader.questions) == 2)
        reader.say(STARTED, answered("On the rock."))
        await until_shown(pilot, "On the rock.")
    saved = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert [(question.question, question.answer) for question in saved] == [
        ("who lit it", "Finch did."),
        ("where is the tower", "On the rock."),
    ]


async def test_a_question_that_cannot_be_asked_goes_on_waiting_and_the_next_is_asked(
    tmp_path: Path, reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def obstacle(reader: str, *, about_selection: bool = False) -> Obstacle | None:
        return Obstacle.NOTHING_READ if reader == "notes" else None

    script_methods(monkeypatch, QUICK, "notes")
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await read_whole(pilot)
        session = screen.session
        assert session is not None
        await ask(pilot, "who lit it")
        await until(pilot, lambda: reader.questions == ["who lit it"])
        session.reader = "notes"
        await ask(pilot, "where is the tower")
        await until_shown(pilot, "next: where is the tower")
        session.reader = QUICK
        await ask(pilot, "what is the rock")
        await until_shown(pilot, "next: what is the rock")
        warned: list[Obstacle] = []
        monkeypatch.setattr(
            ReadingContext, "warn_of", lambda context, why: warned.append(why)
        )
        with monkeypatch.context() as patch:
            patch.setattr(session.questions, "obstacle", obstacle)
            reader.say(STARTED, answered("Finch did."))
            await until(pilot, lambda: reader.questions[1:] == ["what is the rock"])
            await until_gone(pilot, "next: what is the rock")
            reader.say(STARTED, answered("A rock."))
            await until_shown(pilot, "A rock.", "next: where is the tower")
            await until(pilot, lambda: warned == [Obstacle.NOTHING_READ])
        screen.controllers.on_session_event(ActivityChanged())
        await until(pilot, lambda: reader.questions[2:] == ["where is the tower"])
        await until_gone(pilot, "next: where is the tower")


async def test_reading_that_waits_for_a_server_says_so_and_is_tried_by_a_key(
    tmp_path: Path,
) -> None:
    is_down = True

    def answers(text: str) -> Exception | str:
        return OutageError("No answer from gpu.") if is_down else says(text)

    app = app_on(small_book(), tmp_path, SteppedEngine(says=answers))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "No answer from gpu", "again in", "try now")
        await pilot.press("escape")
        await until_shown(pilot, "Stopped: No answer from gpu")
        await pilot.press("r")
        await until_shown(pilot, "again in")
        is_down = False
        await pilot.press("r")
        await until_read(pilot, screen)


async def test_answers_have_room_below_the_book_and_leave_it_most(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(110, 30)) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who lit it")
        reader.say(STARTED, answered("Finch did it again. " * 60))
        await until_shown(pilot, "Finch did it again.")
        await until(pilot, lambda: screen.answers_pane.size.height >= 10)
        assert screen.book_pane.size.height >= 13


async def test_pinned_pages_reach_the_reader_and_escape_frees_the_prompt(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("tab")  # It puts the cursor on the user's place.
        screen.memory_pane.set_cursor(("page", 2))
        await pilot.press("p")
        await ask(pilot, "who")
        await until(pilot, lambda: reader.questions)
        assert reader.steering.pinned == {2}
        await pilot.press("escape")
        await until_shown(pilot, "Cancelled.")
        await ask(pilot, "again")
        await until(pilot, lambda: reader.questions == ["who", "again"])


async def test_a_question_during_reading_names_its_scope(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    engine = SteppedEngine(says=says)
    engine.stop_after = 9
    app = app_on(long_book(), tmp_path, engine, Config(min_words=200, max_words=300))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until(
            pilot,
            lambda: screen.memory_pane.memory and screen.memory_pane.memory.entries,
        )
        await until(pilot, lambda: not engine.gate.is_set())
        await ask(pilot, "who")
        await until(pilot, lambda: reader.questions)
        reader.say(
            Started(
                "readagent-s",
                reader.pages_read,
                46,
                False,
                told=(SegmentLevel(1, 1, 0),),
            )
        )
        await until_shown(pilot, f"from {reader.pages_read} of ~46 sections")
        assert "memory is larger than" in text_of(app)
        assert "Reading along" not in text_of(app)
        await pilot.press("escape")
        engine.gate.set()
        count = len(screen.memory_pane.memory.entries)
        await until(pilot, lambda: len(screen.memory_pane.memory.entries) > count)


async def test_with_hardly_any_text_before_the_bound_a_line_says_how_to_ask_the_whole_book(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(130, 14)) as pilot:
        screen = await opened(pilot)
        await until(
            pilot,
            lambda: screen.memory_pane.memory and screen.memory_pane.memory.complete,
        )
        await ask(pilot, "who")
        await until(pilot, lambda: reader.questions)
        assert (
            screen.book_pane.visible_range[1]
            <= reader.text_length
            < len(screen.book.text)
        )
        words = "Ctrl+T lets answers use the whole book."
        assert words in screen.answers_pane.exchanges[-1].too_little
        await pilot.press(
            "escape",
            "a",
            "ctrl+t",
            *"all",
            "enter",
            "down",
            "enter",
            "escape",
            "ctrl+q",
        )
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(130, 14)) as pilot:
        screen = await opened(pilot)
        await until(
            pilot,
            lambda: screen.controllers.line.bound_words == "answers use the whole book",
        )


async def test_a_mistyped_place_where_answers_stop_is_explained_and_changes_nothing(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(130, 14)) as pilot:
        screen = await opened(pilot)
        before = screen.controllers.line.bound_words
        await pilot.press("a", "ctrl+t", *"zebra", "enter")
        await until_shown(pilot, "No such chapter or place.")
        assert "the whole book" not in text_of(app)
        assert screen.controllers.line.bound_words == before


@pytest.mark.parametrize(
    "typed",
    [
        "40%",
        ".5%",
        "5000",
        "page:1",
        "chapter:Chapter 3",
        "section:2",
        "here",
        "all",
    ],
)
async def test_where_answers_stop_can_be_set_to_every_value_of_upto(
    tmp_path: Path, typed: str
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(130, 14)) as pilot:
        screen = await read_whole(pilot)
        line = screen.controllers.line
        assert screen.memory_pane.memory is not None
        line.choose_bound(BoundChoice(at=1, may_lift=True))
        await pilot.press("ctrl+t", *typed)
        await until_shown(pilot, typed)
        await pilot.press("enter")
        end = offset_of(typed, screen.memory_pane.memory, line.place_read)
        await until(
            pilot, lambda: line.bound == (end if end != len(screen.book.text) else None)
        )


async def test_a_section_that_has_not_been_read_is_no_place_where_answers_stop(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(130, 14)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+t", *"section:9")
        await until_shown(
            pilot, "There is no section 9: the model has read 0 sections."
        )


async def test_a_question_up_to_a_place_in_the_front_matter_says_that_nothing_has_been_read(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    book = small_book()
    first, *others = book.chapters
    app = app_on(
        replace(book, chapters=(replace(first, title="Imprint"), *others)),
        tmp_path,
        SteppedEngine(says=says),
    )
    async with app.run_test(size=(130, 10)) as pilot:
        screen = await opened(pilot)
        await until(
            pilot,
            lambda: screen.memory_pane.memory and screen.memory_pane.memory.complete,
        )
        screen.controllers.line.choose_bound(BoundChoice(at=first.end))
        await ask(pilot, "who")
        await until(pilot, lambda: reader.questions)
        assert reader.text_length <= first.end
        nothing_read = (
            "Nothing has been read yet. Read on, or let answers use the "
            "whole book: Ctrl+T."
        )
        assert screen.answers_pane.exchanges[-1].too_little == nothing_read


async def test_a_question_without_a_model_offers_the_choice_and_is_asked_then(
    tmp_path: Path, reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gistread.tui.screens.model.each_model", lambda: iter([model("small-model")])
    )
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    engine = SteppedEngine(says=says)
    app = GistreadApp(
        small_book(),
        paths=paths_in(tmp_path),
        config=Config(min_words=40, max_words=90),
        make_engine=lambda _: engine,
    )
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await pilot.press("a", *"quit")  # none of these letters is a command now
        assert screen.question.value == "quit"
        await pilot.press("enter")
        await until_shown(pilot, "small-model")
        await pilot.press("enter")
        await until(pilot, lambda: reader.questions == ["quit"])
        assert app.settings.config.model == "/models/small-model.gguf"


async def test_a_question_while_the_book_is_being_opened_waits_for_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def model_in_time(book: Book, services: AppServices) -> BookModel:
        go_on.wait(30)
        return model_of(book, services)

    monkeypatch.setattr("gistread.tui.screens.reading.model_of", model_in_time)
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(
            pilot, lambda: isinstance(app.screen, ReadingScreen) and app.screen.session
        )
        screen = app.screen
        assert isinstance(screen, ReadingScreen)
        pane = screen.answers_pane
        assert not screen.session.has_model
        await pilot.press("r", "a")
        await type_text(pilot, "Who is the boy?")
        await pilot.press("enter")
        await until_shown(pilot, "still being opened")
        assert app.screen is screen, "no chooser of models opens"
        go_on.set()
        await until(
            pilot,
            lambda: pane.exchanges and pane.exchanges[-1].record.answer,
        )


async def test_a_question_that_is_too_long_is_refused_and_stays(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await opened(pilot)
        await pilot.press("a")
        question = "why?" * 5_000
        screen.question.value = question
        await pilot.press("enter")
        await until_shown(pilot, "The question has 20,000 characters")
        assert screen.question.value == question
        assert reader.questions == []
        screen.question.value = "who"
        await pilot.press("enter")
        await until(pilot, lambda: reader.questions == ["who"])


async def test_a_question_before_the_first_page_waits_for_it(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    engine = SteppedEngine(says=says)
    engine.gate.clear()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await until_shown(pilot, "Reading along")
        await ask(pilot, "who")
        await until_shown(pilot, "waits for the first section")
        assert not reader.questions
        engine.gate.set()
        await until(pilot, lambda: reader.questions == ["who"])


async def test_a_restart_discards_the_answer_and_words_that_the_text_lacks_are_marked(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who")
        reader.say(STARTED, AnswerDelta("Wrong words"), Restarted("the model ended"))
        await until_shown(pilot, "the answer begins again: the model ended")
        assert "Wrong words" not in text_of(app)
        nothing = "Not in the sections read so far (1 of about 333)."
        reader.say(answered(nothing, has_answer=False, lookups=(1, 3)))
        await until_shown(pilot, "Not in the sections read so far (1 of about 333).")
        await ask(pilot, "who else")
        reader.say(STARTED, AnswerDelta("It was Napoleon."))
        await until_shown(pilot, "Napoleon")
        assert "not in the text" not in text_of(app)
        mark = AnswerMark(7, 15, AnswerMarkKind.NAME, "not in the text")
        doubted = replace(answered("It was Napoleon. He rode."), marks=(mark,))
        reader.say(doubted)
        await until_shown(pilot, "It was Napoleon [not in the text]. He rode.")


async def test_earlier_questions_are_restored_with_their_answers(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who lit it")
        reader.say(STARTED, answered("Finch."))
        await until_shown(pilot, "Finch.")
        await pilot.press("q")
    again = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with again.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("v")
        await until(pilot, lambda: "Finch." in text_of(again))
        await pilot.press("a", "up")
        assert screen.question.value == "who lit it"
        await pilot.press("down")
        assert screen.question.value == ""
        await pilot.press("escape")
        assert screen.panes.current is Pane.BOOK


async def test_on_a_narrow_terminal_the_steps_take_three_lines_of_any_pane(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=NARROW) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who lit it")
        await until(pilot, lambda: screen.panes.current is Pane.ANSWERS)
        await pilot.press("tab")
        assert screen.panes.current is Pane.BOOK
        reader.say(
            STARTED,
            LookedUp(2, 1, "because it tells of the boy"),
            Expanded(2, OpenedBy.AGENT),
        )
        await until_shown(pilot, "because it tells of the boy")
        strip = lines(app)[-4:-1]
        assert strip[0].strip() == "? who lit it"
        assert strip[1].strip() == "① section 2, because it tells of the boy"
        reader.say(answered("Finch did."))
        await until_shown(pilot, "Finch did.")
        await pilot.press("v")
        await until(pilot, lambda: screen.panes.current is Pane.ANSWERS)
        assert "Finch did." in text_of(app)


async def test_model_output_is_never_read_as_markup(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    markup = "[bold]not bold[/bold] [/] [@click=app.quit]x[/]"
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=NARROW) as pilot:
        screen = await read_whole(pilot)
        await ask(pilot, "who")
        reader.say(
            STARTED,
            LookedUp(2, 1, markup),
            Expanded(2, OpenedBy.AGENT),
            answered(markup),
        )
        await until_shown(pilot, markup)
        await pilot.press("tab")
        screen.panes.unseen_answer = True
        screen.redraw_lines()
        await until(pilot, lambda: markup in lines(app)[-3])


async def test_a_question_ahead_of_the_memory_uses_the_text_up_to_the_reading_place(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    engine = SteppedEngine(says=says)
    engine.stop_after = 6
    app = app_on(long_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await engine.stopped.wait()
        await pilot.press(*":10%", "enter")
        await until(pilot, lambda: screen.controllers.context.position.looking)
        await pilot.press("enter")
        line = screen.controllers.line
        await until(pilot, lambda: line.bound_words.startswith("answers stop at 1"))
        await ask(pilot, "who")
        await until(pilot, lambda: reader.questions)
        assert (
            screen.book_pane.visible_range[1]
            <= reader.text_length
            < len(screen.book.text) / 4
        )
        reader.say(
            replace(STARTED, bound_share=0.13), answered("Not found.", has_answer=False)
        )
        await until_shown(pilot, "up to 13% of the book")
        await until_shown(pilot, "sets where answers stop")
        await pilot.press("a", "ctrl+t", *"all", "enter", "down", "enter")
        await until(
            pilot, lambda: "whole book" in "".join(text_of(app).splitlines()[-3:])
        )
        await pilot.press(*"who", "enter")
        await until(pilot, lambda: len(reader.questions) == 2)
        assert reader.text_length == len(screen.book.text)
        reader.say(answered("Somebody."))
        engine.gate.set()


async def test_after_an_answer_the_memory_shows_again_the_section_beside_the_book(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        pane = screen.memory_pane
        # of the whole book
        await pilot.press("ctrl+t", *"all", "enter", "down", "enter")
        await until(pilot, lambda: pane.view.bound is None)
        await ask(pilot, "who lit it")
        reader.say(STARTED, LookedUp(30, 1, "the road"), Expanded(30, OpenedBy.AGENT))
        await until(pilot, lambda: pane.scroll_offset.y > pane.size.height)
        reader.say(answered("Finch did [30]."))
        await until(pilot, lambda: pane.scroll_offset.y < 5)
        assert 30 in pane.view.opened


async def test_the_key_of_the_bound_never_lifts_it_unasked(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path)
    async with app.run_test(size=(110, 24)) as pilot:
        screen = await opened(pilot)
        line = screen.controllers.line
        bound = line.bound
        await pilot.press("ctrl+t", "enter")
        await until(pilot, lambda: not screen.input_line.is_open)
        assert line.bound == bound
        await pilot.press("ctrl+t", *"all", "enter")
        await until_shown(pilot, "tell the end?")
        await pilot.press("enter")
        await until(pilot, lambda: not screen.input_line.is_open)
        assert line.bound == bound
        await pilot.press("ctrl+t", *"all", "enter")
        await until_shown(pilot, "tell the end?")
        await pilot.press("down", "enter")
        await until(pilot, lambda: line.bound is None)
        await pilot.press("ctrl+t", "enter")
        await until(pilot, lambda: line.bound == bound)
        await pilot.press("ctrl+t", *"all", "enter")
        await until(pilot, lambda: line.bound is None, seconds=10)


async def test_rival_answers_stand_in_words_below_the_sources_and_lead_to_their_places(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        source = citation(screen, "Finch relit it.")
        other = citation(screen, "Ada called him Finch")
        rival = replace(other, tells="Ada lit it.")
        await ask(pilot, "who")
        reader.say(STARTED, answered("Finch.", source, rival))
        await until_shown(pilot, "Other passages say: Ada lit it. (p. 1)")
        assert "or “Ada" not in text_of(app)
        assert "Finch. [1]" in text_of(app)
        assert "[2]" not in text_of(app), "the source of a rival is none of the answer"
        await pilot.press("2")
        await until(pilot, lambda: _marks(screen) == [(rival.start, rival.end)])


async def _answered_at_length(pilot: Pilot[None], sentences: int) -> None:
    """The screen with an answer of so many sentences, and what another passage says."""
    screen = await opened(pilot)
    await until(pilot, lambda: not screen.controllers.context.opening)
    rival = Citation(1, 0, 4, "Dusk", tells="Ada lit it.")
    answer = (
        "Penn climbs to the lantern every evening before the sun is down. " * sentences
    )
    record = SavedQuestion("Who lights the lamp?", answer, True, citations=(rival,))
    screen.answers_pane.show_exchanges([Exchange.saved(record)])
    screen.panes.show_answers()
    screen.redraw_lines()


async def test_what_other_passages_say_is_seen_below_a_long_answer(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await _answered_at_length(pilot, 6)
        await until_shown(
            pilot, "Who lights the lamp?", "Other passages say: Ada lit it."
        )
        assert "Further down" not in text_of(app)


async def test_that_other_passages_say_something_is_told_where_they_have_no_room(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await _answered_at_length(pilot, 30)
        await until_shown(pilot, "Further down: what other passages say")
        assert "Other passages say" not in text_of(app)
        last_row = lines(app)[-1]
        await pilot.click(offset=(last_row.index("Further down"), 29))
        await until_shown(pilot, "Other passages say: Ada lit it.")


async def test_a_number_stays_beside_its_unit_below_an_answer(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        cost = "1 min 11 s · about 400 words read"
        record = SavedQuestion("Who lights the lamp?", "Ada.", True, cost=cost)
        screen.answers_pane.show_exchanges([Exchange.saved(record)])
        blocks = [block.text for block in screen.answers_pane.blocks]
        assert [
            text
            for text in blocks
            if "1\u00a0min 11\u00a0s · about 400 words read" in text
        ]
