"""A reader's steps on the screen: linked, followed and folded."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    LookedUp,
    Noted,
    PartRead,
    ReaderEvent,
    Shown,
    Started,
    Stopped,
    StopReason,
    Walked,
)
from gistread.tui.answer_blocks import line_key
from gistread.tui.reading.pane_switcher import Pane
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import long_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    lines,
    read_whole,
    text_of,
    until,
    until_gone,
    until_shown,
)

WIDE, NARROW = (130, 44), (80, 24)
STARTED = Started("memwalker", 9, 9, True)
WALK = (
    STARTED,
    Walked(1, 9, 16),
    Walked(0, 12, 12),
    LookedUp(12, 1, "Gist 12."),
)
DONE = Answered("Ferrand did.", True, (), (12,), (12,), 80.0, NO_USAGE)


def says(text: str) -> str:
    return "The lamp and the boy are spoken of."


async def ask_who(
    pilot: Pilot[None], reader: ScriptedReader, *events: ReaderEvent
) -> ReadingScreen:
    """The screen, with a question under way whose reader has said this."""
    screen = await read_whole(pilot)
    await pilot.press("a", *"who", "enter")
    await until(pilot, lambda: reader.questions)
    reader.say(*events)
    return screen


async def on_line(pilot: Pilot[None], screen: ReadingScreen, line: int) -> None:
    """Walk the cursor of the answers down to a line of the last question."""
    screen.panes.show(Pane.ANSWERS)
    await until(pilot, lambda: screen.focused is screen.answers_pane)
    key = line_key(len(screen.answers_pane.exchanges) - 1, line)
    for _ in range(60):
        if screen.answers_pane.cursor_key == key:
            return
        await pilot.press("j")
    raise AssertionError(
        f"the cursor came to {screen.answers_pane.cursor_key}\n{text_of(pilot.app)}"
    )


def row_of(pilot: Pilot[None], words: str) -> int:
    return next(row for row, line in enumerate(lines(pilot.app)) if words in line)


async def test_enter_or_a_click_on_a_line_goes_to_its_place_and_backspace_comes_back(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await ask_who(pilot, reader, *WALK)
        await until_shown(pilot, "section 12: Gist 12.")
        start = screen.memory_pane.memory.entry(12).page.start
        before = screen.book_pane.place
        await on_line(pilot, screen, 1)
        await pilot.press("enter")
        await until(pilot, lambda: screen.book_pane.place == start)
        await pilot.press("backspace")
        await until(pilot, lambda: screen.book_pane.place == before)
        row = row_of(pilot, "section 12: Gist 12.")
        await pilot.click(offset=(lines(app)[row].index("Gist 12.") + 2, row))
        await until(pilot, lambda: screen.book_pane.place == start)


async def test_shown_passages_are_linked_and_marked_in_the_contents(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await ask_who(pilot, reader, STARTED)
        place = screen.memory_pane.memory.entry(30).page
        reader.say(Shown(((place.start, place.end),)))
        await until_shown(pilot, "read 1 passage")
        row = row_of(pilot, "read 1 passage")
        await pilot.click(offset=(lines(app)[row].index("section 30"), row))
        await until(pilot, lambda: _sees(screen, place.start))
        assert [
            (mark.start, mark.end) for mark in screen.book_pane.marks if mark.style
        ] == [(place.start, place.end)]
        second = screen.book.chapters[1]
        reader.say(
            Shown(
                (
                    (second.start, second.start + 50),
                    (second.start + 90, second.start + 120),
                )
            ),
            DONE,
        )
        await until_shown(pilot, "Ferrand did.")
        screen.panes.show(Pane.BOOK)
        await pilot.press("t")
        await until_shown(pilot, "■ 2 given to the model")
        (line,) = [
            line
            for line in lines(app)
            if "given to the model" in line and "■ 2" in line
        ]
        assert second.title in line


def _sees(screen: ReadingScreen, offset: int) -> bool:
    start, end = screen.book_pane.visible_range
    return start <= offset < end


async def test_back_returns_to_the_answer_on_a_narrow_screen(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=NARROW) as pilot:
        screen = await ask_who(pilot, reader, *WALK)
        await until_shown(pilot, "section 12: Gist 12.")
        await on_line(pilot, screen, 1)
        await pilot.press("enter")
        await until(pilot, lambda: screen.panes.current is Pane.BOOK)
        await until_shown(pilot, "Backspace back")
        await pilot.press("backspace")
        await until(pilot, lambda: screen.panes.current is Pane.ANSWERS)
        assert "section 12: Gist 12." in text_of(app)
        assert not screen.controllers.context.position.looking
        await until_gone(pilot, "Looking")


async def test_the_steps_fold_to_a_line_and_unfold(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await ask_who(
            pilot,
            reader,
            *WALK,
            Stopped(StopReason.ENOUGH),
            AnswerDelta("Ferrand"),
            DONE,
        )
        await until_shown(pilot, "Ferrand did.")
        assert "▸  section 12 opened" in text_of(app)
        assert "down to sections" not in text_of(app)

        async def press_key() -> None:
            await pilot.press("W")

        async def press_enter() -> None:
            screen.panes.show(Pane.ANSWERS)
            await pilot.pause()
            screen.answers_pane.set_cursor(("steps", 0))
            await pilot.press("enter")

        async def click() -> None:
            row = row_of(pilot, "section 12 opened")
            await pilot.click(
                offset=(lines(app)[row].index("section 12 opened") + 2, row)
            )

        for fold in (press_key, press_enter, click):
            for shown in (True, False):
                await fold()
                await until(
                    pilot,
                    lambda shown=shown: ("down to sections" in text_of(app)) is shown,
                )


def _notes(first: int, last: int) -> list[ReaderEvent]:
    events: list[ReaderEvent] = []
    for number in range(first, last + 1):
        place = (100 * number, 100 * number + 100)
        events += [
            Noted(f"Note number {number}.", *place),
            PartRead(number, 90, *place),
        ]
    return events


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.slow), NARROW])
async def test_a_long_answer_is_followed_only_at_its_end(
    tmp_path: Path, reader: ScriptedReader, size: tuple[int, int]
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=size) as pilot:
        screen = await ask_who(pilot, reader, STARTED, *_notes(1, 40))
        await until_shown(pilot, "parts read: 40 of 90")
        screen.panes.show(Pane.ANSWERS)
        await until(pilot, lambda: screen.focused is screen.answers_pane)
        await pilot.press("g")
        await until_shown(pilot, "Note number 1.")
        reader.say(*_notes(41, 60))
        pane = screen.answers_pane
        await until(
            pilot, lambda: "Note number 60." in pane.block(len(pane._index) - 3).text
        )
        await pilot.pause(0.2)
        assert "Note number 1." in text_of(app)
        await pilot.press("G")
        await until_shown(pilot, "parts read: 60 of 90")
        reader.say(*_notes(61, 80))
        await until_shown(pilot, "parts read: 80 of 90")


async def test_the_answers_pane_grows_up_to_half_of_the_screen(
    tmp_path: Path, reader: ScriptedReader
) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await ask_who(pilot, reader, STARTED)
        await until_shown(pilot, "Choosing a section")
        usual = screen.answers_pane.size.height
        reader.say(*_notes(1, 40))
        await until_shown(pilot, "parts read: 40 of 90")
        most = screen.answers_pane.size.height
        assert usual < most < WIDE[1] / 2
        reader.say(Stopped(StopReason.NOTHING_LEFT), DONE)
        await until_shown(pilot, "Ferrand did.")
        await until(pilot, lambda: screen.answers_pane.size.height < most)
