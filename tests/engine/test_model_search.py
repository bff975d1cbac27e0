"""The folders in which models are searched: those of other programs, on each system."""

import json
import os
import sys
from pathlib import Path

import pytest

from gistread.engine import model_search
from gistread.engine.model_search import found_models
from gistread.paths import default_paths
from tests.engine.test_models import gguf, home

__all__ = ["home"]


@pytest.fixture(autouse=True)
def no_services(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No system folders of this machine."""
    monkeypatch.setattr(model_search, "_OLLAMA_SYSTEM", ())
    monkeypatch.setattr(model_search, "_UNITS", (home / "units",))


def found() -> list[tuple[str, str]]:
    """Names and owners of the models found."""
    return [(model.name, model.place) for model in found_models()]


@pytest.mark.parametrize(
    ("platform", "place", "owner"),
    [
        ("linux", ".cache/llama.cpp/tiny.gguf", "llama.cpp"),
        ("darwin", "Library/Caches/llama.cpp/tiny.gguf", "llama.cpp"),
        ("linux", ".cache/huggingface/hub/models--a--b/snapshots/c/tiny.gguf", "Hugging Face"),
        ("darwin", ".cache/huggingface/hub/models--a--b/snapshots/c/Q4/tiny.gguf", "Hugging Face"),
        ("linux", ".lmstudio/models/org/repository/tiny.gguf", "LM Studio"),
        ("linux", ".cache/lm-studio/models/org/repository/tiny.gguf", "LM Studio"),
        ("linux", ".local/share/Jan/data/llamacpp/models/tiny/model.gguf", "Jan"),
        ("linux", ".config/Jan/data/llamacpp/models/org/tiny/model.gguf", "Jan"),
        ("darwin", "Library/Application Support/Jan/data/llamacpp/models/tiny/model.gguf", "Jan"),
        ("linux", "jan/models/tiny/tiny.gguf", "Jan"),
        ("linux", ".local/share/nomic.ai/GPT4All/tiny.gguf", "GPT4All"),
        ("darwin", "Library/Application Support/nomic.ai/GPT4All/tiny.gguf", "GPT4All"),
        ("linux", ".cache/gpt4all/tiny.gguf", "GPT4All"),
        ("linux", "models/tiny.gguf", ""),
        ("linux", ".local/share/gistread/models/tiny.gguf", ""),
    ],
)
def test_every_program_keeps_models_in_its_own_place(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, place: str, owner: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    gguf(home / place)
    assert found() == [("tiny", owner)]


@pytest.mark.parametrize(
    ("variable", "place", "owner"),
    [
        ("LLAMA_CACHE", "models--a--b/snapshots/c/tiny.gguf", "llama.cpp"),
        ("HF_HUB_CACHE", "models--a--b/snapshots/c/tiny.gguf", "Hugging Face"),
        ("HUGGINGFACE_HUB_CACHE", "models--a--b/snapshots/c/tiny.gguf", "Hugging Face"),
        ("HF_HOME", "hub/models--a--b/snapshots/c/tiny.gguf", "Hugging Face"),
    ],
)
def test_variables_of_other_programs_are_followed(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, place: str, owner: str
) -> None:
    monkeypatch.setenv(variable, str(home / "elsewhere"))
    gguf(home / "elsewhere" / place)
    assert found() == [("tiny", owner)]


def test_lm_studio_is_followed_to_where_its_pointer_and_its_settings_lead(home: Path) -> None:
    (home / ".lmstudio-home-pointer").write_text(f"{home / 'moved'}\n")
    gguf(home / "moved" / "models" / "org" / "one" / "one.gguf")
    (home / "moved" / "settings.json").write_text(json.dumps({"downloadsFolder": str(home / "disk")}))
    gguf(home / "disk" / "org" / "two" / "two.gguf")
    assert found() == [("two", "LM Studio"), ("one", "LM Studio")]


@pytest.mark.parametrize(
    "settings", ["", "{", "[]", '{"downloadsFolder": 3}', '{"downloadsFolder": "a"}', "[" * 100_000]
)
def test_invalid_settings_of_other_programs_are_ignored(home: Path, settings: str) -> None:
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio" / "settings.json").write_text(settings)
    (home / ".lmstudio-home-pointer").write_text("\0")
    assert found() == []


def test_gpt4all_is_followed_to_its_download_path(home: Path) -> None:
    (home / ".config" / "nomic.ai").mkdir(parents=True)
    (home / ".config" / "nomic.ai" / "GPT4All.ini").write_text(f"[General]\nmodelPath={home}/big disk\n%bad\n")
    gguf(home / "big disk" / "tiny.gguf")
    assert found() == [("tiny", "GPT4All")]


def test_models_imported_by_jan_are_found(home: Path) -> None:
    imported = gguf(home / "elsewhere" / "some-file.gguf")
    folder = home / ".local/share/Jan/data/llamacpp/models/my-model"
    folder.mkdir(parents=True)
    (folder / "model.yml").write_text(f"name: My model\nmodel_path: {imported}\nsize_bytes: 3\n")
    inside = gguf(home / ".local/share/Jan/data/llamacpp/models/other/model.gguf")
    (inside.parent / "model.yml").write_text("model_path: llamacpp/models/other/model.gguf\n")
    assert found() == [("other", "Jan"), ("my-model", "Jan")]


def test_the_projector_beside_a_model_of_jan_is_another_file(home: Path) -> None:
    folder = home / ".local/share/Jan/data/llamacpp/models/seeing"
    gguf(folder / "model.gguf")
    gguf(folder / "mmproj.gguf", "clip")
    assert [name for name, _ in found()] == ["mmproj-seeing", "seeing"]


def ollama(folder: Path, name: str, digest: str = "sha256:0a1b") -> None:
    """A model of Ollama's, and its blob."""
    gguf(folder / "blobs" / digest.replace(":", "-"))
    manifest = folder / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": digest}]
    manifest.write_text(json.dumps({"layers": layers}))


def test_ollama_as_a_service_is_found_where_its_unit_says(home: Path) -> None:
    unit = home / "units" / "ollama.service.d" / "override.conf"
    unit.parent.mkdir(parents=True)
    unit.write_text(f'[Service]\nEnvironment="OLLAMA_HOST=0.0.0.0" "OLLAMA_MODELS={home}/srv"\n')
    ollama(home / "srv", "hf.co/org/Tiny-GGUF/Q4_K_M")
    assert found() == [("hf.co/org/Tiny-GGUF:Q4_K_M", "Ollama")]


@pytest.mark.parametrize("name", ["usr", "var"])
def test_ollama_as_a_service_is_found_where_systems_keep_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(model_search, "_OLLAMA_SYSTEM", (home / name,))
    ollama(home / name, "registry.ollama.ai/library/tiny/1b")
    ollama(home / ".ollama" / "models", "registry.ollama.ai/me/tiny/latest", "sha256:0c")
    assert found() == [("me/tiny:latest", "Ollama"), ("tiny:1b", "Ollama")]


@pytest.mark.parametrize("digest", ["sha256:../../../etc/passwd", "md5:00", "sha256:", 3])
def test_an_invalid_digest_is_ignored(home: Path, digest: str) -> None:
    ollama(home / ".ollama" / "models", "registry.ollama.ai/library/tiny/1b")
    manifest = home / ".ollama/models/manifests/registry.ollama.ai/library/tiny/1b"
    manifest.write_text(json.dumps({"layers": [{"mediaType": "x.image.model", "digest": digest}]}))
    assert found() == []


def test_own_folders_come_from_the_settings_and_come_first(home: Path) -> None:
    settings = default_paths().config_file
    settings.parent.mkdir(parents=True)
    settings.write_text('model_folders = ["~/ggufs", "/no/such/folder"]')
    own = gguf(home / "ggufs" / "deep" / "tiny.gguf")
    (home / "models").mkdir()
    os.link(own, home / "models" / "other-name.gguf")
    assert [(model.name, model.parts) for model in found_models()] == [("tiny", (own,))], "hard links are one file"
    settings.write_text("model_folders = 3")
    assert found() == [("other-name", "")], "settings that are wrong are said elsewhere"


def test_blobs_and_data_sets_of_the_hub_are_not_walked_through(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = home / ".cache/huggingface/hub"
    gguf(hub / "models--a--b" / "blobs" / "0a.gguf")
    gguf(hub / "datasets--a--b" / "snapshots" / "c" / "tiny.gguf")
    assert found() == []


def test_without_a_home_there_is_nothing_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert found() == []


@pytest.mark.parametrize("number", ["00000-of-00000", "00001-of-00000", "00001-of-99999"])
def test_an_impossible_part_number_is_an_ordinary_file_name(home: Path, number: str) -> None:
    gguf(home / "models" / f"tiny-{number}.gguf")
    assert found() == [(f"tiny-{number}", "")]
