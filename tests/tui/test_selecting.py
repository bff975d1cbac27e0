"""SelectableText by keyboard and mouse, and copying."""

from pathlib import Path

import pytest

from tests.tui.books import long_book
from tests.tui.marked import BOOK, NARROW, copied, marking, selected
from tests.tui.scripted import app_on, lines, text_of, type_text, until, until_shown


async def test_caret_and_selection_move_by_words(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V")
        assert selected(screen) == "Ada"
        await until(pilot, lambda: "V begin here" in lines(app)[-1])
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


async def test_caret_and_selection_move_by_lines_sentences_and_paragraphs(
    tmp_path: Path,
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("V", ")")
        assert selected(screen).endswith("let it go out once.")
        await pilot.press(")")
        assert selected(screen) == "She trimmed it at dusk and again at midnight."
        await pilot.press("}")
        assert selected(screen).endswith("never stayed for tea.")
        await pilot.press("V", "}")
        await until(
            pilot, lambda: "→ move" in lines(app)[-1] and "V " not in lines(app)[-1]
        )
        chosen = selected(screen)
        assert chosen.startswith("She trimmed")
        assert chosen.endswith("say his name.")
        assert "\n\n" in chosen
        await pilot.press("escape", "V", "down")
        assert lines(app)  # drawn
        assert len(selected(screen).split()) == 1


async def test_the_caret_begins_at_the_hit_of_a_search(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("slash")
        await type_text(pilot, "midnight")
        await until_shown(pilot, "1 of ")
        await pilot.press("enter", "V")
        await until(pilot, lambda: selected(screen) == "midnight")


async def test_shift_and_arrow_start_a_selection(tmp_path: Path) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        screen = await marking(pilot)
        await pilot.press("shift+right", "shift+right")
        assert selected(screen) == "Ada Brennan"
        await pilot.press("shift+down")
        assert selected(screen).startswith("Ada Brennan kept the lamp")
        assert len(selected(screen)) > 60


async def test_the_caret_scrolls_with_the_book_to_its_end_and_back(
    tmp_path: Path,
) -> None:
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


async def test_copying_gives_the_words_of_the_book_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(BOOK, tmp_path)
    async with app.run_test(size=(50, 24), notifications=True) as pilot:
        screen = await marking(pilot)
        sent = copied(app, monkeypatch)
        await pilot.press("V", "}", "V", "}", "y")
        await until_shown(pilot, "Copied")
        assert len(sent) == 1
        assert sent[0] in BOOK.text
        assert "\n\n" in sent[0]
        assert "words" in text_of(app)
        assert selected(screen) == ""
        await pilot.press("shift+right", "ctrl+c")
        await until(pilot, lambda: len(sent) == 2)
        assert sent[1] == BOOK.text[screen.book_pane.pointed_at :][: len(sent[1])]
