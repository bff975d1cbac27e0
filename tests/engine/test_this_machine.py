"""The free memory for a model, with and without graphics cards."""

import pytest

from gistread.engine import catalogue
from gistread.engine.llama.fit import Gpu
from gistread.engine.llama.library import Library
from gistread.errors import EngineError

GB = 10**9


def machine(monkeypatch: pytest.MonkeyPatch, maker: str, *gpus: Gpu) -> None:
    monkeypatch.setattr(catalogue, "available_bytes", lambda: 8 * GB)
    monkeypatch.setattr(catalogue, "gpu_maker", lambda: maker)
    monkeypatch.setattr(catalogue, "ask_library", lambda: Library("0.3.36", (), gpus))


def test_a_gpu_that_llama_cpp_cannot_use_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine(monkeypatch, "NVIDIA")
    assert catalogue.free_for_models() == 8 * GB

    def broken() -> Library:
        raise EngineError("llama-cpp-python cannot be used.")

    monkeypatch.setattr(catalogue, "ask_library", broken)
    assert catalogue.free_for_models() == 8 * GB
