"""The list of every panel: filtered, moved in by key and mouse, closed one thing at a time."""

import asyncio
from pathlib import Path

import pytest

from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import Block
from gistread.tui.widgets.row_list import RowList
from tests.tui.books import small_book
from tests.tui.scripted import app_on, lines, opened, text_of, until, until_shown
from tests.tui.text.scene import Screen

FRUIT = [
    Row(None, "Fruit"),
    *(Row(number, f"apple {number}", "sweet") for number in range(40)),
    Row(99, "Pear"),
]


class WithKeys(ListScreen[int]):
    KEYS = (("x", "drop", "drop"),)
    BINDINGS = own_keys(*KEYS)
    LETTERS = TALL = True

    def action_drop(self) -> None:
        self.rows = [row for row in self.rows if row.key != self.chosen]
        self.show_rows(None)


async def test_a_list_can_be_closed_while_it_opens(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        # Of the event loop before the key: its parts are mounted between them
        for turns in (
            0,
            5,
            10,
            20,
            40,
            60,
        ):
            app.push_screen(ListScreen("Colours", rows=[Row("r", "red")]))
            for _ in range(turns):
                await asyncio.sleep(0)
            await app.screen.run_action("dismiss(None)")
            await until(pilot, lambda: app.screen is screen)


async def test_a_tall_list_can_be_resized_while_it_opens_and_closes(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        # of the event loop before each resize
        for turns in (0, 1, 2, 3, 5, 10, 20, 40):
            app.push_screen(panel := WithKeys("Fruit", rows=FRUIT))
            for _ in range(turns):
                await asyncio.sleep(0)
            panel.on_resize()
            await until(
                pilot, lambda: isinstance(app.screen, WithKeys) and app.screen.shown
            )
            panel.dismiss(None)
            panel.on_resize()
            await until(pilot, lambda: app.screen is screen)


async def test_letters_filter_a_list_and_escape_clears_before_it_closes(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, chosen = await opened(pilot), list[int | None]()
        panel = ListScreen("Fruit", rows=FRUIT, at=20, placeholder="a fruit")
        app.push_screen(panel, chosen.append)
        await until(
            pilot,
            lambda: (
                panel.is_mounted and panel.chosen == 20 and "apple 20" in text_of(app)
            ),
        )
        await pilot.press(*"pear")
        await until(pilot, lambda: panel.chosen == 99 and "apple" not in text_of(app))
        await pilot.press("s")
        await until_shown(pilot, "Nothing in the list has these words.")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: panel.chosen == 20 and app.screen is panel)
        await pilot.press("pagedown", "down", "ctrl+home", "down", "enter")
        await until(pilot, lambda: app.screen is screen)
        assert chosen == [1]


async def test_a_list_drawn_anew_begins_with_its_heading_before_its_scroll_bar_is_there(
    tmp_path: Path,
) -> None:
    """Textual ignores a scroll of a widget without scroll bar unless it is forced."""
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        app.push_screen(panel := ListScreen("Fruit", rows=FRUIT))
        await until(
            pilot,
            lambda: (
                panel.is_mounted
                and panel.chosen == 0
                and panel.list.show_vertical_scrollbar
            ),
        )
        panel.list.scroll_to(y=1, animate=False, immediate=True)
        await until(pilot, lambda: panel.list.scroll_offset.y == 1)
        panel.list.show_vertical_scrollbar = False
        panel.show_rows(None)
        assert panel.list.scroll_offset.y == 0


@pytest.mark.parametrize(
    "size", [(80, 24), pytest.param((20, 6), marks=pytest.mark.slow)]
)
async def test_letters_of_a_list_with_keys_act(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=size) as pilot:
        screen, chosen = await opened(pilot), list[int | None]()
        panel = WithKeys("Fruit", rows=FRUIT, placeholder="a fruit")
        app.push_screen(panel, chosen.append)
        await until(pilot, lambda: panel.is_mounted and panel.chosen == 0)
        await pilot.press("x", "j", "x", "G")
        await until(pilot, lambda: panel.chosen == 99)
        await pilot.press("slash", *"apple 3", "enter")
        await until(pilot, lambda: app.screen is screen)
        assert chosen == [3]


async def test_a_first_click_only_moves_in_a_list_with_keys(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen, chosen = await opened(pilot), list[int | None]()
        panel = WithKeys("Fruit", rows=FRUIT, placeholder="a fruit")
        app.push_screen(panel, chosen.append)
        await until(pilot, lambda: panel.is_mounted and "x drop" in text_of(app))
        row = next(
            number for number, line in enumerate(lines(app)) if "apple 2" in line
        )
        await pilot.click(offset=(12, row))
        await until(pilot, lambda: panel.chosen == 2)
        assert app.screen is panel
        await pilot.click(offset=(12, row))
        await until(pilot, lambda: app.screen is screen)
        assert chosen == [2]


async def test_an_empty_list_can_be_turned() -> None:
    """The library's list is empty until the books are known."""
    app = Screen(RowList(cursor=True))
    async with app.run_test(size=(40, 10)) as pilot:
        app.long_text.focus()
        await pilot.press("pagedown", "pageup", "d", "u", "G", "g", "j")
        assert app.long_text.cursor_key is None


async def test_a_list_that_grows_shows_the_heading_above_its_cursor() -> None:
    """A panel gets its height after its rows; until then the list may have one row."""
    rows = [
        Block("Fruit"),
        *(Block(f"apple {number}", key=number) for number in range(40)),
    ]
    app = Screen(RowList(cursor=True))
    async with app.run_test(size=(40, 10)) as pilot:
        app.long_text.styles.height = 1
        await until(pilot, lambda: app.long_text.size.height == 1)
        app.long_text.show(rows)
        app.long_text.set_cursor(0)
        await until_shown(pilot, "apple 0")
        assert "Fruit" not in text_of(app)
        app.long_text.styles.height = 8
        await until_shown(pilot, "Fruit")
        assert "apple 0" in text_of(app)
