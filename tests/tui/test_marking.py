"""Marks on the screen: made, shown, listed and undone by keyboard and by mouse, and never lost."""

import asyncio
import base64
import sys
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from gistread.config import Config
from gistread.marking.model import Color, Mark, MarkKind, changed, new_mark
from gistread.marking.places import place_in
from gistread.marking.store import MarkStore
from gistread.shelf import Shelf
from gistread.tui.app import GistreadApp
from gistread.tui.marking.list_screen import MarksScreen
from gistread.tui.marking.lookup import LookupScreen
from gistread.tui.marking.mark_screen import MarkScreen
from gistread.tui.marking.note import NoteScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import long_book, small_book
from tests.tui.scripted import app_on, lines, opened, paths_in, text_of, until

WIDE, NARROW = (120, 40), (80, 24)
BOOK = small_book()


def store(folder: Path) -> MarkStore:
    return MarkStore(paths_in(folder).marks)


def kept(folder: Path) -> list[Mark]:
    return store(folder).marks(BOOK.sha256)


def put(folder: Path, words: str, kind: MarkKind = MarkKind.HIGHLIGHT, **fields: object) -> Mark:
    start = BOOK.text.index(words)
    mark = new_mark(kind, place_in(BOOK.text, start, start + len(words)), **fields)
    return store(folder).put(BOOK.sha256, mark)


async def marking(pilot: Pilot[None]) -> ReadingScreen:
    screen = await opened(pilot)
    await until(pilot, lambda: screen.marks is not None)
    return screen


def selected(screen: ReadingScreen) -> str:
    chosen = screen.book_pane.selected_range
    return "" if chosen is None else screen.book.text[slice(*chosen)]


