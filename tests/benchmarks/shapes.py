"""Writes models of common shapes with random weights.

They measure ratios that no answer changes.

    python3 -m tests.benchmarks.shapes 1B Q4_K_M FILE

Vocabulary and chat template are the starter's; the blocks are drawn at random, so nothing is
quantized and any shape is written as fast as the disk takes it. What such a model says means
nothing: use `--gist-tokens`.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_contents
from tests.models import starter_path
from tests.tiny_gguf import TensorInfo, write_header

Quantization = Literal["Q8_0", "Q4_K_M"]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Shape:
    embedding: int
    feed_forward: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int  # Tokens; those that the starter lacks are never said


SHAPES = {
    "1B": Shape(2048, 8192, 16, 32, 8, 128_256),  # Llama 3.2
    "3B": Shape(3072, 8192, 28, 24, 8, 128_256),
}

_F32 = 0
_Q8_0 = 8
_Q4_K = 12
_Q6_K = 14
# Weights and bytes of a block
_BLOCK = {_Q8_0: (32, 34), _Q4_K: (256, 144), _Q6_K: (256, 210)}
_FILE_TYPES: dict[Quantization, int] = {"Q8_0": 7, "Q4_K_M": 15}
_ROWS = 4096  # Rows of a matrix made at once
_UNUSED = 5  # Kind of a token
_TOKENIZER = (
    *(
        "model",
        "pre",
        "tokens",
        "token_type",
        "merges",
        "bos_token_id",
        "eos_token_id",
        "unknown_token_id",
    ),
    *("padding_token_id", "add_bos_token", "add_space_prefix"),
)


def write_shape(
    path: Path, shape: Shape, quantization: Quantization, vocabulary: Path
) -> Path:
    """Write a llama model of this shape with the tokens of another model file.

    The weights are the same each time.
    """
    tensors = dict(_tensors(shape, quantization))
    described = {
        name: TensorInfo(dimensions, kind, _size(dimensions, kind))
        for name, (dimensions, kind) in tensors.items()
    }
    random = np.random.default_rng(1)
    with path.open("wb") as file:
        file.write(write_header(_metadata(shape, quantization, vocabulary), described))
        for dimensions, kind in tensors.values():
            written = 0
            for rows in _rows(dimensions):
                block = _matrix(random, dimensions[0], rows, kind)
                file.write(block)
                written += len(block)
            file.write(bytes(-written % 32))
    return path


def _metadata(
    shape: Shape, quantization: Quantization, vocabulary: Path
) -> dict[str, object]:
    keys = ["tokenizer.chat_template", *(f"tokenizer.ggml.{key}" for key in _TOKENIZER)]
    contents = read_contents(vocabulary, keys)
    strings = {
        key: [string.decode() for string in encoded]
        for key, encoded in contents.strings.items()
    }
    pairs = {**contents.pairs, **contents.arrays, **strings}
    values = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in pairs.items()
        if key in keys
    }
    tokens, kinds = (
        strings["tokenizer.ggml.tokens"],
        contents.arrays["tokenizer.ggml.token_type"],
    )
    more = range(len(tokens), shape.vocabulary)
    return {
        "general.architecture": "llama",
        "general.name": f"Random {shape.layers}x{shape.embedding}",
        "general.file_type": _FILE_TYPES[quantization],
        "llama.context_length": 8192,
        "llama.embedding_length": shape.embedding,
        "llama.block_count": shape.layers,
        "llama.feed_forward_length": shape.feed_forward,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.kv_heads,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": shape.embedding // shape.heads,
        "llama.rope.freq_base": 500_000.0,
        **values,
        "tokenizer.ggml.tokens": [
            *tokens,
            *(f"<|unused_{number}|>" for number in more),
        ],
        "tokenizer.ggml.token_type": [*kinds, *(_UNUSED for _ in more)],
    }


def _tensors(
    shape: Shape, quantization: Quantization
) -> Iterator[tuple[str, tuple[tuple[int, ...], int]]]:
    """Dimensions and type by name, as llama.cpp chooses types.

    Q4_K_M keeps the output and half of some in Q6_K.
    """
    wide = _Q8_0 if quantization == "Q8_0" else _Q6_K
    usual = _Q8_0 if quantization == "Q8_0" else _Q4_K
    width, kv = shape.embedding, shape.embedding // shape.heads * shape.kv_heads
    # Also the output matrix
    yield "token_embd.weight", ((width, shape.vocabulary), wide)
    yield "output_norm.weight", ((width,), _F32)
    for layer in range(shape.layers):
        if (
            layer < shape.layers // 8
            or layer >= 7 * shape.layers // 8
            or layer % 3 == 2
        ):
            better = wide
        else:
            better = usual
        for name, dimensions, kind in (
            ("attn_norm", (width,), _F32),
            ("attn_q", (width, width), usual),
            ("attn_k", (width, kv), usual),
            ("attn_v", (width, kv), better),
            ("attn_output", (width, width), usual),
            ("ffn_norm", (width,), _F32),
            ("ffn_gate", (width, shape.feed_forward), usual),
            ("ffn_up", (width, shape.feed_forward), usual),
            ("ffn_down", (shape.feed_forward, width), better),
        ):
            yield f"blk.{layer}.{name}.weight", (dimensions, kind)


def _size(dimensions: tuple[int, ...], kind: int) -> int:
    weights = int(np.prod(dimensions))
    if kind == _F32:
        return 4 * weights
    per_block, block_bytes = _BLOCK[kind]
    return weights // per_block * block_bytes


def _rows(dimensions: tuple[int, ...]) -> Iterator[int]:
    rows = dimensions[1] if len(dimensions) > 1 else 1
    yield from (min(_ROWS, rows - start) for start in range(0, rows, _ROWS))


def _matrix(random: np.random.Generator, columns: int, rows: int, kind: int) -> bytes:
    """Weights with mean 0 and the deviation that keeps activations as large as they are.

    Ones for a norm.
    """
    if kind == _F32:
        return np.ones(columns, dtype=np.float32).tobytes()
    deviation = columns**-0.5
    per_block, block_bytes = _BLOCK[kind]
    blocks: Bytes = random.integers(
        0, 256, (rows * columns // per_block, block_bytes), dtype=np.uint8
    )
    if kind == _Q8_0:  # A scale and 32 weights from -128 to 127
        blocks[:, :2] = _half(deviation / 73.9)
    # Scales of eight groups and of their least weights, all 1, and 256 weights from 0 to 15
    elif kind == _Q4_K:
        blocks[:, :2], blocks[:, 2:4] = (
            _half(deviation / 4.61),
            _half(7.5 * deviation / 4.61),
        )
        blocks[:, 4:12], blocks[:, 12:16] = 1, 0x11
    else:  # 256 weights from -32 to 31, scales of sixteen groups, all 1, and a scale
        blocks[:, 192:208], blocks[:, 208:] = 1, _half(deviation / 18.5)
    return blocks.tobytes()


def _half(value: float) -> Bytes:
    return np.frombuffer(np.float16(value).tobytes(), dtype=np.uint8)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.benchmarks.shapes", description=__doc__.splitlines()[0]
    )
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("quantization", choices=_FILE_TYPES)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    vocabulary = starter_path()
    if vocabulary is None:
        parser.error("install gistread[starter], whose vocabulary is used")
    path = write_shape(
        options.file, SHAPES[options.shape], options.quantization, vocabulary
    )
    print(f"{path}: {path.stat().st_size / 1e9:.2f} GB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
