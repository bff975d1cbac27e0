"""Which architectures the installed llama.cpp knows."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from gistread.engine.llama.library import supports_architecture
from gistread.engine.model_files import describe
from gistread.engine.model_search import FoundModel
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Clear the cache between tests."""
    supports_architecture.cache_clear()
    yield
    supports_architecture.cache_clear()


@pytest.mark.parametrize(
    "name", ["llama", "qwen2", "qwen3", "gemma3", "phi3", "gpt-oss", "mamba", "jamba", "bert", "nomic-bert", "rwkv7"]
)
def test_architectures_of_llama_cpp_are_known(name: str) -> None:
    assert supports_architecture(name)


@pytest.mark.parametrize("name", ["oddlama", "llama9", "xqwen2", "qwe"])
def test_unsupported_architectures_are_unknown(name: str) -> None:
    assert not supports_architecture(name)


def test_without_a_readable_library_every_architecture_counts_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert supports_architecture("oddlama")


def test_the_list_names_models_of_unsupported_architectures(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "odd.gguf", general__architecture="oddlama")
    model = describe(FoundModel("odd", (path,)))
    assert not model.usable
    assert model.problem == "the installed llama.cpp does not know its architecture, oddlama"
