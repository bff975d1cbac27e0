"""Typography settings apply at once, keep the place, and are saved."""

import tomllib
from pathlib import Path

from gistread.config import Config, load_config
from gistread.tui.screens.choosing import SETTINGS
from gistread.tui.text.bidi import reorders
from tests.tui.books import long_book
from tests.tui.scripted import app_on, lines, opened, until, until_shown

WIDE, NARROW = (140, 40), (80, 24)


async def test_plus_and_minus_change_the_width_no_wider_than_the_pane_and_keep_the_place(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(180, 40)) as pilot:
        screen = await opened(pilot)
        pane = screen.book_pane
        pane.scroll_to_offset(5000)
        await pilot.pause()
        place = pane.place
        await pilot.press("minus", "minus")
        await pilot.pause()
        assert pane.row_width == Config().text_width - 8
        assert pane.place == place
        await pilot.press("plus")
        await until(pilot, lambda: app.paths.config_file.exists())
        await until(
            pilot,
            lambda: (
                load_config(app.paths.config_file).text_width == Config().text_width - 4
            ),
        )
        await pilot.resize_terminal(*NARROW)
        for _ in range(10):
            await pilot.press("plus")
        widest = pane.row_width
        await pilot.press("minus", "minus")
        await pilot.pause()
        assert pane.row_width < widest


async def test_the_panel_changes_the_book_beside_it_by_key(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("equals_sign")
        await pilot.pause()
        assert any("Typography" in line for line in lines(app))
        names = [setting.key for setting in SETTINGS]
        await pilot.press(*["down"] * names.index("paragraphs"), "right", "right")
        await pilot.pause()
        assert app.settings.config.paragraphs == "indent"
        assert screen.book_pane.block(3).first_indent > 0
        await pilot.press("backspace")
        await pilot.pause()
        assert app.settings.config.paragraphs == "auto"


async def test_the_panel_is_used_and_closed_by_mouse(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)

    async def click(word: str, row_with: str) -> None:
        shown = lines(app)
        y = next(y for y, line in enumerate(shown) if row_with in line)
        await pilot.click(offset=(shown[y].index(word), y))
        await pilot.pause()

    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("equals_sign")
        await until_shown(pilot, "Typography")
        await click("▸", row_with="Right edge")
        assert app.settings.config.justify
        await until(pilot, lambda: app.paths.config_file.exists())
        await until(
            pilot,
            lambda: (
                tomllib.loads(app.paths.config_file.read_text()).get("justify") is True
            ),
        )
        await click("default", row_with="default")
        await click("Esc close", row_with="Esc close")
        assert not app.settings.config.justify
        await until(pilot, lambda: app.screen is screen)
        assert app.focused is screen.book_pane


async def test_every_typography_setting_keeps_the_place(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        screen.book_pane.scroll_to_offset(9000)
        await pilot.press("equals_sign")
        place = screen.book_pane.place
        for _ in SETTINGS:
            await pilot.press("right", "left", "right", "down")
        await pilot.pause()
        assert screen.book_pane.place <= place <= screen.book_pane.visible_range[1]


async def test_focus_mode_shows_only_the_text_and_gives_way_to_a_question(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await pilot.press("M", "z")
        await pilot.pause()
        shown = "\n".join(lines(app))
        assert "Memory" not in shown
        assert "choose a model" not in shown
        assert "This is paragraph 0" in shown
        await pilot.press("z")
        await until(pilot, lambda: "Memory" in "\n".join(lines(app)))
        await pilot.press("z", "space")
        await pilot.pause()
        await pilot.click("#book", offset=(1, 5))
        await until(
            pilot,
            lambda: (
                "0%" not in lines(app)[0]
                and "% " in lines(app)[0]
                and "F1 help" in lines(app)[-1]
            ),
        )
        await pilot.press("z", "tab")
        await pilot.pause()
        assert app.focused is screen.memory_pane


def test_the_terminal_or_gistread_reorders_right_to_left_text() -> None:
    assert reorders("auto", {"TERM": "xterm-kitty"})
    assert not reorders("auto", {"KONSOLE_VERSION": "230800"})
    assert reorders("on", {"KONSOLE_VERSION": "230800"})
    assert not reorders("off", {})


async def test_words_found_and_selected_in_justified_text_are_those_of_the_book(
    tmp_path: Path,
) -> None:
    app = app_on(
        long_book(), tmp_path, config=Config(justify=True, paragraphs="indent")
    )
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await pilot.press("z")
        await pilot.pause()
        pane = screen.book_pane
        text = screen.book.text
        start = text.index("paragraph 9.")
        pane.select_range(start, start + 12)
        await pilot.pause()
        assert pane.selected_range == (start, start + 12)
        assert screen.get_selected_text() == "paragraph 9."
        below = pane.offset_below(start, 1)
        assert below is not None
        assert pane.offset_below(below, -1) is not None
        assert start < below < start + 200
