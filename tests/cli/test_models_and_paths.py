"""`gistread models` and `gistread paths`."""

import json
from pathlib import Path

import pytest

from gistread.config import load_config
from gistread.errors import ExitStatus
from gistread.paths import default_paths
from tests.cli.conftest import XDG, Run
from tests.engine.test_models import gguf


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only model of a home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("gistread.engine.model_search.starter_path", lambda: None)
    return gguf(tmp_path / "models" / "tiny.gguf")


def test_list_json_has_the_shape_of_the_design(run: Run, tiny: Path) -> None:
    document = run("models", "list", "--json").json
    assert document == {
        "models": [
            {
                "name": "tiny",
                "path": str(tiny),
                "size": tiny.stat().st_size,
                "quantization": "F32",
                "architecture": "llama",
                "context_length": 2048,
                "parameters": 64,
                "licence": "mit",
                "usable": True,
                "problem": None,
                "kind": "text",
                "chat_template": True,
                "memory": None,
                "files": 1,
                "place": None,
                "also": [],
                "adapter": None,
                "fits": True,
                "fitting_context": 2048,
                "memory_needed": document["models"][0]["memory_needed"],
                "worth": None,
                "verdict": None,
            }
        ],
        "memory_free": document["memory_free"],
    }
    assert document["models"][0]["memory_needed"] > tiny.stat().st_size


def test_models_alone_lists_them(run: Run, tiny: Path) -> None:
    assert run("models").out == run("models", "list").out
    assert run("models", "--json").json["models"] == run("models", "list", "--json").json["models"]
    assert "usage: gistread models [-h] ACTION" in run("models", "--help").out


def test_list_searches_the_given_folders(run: Run, tiny: Path, tmp_path: Path) -> None:
    gguf(tmp_path / "disk" / "deep" / "other.gguf")
    names = [model["name"] for model in run("models", "--folder", tmp_path / "disk", "--json").json["models"]]
    assert names == ["other", "tiny"]


def test_list_shows_models_that_fit_first(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.cli.models.free_for_models", lambda: 60_000_000)
    gguf(tiny.with_name("a-large.gguf"), weights=10_000_000)
    gguf(tiny.with_name("a-vectors.gguf"), "bert")
    gguf(tiny.with_name("a-part.gguf"), "clip")
    out = run("models").out
    order = [out.index(f" {name}\n") for name in ("tiny", "a-large", "a-vectors", "a-part")]
    assert order == sorted(order)
    assert "too large for now: it needs 79 MB, 60 MB are free" in out
    found = {model["name"]: model["fits"] for model in run("models", "--json").json["models"]}
    assert (found["tiny"], found["a-large"]) == (True, False)


def test_list_shows_what_is_wrong_with_a_file(run: Run, tiny: Path) -> None:
    tiny.with_name("broken.gguf").write_bytes(b"GGUF")
    ran = run("models", "list")
    assert ran.status == ExitStatus.DONE
    assert "not usable" in ran.out.partition("broken")[2]


@pytest.mark.parametrize("name", ["two\nlines.gguf", "no \udcff UTF-8.gguf"])
def test_a_file_of_any_name_is_a_line_of_the_list_and_valid_json(run: Run, tiny: Path, name: str) -> None:
    tiny.rename(tiny.with_name(name))
    used = load_config(default_paths().config_file).model
    lines = run("models").out.splitlines()
    assert len(lines) == 3
    assert "not usable: its path contains line breaks" in lines[1]
    problems = [model["problem"] for model in run("models", "--json").json["models"]]
    assert ["line breaks" in problem for problem in problems] == [True]
    assert run("models", "use", name.removesuffix(".gguf")).status == ExitStatus.ENGINE
    assert load_config(default_paths().config_file).model == used


def test_use_is_saved_and_marked(run: Run, tiny: Path) -> None:
    assert run("models", "use", "TIN").status == ExitStatus.DONE
    assert load_config(default_paths().config_file).model == str(tiny)
    assert "* tiny" in run("models", "list").out


@pytest.mark.parametrize("name", ["nothing", "broken"])
def test_use_of_an_unusable_model_changes_nothing(run: Run, tiny: Path, name: str) -> None:
    tiny.with_name("broken.gguf").write_bytes(b"GGUF")
    before = default_paths().config_file.read_bytes()
    ran = run("models", "use", name)
    assert (ran.status, ran.out) == (ExitStatus.ENGINE, "")
    assert run("models", "use", str(tiny.with_name("broken.gguf"))).status == ExitStatus.ENGINE
    assert default_paths().config_file.read_bytes() == before


def test_list_works_with_broken_settings(run: Run, tiny: Path) -> None:
    default_paths().config_file.write_text("modell = 3")
    ran = run("models", "list")
    assert ran.status == ExitStatus.DONE
    assert "tiny" in ran.out
    assert "Did you mean model?" in ran.err


def test_paths_are_where_the_variables_say(run: Run, home: Path) -> None:
    places = run("paths", "--json").json
    assert set(places) == {
        *(
            "config_file",
            "themes",
            "presets",
            "books",
            "marks",
            "library",
            "reading_speed",
            "memories",
            "texts",
            "covers",
            "weights",
            "models",
            "own_models",
            "snapshots",
            "measurements",
            "check_results",
            "log_file",
            "worker_log",
            "recent_commands",
        ),
    }
    assert all(str(home) in place for place in places.values())
    assert len({Path(place).parts[len(home.parts)] for place in places.values()}) == len(XDG)
    shown = run("paths").out
    assert all(place in shown for place in places.values())
    json.dumps(places)


def test_in_a_terminal_facts_are_folded_and_paths_are_whole(
    run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = run("models").out.splitlines()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "50")
    folded = run("models").out.splitlines()
    assert len(folded) > len(apart)
    assert str(tiny) in "\n".join(folded)
    assert all(len(line) <= 50 for line in folded if str(tiny) not in line)
    assert " ".join(" ".join(folded).split()) == " ".join(" ".join(apart).split())


def test_rm_deletes_a_downloaded_model_and_no_other(run: Run, tiny: Path) -> None:
    ran = run("models", "rm", "tiny")
    assert ran.status == ExitStatus.USAGE
    assert "not a model that gistread has downloaded" in ran.err
    assert tiny.exists()
    folder = default_paths().models
    ours = gguf(folder / "ours.gguf")
    run("models", "use", "ours")
    assert run("models", "rm", "ours", "--json").json == {"deleted": [str(ours)]}
    assert not ours.exists()
    assert load_config(default_paths().config_file).model == ""
    (folder / "half.gguf.part").write_bytes(b"GGUF")
    (folder / "half.gguf.part.json").write_text("{}")
    assert "half.gguf.part" in run("models", "rm", "half").err
    assert list(folder.iterdir()) == []


def test_cache_shows_its_parts_and_clears_all_but_memories(run: Run, tiny: Path) -> None:
    paths = default_paths()
    for folder, name in ((paths.texts, "a.book"), (paths.memories, "a.memory")):
        folder.mkdir(parents=True)
        (folder / name).write_bytes(b"12345")
    sizes = {part["name"]: part["size"] for part in run("cache", "--json").json["parts"]}
    assert (sizes["texts"], sizes["memories"], sizes["weights"]) == (5, 5, 0)
    assert run("cache", "clear", "--json").json["size"] == 5
    assert [path.name for path in paths.cache.rglob("*.*")] == ["a.memory"]
    assert "none of memories, texts" in run("cache", "clear", "books").err
