"""The memory estimated from a header, compared with what llama.cpp uses."""

from pathlib import Path
from typing import Any

import pytest

from gistread.engine.llama.gguf import GgufHeader, read_header
from tests.tiny_gguf import metadata, write_gguf


def header(tmp_path: Path, architecture: str, **keys: Any) -> GgufHeader:
    """Of a model with 8 layers, 4 heads of 16 for 2 of keys and values.

    Dots in keys are written as two underscores.
    """
    own = {
        "block_count": 8,
        "embedding_length": 64,
        "attention__head_count": 4,
        "attention__head_count_kv": 2,
        "context_length": 4096,
        **keys,
    }
    values = {
        f"{architecture}.{key.replace('__', '.')}": value
        for key, value in own.items()
        if value is not None
    }
    kept = {
        key: value for key, value in metadata().items() if not key.startswith("llama.")
    }
    return read_header(
        write_gguf(
            tmp_path / "m.gguf",
            kept | {"general.architecture": architecture} | values,
            {},
        )
    )


CELL = 2 * 2 * (16 + 16)
"""Bytes of a token in one layer."""


@pytest.mark.parametrize(
    ("architecture", "keys", "kind", "kv_bytes"),
    [
        ("llama", {}, "attention", 8 * CELL),
        ("llama", {"attention__sliding_window": 4096}, "attention", 8 * CELL),
        ("gemma3", {"attention__sliding_window": 1024}, "sliding window", 8 * CELL),
        (
            "gemma3n",
            {"attention__sliding_window": 512, "attention__shared_kv_layers": 3},
            "sliding window",
            8 * CELL,
        ),
        ("qwen35", {"ssm__state_size": 16, "ssm__inner_size": 64}, "hybrid", 2 * CELL),
        (
            "qwen35",
            {"ssm__state_size": 16, "full_attention_interval": 8},
            "hybrid",
            CELL,
        ),
        (
            "lfm2",
            {
                "shortconv__l_cache": 3,
                "attention__head_count_kv": [0, 2, 0, 0, 2, 0, 0, 0],
            },
            "hybrid",
            2 * CELL,
        ),
        ("falcon-h1", {"ssm__state_size": 16}, "hybrid", 8 * CELL),
        (
            "rwkv7",
            {"wkv__head_size": 16, "attention__head_count": None},
            "recurrent",
            0,
        ),
        (
            "some-new-one",
            {"ssm__state_size": 16, "attention__head_count": None},
            "recurrent",
            0,
        ),
        (
            "deci",
            {"attention__head_count_kv": [2, 0, 2, 0, 4, 0, 0, 0]},
            "attention",
            4 * CELL,
        ),
    ],
)
def test_the_cache_size_of_a_token_is_summed_over_layers(
    tmp_path: Path, architecture: str, keys: dict[str, object], kind: str, kv_bytes: int
) -> None:
    memory = header(tmp_path, architecture, **keys).memory
    assert (memory.kind, memory.kv_bytes_per_token) == (kind, kv_bytes)
