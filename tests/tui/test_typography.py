"""Typography settings apply at once, keep the place, and are saved."""

import tomllib
from pathlib import Path

from gistread.config import Config, load_config
from gistread.tui.text.bidi import reorders
from gistread.tui.widgets.typography_panel import SETTINGS, TypographyPanel
from tests.tui.books import long_book
from tests.tui.scripted import app_on, lines, opened, until

WIDE, NARROW = (140, 40), (80, 24)


async def test_plus_and_minus_change_the_width_no_wider_than_the_pane_and_keep_the_place(tmp_path: Path) -> None:
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
        await until(pilot, lambda: load_config(app.paths.config_file).text_width == Config().text_width - 4)
        await pilot.resize_terminal(*NARROW)
        for _ in range(10):
            await pilot.press("plus")
        widest = pane.row_width
        await pilot.press("minus", "minus")
        await pilot.pause()
        assert pane.row_width < widest


async def test_the_panel_changes_the_book_beside_it_by_key_and_by_mouse(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=NARROW) as pilot:
        screen = await opened(pilot)
        await pilot.press("equals_sign")
        await pilot.pause()
        assert any("Typography" in line for line in lines(app))
        names = [setting.key for setting in SETTINGS]
        await pilot.press(*["down"] * names.index("paragraphs"), "right")
        await pilot.pause()
        assert app.settings.config.paragraphs == "indent"
        assert screen.book_pane.block(3).first_indent > 0
        await pilot.press("backspace")
        await pilot.pause()
        assert app.settings.config.paragraphs == "gap"
        shown = lines(app)
        y = next(number for number, line in enumerate(shown) if "Line spacing" in line)
        await pilot.click(offset=(shown[y].index("▸"), y))
        await pilot.pause()
        assert app.settings.config.line_spacing == 1
        await until(pilot, lambda: app.paths.config_file.exists())
        await until(pilot, lambda: tomllib.loads(app.paths.config_file.read_text()).get("line_spacing") == 1)
        for word in ("default", "done"):
            y = next(number for number, line in enumerate(lines(app)) if "Esc done" in line)
            await pilot.click(offset=(lines(app)[y].index(word), y))
        assert app.settings.config.line_spacing == 0
        await until(pilot, lambda: not screen.query(TypographyPanel))
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


async def test_focus_mode_shows_only_the_text_in_two_columns_on_request_and_gives_way_to_a_question(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await pilot.press("z")
        await pilot.pause()
        shown = "\n".join(lines(app))
        assert "MEMORY" not in shown
        assert "choose a model" not in shown
        assert "This is paragraph 0" in shown
        await pilot.press("vertical_line")
        await pilot.pause()
        assert screen.book_pane.column_count == 2
        await pilot.press("vertical_line")
        await pilot.pause()
        assert screen.book_pane.column_count == 1
        await pilot.press("z")
        await pilot.pause()
        assert "MEMORY" in "\n".join(lines(app))
        await pilot.press("z", "space")
        await pilot.pause()
        await pilot.click("#book", offset=(1, 5))
        await until(pilot, lambda: "0%" not in lines(app)[0] and "% " in lines(app)[0] and "F1 help" in lines(app)[-1])
        await pilot.press("z", "tab")
        await pilot.pause()
        assert app.focused is screen.memory_pane


def test_the_first_paragraph_after_a_heading_is_not_indented() -> None:
    from gistread.tui.book_blocks import BookBlocks, PageStyle

    blocks = BookBlocks(long_book(), PageStyle(indent=True))
    assert blocks[1].first_indent == 0
    assert blocks[2].first_indent > 0
    assert blocks[2].blank_before == 0
    assert blocks[1].blank_before == 1


def test_the_terminal_or_gistread_reorders_right_to_left_text() -> None:
    assert reorders("auto", {"TERM": "xterm-kitty"})
    assert not reorders("auto", {"KONSOLE_VERSION": "230800"})
    assert reorders("on", {"KONSOLE_VERSION": "230800"})
    assert not reorders("off", {})


async def test_no_pane_orders_words_that_the_terminal_orders(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=Config(bidi="off"))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        assert not any(pane.reorder for pane in (screen.book_pane, screen.memory_pane, screen.answers_pane))


async def test_the_panel_of_a_small_screen_leaves_the_book_some_rows_and_shows_every_setting(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=(50, 12)) as pilot:
        screen = await opened(pilot)
        await pilot.press("tab", "equals_sign")
        await pilot.pause()
        assert screen.book_pane.size.height >= 3
        for setting in SETTINGS:
            assert any(f"▌{setting.name}" in line for line in lines(app))
            await pilot.press("down")
            await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.focused is screen.book_pane


async def test_words_found_and_selected_in_a_justified_spread_are_those_of_the_book(tmp_path: Path) -> None:
    app = app_on(long_book(), tmp_path, config=Config(justify=True, columns=2, paragraphs="indent"))
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
        assert pane.offset_below(below, -1) is not None
        assert start < below < start + 200
