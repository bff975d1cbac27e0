"""Commands and clicks reach exactly one controller."""

import re
from operator import attrgetter
from pathlib import Path

import pytest

import gistread.tui
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.store.user_data import MarkStore
from gistread.tui.defects import DefectError
from gistread.tui.marking.screens import MarkScreen
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, paths_in, text_of, until
from tests.tui.test_pictures import illustrated

SIZE = (120, 40)
TUI = Path(gistread.tui.__file__).parent


async def test_a_click_on_a_highlighted_caption_opens_one_screen(tmp_path: Path) -> None:
    book, page = illustrated(tmp_path)
    image = book.images[0]
    mark = new_mark(MarkKind.HIGHLIGHT, quote_at(book.text, image.start, image.end))
    MarkStore(paths_in(tmp_path)).put(book.sha256, mark)
    app = app_on(page, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.controllers.marks.marks)
        words = "flag"
        row = next(number for number, line in enumerate(text_of(app).splitlines()) if words in line)
        column = text_of(app).splitlines()[row].index(words)
        await pilot.click(offset=(column + 1, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        assert len(app.screen_stack) == 3  # Textual's own, the book, the mark
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)


async def test_every_command_names_a_method_of_a_controller(tmp_path: Path) -> None:
    source = "".join(
        path.read_text("utf-8") for path in TUI.rglob("*") if path.suffix in (".py", ".toml")
    )
    named = {*re.findall(r"""\brun\(["']([a-z_.]+)["']""", source)}
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        assert len(named) > 50
        assert all(callable(attrgetter(path)(screen.controllers)) for path in named)


async def test_a_defect_while_reading_aloud_ends_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(setting: str) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("gistread.tui.reading.speech.find_voice", broken)

    async def read_aloud() -> None:
        app = app_on(small_book(), tmp_path)
        async with app.run_test(size=SIZE) as pilot:
            screen = await opened(pilot)
            await pilot.press("R")
            await until(pilot, lambda: not screen.controllers.speech.running)

    with pytest.raises(DefectError, match="a defect"):
        await read_aloud()
