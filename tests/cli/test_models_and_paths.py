"""`gistread models` and `gistread paths`."""

import errno
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
    default_paths().config_file.write_text("")
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
                "chat_template": True,
                "memory": None,
                "place": None,
                "also": [],
                "adapter": None,
                "fits": True,
                "fitting_context": 2048,
                "memory_needed": document["models"][0]["memory_needed"],
                "trust": None,
                "verdict": None,
            }
        ],
        "memory_free": document["memory_free"],
    }
    assert document["models"][0]["memory_needed"] > tiny.stat().st_size


def test_list_shows_models_that_fit_first(
    run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.cli.models.free_for_models", lambda: 60_000_000)
    gguf(tiny.with_name("a-large.gguf"), weights=10_000_000)
    gguf(tiny.with_name("a-vectors.gguf"), "bert")
    gguf(tiny.with_name("a-part.gguf"), "clip")
    out = run("models").out
    order = [
        out.index(f" {name}\n") for name in ("tiny", "a-large", "a-part", "a-vectors")
    ]
    assert order == sorted(order)
    assert "too large for now: it needs 79 MB, 60 MB are free" in out
    fits = {
        model["name"]: model["fits"] for model in run("models", "--json").json["models"]
    }
    assert (fits["tiny"], fits["a-large"]) == (True, False)


def test_a_model_that_is_used_by_path_is_listed(
    run: Run, tiny: Path, tmp_path: Path
) -> None:
    elsewhere = tiny.rename(tmp_path / "elsewhere.gguf")
    assert "elsewhere" not in run("models", "list").out
    assert run("models", "use", str(elsewhere)).status == ExitStatus.DONE
    assert "* elsewhere" in run("models", "list").out


def test_use_is_saved_and_marked(run: Run, tiny: Path) -> None:
    assert run("models", "use", "TIN").status == ExitStatus.DONE
    assert load_config(default_paths().config_file).model == str(tiny)
    assert "* tiny" in run("models", "list").out


def test_use_tells_the_name_that_the_list_has(run: Run, tiny: Path) -> None:
    other_name = tiny.with_name("a-copy.gguf")
    other_name.hardlink_to(tiny)
    assert "  a-copy\n" in run("models", "list").out
    assert "a-copy is now the default model." in run("models", "use", "tiny").err
    assert "* a-copy\n" in run("models", "list").out


def test_paths_are_where_the_variables_say(run: Run, home: Path) -> None:
    places = run("paths", "--json").json
    assert set(places) == {
        "config_file",
        "themes",
        "presets",
        "books",
        "store",
        "encodings",
        "sync_account",
        "memories",
        "texts",
        "index",
        "weights",
        "models",
        "snapshots",
        "measurements",
        "log_file",
        "worker_log",
    }
    assert all(str(home) in place for place in places.values())
    assert len(
        {Path(place).parts[len(home.parts)] for place in places.values()}
    ) == len(XDG)
    shown = run("paths").out
    assert all(place in shown for place in places.values())
    json.dumps(places)


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
    (folder / "half.gguf.0123456789ab.part").write_bytes(b"GGUF")
    assert "half.gguf.0123456789ab.part" in run("models", "rm", "half").err
    assert list(folder.iterdir()) == []


def test_cache_shows_its_parts_and_clears_all_but_memories(
    run: Run, tiny: Path
) -> None:
    paths = default_paths()
    for folder, name in ((paths.texts, "a.book"), (paths.memories, "a.memory")):
        folder.mkdir(parents=True)
        (folder / name).write_bytes(b"12345")
    sizes = {
        part["name"]: part["size"] for part in run("cache", "--json").json["parts"]
    }
    assert (sizes["texts"], sizes["memories"], sizes["weights"]) == (5, 5, 0)
    assert run("cache", "clear", "--json").json["size"] == 5
    assert [path.name for path in paths.cache.rglob("*.*")] == ["a.memory"]
    assert "none of memories, texts" in run("cache", "clear", "books").err


def test_a_cache_that_cannot_be_cleared_is_no_success(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = default_paths().texts
    texts.mkdir(parents=True)
    (texts / "a.book").touch()

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    ran = run("cache", "clear")
    assert ran.status == ExitStatus.FAILED
    assert (
        ran.err
        == f"gistread: {texts / 'a.book'} cannot be deleted: Read-only file system.\n"
    )
