"""Which architectures the installed llama.cpp knows."""

from collections.abc import Iterator

import pytest

from gistread.engine.llama.library import supports_architecture


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
