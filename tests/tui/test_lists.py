"""A panel with a list."""

import asyncio
from pathlib import Path

from gistread.tui.screens.listing import ListScreen, Row
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, until


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
