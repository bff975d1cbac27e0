"""The zoom levels of the memory: book, chapter, section."""

import re
from pathlib import Path

from gistread.config import Config
from gistread.readers.events import Expanded, OpenedBy, Started
from gistread.store.model import BoundChoice
from gistread.tui.memory_blocks import Zoom
from gistread.tui.reading.pane_switcher import Pane
from tests.tui.books import long_book, small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    app_on,
    filled,
    lines,
    opened,
    read_whole,
    text_of,
    until,
)

WIDE = (130, 44)


def says(text: str) -> str:
    """Writes a distinct text for every prompt."""
    numbers = re.findall(r"paragraph (\d+)", text)
    return f"This is paragraph {numbers[-1]}. The road went on along the river." if numbers else "The lamp and the boy."


def zoomed(app: object) -> str:
    """The zoom level shown above the memory."""
    levels = {"book", "chapter", "section"}
    return next((word for word in (filled(app, row) for row in range(8)) if word in levels), "")


async def test_zooming_goes_from_sections_to_book_by_key_and_by_mouse(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=(160, 44)) as pilot:
        screen = await read_whole(pilot)
        await until(pilot, lambda: zoomed(app) == "section")
        await pilot.press("<")
        await until(pilot, lambda: zoomed(app) == "chapter")
        memory_side = "\n".join(line[79:] for line in lines(app))
        assert [title for title in ("I. The Lamp", "II. The Boy", "III. The Dark Night") if title in memory_side]
        assert "← you" in memory_side
        await pilot.press("<")
        await until(pilot, lambda: zoomed(app) == "book")
        assert "The Lamp at Skerry Point" in "\n".join(line[79:] for line in lines(app)[3:])
        await pilot.press("<")
        await pilot.press(">", ">", ">", ">")
        await until(pilot, lambda: zoomed(app) == "section")
        assert screen.panes.current is Pane.BOOK
        row = next(row for row in range(len(lines(app))) if filled(app, row) == "section")
        for word in ("chapter", "book", "section"):
            column = lines(app)[row].rindex(word)
            await pilot.click(offset=(column, row))
            await until(pilot, lambda word=word: zoomed(app) == word)
        await pilot.click(offset=(lines(app)[row].index("<"), row))
        await until(pilot, lambda: zoomed(app) == "chapter")


async def test_a_chapter_leads_to_its_beginning_in_the_book_and_the_book_to_its_chapter(tmp_path: Path) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        screen.controllers.line.choose_bound(BoundChoice(whole=True))
        await pilot.press("tab", "<")
        await until(pilot, lambda: zoomed(app) == "chapter")
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: screen.panes.current is Pane.BOOK)
        assert screen.book_pane.place == screen.book.chapters[2].start
        await pilot.press("]", "]")
        fifth = screen.memory_pane.memory.page_at(screen.book.chapters[4].start).number
        await until(pilot, lambda: screen.memory_pane.view.here == fifth)
        await until(pilot, lambda: "← you" in text_of(app))
        memory_side = "\n".join(line[79:].strip() for line in lines(app))
        assert "Chapter 5" in memory_side.partition("← you")[0]
        assert "Chapter 6" not in memory_side.partition("← you")[0]
        row = next(row for row, line in enumerate(lines(app)) if "Chapter 4" in line[79:])
        await pilot.click(offset=(90, row + 1))
        await until(pilot, lambda: screen.book_pane.place == screen.book.chapters[3].start)


async def test_missing_summaries_are_reported_with_the_key_that_builds_them(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    app = app_on(long_book(), tmp_path, engine)
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("<")
        await until(pilot, lambda: "20 of 20 are put together from sentences" in text_of(app))
        assert "from its gists" in text_of(app)
        engine.stop_after = len(engine.calls) + 3
        await pilot.press("c")
        await until(pilot, lambda: "Making chapter summaries: 3 of" in text_of(app))
        await pilot.press("r")
        await until(pilot, lambda: "Paused" in text_of(app))
        engine.gate.set()
        await pilot.press("r")
        with app.batch_update():  # Drawn once, not gist by gist.
            await until(pilot, lambda: screen.session.activity.artifact is None)
        await until(pilot, lambda: "of the gists" not in text_of(app) and "from its gists" not in text_of(app))


async def test_the_level_is_remembered_for_the_book(tmp_path: Path) -> None:
    app = app_on(small_book(), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await pilot.press("<")
        await until(pilot, lambda: zoomed(app) == "chapter")
        await pilot.press("q")
    again = app_on(small_book(), tmp_path)
    async with again.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: zoomed(again) == "chapter" and "I. The Lamp" in text_of(again))
    other = app_on(long_book(20), tmp_path, SteppedEngine(says=says))
    async with other.run_test(size=WIDE) as pilot:
        await read_whole(pilot)
        await until(pilot, lambda: zoomed(other) == "section")


async def test_a_page_opened_by_the_agent_is_shown_in_detail(tmp_path: Path, reader: ScriptedReader) -> None:
    app = app_on(long_book(40), tmp_path, SteppedEngine(says=says))
    async with app.run_test(size=WIDE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("<")
        await until(pilot, lambda: zoomed(app) == "chapter")
        await pilot.press("]", "]")
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions)
        assert reader.steering.here == screen.book_pane.place == screen.book.chapters[2].start
        reader.say(Started("readagent-s", 3, 3, True), Expanded(2, OpenedBy.AGENT))
        await until(pilot, lambda: zoomed(app) == "section" and "opened by the agent" in text_of(app))
        assert screen.memory_pane.view.zoom is Zoom.PAGE


async def test_new_pages_are_added_to_their_chapters_while_zoomed_out(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    engine.stop_after = 20
    app = app_on(long_book(60), tmp_path, engine, Config(min_words=60, max_words=90))
    async with app.run_test(size=WIDE) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: not engine.gate.is_set())
        await pilot.press("<")
        await until(pilot, lambda: zoomed(app) == "chapter" and screen.memory_pane._parts)
        before = len(screen.memory_pane._parts)
        engine.gate.set()
        with app.batch_update():
            await until(pilot, lambda: len(screen.memory_pane._parts) == 20 > before)
