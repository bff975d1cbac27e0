"""The rule under the header: filled up to the reader, ticked by chapter."""

from pathlib import Path

from gistread.config import Config
from gistread.tui.widgets.progress_rule import (
    BookProgress,
    ProgressRule,
    progress_cells,
)
from tests.tui.books import long_book
from tests.tui.scripted import app_on, lines, opened, until

SIZE = (80, 24)


def test_the_rule_is_filled_up_to_the_reader_and_ticked_by_chapter() -> None:
    chapters = ((0.0, 1), (0.25, 1), (0.5, 1), (0.75, 1))
    cells = progress_cells(BookProgress(0.5, chapters=chapters), 20)
    assert "".join(cells) == "━━━━━┯━━━━┬────┬────"
    assert "".join(progress_cells(BookProgress(0.0, bound=0.5), 10)) == "─────▾────"


def test_chapters_too_close_together_are_not_ticked() -> None:
    parts = ((0.0, 1), (0.5, 1))
    chapters = (*parts, *((at / 100, 2) for at in range(100)))
    assert "".join(progress_cells(BookProgress(chapters=chapters), 40)).count("┬") == 1


async def test_the_rule_follows_the_book_and_a_click_looks_at_a_place(
    tmp_path: Path,
) -> None:
    app = app_on(long_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert screen.book_pane.scrollbar_size_vertical == 0
        assert "━" not in lines(app)[1]
        await pilot.click(ProgressRule, offset=(40, 0))
        await until(pilot, lambda: lines(app)[1].count("━") > 20)
        assert screen.controllers.context.position.looking
        assert screen.book is not None
        share = screen.book_pane.share_read(screen.book)
        assert 0.4 < share < 0.6


async def test_a_turned_screen_repeats_as_many_lines_as_the_settings_say(
    tmp_path: Path,
) -> None:
    for overlap in (0, 1, 2):
        folder = tmp_path / str(overlap)
        folder.mkdir()
        app = app_on(long_book(), folder, config=Config(overlap=overlap))
        async with app.run_test(size=SIZE) as pilot:
            screen = await opened(pilot)
            await pilot.press("space")
            await until(
                pilot, lambda screen=screen: screen.book_pane.scroll_offset.y > 0
            )
            before = screen.book_pane.rows_in_view
            await pilot.press("space")
            await until(
                pilot,
                lambda screen=screen, before=before: (
                    screen.book_pane.rows_in_view != before
                ),
            )
            assert before[1] + 1 - screen.book_pane.rows_in_view[0] == overlap
