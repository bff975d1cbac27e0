"""The list of marks: undo, other processes, failing disks, export."""

import sys
from pathlib import Path

import pytest
from textual.widgets import Input

from gistread.config import Config
from gistread.errors import StorageError
from gistread.marking import Color, MarkKind, new_mark, quote_at, with_changes
from gistread.store.user_data import MarkStore, UserData
from gistread.tui.marking.sync import MarkSync
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.marked import BOOK, NARROW, WIDE, kept, marking, put, store
from tests.tui.scripted import app_on, lines, paths_in, text_of, until, until_shown

# The list


async def test_the_marks_list_filters_and_leads_to_a_mark(tmp_path: Path) -> None:
    put(tmp_path, "Ada Brennan", color=Color.GREEN)
    put(tmp_path, "Finch relit it", MarkKind.NOTE, note="at last")
    put(tmp_path, "Nobody ever asked", MarkKind.BOOKMARK)
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=(80, 16), notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("l")
        await until_shown(pilot, "3 marks")
        await pilot.press("slash", *"last")
        await until_shown(pilot, "1 of 3")
        assert "III. The Dark Night" in text_of(app)
        await pilot.press("enter")
        await until(
            pilot,
            lambda: (
                "Finch relit it" in text_of(app)
                and isinstance(app.screen, ReadingScreen)
            ),
        )
        assert screen.book_pane.place > 0
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == 0)


async def test_a_mark_deleted_in_the_list_can_be_restored(tmp_path: Path) -> None:
    marks = [put(tmp_path, words) for words in ("Ada", "Brennan", "Finch relit it")]
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("l")
        await until_shown(pilot, "3 marks")
        for delete, undo in (("delete", "U"), ("x", "U")):
            await pilot.press("home", "down", delete, delete)
            await until(pilot, lambda: len(kept(tmp_path)) == 1)
            await pilot.press(undo, undo, undo)
            await until(pilot, lambda: len(kept(tmp_path)) == 3)
            assert [mark.id for mark in kept(tmp_path)] == [mark.id for mark in marks]
        assert "No mark has been deleted" in text_of(app)


async def test_a_mark_that_lost_its_place_is_listed_with_its_words(
    tmp_path: Path,
) -> None:
    lost = new_mark(
        MarkKind.NOTE, quote_at("Words of another edition.", 0, 24), note="Where?"
    )
    store(tmp_path).put(BOOK.sha256, with_changes(lost, lost=True))
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("l")
        await until_shown(pilot, "Words of another edition")
        assert "not found in this version" in text_of(app)
        await until_shown(pilot, "Esc close")  # The last action, in a row of its own.
        await pilot.press("enter")
        await until_shown(pilot, "These words are not in")


# Other gistreads, and disks


async def test_a_failed_write_of_marks_is_reported_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.tui.marking.controller.POLL_S", 0.05)
    blocking = paths_in(tmp_path).data
    blocking.write_text("a file where the folder should be")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "h")
        await until(
            pilot,
            lambda: (
                "cannot be saved yet" in text_of(app)
                or "cannot be read" in text_of(app)
            ),
        )
        assert any("● Ada" in line for line in lines(app))
        blocking.unlink()
        await until(pilot, lambda: len(kept(tmp_path)) == 1)


async def test_quitting_with_unsaved_marks_asks_once(tmp_path: Path) -> None:
    paths_in(tmp_path).data.write_text("a file where the folder should be")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "h")
        await until(pilot, lambda: any("● Ada" in line for line in lines(app)))
        await pilot.press("q")
        await until_shown(pilot, "without it")
        assert "1 change to your marks" in text_of(app)
        paths_in(tmp_path).data.unlink()
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)
    assert len(kept(tmp_path)) == 1


