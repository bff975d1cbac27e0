"""The people and places of a book on the screen, and the story so far: each row leads to its place."""

from pathlib import Path

from gistread.tui.screens.listing import ListScreen
from gistread.tui.screens.people import PeopleScreen
from tests.tui.books import small_book
from tests.tui.scripted import SteppedEngine, app_on, opened, read_whole, text_of, until


async def test_people_are_listed_up_to_the_place_and_lead_to_their_mentions(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(110, 36)) as pilot:
        screen = await opened(pilot)
        await pilot.press("@")
        await until(pilot, lambda: isinstance(app.screen, PeopleScreen) and "Ada Brennan" in text_of(app))
        await pilot.press(*"tom")
        await until(pilot, lambda: "1 name" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        shown = text_of(app)
        assert "Tomas" in shown
        assert "The last mention" in shown
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.screen is screen)
        assert screen.controllers.context.position.looking


async def test_the_story_so_far_leads_to_its_pages(tmp_path: Path) -> None:
    app = app_on(
        small_book(), tmp_path, SteppedEngine(says=lambda text: "The lamp, the boy and the storm are told of here.")
    )
    async with app.run_test(size=(110, 36)) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("*")
        await until(pilot, lambda: isinstance(app.screen, ListScreen))
        shown = text_of(app)
        assert "The story so far" in shown
        assert "from the gists of" in shown
        assert "You stopped at" in shown
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is screen)
