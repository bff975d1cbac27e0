"""Commands and clicks reach exactly one controller."""

import asyncio
import re
import threading
from pathlib import Path

import pytest
from textual.screen import Screen

import gistread.tui
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.store.user_data import MarkStore
from gistread.tui.all_commands import COMMANDS
from gistread.tui.defects import DefectError
from gistread.tui.marking.screens import MarkScreen
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, paths_in, text_of, until
from tests.tui.test_pictures import illustrated

SIZE = (120, 40)
TUI = Path(gistread.tui.__file__).parent


async def test_a_click_on_a_highlighted_caption_opens_one_screen(
    tmp_path: Path,
) -> None:
    book, page = illustrated(tmp_path)
    image = book.images[0]
    mark = new_mark(MarkKind.HIGHLIGHT, quote_at(book.text, image.start, image.end))
    MarkStore(paths_in(tmp_path)).put(book.sha256, mark)
    app = app_on(page, tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.controllers.marks.marks)
        words = "flag"
        row = next(
            number
            for number, line in enumerate(text_of(app).splitlines())
            if words in line
        )
        column = text_of(app).splitlines()[row].index(words)
        await pilot.click(offset=(column + 1, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        assert len(app.screen_stack) == 3  # Textual's own, the book, the mark
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)


def test_every_command_that_the_code_names_is_in_the_table() -> None:
    source = "".join(path.read_text("utf-8") for path in TUI.rglob("*.py"))
    named = {*re.findall(r"""\b(?:key_hint|hint|keys)[(\[]"([a-z-]+)"[)\]]""", source)}
    named |= {*re.findall(r"\{([a-z]+(?:-[a-z]+)+)\}", source)}
    named -= {"command-id"}  # In a comment
    assert len(named) > 15
    assert named <= {command.id for command in COMMANDS}


async def test_nothing_is_drawn_on_a_screen_that_is_being_removed(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        controllers = screen.controllers
        assert controllers is not None
        await screen.close()
        await app.pop_screen()
        controllers._redraw()  # Was due when the book was closed.
        assert not screen.is_attached


async def test_nothing_is_drawn_once_the_app_has_ended(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        controllers = screen.controllers
        assert controllers is not None
    assert not screen.query("#header")
    with app._context():
        controllers._redraw()  # Was due when the app was closed, its screen with it.


async def test_a_worker_that_meets_a_screen_being_removed_is_no_defect(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE):
        screen = Screen[None]()
        await app.push_screen(screen)
        late = asyncio.Event()

        async def draw_late() -> None:
            while not screen._pruning:  # noqa: ASYNC110 - Textual has no event for it
                await asyncio.sleep(0)
            late.set()
            screen.query_one("#header")

        screen.run_worker(draw_late())
        await app.pop_screen()
        assert late.is_set()
        assert app.is_running


async def test_closing_a_book_ends_what_still_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_indexing, may_end = threading.Event(), threading.Event()

    def index_slowly(*_: object) -> None:
        is_indexing.set()
        may_end.wait()

    monkeypatch.setattr("gistread.tui.screens.reading.index_new_books", index_slowly)
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await until(pilot, is_indexing.is_set)
        await screen.close()
        running = [worker for worker in app.workers if not worker.is_finished]
        may_end.set()
        assert not running


async def test_a_click_on_a_key_runs_its_command(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        last = text_of(app).splitlines()[-1]
        await pilot.click(offset=(last.index("a ask") + 1, SIZE[1] - 1))
        await until(pilot, lambda: app.focused is screen.question)


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
