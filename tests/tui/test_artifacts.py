"""Artifacts are built in the background: once, after every question, shown and paused."""

import re
from dataclasses import replace
from pathlib import Path

from gistread.engine.protocol import Rates
from gistread.session import events
from tests.session.test_artifacts import FACTS, GRAPHREADER, extractions, says
from tests.tui.books import long_book
from tests.tui.scripted import (
    SteppedEngine,
    app_on,
    opened,
    text_of,
    until,
    until_shown,
)


async def test_building_artifacts_is_shown_and_can_be_paused(tmp_path: Path) -> None:
    engine = SteppedEngine()

    def stopping(text: str) -> str:
        """An engine that waits at the sixth page."""
        if FACTS in text and len(extractions(engine)) == 6:
            engine.gate.clear()
        return says(text)

    engine._says = stopping
    app = app_on(long_book(20), tmp_path, engine, GRAPHREADER)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        session = screen.session
        assert session is not None
        await until(
            pilot, lambda: re.search(r"Making facts: [56] of \d+", text_of(app))
        )
        assert re.search(r"Making facts: \d+ of \d+ · .*left", text_of(app))
        await pilot.press("r")
        await until(
            pilot, lambda: re.search(r"Paused: facts: \d+ of \d+", text_of(app))
        )
        assert "r resume" in text_of(app)
        engine.gate.set()
        await pilot.press("r")
        await until_shown(pilot, "memory is complete")
        assert screen.memory_pane.memory is not None
        assert len(extractions(engine)) == len(screen.memory_pane.memory.entries)


async def test_the_reader_chooser_shows_needs_and_times(tmp_path: Path) -> None:
    engine = SteppedEngine(says=says)
    engine._info = replace(engine.info, rates=Rates(100.0, 10.0))
    app = app_on(
        long_book(20), tmp_path, engine, replace(GRAPHREADER, reader="readagent-s")
    )
    async with app.run_test(size=(120, 60)) as pilot:
        screen = await opened(pilot)
        # The method in the settings is none of the usual three: all are listed
        await pilot.press("A")
        await until_shown(pilot, "needs facts")
        session = screen.session
        assert session is not None
        with app.batch_update():
            await until(
                pilot, lambda: session.activity.reading is events.ReadingState.DONE
            )
        await pilot.press("escape", "A")
        await until(
            pilot,
            lambda: re.search(
                r"page with the answer · (needs )?summaries", text_of(app)
            ),
        )
        await pilot.press("j", "j", "j")
        await until(
            pilot, lambda: re.search(r"needs facts:[^:]*?about \d+ ", text_of(app))
        )
        await pilot.press("enter")
        with app.batch_update():
            await until(
                pilot,
                lambda: (
                    session.activity.artifact is None
                    and session.reader == "graphreader"
                ),
                60,
            )
            await until(pilot, lambda: not session.building, 60)
        await pilot.press("A")
        await until_shown(pilot, "facts are ready")