def copied(app: GistreadApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to the terminal as its clipboard."""
    sent: list[str] = []
    write = app._driver.write

    def listen(data: str) -> None:
        if data.startswith("\x1b]52;c;"):
            sent.append(base64.b64decode(data[7:].rstrip("\a")).decode())
        write(data)

    monkeypatch.setattr(app._driver, "write", listen)
    return sent


# Selecting


async def test_a_caret_walks_and_a_selection_grows_by_words_lines_sentences_and_paragraphs(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V")
        assert selected(screen) == "Ada"
        await pilot.press("right", "right")
        assert selected(screen) == "kept"
        await pilot.press("left", "shift+right")
        assert selected(screen) == "Brennan kept"
        await pilot.press("shift+left", "shift+left")
        assert selected(screen) == "Ada Brennan"
        await pilot.press("V", "right", "V", "right")
        assert selected(screen) == "Brennan kept"
        await pilot.press("escape")
        assert selected(screen) == ""
        await pilot.press("V", ")")
        assert selected(screen).endswith("let it go out once.")
        await pilot.press(")")
        assert selected(screen) == "She trimmed it at dusk and again at midnight."
        await pilot.press("}")
        assert selected(screen).endswith("never stayed for tea.")
        await pilot.press("V", "}")
        chosen = selected(screen)
        assert chosen.startswith("She trimmed")
        assert chosen.endswith("say his name.")
        assert "\n\n" in chosen
        await pilot.press("escape", "V", "down")
        assert lines(app)  # drawn
        assert len(selected(screen).split()) == 1


async def test_shift_and_an_arrow_begin_to_select_without_any_mode(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("shift+right", "shift+right")
        assert selected(screen) == "Ada Brennan"
        await pilot.press("shift+down")
        assert selected(screen).startswith("Ada Brennan kept the lamp")
        assert len(selected(screen)) > 60


async def test_the_caret_scrolls_with_the_book_to_its_end_and_back(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V", "V", *["}"] * 12)
        await pilot.pause()
        chosen = screen.book_pane.selected_range
        view = screen.book_pane.visible_range
        assert chosen is not None
        assert view is not None
        assert chosen[1] - 1 <= view[1]
        assert view[0] > 1000
        await pilot.press("escape", "G")
        await pilot.pause()
        await pilot.press("V", *["right"] * 60, *["down"] * 3, ")", "}")
        assert selected(screen)
        await pilot.press("escape", "g")
        await pilot.pause()
        await pilot.press("V", "left", "up", "(", "{", "shift+up")
        assert selected(screen)


async def test_the_keys_of_selecting_are_said_while_one_selects(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path, config=Config(keys={"caret-anchor": "z"}))
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V")
        await until(pilot, lambda: "z begin here" in lines(app)[-1])
        await pilot.press("z", "right")
        assert selected(screen) == "Ada Brennan"
        await pilot.press("escape")
        await until(pilot, lambda: "begin here" not in lines(app)[-1])


async def test_copying_gives_the_words_of_the_book_and_says_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=(50, 24), notifications=True) as pilot:
        screen = await marking(pilot)
        sent = copied(app, monkeypatch)
        await pilot.press("V", "}", "V", "}", "y")
        await until(pilot, lambda: "Copied" in text_of(app))
        assert len(sent) == 1
        assert sent[0] in BOOK.text
        assert "\n\n" in sent[0]
        assert "words" in text_of(app)
        assert selected(screen) == ""
        await pilot.press("shift+right", "ctrl+c")
        await until(pilot, lambda: len(sent) == 2)
        assert sent[1] == BOOK.text[screen.book_pane.clicked :][: len(sent[1])]


# Highlights and notes


async def test_a_selection_is_highlighted_and_the_colour_has_a_sign(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "V", "right", "h")
        await until(pilot, lambda: len(kept(tmp_path)) == 1)
        (mark,) = kept(tmp_path)
        assert (mark.kind, mark.color, mark.place.exact) == (MarkKind.HIGHLIGHT, Color.YELLOW, "Ada Brennan")
        assert any("● Ada Brennan" in line for line in lines(app))


async def test_without_a_selection_h_takes_a_sentence_and_h_again_highlights_it(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("h")
        assert selected(screen).startswith("Ada Brennan kept")
        assert kept(tmp_path) == []
        await pilot.press(")", "h")
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].place.exact == "She trimmed it at dusk and again at midnight."


async def test_highlighting_the_same_words_again_takes_it_away_and_u_brings_it_back(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "h")
        await until(pilot, lambda: len(kept(tmp_path)) == 1)
        await pilot.press("V", "h")
        await until(pilot, lambda: kept(tmp_path) == [])
        await pilot.press("U")
        await until(pilot, lambda: len(kept(tmp_path)) == 1)


async def test_the_mouse_may_begin_and_end_inside_words(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        start = BOOK.text.index("ennan kept")
        screen.book_pane.select_range(start, start + 8)
        await pilot.press("h")
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].place.exact == "Brennan kept"


async def test_the_colour_is_chosen_by_name_and_stays(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("H")
        await until(pilot, lambda: "■  green" in text_of(app))
        await pilot.press("down", "enter", "V", "h")
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].color is Color.GREEN
        assert any("■ Ada" in line for line in lines(app))
        await pilot.press("V", "V", "H", "down", "enter")
        await until(pilot, lambda: kept(tmp_path)[0].color is Color.BLUE)
        assert len(kept(tmp_path)) == 1
        file = app.paths.config_file
        await until(pilot, lambda: file.exists() and 'highlight = "blue"' in file.read_text())


async def test_a_note_is_written_shown_by_a_click_edited_and_deleted_and_comes_back(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V", "V", "right", "e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press(*"Who?", "enter", *"Why?", "ctrl+s")
        await until(pilot, lambda: kept(tmp_path))
        (mark,) = kept(tmp_path)
        assert (mark.kind, mark.note, mark.place.exact) == (MarkKind.NOTE, "Who?\nWhy?", "Ada Brennan")
        row = next(number for number, line in enumerate(lines(app)) if "✎ Ada Brennan" in line)
        column = lines(app)[row].index("Brennan")
        await pilot.click(offset=(column, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        assert "Who?" in text_of(app)
        assert "note · " in text_of(app)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press(*"!", "ctrl+s")
        await until(pilot, lambda: kept(tmp_path)[0].note == "Who?\nWhy?!")
        await pilot.click(offset=(column, row))
        await until(pilot, lambda: isinstance(app.screen, MarkScreen))
        await pilot.press("d")
        await until(pilot, lambda: kept(tmp_path) == [])
        assert "U brings it back" in text_of(app)
        await pilot.press("U")
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].note == "Who?\nWhy?!"
        assert screen.marks.marks[0].id == mark.id


async def test_a_mark_is_worked_with_by_mouse_alone(tmp_path: Path) -> None:
    put(tmp_path, "Ada Brennan", color=Color.RED, note="She?")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await marking(pilot)
        await until(pilot, lambda: any("✎ Ada" in line for line in lines(app)))
        row = next(number for number, line in enumerate(lines(app)) if "✎ Ada" in line)
        await pilot.click(offset=(lines(app)[row].index("Ada"), row))
        await until(pilot, lambda: "red highlight" in text_of(app))
        row = next(number for number, line in enumerate(lines(app)) if "d delete" in line)
        await pilot.click(offset=(lines(app)[row].index("d delete") + 2, row))
        await until(pilot, lambda: kept(tmp_path) == [])


async def test_what_the_mouse_selects_is_highlighted_by_a_click_on_the_key_line(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        row = next(number for number, line in enumerate(lines(app)) if "Ada Brennan" in line)
        column = lines(app)[row].index("Ada")
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 10, row))
        await pilot.mouse_up(offset=(column + 10, row))
        await until(pilot, lambda: "h highlight" in lines(app)[-1])
        await pilot.click(offset=(lines(app)[-1].index("h highlight") + 3, NARROW[1] - 1))
        await until(pilot, lambda: kept(tmp_path))
        assert kept(tmp_path)[0].place.exact == "Ada Brennan"
        assert selected(screen) == ""
        await until(pilot, lambda: "h highlight" not in lines(app)[-1])
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 10, row))
        await pilot.mouse_up(offset=(column + 10, row))
        await pilot.click(offset=(40, row + 6))
        await until(pilot, lambda: selected(screen) == "")


async def test_leaving_a_changed_note_asks_and_quitting_keeps_it(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))  # nothing was written: nothing is asked
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        await pilot.press(*"draft", "escape")
        await until(pilot, lambda: "not saved" in text_of(app))
        assert isinstance(app.screen, NoteScreen)
        await pilot.press(*" two", "escape")
        assert isinstance(app.screen, NoteScreen)
        assert app.screen.query_one(TextArea).text == "draft two"
        await app.action_quit()
    assert [mark.note for mark in kept(tmp_path)] == ["draft two"]


async def test_a_second_escape_throws_the_changes_away(tmp_path: Path) -> None:
    mark = put(tmp_path, "Ada", note="as it was", color=Color.BLUE)
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "e")
        await until(pilot, lambda: isinstance(app.screen, NoteScreen))
        assert app.screen.query_one(TextArea).text == "as it was"
        await pilot.press(*"xyz", "escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
    assert kept(tmp_path) == [mark]


async def test_emptying_a_note_deletes_it_but_not_a_highlight(tmp_path: Path) -> None:
    put(tmp_path, "Ada", note="one", color=Color.BLUE)
    put(tmp_path, "Brennan", MarkKind.NOTE, note="two")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        for start in (("V",), ("V", "right")):
            await pilot.press(*start, "e")
            await until(pilot, lambda: isinstance(app.screen, NoteScreen))
            await pilot.press("ctrl+u", "ctrl+s")
            await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
            await pilot.press("escape", "g")
        await until(pilot, lambda: len(kept(tmp_path)) == 1)
        assert (kept(tmp_path)[0].kind, kept(tmp_path)[0].note) == (MarkKind.HIGHLIGHT, "")


# Bookmarks and letters


async def test_bookmarks_and_letters_are_set_and_gone_to(tmp_path: Path) -> None:
    book = long_book()
    app = app_on(book, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("]", "]", "B")
        await until(pilot, lambda: store(tmp_path).marks(book.sha256))
        first = screen.book_pane.place
        assert "⚑" in text_of(app)
        await pilot.press("M", "q")
        await until(pilot, lambda: len(store(tmp_path).marks(book.sha256)) == 2)
        await pilot.press("]", "]", "M", "j")
        await until(pilot, lambda: len(store(tmp_path).marks(book.sha256)) == 3)
        second = screen.book_pane.place
        assert second > first
        await pilot.press("'", "q")
        await until(pilot, lambda: screen.book_pane.place == first)
        await pilot.press("'", "'")
        await until(pilot, lambda: screen.book_pane.place == second)
        await pilot.press("'")
        await until(pilot, lambda: "Go to which mark?" in text_of(app))
        assert "Chapter 3" in text_of(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen.book_pane.place == first)
        await pilot.press("'", "z")
        await until(pilot, lambda: "There is no mark z" in text_of(app))
        await pilot.press("B")
        await until(pilot, lambda: len(store(tmp_path).marks(book.sha256)) == 2)


# The list


async def test_the_list_filters_as_one_types_and_goes_there(tmp_path: Path) -> None:
    put(tmp_path, "Ada Brennan", color=Color.GREEN)
    put(tmp_path, "Finch relit it", MarkKind.NOTE, note="at last")
    put(tmp_path, "Nobody ever asked", MarkKind.BOOKMARK)
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=(80, 16), notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("l")
        await until(pilot, lambda: "3 marks" in text_of(app))
        await pilot.press("slash", *"last")
        await until(pilot, lambda: "1 of 3" in text_of(app))
        assert "III. The Dark Night" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Finch relit it" in text_of(app) and isinstance(app.screen, ReadingScreen))
        assert screen.book_pane.place > 0
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == 0)


@pytest.mark.parametrize(("delete", "undo"), [("d", "u"), ("delete", "ctrl+z"), ("x", "u")])
async def test_what_is_deleted_in_the_list_comes_back(tmp_path: Path, delete: str, undo: str) -> None:
    marks = [put(tmp_path, words) for words in ("Ada", "Brennan", "Finch relit it")]
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("l")
        await until(pilot, lambda: "3 marks" in text_of(app))
        await pilot.press("down", delete, delete)
        await until(pilot, lambda: len(kept(tmp_path)) == 1)
        await pilot.press(undo, undo, undo)
        await until(pilot, lambda: len(kept(tmp_path)) == 3)
        assert [mark.id for mark in kept(tmp_path)] == [mark.id for mark in marks]
        assert "Nothing was deleted" in text_of(app)


async def test_an_empty_list_says_how_to_mark(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("l")
        await until(pilot, lambda: "Nothing is marked yet" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))


async def test_a_mark_that_lost_its_place_is_listed_with_its_words(tmp_path: Path) -> None:
    lost = new_mark(MarkKind.NOTE, place_in("Words of another edition.", 0, 24), note="Where?")
    store(tmp_path).put(BOOK.sha256, changed(lost, lost=True))
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("l")
        await until(pilot, lambda: "Words of another edition" in text_of(app))
        assert "lost its place" in text_of(app)
        await pilot.press("enter")
        await until(pilot, lambda: "kept all the same" in text_of(app))


# Other gistreads, and disks


async def test_what_another_gistread_marks_appears_by_itself_also_in_the_open_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.tui.marking.actions.POLL_S", 0.05)
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, MarksScreen))
        put(tmp_path, "Brennan", note="from the other screen")
        await until(pilot, lambda: "from the other screen" in text_of(app))
        assert app.screen.query_one(OptionList).option_count == 1
        await pilot.press("escape", "escape")
        await until(pilot, lambda: any("✎" in line for line in lines(app)))


async def test_a_disk_that_refuses_is_said_and_the_mark_is_kept_when_it_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.tui.marking.actions.POLL_S", 0.05)
    blocking = paths_in(tmp_path).marks
    blocking.parent.mkdir(parents=True)
    blocking.write_text("a file where the folder should be")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("V", "h")
        await until(pilot, lambda: "cannot be kept yet" in text_of(app) or "cannot be read" in text_of(app))
        assert any("● Ada" in line for line in lines(app))
        blocking.unlink()
        await until(pilot, lambda: len(kept(tmp_path)) == 1)


async def test_marks_that_could_not_be_kept_to_the_end_are_said_on_the_way_out(tmp_path: Path) -> None:
    blocking = paths_in(tmp_path).marks
    blocking.parent.mkdir(parents=True)
    blocking.write_text("a file where the folder should be")
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V", "h")
        await pilot.pause()
        await pilot.press("q")
    assert "1 change" in screen.parting_words


async def test_marks_come_over_when_the_text_of_the_file_is_another(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    paragraphs = [f"The {n}. night was dark, and the lamp on the {n}. stair burned low till dawn." for n in range(60)]
    path.write_text("\n\n".join(paragraphs))
    first = app_on(path, tmp_path)
    async with first.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("space", "V", "V", *["right"] * 5, "h")
        await pilot.pause()
        words = screen.marks.marks[0].place.exact
        place = screen.book.text[screen.book_pane.place :][:20]
        await pilot.press("q")
    assert Shelf(paths_in(tmp_path).books).recent()
    path.write_text("A preface of the new edition.\n\n" + "\n\n".join(paragraphs).replace("dawn", "daybreak"))
    again = app_on(path, tmp_path)
    async with again.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await until(pilot, lambda: screen.marks.marks)
        assert screen.marks.marks[0].place.exact == words
        assert screen.book.text[screen.book_pane.place :][:20] == place


# Dictionary and export


async def test_a_word_is_looked_up_by_the_command_of_the_settings(tmp_path: Path) -> None:
    command = f"{sys.executable} -c \"import sys; print('Meaning of', sys.argv[1])\" {{word}}"
    app = app_on(BOOK, tmp_path, config=Config(lookup_command=command))
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("w", "right", "w")
        await until(pilot, lambda: "Meaning of Brennan" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))


async def test_a_dictionary_that_does_not_answer_is_left_at_once(tmp_path: Path) -> None:
    command = f'{sys.executable} -c "import time; time.sleep(60)" {{word}}'
    app = app_on(BOOK, tmp_path, config=Config(lookup_command=command))
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("w", "w")
        await until(pilot, lambda: isinstance(app.screen, LookupScreen))
        await asyncio.sleep(0.2)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen), seconds=2)


async def test_a_wrong_command_is_a_message(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path, config=Config(lookup_command="no-such-dictionary {word}"))
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await marking(pilot)
        await pilot.press("w", "w")
        await until(pilot, lambda: "no-such-dictionary" in text_of(app))


async def test_export_writes_a_file_and_replaces_none_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        await until(pilot, lambda: "Written:" in text_of(app))
        await pilot.press("E")
        await until(pilot, lambda: isinstance(app.focused, Input))
        assert app.focused.value.endswith("notes (2).md")
        app.focused.value = str(path)
        path.write_text("mine")
        await pilot.press("enter")
        await until(pilot, lambda: "Enter again replaces it" in text_of(app))
        assert path.read_text() == "mine"
        await pilot.press("enter")
        await until(pilot, lambda: "The keeper." in path.read_text())
        await pilot.press("E", "tab", "enter")
        await until(pilot, (tmp_path / "The Lamp at Skerry Point – notes.json").exists)
        await pilot.press("E", "tab", "tab", "enter")
        await until(pilot, (tmp_path / "The Lamp at Skerry Point.txt").exists)
        assert (tmp_path / "The Lamp at Skerry Point.txt").read_text() == BOOK.text


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (30, 12), (300, 80)])
async def test_no_size_of_terminal_is_too_small_or_too_large_for_marks(tmp_path: Path, size: tuple[int, int]) -> None:
    put(tmp_path, "Ada Brennan", color=Color.GREEN, note="She " * 300)
    app = app_on(BOOK, tmp_path, config=Config(lookup_command=f"{sys.executable} -c \"print('word ' * 999)\""))
    async with app.run_test(size=size) as pilot:
        screen = await marking(pilot)
        await until(pilot, lambda: screen.marks.marks)
        for keys in (
            ["V", "down", "V", "right", "down", ")", "}", "H", "escape", "h"],
            ["V", "e", "x", "ctrl+s", "B", "M", "a", "'", "escape", "'", "a"],
            ["l", "down", "e", "escape", "l", "slash", "x", "escape", "escape", "E", "tab", "escape"],
            ["V", "w", "pagedown", "escape", "V", "y", "U"],
        ):
            await pilot.press(*keys)
            await pilot.pause()
        assert isinstance(app.screen, ReadingScreen)
        assert len(screen.marks.marks) >= 3
