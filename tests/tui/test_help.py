"""Help: the current pane first, searchable, on every screen."""

import re
from functools import partial
from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from gistread.config import Config
from gistread.tui.all_commands import COMMANDS
from gistread.tui.commands import AnyCommand, CommandKeys, Scope
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.help import HelpLine, HelpScreen, nearest_scopes, sorted_help
from gistread.tui.status import Status
from gistread.tui.widgets.lines import StatusLine
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    app_on,
    lines,
    opened,
    text_of,
    type_text,
    until,
    until_gone,
    until_shown,
)

SIZE = (110, 40)
DEFAULT_KEYS = CommandKeys(COMMANDS, {})


@pytest.mark.parametrize(
    ("first", "heading"),
    [
        (nearest_scopes(Pane.BOOK), Scope.MOVING),
        (nearest_scopes(Pane.MEMORY), Scope.REMEMBERING),
        (nearest_scopes(Pane.ANSWERS), Scope.ASKING),
        (nearest_scopes(Pane.BOOK, selecting=True), Scope.SELECTING),
        (nearest_scopes(None, library=True), Scope.LIBRARY),
    ],
)
def test_help_lists_the_keys_of_the_current_pane_first(
    first: tuple[Scope, ...], heading: Scope
) -> None:
    shown = sorted_help(DEFAULT_KEYS, first)
    assert shown[0].heading == heading
    assert {line.title for line in shown} == {
        command.title for command in COMMANDS if command.title
    }


def test_help_lists_the_keys_of_a_panel_first() -> None:
    assert (
        sorted_help(DEFAULT_KEYS, (), [HelpLine("On this panel", "d", "Delete")])[
            0
        ].title
        == "Delete"
    )


@pytest.mark.parametrize(
    ("search", "title"),
    [
        ("half screen", "Half a screen down"),
        ("R", "Read aloud, or stop"),
        ("memory section", "Go to the section"),
        ("who comes", "Memory, marks or neither"),
    ],
)
def test_a_search_finds_by_words_of_the_command_of_its_place_and_by_its_key(
    search: str, title: str
) -> None:
    assert any(
        line.matches(search.split()) and line.title.startswith(title)
        for line in sorted_help(DEFAULT_KEYS, ())
    )


async def test_typing_searches_and_escape_clears_then_closes(tmp_path: Path) -> None:
    app = app_on(
        small_book(),
        tmp_path,
        config=Config(keys={"read-aloud": "z,Z", "focus-mode": "f5"}),
    )
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("f1")
        await until_shown(pilot, "Moving, in any pane")
        await pilot.press(*"aloud")
        await until_shown(pilot, "Read aloud, or stop")
        assert "Contents" not in text_of(app)
        assert any("z Z" in line and "Read aloud" in line for line in lines(app))
        await type_text(pilot, " nothing at all")
        await until_shown(pilot, "No command matches “aloud nothing at all”.")
        await pilot.press("escape")
        await until_shown(pilot, "Moving, in any pane")
        await pilot.press("pagedown")
        await until_gone(pilot, "Moving, in any pane")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen))


