"""Books of the library are joined into a series."""

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from gistread.tui.widgets.book_list import BookList
from tests.tui.library import SIZE
from tests.tui.scripted import app_on, opened, text_of, until


async def test_books_are_added_to_a_series_in_order(tmp_path: Path, folder: Path) -> None:
    app = app_on(None, tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "The sample story" in text_of(app))
        await pilot.press("a")
        app.screen.query_one("#path", Input).value = str(folder)
        await pilot.press("enter")
        await until(pilot, lambda: "3 books" in text_of(app))
        series = folder / "Tales.series"
        for title, count in (("A Short Tale", 1), ("The Long Tale", 2)):
            await _go_to(pilot, title)
            await pilot.press("v")
            line = app.screen.query_one("#path", Input)
            assert line.value.endswith(".series")
            line.value = line.value if count == 2 else str(series.with_suffix(""))
            assert count == 1 or line.value == str(series), "the one that the last book went to is offered"
            await pilot.press("enter")
            await until(pilot, lambda count=count: f"is volume {count} of Tales" in text_of(app))
        await until(pilot, lambda: "4 books" in text_of(app))
        await _go_to(pilot, "Tales")
        await pilot.press("enter")
        screen = await opened(pilot)
        assert [volume.title for volume in screen.book.volumes] == ["A Short Tale", "The Long Tale"]


async def _go_to(pilot: Pilot[None], title: str) -> None:
    books = pilot.app.screen.query_one("#books", BookList)
    await pilot.press("escape") if pilot.app.screen.query_one("#path-line").display else None
    await pilot.press("home")
    for _ in range(books.count):
        if books.current is not None and books.current.title == title:
            return
        await pilot.press("right")
    raise AssertionError(f"{title} is not in the list")
