"""A key is answered while the model works and while a large book is open."""

import asyncio
import statistics
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.session.events import ReadingState
from gistread.tui.widgets.book_pane import BookPane
from tests.tui.books import long_book, small_book
from tests.tui.scripted import SteppedEngine, app_on, opened, until

pytestmark = pytest.mark.drawn


async def seconds_a_key(pilot: Pilot[None], presses: int = 15) -> float:
    """Median time from a key to the book having moved. Not through the pilot's own waiting for an idle process."""
    pane = pilot.app.screen.query_one("#book", BookPane)
    taken = []
    for number in range(presses):
        at = pane.scroll_offset.y
        begin = time.perf_counter()
        pilot.app.simulate_key("k" if number % 2 else "j")
        for _ in range(5000):
            await asyncio.sleep(0.001)
            if pane.scroll_offset.y != at:
                break
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


async def test_a_key_is_answered_as_fast_while_the_model_reads(tmp_path: Path) -> None:
    idle = app_on(long_book(2000), tmp_path / "idle")
    async with idle.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        without = await seconds_a_key(pilot)
    engine = SteppedEngine(says=lambda _: "The road went on along the river.")
    engine.pace_s = 0.02  # Faster than any model; without a pause the fake would keep the event loop to itself.
    app = app_on(long_book(2000), tmp_path, engine)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.session.activity.reading is ReadingState.RUNNING)
        meanwhile = await seconds_a_key(pilot)
        assert screen.session.activity.reading is ReadingState.RUNNING
    assert meanwhile < without + 0.05


async def test_answers_stream_without_a_redraw_for_each_word(tmp_path: Path) -> None:
    """Events are gathered: a thousand changes of state cause a handful of redraws."""
    engine = SteppedEngine()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: screen.session.activity.reading is ReadingState.DONE)
        drawn = []
        status = screen.lines.show_status
        screen.lines.show_status = lambda *shown: (drawn.append(1), status(*shown))
        for _ in range(1000):
            engine.be(engine.state)
        await pilot.pause(0.3)
        assert 1 <= len(drawn) <= 4
