"""The file of the open book: another encoding, and a change while it is open."""

import os
from pathlib import Path

import pytest

from gistread.book.cache import file_digest
from gistread.book.encodings import chosen_encoding
from gistread.book.model import Book
from gistread.marking import MarkKind, new_mark, quote_at
from gistread.store.user_data import MarkStore
from gistread.tui.app import GistreadApp
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.scripted import app_on, paths_in, text_of, until, until_shown

_SIZE = (80, 24)
_LINE = "Šis šuo žino, kur yra {number}. kaulas, ir niekam nieko nesako."


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A Lithuanian text that is guessed wrong: nothing but a reader can tell."""
    path = tmp_path / "story.txt"
    text = "Žmogaus šuo\n\n" + "\n\n".join(
        _LINE.format(number=number) for number in range(1, 200)
    )
    path.write_bytes(text.encode("cp1257"))
    return path


def _book_of(app: GistreadApp) -> Book:
    assert app.reading is not None
    assert app.reading.book is not None
    return app.reading.book


async def test_an_encoding_is_chosen_kept_and_taken_back(
    story: Path, tmp_path: Path
) -> None:
    app = app_on(story, tmp_path)
    paths = paths_in(tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "Ctrl+E chooses")
        await pilot.press("space", "space", "ctrl+e")
        await until_shown(pilot, "Choose the line that reads correctly")
        assert "cp1257" in text_of(app)
        first = app.screen_stack[-2]
        assert isinstance(first, ReadingScreen)
        title = _book_of(app).title
        place = first.book_pane.place
        assert place > 0
        await pilot.press(*"cp1252", "enter")
        await until(
            pilot, lambda: app.reading not in (None, first) and app.reading.book
        )
        assert chosen_encoding(paths.encodings, file_digest(story)) == "cp1252"
        assert "žino" not in _book_of(app).text
        await until_shown(pilot, "In this encoding the book is called")
        assert "Ctrl+E chooses" not in text_of(app)
        await until(pilot, lambda: app.reading and app.reading.book_pane.place == place)
        second = app.reading
        await pilot.press("ctrl+e")
        await until_shown(pilot, "cp1252 · now")
        await pilot.press(*"automatic", "enter")
        await until(
            pilot, lambda: app.reading not in (None, second) and app.reading.book
        )
        assert chosen_encoding(paths.encodings, file_digest(story)) == ""
        assert _book_of(app).title == title


async def test_a_file_that_changes_while_open_is_told_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.tui.reading.book_file.WATCH_S", 0.05)
    path = tmp_path / "book.txt"
    paragraphs = [f"The {number}. lamp burned low till dawn." for number in range(300)]
    path.write_text("\n\n".join(paragraphs))
    app = app_on(path, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "lamp burned")
        await pilot.press("space", "space")
        first = app.reading
        assert first is not None
        assert first.book is not None
        before = first.book.text[first.book_pane.place :][:16]
        quote = quote_at(first.book.text, first.book.text.index("The 7. lamp"))
        MarkStore(paths_in(tmp_path)).put(
            first.book.sha256, new_mark(MarkKind.BOOKMARK, quote)
        )
        path.write_text("A preface.\n\n" * 9 + "\n\n".join(paragraphs))
        await until_shown(pilot, "has changed")
        await pilot.press("f5")
        await until(
            pilot, lambda: app.reading not in (None, first) and app.reading.controllers
        )
        again = app.reading
        assert again is not None
        assert again.book is not None
        assert again.book.text.startswith("A preface.")
        assert again.book.text[again.book_pane.place :].startswith(before)
        (mark,) = MarkStore(paths_in(tmp_path)).marks(again.book.sha256)
        assert not mark.lost
        path.unlink()
        await pilot.press("f5")
        await until_shown(pilot, "No such file")
        assert app.reading is again


async def test_a_text_in_utf8_has_no_encoding_to_choose(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("Grüße aus Köln.\n" * 40)
    app = app_on(path, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "Köln")
        await pilot.press("ctrl+e")
        await until_shown(pilot, "nothing to choose")


async def test_a_file_that_is_only_touched_has_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.tui.reading.book_file.WATCH_S", 0.02)
    looks: list[str] = []

    def counted_digest(path: Path) -> str:
        looks.append(file_digest(path))
        return looks[-1]

    monkeypatch.setattr("gistread.tui.reading.book_file.file_digest", counted_digest)
    path = tmp_path / "book.txt"
    path.write_text("The lamp burned low till dawn.\n" * 40)
    app = app_on(path, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until(pilot, lambda: len(looks) == 1)
        os.utime(path, (1, 1))
        await until(pilot, lambda: len(looks) == 2)
        assert "has changed" not in text_of(app)
        path.write_text("The lamp went out.\n" * 40)
        await until_shown(pilot, "has changed")


async def test_a_book_that_is_read_again_leaves_no_screen_behind(
    story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the reader opens a panel, or asks a second time, while the book closes."""
    app = app_on(story, tmp_path)
    async with app.run_test(size=_SIZE, notifications=True) as pilot:
        await until_shown(pilot, "Ctrl+E chooses")
        first = app.reading
        close = ReadingScreen.close

        async def close_under_a_panel(screen: ReadingScreen) -> None:
            await close(screen)
            await app.push_screen(ListScreen("A panel", "", [Row(1, "A row")], 1))
            await app.services.reopen(story, lambda: None)

        monkeypatch.setattr(ReadingScreen, "close", close_under_a_panel)
        await pilot.press("f5")
        await until(
            pilot, lambda: app.reading not in (None, first) and app.reading.book
        )
        assert [type(screen) for screen in app.screen_stack[1:]] == [ReadingScreen]
