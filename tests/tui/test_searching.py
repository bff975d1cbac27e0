"""Search while typing, stepping through hits, and the list of all hits."""

from pathlib import Path

from textual.pilot import Pilot

from gistread.search.book_search import SearchMode
from gistread.tui.reading.layers import Layer
from gistread.tui.screens.hits import HitsScreen
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.widgets.input_line import InputLine
from tests.tui.books import long_book, small_book
from tests.tui.scripted import app_on, lines, opened, text_of, until, until_shown

NARROW, WIDE = (80, 24), (120, 40)


def current(screen: ReadingScreen) -> str:
    """The words that are marked as the current hit."""
    return " ".join(
        screen.book.text[mark.start : mark.end]
        for mark in screen.controllers.context.layers.of(Layer.CURRENT_HIT)
    )


def in_view(screen: ReadingScreen) -> bool:
    start, end = screen.book_pane.visible_range
    return all(
        start <= mark.start < end
        for mark in screen.controllers.context.layers.of(Layer.CURRENT_HIT)
    )


async def search(pilot: Pilot[None], words: str, key: str = "/") -> ReadingScreen:
    screen = pilot.app.screen
    assert isinstance(screen, ReadingScreen)
    await pilot.press(key, *("space" if letter == " " else letter for letter in words))
    await until(pilot, lambda: screen.controllers.search.hits.words == words)
    await pilot.pause()
    return screen


async def test_hits_appear_while_typing_escape_returns_and_enter_stays(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(*"j" * 17)
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 17)
        await search(pilot, "paragraph 77")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y > 100)
        await pilot.press("escape")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 17)
        assert not screen.controllers.context.layers.of(Layer.HITS)
        assert screen.focused is screen.book_pane
        await search(pilot, "paragraph 77")
        await until(pilot, lambda: in_view(screen) and "1 of 1 · exact" in text_of(app))
        assert current(screen) == "paragraph 77"
        await pilot.press("enter")
        await until(pilot, lambda: not screen.query_one(InputLine).is_open)
        assert screen.focused is screen.book_pane
        assert "/paragraph 77  1 of 1" in lines(app)[-1]
        await until(pilot, lambda: "Backspace back" in lines(app)[-1])
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 17)


async def test_going_back_from_a_hit_keeps_what_was_read_there(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("space", "space")
        await until(pilot, lambda: screen.book_pane.place > 0)
        position = screen.controllers.context.position
        place = position.place
        await search(pilot, "paragraph 77")
        await pilot.press("enter")
        await until(
            pilot, lambda: not screen.query_one(InputLine).is_open and position.looking
        )
        await pilot.press("enter")
        await until(pilot, lambda: position.place > place)
        read, bound = position.place, screen.controllers.line.bound
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == place)
        assert (position.place, position.looking) == (read, True)
        assert screen.controllers.line.bound == bound


async def test_the_next_hit_wraps_around_with_a_message(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        await opened(pilot)
        screen = await search(pilot, "tea")
        await pilot.press("enter", "/", "enter")  # repeats the last search
        await until(pilot, lambda: "/tea  2 of 2" in lines(app)[-1])
        for key, count in (
            ("n", "1 of 2 · from the beginning again"),
            ("N", "2 of 2 · from the end again"),
            ("N", "1 of 2"),
            ("n", "2 of 2"),
        ):
            await pilot.press(key)
            await until(
                pilot, lambda count=count: lines(app)[-1].rstrip().endswith(count)
            )
            assert in_view(screen)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.controllers.context.layers.of(Layer.HITS))
        assert "/tea" not in lines(app)[-1]


async def test_search_goes_backward_from_the_view(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press(*":50%", "enter")
        await until(pilot, lambda: screen.book_pane.place > 0)
        here = screen.book_pane.place
        await search(pilot, "Chapter")
        await pilot.press("enter")
        first = screen.controllers.context.layers.of(Layer.CURRENT_HIT)[0].start
        assert first > here
        await pilot.press("N")
        await until(
            pilot,
            lambda: (
                screen.controllers.context.layers.of(Layer.CURRENT_HIT)[0].start < here
            ),
        )
        await pilot.press("n")
        await until(
            pilot,
            lambda: (
                screen.controllers.context.layers.of(Layer.CURRENT_HIT)[0].start
                == first
            ),
        )
        await pilot.press("escape", "g")
        await until(pilot, lambda: screen.book_pane.scroll_offset.y == 0)
        await search(pilot, "Chapter")
        await pilot.press("enter", *"nnnn")
        await until(pilot, lambda: "5 of 20" in lines(app)[-1])
        await pilot.press(*":90%", "enter")
        await until(
            pilot, lambda: screen.book_pane.place > 0.88 * len(screen.book.text)
        )
        await pilot.press("n")
        await until(
            pilot, lambda: "19 of 20" in lines(app)[-1] or "20 of 20" in lines(app)[-1]
        )


async def test_no_hits_are_reported_and_tab_changes_the_mode(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        screen = await search(pilot, "zebra")
        await until_shown(pilot, "not in the book")
        await pilot.press("enter")
        await pilot.pause()
        assert screen.query_one(InputLine).is_open
        await pilot.press("escape", "n")
        await pilot.pause()
        assert screen.book_pane.scroll_offset.y == 0
        await search(pilot, "t.a")
        await until_shown(pilot, "not in the book")
        await pilot.press("tab")
        await until(
            pilot,
            lambda: (
                screen.controllers.search.hits.mode is SearchMode.REGEX
                and len(screen.controllers.search.hits) > 0
            ),
        )
        await pilot.press("(")
        await until_shown(pilot, "Not a regular expression: missing )")
        await pilot.press("backspace", "tab")
        await until(
            pilot, lambda: screen.controllers.search.hits.mode is SearchMode.RANKED
        )


async def test_search_works_by_mouse(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=(160, 30)) as pilot:
        screen = await opened(pilot)

        async def click(words: str) -> None:
            row = next(
                n for n, line in reversed(list(enumerate(lines(app)))) if words in line
            )
            await pilot.click(offset=(lines(app)[row].index(words) + 1, row))

        await click("/ search")
        await until(pilot, lambda: screen.query_one(InputLine).is_open)
        await pilot.press(*"tea")
        await until_shown(pilot, "1 of 2")
        await click("Tab: regular")
        await until_shown(pilot, "1 of 2 · regular expression")
        await pilot.click(screen.book_pane, offset=(2, 1))
        await until(pilot, lambda: not screen.query_one(InputLine).is_open)
        await click("n next")
        await until(pilot, lambda: "/tea  2 of 2" in lines(app)[-1])
        await click("N previous")
        await until(pilot, lambda: "/tea  1 of 2" in lines(app)[-1])
        await click("1 of 2")
        await until(pilot, lambda: isinstance(app.screen, HitsScreen))
        await pilot.click(offset=(1, 1))
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.controllers.context.layers.of(Layer.HITS))
