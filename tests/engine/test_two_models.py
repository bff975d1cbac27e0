"""Whether two names mean the same model, and whether a second model fits beside the first."""

from pathlib import Path

import pytest

from gistread.engine import models
from gistread.engine.models import fits_in_memory, same_model
from tests.engine.test_models import gguf, home

__all__ = ["home"]


def test_a_model_fits_if_memory_is_free(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = str(gguf(home / "models" / "one.gguf"))
    monkeypatch.setattr(models, "available_bytes", lambda: 2**40)
    assert fits_in_memory(model)
    monkeypatch.setattr(models, "available_bytes", lambda: 1000)
    assert not fits_in_memory(model)


def test_two_names_of_one_model_are_the_same_model(home: Path) -> None:
    first = gguf(home / "models" / "one.gguf")
    gguf(home / "models" / "two.gguf", weights=128)
    assert same_model("one", str(first))
    assert same_model("ONE.gguf", "one")
    assert not same_model("one", "two")
    assert not same_model("one", "three")
    assert same_model("http://127.0.0.1/v1#x", "http://127.0.0.1/v1#x")
    assert not same_model("http://127.0.0.1/v1#x", "one")
