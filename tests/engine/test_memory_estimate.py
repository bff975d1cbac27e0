"""The memory estimated from a header, compared with what llama.cpp uses."""

from pathlib import Path

import llama_cpp as llama
import pytest

from gistread.engine.llama.fit import STATES, cells_that_fit, needed_bytes, sizes_of
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.worker.context import BatchToken, Context
from gistread.engine.llama.worker.weights import Weights
from tests.tiny_architectures import WRITERS
from tests.tiny_gguf import metadata, write_gguf


@pytest.mark.parametrize("kind", list(WRITERS))
def test_the_kind_of_memory_follows_the_header(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / "tiny.gguf", 1)
    memory = read_header(path).memory
    assert memory.kind == kind
    assert state_growth(path) == (memory.kv_bytes_per_token, memory.state_bytes)


def state_growth(path: Path) -> tuple[int, int]:
    """Bytes that llama.cpp keeps of a token more, and of none, as far as they are numbers of the model.

    Beside these it writes some bytes of its own: a few for each token, a few dozen in all.
    """
    handle = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
    weights = Weights(handle, "")
    context = Context(weights, cells=256, sequences=1, batch_tokens=64, threads=1)
    sizes = []
    for first in (0, 32):
        context.evaluate([BatchToken(ord("a"), first + at, 0, False) for at in range(32)])
        sizes.append(llama.llama_state_seq_get_size(context.handle, 0))
    context.close()
    llama.llama_model_free(handle)
    of_token = (sizes[1] - sizes[0]) / 32
    whole_of_token = int(of_token) // 64 * 64
    assert of_token - whole_of_token < 64
    fixed = sizes[0] - 32 * of_token
    return whole_of_token, int(fixed) // 1024 * 1024


def header(tmp_path: Path, architecture: str, **keys: object) -> GgufHeader:
    """Of a model with 8 layers, 4 heads of 16 for 2 of keys and values; dots in keys are written as two underscores."""
    own = {
        "block_count": 8,
        "embedding_length": 64,
        "attention__head_count": 4,
        "attention__head_count_kv": 2,
        "context_length": 4096,
        **keys,
    }
    values = {f"{architecture}.{key.replace('__', '.')}": value for key, value in own.items() if value is not None}
    kept = {key: value for key, value in metadata().items() if not key.startswith("llama.")}
    return read_header(write_gguf(tmp_path / "m.gguf", kept | {"general.architecture": architecture} | values, {}))


CELL = 2 * 2 * (16 + 16)
"""Bytes of a token in one layer."""


@pytest.mark.parametrize(
    ("architecture", "keys", "kind", "kv_bytes"),
    [
        ("llama", {}, "attention", 8 * CELL),
        ("llama", {"attention__sliding_window": 4096}, "attention", 8 * CELL),
        ("gemma3", {"attention__sliding_window": 1024}, "sliding window", 8 * CELL),
        ("gemma3n", {"attention__sliding_window": 512, "attention__shared_kv_layers": 3}, "sliding window", 5 * CELL),
        ("qwen35", {"ssm__state_size": 16, "ssm__inner_size": 64}, "hybrid", 2 * CELL),
        ("qwen35", {"ssm__state_size": 16, "full_attention_interval": 8}, "hybrid", CELL),
        ("qwen35", {"ssm__state_size": 16, "block_count": 9, "nextn_predict_layers": 1}, "hybrid", 2 * CELL),
        ("lfm2", {"shortconv__l_cache": 3, "attention__head_count_kv": [0, 2, 0, 0, 2, 0, 0, 0]}, "hybrid", 2 * CELL),
        ("falcon-h1", {"ssm__state_size": 16}, "hybrid", 8 * CELL),
        ("rwkv7", {"wkv__head_size": 16, "attention__head_count": None}, "recurrent", 0),
        ("some-new-one", {"ssm__state_size": 16, "attention__head_count": None}, "recurrent", 0),
        ("deci", {"attention__head_count_kv": [2, 0, 2, 0, 4, 0, 0, 0]}, "attention", 4 * CELL),
        (
            "gemma4",
            {
                "attention__sliding_window": 512,
                "attention__sliding_window_pattern": [1, 1, 1, 0, 1, 1, 1, 0],
                "attention__key_length": 32,
                "attention__value_length": 32,
                "attention__key_length_swa": 16,
                "attention__value_length_swa": 16,
            },
            "sliding window",
            6 * CELL + 2 * 2 * CELL,
        ),
        (
            "deepseek2",
            {
                "attention__head_count_kv": 1,
                "attention__key_length": 576,
                "attention__value_length": 512,
                "attention__key_length_mla": 192,
            },
            "attention",
            8 * 2 * 576,
        ),
    ],
)
def test_the_cache_size_of_a_token_is_summed_over_layers(
    tmp_path: Path, architecture: str, keys: dict[str, object], kind: str, kv_bytes: int
) -> None:
    memory = header(tmp_path, architecture, **keys).memory
    assert (memory.kind, memory.kv_bytes_per_token) == (kind, kv_bytes)


def test_impossible_numbers_count_as_unknown(tmp_path: Path) -> None:
    memory = header(tmp_path, "llama", attention__head_count=0, attention__head_count_kv=None).memory
    assert memory.kv_bytes_per_token == 0


def test_the_window_that_fits_is_what_free_memory_leaves(tmp_path: Path) -> None:
    sizes = sizes_of(header(tmp_path, "llama"), 256, weights=10_000_000)
    needed = needed_bytes(sizes, 1000)
    assert cells_that_fit(sizes, needed) == 1000
    assert cells_that_fit(sizes, needed - 1) == 999
    assert cells_that_fit(sizes, 9_999_999) == 0


def test_the_state_of_a_recurrent_model_does_not_grow(tmp_path: Path) -> None:
    found = header(tmp_path, "mamba", attention__head_count=None, ssm__state_size=16, ssm__inner_size=128)
    sizes = sizes_of(found, 256)
    assert sizes.states == STATES * 8 * 16 * 128 * 4
    assert needed_bytes(sizes, 0) == needed_bytes(sizes, 100_000)
    assert cells_that_fit(sizes, needed_bytes(sizes, 0)) is None
