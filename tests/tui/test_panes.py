"""Panes: which one has the focus, hiding the memory, and Escape."""

from pathlib import Path

import pytest
from textual.app import App

from gistread.config import load_config
from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import Answered, Started
from gistread.tui.reading.pane_switcher import Pane, PaneSwitcher
from gistread.tui.status import Status
from gistread.tui.widgets.lines import StatusLine
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)

WIDE = (130, 40)


def says(text: str) -> str:
    return "The lamp and the boy are spoken of."


def memory_is_underlined(app: App[None]) -> bool:
    strip = app.screen._compositor.render_strips()[2]
    titles = [segment for segment in strip if "Memory" in segment.text]
    return any(
        title.style is not None and bool(title.style.underline) for title in titles
    )


async def test_the_focus_is_seen_without_colours_and_the_typography_panel_gives_it_back(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await until(pilot, lambda: not memory_is_underlined(app))
        await pilot.press("tab")
        await until(pilot, lambda: memory_is_underlined(app))
        await pilot.press("equals_sign", "escape")
        await until(pilot, lambda: app.focused is screen.book_pane)
        await pilot.pause(0.1)
        assert screen.panes.current is Pane.BOOK
        await pilot.press("tab")
        await until(pilot, lambda: screen.panes.current is Pane.MEMORY)


async def test_a_key_hides_the_memory_for_later_books_too(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("M")
        await until_shown(pilot, "Marks")
        await pilot.press("M")
        await until_gone(pilot, "Marks")
        assert "Memory" not in text_of(app)
        await pilot.press("tab")
        await until(pilot, lambda: screen.panes.current is Pane.ANSWERS)
        await pilot.press("escape")
        await until(
            pilot, lambda: not load_config(paths_in(tmp_path).config_file).memory
        )
        await pilot.press("M")
        await until_shown(pilot, "Memory")
        await until(pilot, lambda: load_config(paths_in(tmp_path).config_file).memory)


async def test_without_a_model_the_memory_is_closed_and_a_line_says_how_to_open_it(
    tmp_path: Path,
) -> None:
    app = app_on(small_book(), tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        await until_shown(pilot, "M shows the memory")
        assert "Memory" not in text_of(app)
        await pilot.press("M")
        await until_shown(pilot, "Memory", "asks about the book")


@pytest.mark.parametrize(
    "sizes",
    [
        ((80, 24), (100, 30)),
        pytest.param(((160, 50), (80, 24)), marks=pytest.mark.slow),
        pytest.param(((130, 44), (100, 20)), marks=pytest.mark.slow),
    ],
)
async def test_the_newest_answer_is_in_view_at_its_beginning_after_a_resize(
    tmp_path: Path, reader: ScriptedReader, sizes: tuple[tuple[int, int], ...]
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=sizes[0]) as pilot:
        await read_whole(pilot)
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions)
        words = " ".join(f"Ferrand did it {number} times." for number in range(80))
        reader.say(
            Started("auto", 9, 9, True),
            Answered(words, True, (), (), (), 50.0, NO_USAGE),
        )
        if sizes[0][0] < 100:
            app.reading.panes.show(Pane.ANSWERS)
        await until_shown(pilot, "Ferrand did it 0 times.")
        for size in sizes:
            await pilot.resize_terminal(*size)
            if size[0] < 100:
                app.reading.panes.show(Pane.ANSWERS)
            await until_shown(pilot, "Ferrand did it 0 times.")


async def test_no_line_says_that_there_is_no_model_while_the_chosen_one_may_still_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, show = [], StatusLine.show_status

    def recorded(
        line: StatusLine, status: Status, note: str = "", action: str = ""
    ) -> None:
        show(line, status, note, action)
        shown.append(status.parts[0])

    monkeypatch.setattr(StatusLine, "show_status", recorded)
    app = app_on(long_book(20), tmp_path, SteppedEngine())
    async with app.run_test(size=(130, 44)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.session.has_model and len(shown) > 1)
        assert not [words for words in shown if "No model" in words]


async def test_the_text_does_not_move_while_a_book_and_its_model_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, fit = [], PaneSwitcher.fit_memory

    def recorded(panes: PaneSwitcher, *, can_grow: bool) -> None:
        fit(panes, can_grow=can_grow)
        hidden.append(panes.memory_hidden)

    monkeypatch.setattr(PaneSwitcher, "fit_memory", recorded)
    app = app_on(long_book(20), tmp_path, SteppedEngine())
    async with app.run_test(size=(130, 44)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.session.has_model)
        assert hidden
        assert not any(hidden)


@pytest.mark.parametrize("size", [(120, 36), (110, 30)])
async def test_an_answer_leaves_the_book_most_rows_and_folds_to_its_first_lines(
    tmp_path: Path, reader: ScriptedReader, size: tuple[int, int]
) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=size) as pilot:
        screen = await read_whole(pilot)
        book, answers = screen.book_pane, screen.answers_pane
        whole = book.size.height + screen.query_one("#question-side").size.height
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions)
        plot = "\n\n".join(
            f"{number}. Finch lit the lamp again." for number in range(1, 20)
        )
        reader.say(
            Started("gistread", 5, 5, True),
            Answered(f"First of all.\n\n{plot}", True, (), (), (), 50.0, NO_USAGE),
        )
        await until(
            pilot,
            lambda: "First of all." in text_of(app) and not screen.session.answering,
        )
        assert book.size.height > whole / 2
        shown = answers.size.height
        await pilot.press("v")
        await until(pilot, lambda: answers.size.height < shown)
        await until_shown(pilot, "First of all.")
        folded = answers.size.height
        await pilot.press("v")
        await until(pilot, lambda: answers.size.height == shown)
        await pilot.click("#question-rule")
        await until(pilot, lambda: answers.size.height == folded)
        await pilot.press("escape")
        await until(pilot, lambda: not screen.panes.answers_shown)
