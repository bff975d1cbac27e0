"""A selected passage is quoted above the question, asked about, and its answer kept as a note."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import Config
from gistread.readers.events import Started
from gistread.readers.selection import CHOICES
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from gistread.tui.marking.screens import LookupScreen
from gistread.tui.widgets.lines import Actions
from tests.tui.books import small_book
from tests.tui.marked import kept
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)
from tests.tui.test_asking import NARROW, WIDE, answered, ask, says

STARTED = Started("passage", 0, 3, False, share_shown=0.1)
QUOTE = "“Ada Brennan”"
EXPLAIN = CHOICES[0][1]


@pytest.fixture
def about(reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch) -> ScriptedReader:
    """The reader of every question, about a passage or not."""
    monkeypatch.setattr("gistread.readers.selection.about_selection", reader)
    return reader


async def test_a_selection_is_quoted_asked_about_and_its_answer_kept_as_a_note(
    tmp_path: Path, about: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        select_and_ask = "V", "V", "right", "a"
        await pilot.press(*select_and_ask)
        await until_shown(pilot, QUOTE)
        for number, (label, _) in enumerate(CHOICES, start=1):
            assert f"{number} {label}" in text_of(app)
        await pilot.press("backspace")
        await until(
            pilot,
            lambda: QUOTE not in text_of(app) and "2 Who is this" not in text_of(app),
        )
        await pilot.press("escape", *select_and_ask)
        await until_shown(pilot, QUOTE)
        await pilot.click("#passage", offset=(6, 0))
        await until_gone(pilot, QUOTE)
        await pilot.press("escape", *select_and_ask, "1")
        await until(pilot, lambda: about.questions == [EXPLAIN])
        start = screen.book.text.index("Ada Brennan")
        assert about.options.selection == (start, start + len("Ada Brennan"))
        assert about.options.thread == ()
        assert screen.book_pane.selected_range is None
        about.say(STARTED, answered("She kept the lamp."))
        await until_shown(pilot, "keep as a note")
        assert f"? {QUOTE}: {EXPLAIN}" in " ".join(text_of(app).split())
        await pilot.press("K")
        await until(pilot, lambda: kept(tmp_path) and "kept as a note" in text_of(app))
        assert (kept(tmp_path)[0].note, kept(tmp_path)[0].place.exact) == (
            "She kept the lamp.",
            "Ada Brennan",
        )
        await ask(pilot, "and why did she")
        await until(pilot, lambda: about.options.thread)
        assert about.options.selection is None
        assert about.options.thread[0].question == f"{QUOTE}: {EXPLAIN}"


async def test_a_question_that_waits_is_not_about_what_is_selected_meanwhile(
    tmp_path: Path, about: ScriptedReader
) -> None:
    engine = SteppedEngine(says=says)
    # What it takes is estimated first: on a server, every question has a cost.
    engine._info = replace(engine.info, is_remote=True)
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who lit it")
        await until(pilot, lambda: about.questions == ["who lit it"])
        await ask(pilot, "where is the tower")
        await until_shown(pilot, "next: where is the tower")
        await pilot.press("V", "V", "right", "a")
        await until_shown(pilot, QUOTE)
        about.say(STARTED, answered("Finch did."))
        await until(pilot, lambda: about.questions[1:] == ["where is the tower"])
        assert about.options.selection is None
        assert QUOTE in text_of(app)
    questions = UserData(paths_in(tmp_path)).questions(small_book().sha256)
    assert [question.passage for question in questions] == [None, None]


async def test_on_a_narrow_screen_a_translation_is_completed_before_a_page_is_read(
    tmp_path: Path, about: ScriptedReader
) -> None:
    engine = SteppedEngine(says=says)
    engine.gate.clear()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await opened(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("V", "V", "right")
        await until_shown(pilot, "a ask")
        await pilot.press("a")
        await until(
            pilot, lambda: QUOTE in text_of(app) and "5 Translate" in text_of(app)
        )
        line = screen.query_one("#suggestions", Actions)
        column = str(line.render()).index("5")
        await pilot.click("#suggestions", offset=(column + 4, 0))
        await until(pilot, lambda: screen.question.value == "Translate this into ")
        await pilot.press(*"French", "enter")
        await until(pilot, lambda: about.questions == ["Translate this into French"])
        about.say(STARTED, answered("Ada."))
        await until_shown(pilot, "keep as a note")
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: kept(tmp_path))
        await pilot.press("escape", "V", "V", "right", "a", "5")
        await until(pilot, lambda: len(about.questions) == 2)
        passage = about.options.selection
        assert passage
        await pilot.press("escape")
        await until_shown(pilot, "ask again")
        await pilot.press("O")
        await until(pilot, lambda: len(about.questions) == 3)
        assert about.questions[2] == "Translate this into French"
        assert about.options.selection == passage


async def test_the_model_is_asked_about_a_word_that_the_dictionary_lacks(
    tmp_path: Path, about: ScriptedReader
) -> None:
    config = Config(lookup_command="true {word}")
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says), config)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await opened(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("w", "w")
        await until(
            pilot,
            lambda: (
                isinstance(app.screen, LookupScreen)
                and "Enter asks the model" in text_of(app)
            ),
        )
        await pilot.press("enter")
        await until(pilot, lambda: about.questions == [CHOICES[3][1]])
        assert screen.book.text[slice(*about.options.selection)] == "Ada"


async def test_the_model_is_asked_where_no_dictionary_is_installed(
    tmp_path: Path, about: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("w", "w")
        await until_shown(pilot, "No dictionary found")
        assert "No definition found" not in text_of(app), "no dictionary was asked"
        await pilot.press("enter")
        await until(pilot, lambda: about.questions == [CHOICES[3][1]])


async def test_words_ahead_of_the_place_are_asked_about_with_the_text_up_to_them(
    tmp_path: Path, about: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(80, 12), notifications=True) as pilot:
        screen = await opened(pilot)
        bound = screen.controllers.line.bound
        words = bound + 10, bound + 20
        screen.book_pane.select_range(*words)
        await pilot.press("a")
        await until_shown(pilot, "1 Explain")
        hint = text_of(app)
        await pilot.press("1")
        await until(pilot, lambda: about.questions == [EXPLAIN])
        end = screen.answers_pane.exchanges[-1].record.upto
        assert words[1] <= end < len(screen.book.text)
        assert f"up to {end / len(screen.book.text):.0%}" in hint
        assert f"up to {bound / len(screen.book.text):.0%}" not in hint
        assert screen.controllers.line.bound == bound
