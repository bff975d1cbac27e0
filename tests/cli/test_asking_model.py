"""Separate models for reading and answering: which is used when, over whose memory."""

import json
from pathlib import Path

import pytest

from gistread.book.open import open_book
from gistread.config import load_config
from gistread.engine.llama.gguf import read_header
from gistread.engine.protocol import EngineInfo
from gistread.errors import EngineError, ExitStatus
from gistread.paths import default_paths
from gistread.user_data import UserData
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

    def engine(self, path: Path, **options: object) -> FakeEngine:
        name, models = path.stem, self

        class Counted(FakeEngine):
            async def start(self) -> EngineInfo:
                if name in models.broken:
                    raise EngineError(f"{name} does not fit into memory.", "Take a smaller one.")
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
    found = Models(tmp_path / "models")
    for number, name in enumerate(("small", "large"), 1):
        gguf(found.path(name), weights=64 * number)
    monkeypatch.setattr("gistread.engine.llama.client.LlamaEngine", found.engine)
    set_up(model="small")
    return found


def set_up(**names: str) -> None:
    default_paths().config_file.write_text("".join(f'{key} = "{name}"\n' for key, name in names.items()))


def test_the_asking_model_answers_over_the_reading_models_memory(run: Run, book: Path, models: Models) -> None:
    assert run("index", book, *SIZE).status == ExitStatus.DONE
    assert set(models.engines) == {"small"}
    set_up(model="small", asking_model="large")
    ran = run("ask", book, QUESTION, "--json")
    assert ran.json["answer"].startswith("large says")
    assert ran.json["model"] == {"name": "large", "fingerprint": models.engines["large"].info.fingerprint}
    assert ran.json["memory"] == {"model": {"name": "small"}, "preset": "fiction", "task": None}
    assert "large answers over the memory of small." in ran.err
    assert (models.open, models.most_open) == ([], 1)
    (kept,) = UserData(default_paths().books).questions(open_book(book).sha256)
    assert (kept.model, kept.memory) == ("large", "small")
    assert "with large, over the memory of small" in run("export", book).out


def test_reading_and_asking_models_are_loaded_one_after_the_other(run: Run, book: Path, models: Models) -> None:
    ran = run("ask", book, QUESTION, "--index", "--asking-model", "large", *SIZE, "--json")
    assert ran.json["answer"].startswith("large says")
    assert ran.json["memory"]["model"]["name"] == "small"
    assert (models.open, models.most_open) == ([], 1)
    assert [header["model"]["name"] for header in run("memory", "list", book, "--json").json["memories"]] == ["small"]


@pytest.mark.parametrize("asking", ["small", "SMA", "small.gguf"])
def test_one_model_for_both_is_loaded_once(run: Run, book: Path, models: Models, asking: str) -> None:
    loads: list[Path] = []
    made = models.engine

    def counted(path: Path, **options: object) -> FakeEngine:
        loads.append(path)
        return made(path, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gistread.engine.llama.client.LlamaEngine", counted)
        ran = run("ask", book, QUESTION, "--index", "--asking-model", asking, *SIZE)
    assert ran.status == ExitStatus.DONE
    assert len(loads) == 1
    assert "over the memory of" not in ran.err


def test_a_model_on_the_command_line_reads_and_answers(run: Run, book: Path, models: Models) -> None:
    set_up(model="small", asking_model="large")
    run("index", book, *SIZE)
    assert run("ask", book, QUESTION, "--model", "small", "--json").json["model"]["name"] == "small"


def test_both_models_on_the_command_line_are_used(run: Run, book: Path, models: Models) -> None:
    run("index", book, *SIZE)
    run("index", book, *SIZE, "--model", "large")
    for reads, answers in (("small", "large"), ("large", "small")):
        document = run("ask", book, QUESTION, "--model", reads, "--asking-model", answers, "--json").json
        assert (document["memory"]["model"]["name"], document["model"]["name"]) == (reads, answers)


def test_no_other_memory_replaces_a_missing_one_of_the_reading_model(run: Run, book: Path, models: Models) -> None:
    run("index", book, *SIZE)
    ran = run("ask", book, QUESTION, "--model", "large", "--asking-model", "small")
    assert ran.status == ExitStatus.FAILED
    assert "large has not read this book; these have: small." in ran.err


def test_of_equal_memories_that_of_the_reading_model_is_used(run: Run, book: Path, models: Models) -> None:
    run("index", book, *SIZE)
    run("index", book, *SIZE, "--model", "large")  # the later of the two
    set_up(model="small", asking_model="large")
    assert run("ask", book, QUESTION, "--json").json["memory"]["model"]["name"] == "small"


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


def test_an_unusable_asking_model_on_the_command_line_is_an_error(run: Run, book: Path, models: Models) -> None:
    run("index", book, *SIZE)
    models.broken.add("large")
    for name, why in (("absent", "'absent'"), ("large", "does not fit into memory")):
        ran = run("ask", book, QUESTION, "--asking-model", name)
        assert (ran.status, ran.out) == (ExitStatus.ENGINE, "")
        assert why in ran.err


def test_models_use_sets_and_clears_every_role(run: Run, models: Models) -> None:
    assert "large now answers questions" in run("models", "use", "large", "--for", "asking").err
    config = load_config(default_paths().config_file)
    assert (config.model, config.asking_model) == ("small", str(models.path("large")))
    assert "large is now the default model" in run("models", "use", "large", "--for", "reading").err
    assert load_config(default_paths().config_file).model == str(models.path("large"))
    refused = run("models", "use", "large", "--for", "embedding")
    assert refused.status == ExitStatus.ENGINE
    assert load_config(default_paths().config_file).embedding_model == ""
    assert run("models", "use", "none", "--for", "asking", "--json").json == {
        "for": "asking",
        "setting": None,
        "path": None,
    }
    assert load_config(default_paths().config_file).asking_model == ""


def test_an_evaluation_names_its_reading_and_asking_models(run: Run, models: Models, tmp_path: Path) -> None:
    section = "The hare ran over the hill and counted the stairs. " * 40
    question = {"question_id": 1, "question": "Who ran?", "cor_section": "1", "answer1": "The hare."}
    tale = {"story": "hare", "sections": [section], "questions": [question]}
    data = tmp_path / "tales.jsonl"
    data.write_text(json.dumps(tale) + "\n")
    out = tmp_path / "run"
    words = ("eval", "fairytaleqa", "--data", data, "--readers", "gists", "--no-closed-book", "--out", out)
    ran = run(*words, "--asking-model", "large")
    assert ran.status == ExitStatus.DONE, ran.err
    assert "large, window 8192, over memories of small, window 8192" in ran.out
    settings = json.loads((out / "run.json").read_text())
    assert (settings["model"], settings["asking_model"]) == ("small", "large")
    assert settings["asking_fingerprint"] == models.engines["large"].info.fingerprint
    outcome = json.loads((out / "outcomes.jsonl").read_text())
    assert outcome["answer"].startswith("large says")
    assert models.open == []
    refused = run(*words)
    assert refused.status == ExitStatus.USAGE
    assert "the name of the asking model (large there, none here)" in refused.err
