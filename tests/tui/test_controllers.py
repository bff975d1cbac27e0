"""Commands and clicks reach exactly one controller."""

import ast
import re
from pathlib import Path

import pytest

from gistread.marking.model import MarkKind, new_mark, quote_at
from gistread.marking.store import MarkStore
from gistread.tui.commands import COMMANDS, READING, with_keys
from gistread.tui.defects import DefectError
from gistread.tui.marking.panels import MarkScreen
from gistread.tui.reading import controllers
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import small_book
from tests.tui.scripted import app_on, opened, paths_in, text_of, until
from tests.tui.test_pictures import illustrated

SIZE = (120, 40)


async def test_every_command_of_the_reading_screen_names_a_method(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        for command in COMMANDS:
            if command.scope not in READING:
                continue
            if (match := re.match(r"run\('(\w+)\.(\w+)'", command.action)) is None:
                assert callable(getattr(screen, f"action_{command.action}")), command.id
            else:
                assert callable(getattr(getattr(screen.controllers, match[1]), match[2])), command.id


def test_controllers_are_not_widgets() -> None:
    rooms = ("gistread.tui.reading.", "gistread.tui.marking.")
    kinds = [one for one in vars(controllers).values() if isinstance(one, type) and one.__module__.startswith(rooms)]
    assert len(kinds) > 12
    assert not [kind for kind in kinds if hasattr(kind, "compose")]


async def test_a_click_on_a_highlighted_caption_opens_one_screen(tmp_path: Path) -> None:
    book, page = illustrated(tmp_path)
    image = book.images[0]
    mark = new_mark(MarkKind.HIGHLIGHT, quote_at(book.text, image.start, image.end))
    MarkStore(paths_in(tmp_path).marks).put(book.sha256, mark)
    app = app_on(book, tmp_path)
    app._first_path = page
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


async def test_a_defect_while_reading_aloud_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(setting: str) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("gistread.tui.reading.speech.find_voice", broken)

    async def read_aloud() -> None:
        app = app_on(small_book(), tmp_path)
        async with app.run_test(size=SIZE) as pilot:
            screen = await opened(pilot)
            await pilot.press("R")
            await until(pilot, lambda: not screen.controllers.speech.active)

    with pytest.raises(DefectError, match="a defect"):
        await read_aloud()


async def test_the_prompt_returns_its_text_to_its_owner(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        place = screen.book_pane.place
        await pilot.press("/", *"50%", "escape")
        assert isinstance(app.screen, ReadingScreen)
        assert screen.book_pane.place == place
        await pilot.press(":", *"Finch", "up")  # the history of the search is not that of "go to"
        assert screen.prompt.words == "Finch"
        assert not len(screen.controllers.search.hits)


def test_messages_name_bound_keys() -> None:
    assert with_keys("{undo-deletion} restores it.", {"undo-deletion": "ctrl+z"}) == "Ctrl+Z restores it."
    package = Path(__file__).parent.parent.parent / "src/gistread/tui"
    letters = re.compile(r"(?:[Pp]ress|[;:.]) ([A-Za-z])(?: to | (?:chooses|searches|asks|restores|brings|goes)\b)")
    for path in [*package.glob("*.py"), *(package / "reading").glob("*.py"), *(package / "screens").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not letters.search(node.value), f"{path.name}: {node.value}"
