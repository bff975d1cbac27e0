"""Notices that are taken back, and what a screen remembers of them."""

from pathlib import Path

from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened


async def test_a_screen_forgets_the_notices_that_have_expired(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.notify("Expires at once.", timeout=0)
        screen.notify("Is shown.", timeout=600)
        screen.notify("A warning.", severity="warning", timeout=600)
        assert set(screen._expiries) == {"Is shown."}
        screen.withdraw("Is shown.")
        assert not screen._expiries
