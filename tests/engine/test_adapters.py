"""A LoRA adapter changes a model alike, applied at load or merged into the requantised copy."""

import asyncio
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from gistread.engine import model_search, models
from gistread.engine.llama.fast_copy import make_copy
from gistread.engine.llama.gguf import read_header
from gistread.engine.models import find_source, fingerprint_of
from gistread.engine.protocol import Message
from gistread.errors import EngineError
from gistread.prompts import TRAINED
from tests.engine.conftest import StartEngine
from tests.tiny_gguf import random_matrix, write_gguf, write_tiny_adapter

PROMPT = (Message("user", "The story begins."),)


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return write_tiny_adapter(tmp_path / "mine.gguf")


async def preferences(start: StartEngine, path: Path, **options: Any) -> list[float]:
    """How likely the model is to choose "a" rather than each of some other letters."""
    engine = await start(path, **options)
    choices = [await engine.choose(PROMPT, ["a", letter]) for letter in "bcdefgh"]
    return [
        choice.probability if choice.index == 0 else 1 - choice.probability
        for choice in choices
    ]


async def test_merged_and_applied_at_load_are_the_same(
    tiny: Path, adapter: Path, start: StartEngine, tmp_path: Path
) -> None:
    header = read_header(tiny, adapter)
    copy = await asyncio.to_thread(make_copy, header, tmp_path / "copies")
    assert copy is not None
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]
    bare = await preferences(start, tiny)
    applied = await preferences(start, tiny, adapter=adapter)
    merged = await preferences(start, copy)
    assert merged == pytest.approx(applied, abs=0.05)
    assert bare != pytest.approx(applied, abs=0.3)


async def test_an_adapted_model_gets_the_prompts_that_it_was_trained_on(
    tiny: Path, adapter: Path, start: StartEngine
) -> None:
    assert (await start(tiny, adapter=adapter)).info.wording == TRAINED
    assert (await start(tiny)).info.wording == ""


def test_an_adapted_model_is_another_model(tiny: Path, adapter: Path) -> None:
    bare, adapted = read_header(tiny), read_header(tiny, adapter)
    assert adapted.fingerprint not in (
        bare.fingerprint,
        read_header(adapter).fingerprint,
    )
    assert (adapted.name, adapted.adapter) == ("tiny+mine", adapter)
    source = find_source(f"{tiny}+{adapter}")
    assert (source.path, source.adapter) == (tiny, adapter)
    assert fingerprint_of(source) == adapted.fingerprint
    assert fingerprint_of(find_source(str(tiny))) == bare.fingerprint


async def test_an_adapter_that_does_not_fit_is_refused_at_load(
    tiny: Path, start: StartEngine, tmp_path: Path
) -> None:
    values = {
        "general.architecture": "llama",
        "general.type": "adapter",
        "adapter.type": "lora",
    }
    source = random.Random(1)
    tensors = {"blk.0.attn_q.weight.lora_a": random_matrix(source, 32, 4)}
    tensors["blk.0.attn_q.weight.lora_b"] = random_matrix(source, 4, 32)
    wrong = write_gguf(tmp_path / "wrong.gguf", values, tensors)
    with pytest.raises(EngineError, match=r"The adapter wrong\.gguf does not fit"):
        await start(tiny, adapter=wrong)


def test_the_starter_has_its_own_adapter(
    tiny: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (model_search, models):
        monkeypatch.setattr(module, "starter_path", lambda: tiny)
    (tiny.parent / "starter").mkdir(exist_ok=True)
    shutil.copy(adapter, tiny.parent / "starter" / "gistread.gguf")
    monkeypatch.setattr(model_search, "__file__", str(tiny.parent / "model_search.py"))
    own = tiny.parent / "starter" / "gistread.gguf"
    assert find_source("starter").adapter == find_source(str(tiny)).adapter == own
    assert find_source("starter").name == "starter"
    assert find_source("starter-base").adapter is None
    assert find_source(f"starter+{adapter}").adapter == adapter
    assert find_source("starter-base").path == find_source("starter").path == tiny
