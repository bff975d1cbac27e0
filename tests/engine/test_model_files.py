"""What the header of a model file tells: whether it can be used, and whether it fits."""

from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.gguf import read_header
from gistread.engine.model_files import (
    check_writes_text,
    describe,
)
from gistread.engine.model_search import ModelFile
from gistread.engine.model_text import facts
from gistread.errors import EngineError
from tests.engine.test_models import gguf


@pytest.mark.parametrize(
    ("architecture", "more", "name", "reason"),
    [
        ("llama", {}, "tiny", ""),
        ("qwen35", {}, "tiny", ""),
        ("nomic-bert", {}, "tiny", "makes embeddings"),
        (
            "qwen3",
            {"qwen3__pooling_type": 3},
            "Qwen3-Embedding-0.6B",
            "makes embeddings",
        ),
        ("clip", {}, "tiny", "image projector"),
        ("llama", {"general__type": "mmproj"}, "tiny", "image projector"),
        ("llama", {"general__type": "adapter"}, "tiny", "LoRA adapter"),
        ("flux", {"vocabulary": 0}, "tiny", "no language model"),
        ("wavtokenizer-dec", {"weights": 0}, "tiny", "no language model"),
        ("llama", {"split__count": 3, "split__no": 1}, "tiny", "one of 3 files"),
    ],
)
def test_what_cannot_write_text_is_known_from_the_header(
    tmp_path: Path, architecture: str, more: dict[str, Any], name: str, reason: str
) -> None:
    model = describe(
        ModelFile(gguf(tmp_path / f"{name}.gguf", architecture, **more), name)
    )
    assert model.usable == (not reason)
    assert reason in model.problem


def test_a_model_without_a_template_is_a_base_model_and_can_be_used(
    tmp_path: Path,
) -> None:
    model = describe(
        ModelFile(gguf(tmp_path / "base.gguf", tokenizer__chat_template=""), "base")
    )
    assert (model.usable, model.has_template) == (True, False)
    assert "base model, without a chat template" in facts(model)


@pytest.mark.parametrize(
    ("architecture", "more", "message"),
    [
        (
            "llama",
            {"general__type": "adapter"},
            "m.gguf cannot be used: it is a LoRA adapter",
        ),
        ("clip", {}, "m.gguf cannot be used: it is the image projector"),
        ("bert", {}, "m.gguf cannot be used: it makes embeddings"),
    ],
)
def test_what_writes_no_text_is_refused_before_it_is_loaded(
    tmp_path: Path, architecture: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(EngineError) as caught:
        check_writes_text(read_header(gguf(tmp_path / "m.gguf", architecture, **more)))
    assert caught.value.message.startswith(message)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="it is cut off: 10 bytes are missing"):
        check_writes_text(read_header(gguf(tmp_path / "m.gguf", lacking=10)))
    check_writes_text(
        read_header(gguf(tmp_path / "base.gguf", tokenizer__chat_template=""))
    )
