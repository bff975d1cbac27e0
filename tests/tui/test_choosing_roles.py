"""Models for reading, answering and searching, chosen by keys and by mouse."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.config import Config, load_config
from gistread.engine.model_files import Availability, ModelFile
from gistread.engine.model_kinds import ModelKind
from gistread.engine.protocol import NO_USAGE
from gistread.readers.events import Answered
from gistread.session import models as session_models
from gistread.tui.app import GistreadApp
from gistread.tui.model_downloads import ModelDownloads
from gistread.tui.model_rows import TITLES, Role, no_model_section, sections
from gistread.tui.screens.model import ModelScreen
from gistread.tui.screens.reading import ReadingScreen
from tests.tui.books import small_book
from tests.tui.scripted import ScriptedReader, SteppedEngine, opened, paths_in, read_whole, text_of, until
from tests.tui.test_choosing import SIZE, model


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[ModelFile]:
    """Two that write, one that embeds."""
    embeds = replace(model("vectors", usable=False), kind=ModelKind.EMBEDDINGS, problem="")
    found = [model("large-model"), model("small-model"), embeds]
    monkeypatch.setattr("gistread.tui.screens.model.each_model", lambda: iter(found))
    monkeypatch.setattr("gistread.tui.screens.model.starter_path", lambda: None)
    monkeypatch.setattr(session_models, "fits_in_memory", lambda spec, config: True)
    return found


def app_with(folder: Path, **settings: str) -> tuple[GistreadApp, dict[str, SteppedEngine]]:
    """The app, and the engines that it makes, by the names of their models."""
    engines: dict[str, SteppedEngine] = {}

    def make(spec: str) -> SteppedEngine:
        name = Path(spec).stem
        engines[name] = SteppedEngine(name=name, fingerprint=f"{name}-1")
        return engines[name]

    config = Config(read_along=True, min_words=40, max_words=90, **settings)  # type: ignore[arg-type]
    return GistreadApp(small_book(), paths=paths_in(folder), config=config, make_engine=make), engines


def settings_in(folder: Path) -> Config:
    return load_config(paths_in(folder).config_file)


async def test_an_asking_model_chosen_by_keys_answers_over_the_memory(
    tmp_path: Path, models: list[ModelFile], reader: ScriptedReader
) -> None:
    app, engines = app_with(tmp_path, model="/models/small-model.gguf")
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        await pilot.press("m")
        await until(pilot, lambda: "small-model" in text_of(app))
        await pilot.press("tab")
        await until(pilot, lambda: "The model that reads" in text_of(app))
        await pilot.press(*"large", "enter")
        await until(pilot, lambda: settings_in(tmp_path).asking_model == str(models[0].path))
        await until(pilot, lambda: "large-model answers" in text_of(app))
        assert "read by small-model" in text_of(app)
        assert engines["large-model"].state.phase in session_models.UNLOADED
        await pilot.press("a", *"who", "enter")
        await until(pilot, lambda: reader.questions)
        await until(pilot, lambda: "large-model, over the memory of small-model." in text_of(app))
        reader.say(Answered("Ada did.", True, (), (), (), 90.0, NO_USAGE))
        await until(pilot, lambda: screen.session and not screen.session.answering)
        await app.action_quit()
    assert all(engine.closed for engine in engines.values())
    again, _ = app_with(tmp_path)
    async with again.run_test(size=SIZE) as pilot:
        await opened(pilot)
        await pilot.press("v")
        await until(pilot, lambda: "large-model, over the memory of small-model." in text_of(again))


async def test_an_asking_model_is_chosen_and_cleared_by_mouse(tmp_path: Path, models: list[ModelFile]) -> None:
    app, _ = app_with(tmp_path, model="/models/small-model.gguf", asking_model="/models/large-model.gguf")
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        assert "large-model answers" in text_of(app)
        downloads = ModelDownloads(app, app.services, lambda: None)
        app.push_screen(ModelScreen(app.settings.config, downloads), app._use_model)
        await until(pilot, lambda: "small-model" in text_of(app))
        line = app.screen.query_one("#model-role")
        await pilot.click(line, offset=(line.render().plain.index("questions") + 2, 0))
        await until(pilot, lambda: "● large-model" in text_of(app))
        await pilot.press("pagedown", "pagedown", "enter")
        await until(pilot, lambda: isinstance(app.screen, ReadingScreen))
        await until(pilot, lambda: screen.session and not screen.session.activity.asking_model)
        await until(pilot, lambda: settings_in(tmp_path).asking_model == "")


async def test_a_model_to_search_with_is_remembered_and_used_in_the_open_book(
    tmp_path: Path, models: list[ModelFile]
) -> None:
    app, _ = app_with(tmp_path, model="/models/small-model.gguf")
    async with app.run_test(size=SIZE) as pilot:
        screen = await read_whole(pilot)
        assert screen.session is not None
        before = screen.session._core.embedder
        await pilot.press("m", "shift+tab")
        await until(pilot, lambda: TITLES[Availability.EMBEDDINGS] in text_of(app))
        assert "large-model" not in text_of(app)
        await pilot.press(*"vectors", "enter")
        await until(pilot, lambda: settings_in(tmp_path).embedding_model == str(models[2].path))
        await until(pilot, lambda: screen.session and screen.session._core.embedder is not before)


def test_the_models_offered_depend_on_the_role() -> None:
    embeds = replace(model("vectors", usable=False), kind=ModelKind.EMBEDDINGS, problem="")
    found = [model("writer"), embeds]

    def enabled(role: Role) -> list[str]:
        rows = [row for section in sections(found, 2**40, "", None, role) for row in section.rows]
        return [row.name for row in rows if row.enabled]

    assert enabled(Role.READING) == enabled(Role.ASKING) == ["writer"]
    assert enabled(Role.EMBEDDING) == ["vectors"]
    assert no_model_section(Role.ASKING, "").rows[0].is_current
    assert not no_model_section(Role.ASKING, "writer").rows[0].is_current
