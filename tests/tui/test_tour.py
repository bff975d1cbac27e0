"""The tour: four steps, skippable, at the first start and on request."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events

from gistread.config import Config
from gistread.tui.app import GistreadApp
from gistread.tui.widgets.tour import STEPS, Tour
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_shown,
)
from tests.tui.test_asking import STARTED, answered, ask, citation, says


async def test_the_tour_has_four_steps_and_leaves_the_book_usable(
    tmp_path: Path,
) -> None:
    app = GistreadApp(
        long_book(20), paths=paths_in(tmp_path), config=Config(), tour=True
    )
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        for number, (title, _) in enumerate(STEPS, start=1):
            await until_shown(pilot, f"{number} of 4 · {title}")
            assert ("Enter next" in text_of(app)) is (number < 4)
            if number == 2:
                await pilot.press("space")
                await until(pilot, lambda: screen.book_pane.place > 0)
            await pilot.press("enter")
        await until(pilot, lambda: not screen.query(Tour))
        await pilot.press("f2")
        await until_shown(pilot, "1 of 4")
        await pilot.press("escape")
        await until(pilot, lambda: not screen.query(Tour))


async def test_the_tour_goes_away_once_a_question_is_asked(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("f2")
        await until_shown(pilot, "1 of 4")
        await ask(pilot, "Who")
        await until(pilot, lambda: reader.questions)
        await until(pilot, lambda: not screen.query(Tour))
        assert not screen.query(".-pointed")
        reader.say(STARTED, answered("Finch [1].", citation(screen, "Finch relit it.")))
        await until_shown(pilot, "Finch [1].")
        await until(pilot, lambda: not screen.session.answering)
        await pilot.press("escape", "f2")
        await until_shown(pilot, "1 of 4")
        await pilot.press(">")
        await until_shown(pilot, "Step 1 of")
        await until(pilot, lambda: not screen.query(Tour))


@pytest.mark.parametrize(
    ("width", "tabs"),
    [(80, ("", "→ Memory", "→ Question", "")), (120, ("", "", "", ""))],
)
async def test_each_step_points_at_what_it_names(
    tmp_path: Path, width: int, tabs: Sequence[str]
) -> None:
    app = GistreadApp(
        long_book(20), paths=paths_in(tmp_path), config=Config(), tour=True
    )
    async with app.run_test(size=(width, 24)) as pilot:
        screen = await opened(pilot)
        marked: tuple[list[str], ...] = (
            [],
            ["memory-header"],
            ["question-mark"],
            ["status"],
        )

        def pointed() -> list[str | None]:
            return [widget.id for widget in screen.query(".-pointed")]

        for number, (tab, ids) in enumerate(zip(tabs, marked, strict=True), start=1):
            await until_shown(pilot, f"{number} of 4")
            await until(pilot, lambda ids=ids: pointed() == ids)
            assert ("→" in text_of(app).splitlines()[0]) is bool(tab)
            assert tab in text_of(app)
            await pilot.press("enter")
        await until(
            pilot, lambda: not screen.query(".-pointed") and not screen.query(Tour)
        )


def type_at_once(app: GistreadApp, *keys: tuple[str, str]) -> None:
    """Send keys as a terminal does that had to wait: none has been handled when the last comes."""
    for name, character in keys:
        app.post_message(events.Key(name, character))


async def test_keys_typed_right_after_the_tour_ends_go_to_what_they_open(
    tmp_path: Path,
) -> None:
    app = GistreadApp(
        long_book(20), paths=paths_in(tmp_path), config=Config(), tour=True
    )
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "1 of 4")
        place = (("3", "3"), ("0", "0"), ("percent_sign", "%"))
        type_at_once(app, ("escape", "\x1b"), ("colon", ":"), *place, ("enter", "\r"))
        await until(pilot, lambda: screen.book_pane.place > 0)
        assert not screen.query(Tour)
        assert not screen.input_line.is_open


async def test_the_tour_begins_anew_where_it_is_asked_for_again(tmp_path: Path) -> None:
    app = GistreadApp(
        long_book(20), paths=paths_in(tmp_path), config=Config(), tour=True
    )
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await opened(pilot)
        await until_shown(pilot, "1 of 4")
        await pilot.press("enter")
        await until_shown(pilot, "2 of 4")
        await pilot.press("f2", "f2")
        await until_shown(pilot, "1 of 4")
        assert len(screen.query(Tour)) == 1
        type_at_once(app, ("escape", "\x1b"), ("f2", ""))
        await pilot.pause()
        await until_shown(pilot, "1 of 4")
        assert len(screen.query(Tour)) == 1