async def test_help_in_the_memory_lists_its_keys_first(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        screen.panes.show(Pane.MEMORY)
        await pilot.pause()
        await pilot.press("f1")
        await until_shown(pilot, "In the memory")


async def test_every_panel_has_help_is_closed_by_key_and_mouse_and_leaves_room_for_notices(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        screen = await opened(pilot)
        for key in ("t", "m", "l", "="):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not screen)
            here = app.screen
            await pilot.press("f1")
            await until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("f1")
            await until(pilot, lambda here=here: app.screen is here)
            for close in ("key", "mouse") if here.query(".panel") else ("key",):
                if close == "mouse":
                    await pilot.press(key)
                    await until_shown(pilot, "Esc close")
                app.notify("Two\nrows")
                await until(
                    pilot,
                    lambda: (
                        app.screen.query(Toast) and app.screen.query_one(Toast).region
                    ),
                )
                notice = app.screen.query_one(Toast).region
                covered = list(screen.query("#status, #keys")) + list(
                    app.screen.query(".panel")
                )
                assert len(covered) >= 2
                assert not any(notice.overlaps(panel.region) for panel in covered)
                app.clear_notifications()
                await until(pilot, lambda: not app.screen.query(Toast))
                if close == "key":
                    await pilot.press("escape")
                else:
                    row = next(
                        number
                        for number, line in enumerate(lines(app))
                        if "Esc close" in line
                    )
                    await pilot.click(offset=(lines(app)[row].index("Esc"), row))
                await until(
                    pilot,
                    lambda: app.screen is screen and app.focused is screen.book_pane,
                )


async def test_every_titled_command_works_somewhere(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    titled = {command for command in COMMANDS if command.title}

    def working() -> set[AnyCommand]:
        return {command for command in titled if app.target_of(command)}

    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        on_the_book = working()
        await pilot.press("V")
        await until(pilot, lambda: screen.book_pane.selecting)
        while_selecting = working()
        await pilot.press("L")
        await until(pilot, lambda: app.screen is not screen)
        assert titled == on_the_book | while_selecting | working()
        await pilot.press("escape", "escape")
        await until(
            pilot, lambda: app.screen is screen and not screen.book_pane.selecting
        )


async def test_every_command_of_the_reading_screen_is_bound_to_its_key(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        bound = set()
        for pane in (screen.book_pane, screen.memory_pane):
            screen.set_focus(pane)
            bound |= {
                (key, active.binding.id)
                for key, active in screen.active_bindings.items()
            }
        elsewhere = (Scope.SELECTING, Scope.LIBRARY)
        commands = [c for c in COMMANDS if c.title and c.scope not in elsewhere]
        keys = {(DEFAULT_KEYS.pressed(command)[0], command.id) for command in commands}
        assert keys - bound == set()


async def test_a_command_is_run_by_a_click_in_the_help(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.click("#header", offset=(lines(app)[0].index("≡"), 0))
        await until_shown(pilot, "Half a screen down")
        await type_text(pilot, "to the end")
        await until_gone(pilot, "Half a screen down")
        await until_shown(pilot, "To the end")
        row = next(
            number for number, line in enumerate(lines(app)) if "To the end" in line
        )
        await pilot.click(offset=(lines(app)[row].index("To the end"), row))
        book = screen.book
        assert book is not None
        await until(pilot, lambda: screen.book_pane.share_read(book) == 1.0)


async def test_the_keys_of_the_help_and_of_leaving_are_always_in_the_key_line(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(140, 24)) as pilot:
        await opened(pilot)
        for columns in (140, 100, 80, 60):
            await pilot.resize_terminal(columns, 24)
            await until(pilot, lambda columns=columns: len(lines(app)[-1]) == columns)
            assert "F1 help  q quit" in lines(app)[-1]


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (60, 13)])
async def test_a_look_says_how_to_go_back_and_read_on_whatever_the_model_is_doing(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    def words() -> str:
        return "\n".join(lines(app)[-2:]).replace(":", "")

    def ways_are_shown_beside(first: str, second: str) -> bool:
        shown = words()
        is_status = first in shown or second in shown
        return is_status and "Backspace back" in shown and "Enter read on" in shown

    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        screen.controllers.navigation.jump(len(screen.book.text) // 2)
        await until(
            pilot, lambda: "Backspace back" in words() and "Enter read on" in words()
        )
        note = (
            "Looking" if size[1] > 13 else "Looking · Backspace: back · Enter: read on"
        )
        tones = ("accent", "error") if size[1] > 13 else ("accent",)
        for summary in (
            "Answering",
            "The memory is complete",
            "The model ended twice while it was reading the book",
        ):
            for tone in tones:
                status = Status((summary,), tone=tone)
                screen.query_one("#status", StatusLine).show_status(status, note)
                screen.lines.show_keys()
                await until(
                    pilot, partial(ways_are_shown_beside, summary[:9], "Looking")
                )
                assert not re.search(r"\w…", words()), "cut within a word"
