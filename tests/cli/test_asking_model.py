"""Separate models for reading and answering: which is used when, over whose memory."""

from pathlib import Path
from typing import Any

import pytest

from gistread.book.open import open_book
from gistread.config import load_config
from gistread.engine.llama.gguf import read_header
from gistread.engine.protocol import EngineInfo
from gistread.errors import EngineError, ExitStatus
from gistread.paths import default_paths
from gistread.store.user_data import UserData
from tests.cli.conftest import Run
from tests.engine.test_models import gguf
from tests.fake_engine import FakeEngine

SIZE = ("--min-words", "60", "--max-words", "200")
QUESTION = "What did the keeper count?"


class Models:
    """Engines by the names of their files, each with the fingerprint of its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engines: dict[str, FakeEngine] = {}
        self.open: list[str] = []
        self.most_open = 0
        self.broken: set[str] = set()

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.gguf"

    def engine(self, path: Path, **options: Any) -> FakeEngine:
        name, models = path.stem, self

        class Counted(FakeEngine):
            async def start(self) -> EngineInfo:
                if name in models.broken:
                    raise EngineError(
                        f"{name} does not fit into memory.", "Take a smaller one."
                    )
                if name not in models.open:
                    models.open.append(name)
                models.most_open = max(models.most_open, len(models.open))
                return self.info

            async def close(self) -> None:
                if name in models.open:
                    models.open.remove(name)

        engine = Counted(
            says=lambda _: f"{name} says that he counted the stairs.",
            chooses=lambda _, options: len(options) - 1,
            name=name,
            fingerprint=read_header(path).fingerprint,
        )
        self.engines[name] = engine
        return engine


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Models:
    """Two models that write text, `small` in the settings, and nothing of the machine's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("gistread.engine.model_search.starter_path", lambda: None)
    models_here = Models(tmp_path / "models")
    for number, name in enumerate(("small", "large"), 1):
        gguf(models_here.path(name), weights=64 * number)
    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", models_here.engine)
    set_up(model="small")
    return models_here


def set_up(**names: str) -> None:
    default_paths().config_file.write_text(
        "".join(f'{key} = "{name}"\n' for key, name in names.items())
    )


def test_the_asking_model_answers_over_the_reading_models_memory(
    run: Run, book: Path, models: Models
) -> None:
    assert run("index", book, *SIZE).status == ExitStatus.DONE
    assert set(models.engines) == {"small"}
    set_up(model="small", asking_model="large")
    ran = run("ask", book, QUESTION, "--json")
    assert ran.json["answer"].startswith("large says")
    assert ran.json["model"] == {
        "name": "large",
        "fingerprint": models.engines["large"].info.fingerprint,
    }
    assert ran.json["memory"] == {
        "model": {"name": "small"},
        "preset": "fiction",
        "task": None,
    }
    assert "large answers over the memory of small." in ran.err
    assert (models.open, models.most_open) == ([], 1)
    (kept,) = UserData(default_paths()).questions(open_book(book).sha256)
    assert (kept.model, kept.memory) == ("large", "small")
    assert "with large, over the memory of small" in run("export", book).out


@pytest.mark.parametrize("broken", ["it is not there", "it cannot be loaded"])
def test_the_reading_model_answers_with_a_note_if_the_asking_model_fails(
    run: Run, book: Path, models: Models, broken: str
) -> None:
    run("index", book, *SIZE)
    if broken == "it is not there":
        set_up(model="small", asking_model="absent")
    else:
        set_up(model="small", asking_model="large")
        models.broken.add("large")
    ran = run("ask", book, QUESTION, "--json")
    assert ran.status == ExitStatus.DONE
    assert ran.json["model"]["name"] == "small"
    assert "cannot be used for questions, small answers instead" in ran.err
    assert models.open == []


def test_an_unusable_asking_model_on_the_command_line_is_an_error(
    run: Run, book: Path, models: Models
) -> None:
    run("index", book, *SIZE)
    models.broken.add("large")
    for name, why in (("absent", "'absent'"), ("large", "does not fit into memory")):
        ran = run("ask", book, QUESTION, "--asking-model", name)
        assert (ran.status, ran.out) == (ExitStatus.ENGINE, "")
        assert why in ran.err


def test_models_use_sets_and_clears_every_role(run: Run, models: Models) -> None:
    assert (
        "large now answers questions"
        in run("models", "use", "large", "--for", "asking").err
    )
    config = load_config(default_paths().config_file)
    assert (config.model, config.asking_model) == ("small", str(models.path("large")))
    assert (
        "large is now the default model"
        in run("models", "use", "large", "--for", "reading").err
    )
    assert load_config(default_paths().config_file).model == str(models.path("large"))
    assert run("models", "use", "none", "--for", "asking", "--json").json == {
        "for": "asking",
        "setting": None,
        "path": None,
    }
    assert load_config(default_paths().config_file).asking_model == ""
