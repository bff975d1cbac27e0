"""The reader `dense` on the screen, with and without an embedding model."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from gistread.config import Config
from tests.tiny_bert import write_tiny_bert
from tests.tui.books import small_book
from tests.tui.scripted import SteppedEngine, app_on, lines, read_whole, until

SIZE = (130, 44)


async def ask(pilot: Pilot[None], question: str) -> None:
    await pilot.press("a")
    await pilot.press(*("space" if letter == " " else letter for letter in question))
    await pilot.press("enter")


@pytest.fixture(autouse=True)
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """None lies on this machine but those that a test names."""
    monkeypatch.setattr("gistread.engine.models.found_models", lambda extra=(): [])


async def test_pages_nearest_in_meaning_are_opened(tmp_path: Path) -> None:
    model = write_tiny_bert(tmp_path / "bert.gguf")
    config = Config(min_words=40, max_words=90, reader="dense", embedding_model=str(model))
    app = app_on(small_book(), tmp_path, SteppedEngine(), config)
    async with app.run_test(size=SIZE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who")
        await until(pilot, lambda: any("Somebody did something" in line for line in lines(app)))


async def test_a_missing_embedding_model_is_reported_with_a_hint(tmp_path: Path) -> None:
    config = Config(min_words=40, max_words=90, reader="dense")
    app = app_on(small_book(), tmp_path, SteppedEngine(), config)
    async with app.run_test(size=SIZE) as pilot:
        await read_whole(pilot)
        await ask(pilot, "who")
        await until(pilot, lambda: any("embedding" in line for line in lines(app)))
        assert not app._exception
