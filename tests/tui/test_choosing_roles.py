"""Models for reading and answering, chosen by keys and by mouse."""

from pathlib import Path

import pytest

from gistread.config import Config, load_config
from gistread.engine.model_search import ModelFile
from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import Answered
from gistread.session import models as session_models
from gistread.tui.app import GistreadApp
from tests.tui.books import small_book
from tests.tui.scripted import (
    ScriptedReader,
    SteppedEngine,
    opened,
    paths_in,
    read_whole,
    text_of,
    until,
    until_shown,
)
from tests.tui.test_choosing import SIZE, model


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[ModelFile]:
    models_here = [model("large-model"), model("small-model")]
    monkeypatch.setattr(
        "gistread.tui.screens.model.each_model", lambda: iter(models_here)
    )
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    monkeypatch.setattr(session_models, "fits_in_memory", lambda spec: True)
    return models_here


def app_with(
    folder: Path, **settings: str
) -> tuple[GistreadApp, dict[str, SteppedEngine]]:
    """The app, and the engines that it makes, by the names of their models."""
    engines: dict[str, SteppedEngine] = {}

    def make(spec: str) -> SteppedEngine:
        name = Path(spec).stem
        engines[name] = SteppedEngine(name=name, fingerprint=f"{name}-1")
        return engines[name]

    config = Config(read_along=True, min_words=40, max_words=90, **settings)  # type: ignore[arg-type]
    return GistreadApp(
        small_book(), paths=paths_in(folder), config=config, make_engine=make
    ), engines


def settings_in(folder: Path) -> Config:
    return load_config(paths_in(folder).config_file)


async def test_an_asking_model_chosen_by_keys_answers_over_the_memory(
    tmp_path: Path, models: list[ModelFile], reader: ScriptedReader
) -> None:
    app, engines = app_with(tmp_path, model="/models/small-model.gguf")
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("m")
        await until_shown(pilot, "small-model")
        await pilot.press("tab")
        await until_shown(pilot, "The model that reads")
        await pilot.press(*"large", "enter")
        await until(
            pilot, lambda: settings_in(tmp_path).asking_model == str(models[0].path)
        )
        await until_shown(pilot, "large-model answers")
        assert "read by small-model" in text_of(app)
        assert engines["large-model"].state.phase in session_models.UNLOADED
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions)
        await until_shown(pilot, "large-model, over the memory of small-model")
        reader.say(Answered("Ada did.", True, (), (), (), 90.0, NO_USAGE))
        await until(pilot, lambda: screen.session and not screen.session.answering)
        await app.action_quit()
    assert all(engine.closed for engine in engines.values())
    again, _ = app_with(tmp_path)
    async with again.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("v")
        await until(
            pilot,
            lambda: "large-model, over the memory of small-model" in text_of(again),
        )
