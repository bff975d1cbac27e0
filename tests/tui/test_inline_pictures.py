"""Pictures among the text.

Drawn where they stand, the cover above the first line, and nothing moves for them.
"""

from pathlib import Path

import pytest
from rich.color_triplet import ColorTriplet
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot

from gistread.tui import kitty
from gistread.tui.screens.help import HelpScreen
from gistread.tui.screens.image import ImageScreen
from tests.book.make_epub import epub, package, page
from tests.tui.scripted import app_on, lines, opened, text_of, until
from tests.tui.test_pictures import png

SIZE = (100, 40)
RED = ColorTriplet(255, 0, 0)
BLUE = ColorTriplet(0, 0, 255)


def illustrated(folder: Path, around: int = 0, *, cover: bool = False) -> Path:
    """A book with a red picture, `around` paragraphs before and after it, and perhaps a cover.

    The cover is blue.
    """
    text = "".join(
        f"<p>Paragraph {number} of the voyage along the coast.</p>"
        for number in range(around)
    )
    body = (
        f"{text}<p>A boat lay here.</p><figure><img src='red.png' alt='A red "
        f"flag'/></figure><p>It blew.</p>{text}"
    )
    if cover:
        item = "<item id='c' href='blue.png' media-type='image/png' properties='cover-image'/>"
    else:
        item = ""
    pictures = {
        "red.png": png("#ff0000", (300, 200)),
        "blue.png": png("#0000ff", (300, 450)),
    }
    path = folder / "book.epub"
    path.write_bytes(
        epub(
            {"one.xhtml": page(body), **pictures}, package(["one.xhtml"], manifest=item)
        )
    )
    return path


def rows_of(app: App[None], color: ColorTriplet) -> list[int]:
    """The rows of the screen in which about this colour is drawn."""

    def colored(style: Style | None) -> bool:
        drawn = style.color.triplet if style and style.color else None
        if drawn is None:
            return False
        return all(
            abs(part - of_color) < 8
            for part, of_color in zip(drawn, color, strict=True)
        )

    strips = app.screen._compositor.render_strips()
    return [
        row
        for row, strip in enumerate(strips)
        if any(colored(segment.style) for segment in strip)
    ]


def row_with(pilot: Pilot[None], words: str) -> int:
    return next(row for row, line in enumerate(lines(pilot.app)) if words in line)


async def test_a_picture_stands_above_its_caption_and_a_click_enlarges_it(
    tmp_path: Path,
) -> None:
    app = app_on(illustrated(tmp_path), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await until(pilot, lambda: rows_of(app, RED))
        rows = rows_of(app, RED)
        assert (
            row_with(pilot, "A boat lay here")
            < rows[0]
            < rows[-1]
            == row_with(pilot, "A red flag") - 1
        )
        assert len(rows) <= SIZE[1] * 2 / 3
        await pilot.click(offset=(lines(app)[rows[1]].index("▀") + 2, rows[1]))
        await until(pilot, lambda: isinstance(app.screen, ImageScreen))


async def test_a_picture_that_is_loaded_above_the_view_moves_nothing(
    tmp_path: Path,
) -> None:
    app = app_on(illustrated(tmp_path, 150), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert not screen.controllers.pictures._figures
        below = screen.book.text.index("It blew.")
        screen.book_pane.scroll_to_offset(below)
        await until(pilot, lambda: any(screen.controllers.pictures._figures.values()))
        assert screen.book_pane.reading_offset == below
        assert row_with(pilot, "It blew.") == screen.book_pane.content_region.y
        await pilot.press("up", "up")
        await until(pilot, lambda: rows_of(app, RED) or "A red flag" in text_of(app))


def rows_drawn_by_kitty(app: App[None]) -> list[tuple[int, int]]:
    """(row of the picture, columns drawn) from top to bottom."""
    rows = []
    for strip in app.screen._compositor.render_strips():
        cells = [
            segment.text for segment in strip if segment.text.startswith("\U0010eeee")
        ]
        if cells:
            assert [number_of(cell[2]) for cell in cells] == list(range(len(cells)))
            rows.append((number_of(cells[0][1]), len(cells)))
    return rows


async def test_kittys_characters_scroll_are_cut_and_sized_like_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-kitty")
    monkeypatch.delenv("TMUX", raising=False)
    app = app_on(illustrated(tmp_path, 30, cover=True), tmp_path)

    def drawn() -> list[tuple[int, int]]:
        return rows_drawn_by_kitty(app)

    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, drawn)
        rows, columns = len(drawn()), drawn()[0][1]
        assert drawn() == [(row, columns) for row in range(rows)]
        assert "▀" not in text_of(app)
        await pilot.press("down", "down", "down", "down")
        await until(pilot, lambda: drawn() and drawn()[0][0])
        assert drawn() == [(row, columns) for row in range(rows - len(drawn()), rows)]
        await pilot.press("g", "f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen and len(drawn()) == rows)
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: 0 < len(drawn()) <= 20 * 2 / 3)


def number_of(diacritic: str) -> int:
    return kitty._numbers().index(diacritic)
