"""A panel with a list."""

import asyncio
from pathlib import Path

from gistread.tui.screens.listing import ListScreen, Row
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, text_of, until


async def test_a_list_can_be_closed_while_it_opens(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await opened(pilot)
        for turns in (0, 5, 10, 20, 40, 60):  # of the event loop before the key: its parts are mounted between them
            app.push_screen(ListScreen("Colours", rows=[Row("r", "red")]))
            for _ in range(turns):
                await asyncio.sleep(0)
            await app.screen.run_action("dismiss(None)")
            await until(pilot, lambda: app.screen is screen)


async def test_rows_are_broken_anew_when_the_terminal_narrows(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        about = "A light that warns of the reef beyond the point, and of the sandbank on its other side."
        app.push_screen(ListScreen("Lamps", rows=[Row("r", "red", about), Row("g", "green")], at="g"))
        await until(pilot, lambda: "Lamps" in text_of(app))
        await pilot.resize_terminal(50, 30)
        await until(pilot, lambda: "point, and of the sandbank on its other  " in text_of(app))
        assert isinstance(app.screen, ListScreen)
        assert app.screen.chosen == "g"
