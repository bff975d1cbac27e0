"""The reading screen: moving, restoring the place, terminal sizes."""

from pathlib import Path

import pytest
from textual.filter import NoColor

from gistread.config import Config
from gistread.store.user_data import UserData
from gistread.tui.defects import DefectError
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.contents import ContentsScreen
from gistread.tui.screens.help import HelpScreen
from gistread.tui.screens.model import ModelScreen
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    filled,
    lines,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)

WIDE, NARROW = (120, 40), (80, 24)


async def test_a_book_is_shown_before_any_model_is_chosen(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        shown = text_of(app)
        assert "Ada Brennan kept the lamp" in shown
        assert "The Lamp at Skerry Point · A. Writer" in shown
        assert "m chooses one" in shown


async def test_keys_move_in_the_book_and_back(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        before = screen.book_pane.scroll_offset.y
        for keys, back in (
            (["space"], ["b"]),
            (["pagedown"], ["pageup"]),
            (["ctrl+d"], ["ctrl+u"]),
            (["j", "j"], ["k", "k"]),
            (["down"], ["up"]),
            (["G"], ["g"]),
            (["end"], ["home"]),
        ):
            await pilot.press(*keys)
            await pilot.pause()
            assert screen.book_pane.scroll_offset.y > before, keys
            await pilot.press(*back)
            await pilot.pause()
            assert screen.book_pane.scroll_offset.y == before, back


async def test_the_place_is_kept_when_the_terminal_changes(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await pilot.press("]", "]", "space", "space")
        await pilot.pause()
        shown = screen.book_pane.visible_range
        for size in ((80, 24), (160, 50), (20, 5), (120, 40)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: screen.size == size)
        start = screen.book_pane.place
        assert shown[0] - 200 <= start <= shown[1]


async def test_a_narrow_terminal_shows_one_pane_and_says_which(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine())
    async with app.run_test(size=NARROW) as pilot:
        await read_whole(pilot)
        assert filled(app, 0) == "Book"
        assert "Memory   5" not in text_of(app)
        await pilot.press("tab")
        await until(pilot, lambda: filled(app, 0) == "Memory")
        assert "Memory   5" in text_of(app)
        await pilot.press("tab")
        await until(pilot, lambda: filled(app, 0) == "Question")
        assert "Ask the book" in text_of(app)
        await pilot.press("tab")
        await until(pilot, lambda: filled(app, 0) == "Book")
        await pilot.click("#header", offset=(lines(app)[0].index("Memory"), 0))
        await until(pilot, lambda: filled(app, 0) == "Memory")


async def test_the_lines_lead_by_mouse_to_the_help_the_contents_any_place_and_an_answer(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        for word, panel in (("≡", HelpScreen), ("I. The Lamp", ContentsScreen)):
            await pilot.click("#header", offset=(lines(app)[0].index(word), 0))
            await until(pilot, lambda panel=panel: isinstance(app.screen, panel))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is screen)
        await pilot.click("#header", offset=(lines(app)[0].index("p."), 0))
        await until(pilot, lambda: screen.input_line.is_open)
        await until(pilot, lambda: "Esc back" in lines(app)[-1])
        assert "quit" not in lines(app)[-1]  # It would be typed.
        await pilot.click("#keys", offset=(lines(app)[-1].index("Esc"), 0))
        await until(
            pilot,
            lambda: not screen.input_line.is_open and app.focused is screen.book_pane,
        )
        await pilot.press("M")
        await until_shown(pilot, "asks about the book")
        row = next(
            number
            for number, line in enumerate(lines(app))
            if "asks about the book" in line
        )
        await pilot.click(offset=(lines(app)[row].index("asks"), row))
        await until(pilot, lambda: app.focused is screen.question)
        await pilot.press(*"Why?")
        await until_shown(pilot, "Enter ask")
        assert "Esc A" not in text_of(app)
        assert "method: Careful" in text_of(app)
        await pilot.press("escape")
        await until_gone(pilot, "Enter ask")  # In the book Enter asks nothing.
        await pilot.press("a")
        await until_shown(pilot, "Enter ask")
        await pilot.click("#question-chips", offset=(4, 0))
        # None has been chosen.
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))


async def test_every_size_of_terminal_works(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine())
    async with app.run_test(size=(1, 1)) as pilot:
        screen = await read_whole(pilot)
        for size in ((1, 1), (10, 60), (250, 70)):
            await pilot.resize_terminal(*size)
            await pilot.press(
                "tab",
                "down",
                "enter",
                "tab",
                "escape",
                "f1",
                "escape",
                "t",
                "escape",
                "m",
                "escape",
            )
            await pilot.press("escape", "space", "G", "g")
            await pilot.pause()
            assert app.screen is screen
            assert screen.panes.current in Pane
        assert any("Lamp" in line for line in lines(app))


async def test_control_characters_of_a_book_reach_no_terminal(tmp_path: Path) -> None:
    app = app_on(
        small_book(title="Evil \x1b[31mred\x1b[0m [bold]markup[/bold]"), tmp_path
    )
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        shown = text_of(app)
        assert "\x1b" not in shown
        assert "[bold]markup[/bold]" in shown


async def test_no_color_is_respected_without_losing_information(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_on(
        small_book(),
        tmp_path,
        SteppedEngine(),
        Config(theme="sepia", min_words=40, max_words=90),
    )
    async with app.run_test(size=NARROW) as pilot:
        await read_whole(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: "▌" in text_of(app) and filled(app, 0) == "Memory")
        assert any(isinstance(a_filter, NoColor) for a_filter in app.get_line_filters())


async def test_an_internal_error_ends_with_one_line(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)

    async def break_it() -> None:
        async with app.run_test(size=NARROW) as pilot:
            screen = await opened(pilot)
            screen.call_later(lambda: 1 / 0)
            await pilot.pause()

    with pytest.raises(DefectError) as caught:
        await break_it()
    assert app.return_code == 1
    assert "gistread.log" in caught.value.__rich__()
    assert "\n" not in caught.value.__rich__()


async def test_a_defect_costs_no_place_whose_turn_to_be_written_had_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.tui.reading.user_data_writer.LEAST_PAUSE_S", 60.0)
    book = long_book()
    app = app_on(book, tmp_path)
    places = [0]

    async def turn_and_break() -> None:
        async with app.run_test(size=NARROW) as pilot:
            screen = await opened(pilot)
            for _ in range(2):
                await pilot.press("space")
                await until(pilot, lambda: screen.book_pane.place > places[-1])
                places.append(screen.book_pane.place)
            screen.call_later(lambda: 1 / 0)
            await pilot.pause()

    with pytest.raises(DefectError):
        await turn_and_break()
    assert UserData(paths_in(tmp_path)).position(book.sha256) == places[-1]
