"""Check results and placement of models on the model screen."""

from pathlib import Path

import pytest

from gistread.engine.model_search import ModelFile
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.tui.model_downloads import ModelDownloads
from gistread.tui.screens.model import ModelScreen
from tests.folders import paths_in
from tests.tui.scripted import text_of, until_gone, until_shown
from tests.tui.test_choosing import SIZE
from tests.tui.test_choosing_roles import app_with, models

__all__ = ["models"]  # a fixture


async def test_the_check_result_and_placement_of_a_model_are_shown(
    tmp_path: Path, models: list[ModelFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = CheckResult(
        answers=False,
        abstains=True,
        line="many gists will be extractive; it misunderstands what it reads",
    )

    def known(path: Path) -> CheckResult | None:
        return poor if path.stem == "small-model" else None

    verdicts = CheckResults(paths_in(tmp_path), "1")
    monkeypatch.setattr(CheckResults, "by_file", lambda self: known)
    app, _ = app_with(tmp_path, model="/models/small-model.gguf")
    async with app.run_test(size=SIZE) as pilot:
        loaded = "3 of 3 layers on a card"
        app.push_screen(
            ModelScreen(
                app.settings.config,
                ModelDownloads(app, app.services, lambda: None),
                verdicts,
                loaded,
            )
        )
        await until_shown(pilot, "● small-model")
        await until_shown(pilot, "many gists will be extractive · ")
        shown = text_of(app)
        assert "Loaded: 3 of 3 layers on a card" in shown
        assert "Tried here: many gists will be extractive; it misunderstands" in shown
        await pilot.press("down")
        await until_gone(pilot, "Loaded:")
        assert "Tried here" not in text_of(app)
