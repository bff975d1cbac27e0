"""What a costly answer takes is said before it is asked for, with a cheaper one beside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import Config
from gistread.engine.protocol import Rates
from gistread.memory.sizes import unread_memory
from gistread.session.estimate import is_costly
from gistread.store.model import BoundChoice
from gistread.store.user_data import UserData
from gistread.tui.screens.choosing import cost_words
from gistread.tui.screens.listing import ListScreen
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    paths_in,
    read_whole,
    text_of,
    until,
    until_shown,
)
from tests.tui.test_asking import NARROW, STARTED, answered, says, script_methods


async def test_a_costly_answer_is_announced_and_a_quick_one_offered(
    tmp_path: Path,
) -> None:
    engine = SteppedEngine(says=says)
    engine._info = replace(engine.info, rates=Rates(20.0, 100.0))
    config = Config(min_words=400, max_words=900, reader="notes")
    app = app_on(long_book(240), tmp_path, engine, config)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("a", *"why", "enter")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        assert (
            f"Thorough reads ~{len(screen.session.memory.entries)} sections: about"
            in text_of(app)
        )
        assert "Quick: about" in text_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert screen.question.value == "why"
        assert not screen.session.answering
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        await pilot.press("down", "enter")
        saved = UserData(paths_in(tmp_path))
        await until(pilot, lambda: saved.questions(screen.book.sha256))
        assert saved.questions(screen.book.sha256)[0].reader == "gistread"
        assert screen.session.reader == "notes"


async def test_a_costly_question_is_confirmed_before_it_waits_and_not_after(
    tmp_path: Path, reader: ScriptedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    script_methods(monkeypatch, "gistread", "notes")
    engine = SteppedEngine(says=says)
    engine._info = replace(engine.info, rates=Rates(20.0, 100.0))
    config = Config(min_words=400, max_words=900)
    app = app_on(long_book(240), tmp_path, engine, config)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await read_whole(pilot)
        assert screen.session is not None
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        screen.session.reader = "gistread"
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions == ["who"])
        screen.session.reader = "notes"
        await pilot.press("a", *"why", "enter")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        assert screen.question.value == "why"
        assert not screen.controllers.questions.has_queued
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        await pilot.press("enter")
        await until_shown(pilot, "next: why")
        reader.say(STARTED, answered("Finch."))
        await until(pilot, lambda: reader.questions == ["who", "why"])
        assert app.screen is screen
    saved = UserData(paths_in(tmp_path)).questions(screen.book.sha256)
    assert [question.reader for question in saved] == ["gistread", "notes"]


def test_a_long_answer_is_announced_also_where_the_speed_is_unknown() -> None:
    long, short = unread_memory(long_book(240)), unread_memory(small_book())
    assert [
        is_costly(reader, None, 0, long)
        for reader in ("notes", "graphreader", "auto", "gistread")
    ] == [True] * 2 + [False] * 2
    assert not is_costly("notes", None, 0, short)
    assert is_costly("gistread", None, 40_000, short)
    assert cost_words("notes", long, None).endswith(
        "sections. This model's speed is not known yet."
    )


async def test_what_a_short_question_sends_to_a_server_is_said(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    engine._info = replace(engine.info, is_remote=True)
    config = Config(min_words=400, max_words=900, reader="gistread")
    app = app_on(small_book(), tmp_path, engine, config)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await read_whole(pilot)
        await pilot.press("a", *"why", "enter")
        await until(pilot, lambda: "tokens to the server." in text_of(app))