async def test_marks_are_migrated_to_a_changed_text(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    paragraphs = [
        f"The {n}. night was dark, and the lamp on the {n}. stair burned low till dawn."
        for n in range(60)
    ]
    path.write_text("\n\n".join(paragraphs))
    first = app_on(path, tmp_path)
    async with first.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("space", "V", "V", *["right"] * 5, "h")
        await pilot.pause()
        words = screen.controllers.marks.marks[0].place.exact
        place = screen.book.text[screen.book_pane.place :][:20]
        await pilot.press("q")
    assert UserData(paths_in(tmp_path)).recent()
    path.write_text(
        "A preface of the new edition.\n\n"
        + "\n\n".join(paragraphs).replace("dawn", "daybreak")
    )
    again = app_on(path, tmp_path)
    async with again.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await until(pilot, lambda: screen.controllers.marks.marks)
        assert screen.controllers.marks.marks[0].place.exact == words
        assert screen.book.text[screen.book_pane.place :][:20] == place


# Dictionary and export


async def test_a_word_is_looked_up_by_the_command_of_the_settings(
    tmp_path: Path,
) -> None:
    command = (
        f"{sys.executable} -c \"import sys; print('Meaning of', sys.argv[1])\" {{word}}"
    )
    app = app_on(BOOK, tmp_path, config=Config(lookup_command=command))
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("w", "right", "w")
        await until_shown(pilot, "Meaning of Brennan")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))


async def test_export_replaces_a_file_only_after_confirmation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "Ada Brennan", color=Color.GREEN, note="The keeper.")
    monkeypatch.chdir(tmp_path)
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await marking(pilot)
        await until(pilot, lambda: any("✎" in line for line in lines(app)))
        await pilot.press("E", "enter")
        path = tmp_path / "The Lamp at Skerry Point – notes.md"
        await until(pilot, path.exists)
        assert "The keeper." in path.read_text()
        await until_shown(pilot, "Wrote")
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.focused, Input))
        assert app.focused.value.endswith("notes (2).md")
        offered = []
        for _ in range(4):
            await pilot.press("down")
            await pilot.pause()
            offered.append(Path(app.focused.value).name)
        assert offered[2:4] == [
            "A. Writer — The Lamp at Skerry Point.md".replace(".", " ", 1).replace(
                "  ", " "
            ),
            "The Lamp at Skerry Point – notes.tsv",
        ]
        app.focused.value = str(path)
        path.write_text("mine")
        await pilot.press("enter")
        await until_shown(pilot, "Press Enter again to replace it.")
        assert path.read_text() == "mine"
        await pilot.press("enter")
        await until(pilot, lambda: "The keeper." in path.read_text())
        await pilot.press("E", "down", "enter")
        await until(pilot, (tmp_path / "The Lamp at Skerry Point – notes.json").exists)
        await pilot.press("E", "down", "down", "enter")
        await until(pilot, (tmp_path / "The Lamp at Skerry Point.txt").exists)
        assert (tmp_path / "The Lamp at Skerry Point.txt").read_text() == BOOK.text


@pytest.mark.slow
async def test_marking_works_at_every_size_of_terminal(tmp_path: Path) -> None:
    put(tmp_path, "Ada Brennan", color=Color.GREEN, note="She " * 300)
    app = app_on(
        BOOK,
        tmp_path,
        config=Config(lookup_command=f"{sys.executable} -c \"print('word ' * 999)\""),
    )
    async with app.run_test(size=(20, 5)) as pilot:
        screen = await marking(pilot)
        await until(pilot, lambda: screen.controllers.marks.marks)
        for size in ((20, 5), (200, 60)):
            await pilot.resize_terminal(*size)
            for keys in (
                ["g", "V", "down", "V", "right", "down", ")", "}", "H", "escape", "h"],
                ["V", "e", "x", "ctrl+s", "B"],
                [
                    "l",
                    "down",
                    "e",
                    "escape",
                    "l",
                    "slash",
                    "x",
                    "escape",
                    "escape",
                    "E",
                    "down",
                    "escape",
                    "escape",
                ],
                ["V", "w", "pagedown", "escape", "V", "y", "U"],
            ):
                await pilot.press(*keys)
                await pilot.pause()
            assert app.screen is screen, size
        assert len(screen.controllers.marks.marks) >= 3


async def test_marks_that_cannot_be_read_are_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: MarkStore, sha256: str) -> tuple[int, float]:
        raise StorageError("the disk is full")

    monkeypatch.setattr(MarkStore, "stamp", full)
    warnings: list[str] = []
    sync = MarkSync(store(tmp_path), BOOK.sha256, warnings.append, lambda: None)
    await sync.sync()
    await sync.sync()
    assert warnings == ["The marks in this book cannot be read: the disk is full"]
