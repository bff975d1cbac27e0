"""Many events at once do not keep the screen busy."""

from pathlib import Path

import pytest

from tests.tui.books import small_book
from tests.tui.scripted import SteppedEngine, app_on, opened, until, until_read

pytestmark = pytest.mark.drawn


async def test_answers_stream_without_a_redraw_for_each_word(tmp_path: Path) -> None:
    """Events are gathered: a thousand changes of state cause a handful of redraws."""
    engine = SteppedEngine()
    app = app_on(small_book(), tmp_path, engine)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await opened(pilot)
        await until_read(pilot, screen)
        drawn = []
        status = screen.lines.show_status

        def show_status() -> None:
            drawn.append(1)
            status()

        screen.lines.show_status = show_status
        for _ in range(1000):
            engine.be(engine.state)
        await until(pilot, lambda: drawn)
        await pilot.pause()
        assert 1 <= len(drawn) <= 4
