"""The folders in which models are searched: those of other programs, on each system."""

import json
import os
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
    monkeypatch.setattr(model_search, "_OLLAMA_SERVICE", home / "service")


def names_and_places() -> list[tuple[str, str]]:
    """Names and owners of the models found."""
    return [(model.name, model.place) for model in found_models()]


@pytest.mark.parametrize(
    ("place", "owner"),
    [
        (
            ".cache/huggingface/hub/models--a--b/snapshots/c/Q4/tiny.gguf",
            "Hugging Face",
        ),
        (".lmstudio/models/org/repository/tiny.gguf", "LM Studio"),
        (".cache/lm-studio/models/org/repository/tiny.gguf", "LM Studio"),
        ("models/tiny.gguf", ""),
        (".local/share/gistread/models/tiny.gguf", ""),
    ],
)
def test_every_program_keeps_models_in_its_own_place(
    home: Path, place: str, owner: str
) -> None:
    gguf(home / place)
    assert names_and_places() == [("tiny", owner)]


def ollama(folder: Path, name: str, digest: str = "sha256:0a1b") -> None:
    """A model of Ollama's, and its blob."""
    gguf(folder / "blobs" / digest.replace(":", "-"))
    manifest = folder / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": digest}]
    manifest.write_text(json.dumps({"layers": layers}))


def test_ollama_as_a_service_is_found(home: Path) -> None:
    ollama(home / "service", "registry.ollama.ai/library/tiny/1b")
    ollama(home / ".ollama" / "models", "hf.co/org/Tiny-GGUF/Q4_K_M", "sha256:0c")
    assert names_and_places() == [
        ("hf.co/org/Tiny-GGUF:Q4_K_M", "Ollama"),
        ("tiny:1b", "Ollama"),
    ]


def test_own_folders_come_from_the_settings_and_come_first(home: Path) -> None:
    settings = default_paths().config_file
    settings.parent.mkdir(parents=True)
    settings.write_text('model_folders = ["~/ggufs", "/no/such/folder"]')
    own = gguf(home / "ggufs" / "deep" / "tiny.gguf")
    (home / "models").mkdir()
    os.link(own, home / "models" / "other-name.gguf")
    assert [(model.name, model.path) for model in found_models()] == [("tiny", own)], (
        "hard links are one file"
    )
    settings.write_text("model_folders = 3")
    assert names_and_places() == [("other-name", "")], (
        "settings that are wrong are said elsewhere"
    )
