"""Writes a tiny model file: a real llama architecture with random weights.

It is a second's work for llama.cpp. It says nothing sensible, but it loads, tokenises, evaluates
and samples like any other. Bytes are its tokens, so counts can be known by hand. Variants are made
by changing the metadata.
"""

import random
import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EMBEDDING = 64
FEED_FORWARD = 128
LAYERS = 2
HEADS = 4
CONTEXT_LENGTH = 4096
CONTROL_TOKENS = ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>")

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% "
    "endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

Tensor = tuple[tuple[int, ...], "array[float]"]
"""Shape, fastest dimension first, and values."""

_ALIGNMENT = 32
_F32 = 0  # GGML's number of the type
_END = 256
"""The first of the control tokens, behind the bytes."""
_BRIEF = 8.0
_RANK = 4  # Of the adapter
_NORMAL, _CONTROL = 1, 3


def byte_tokens() -> list[str]:
    """Printable stand-ins of the 256 bytes, in order, as byte-level BPE vocabularies have them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    stand_ins, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            stand_ins[byte] = chr(byte)
        else:
            stand_ins[byte] = chr(256 + extra)
            extra += 1
    return [stand_ins[byte] for byte in range(256)]


def metadata(**changes: Any) -> dict[str, object]:
    """Of the tiny model; a change to None leaves a key out.

    Dots in keys are written as two underscores.
    """
    tokens = [*byte_tokens(), *CONTROL_TOKENS, "th"]
    values: dict[str, object] = {
        "general.architecture": "llama",
        "general.name": "Tiny",
        "general.license": "cc0-1.0",
        "general.file_type": 0,
        "llama.context_length": CONTEXT_LENGTH,
        "llama.embedding_length": EMBEDDING,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": EMBEDDING // HEADS,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [
            _CONTROL if token in CONTROL_TOKENS else _NORMAL for token in tokens
        ],
        "tokenizer.ggml.merges": ["t h"],
        "tokenizer.ggml.eos_token_id": _END,
        "tokenizer.ggml.bos_token_id": _END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }
    values.update({key.replace("__", "."): value for key, value in changes.items()})
    return {key: value for key, value in values.items() if value is not None}


def write_tiny_gguf(
    path: Path,
    seed: int = 1,
    layers: int = LAYERS,
    *,
    brief: bool = False,
    **changes: Any,
) -> Path:
    """Write the model (about 400 kB) and return its path.

    Further layers repeat the first two. A `brief` model ends its answers after a few words: at each
    word, the end is likelier than any other token half of the time.
    """
    values = metadata(**{"llama__block_count": layers, **changes})
    vocabulary = values["tokenizer.ggml.tokens"]
    assert isinstance(vocabulary, list)
    tensors = _tensors(len(vocabulary), random.Random(seed), layers)
    if brief:
        end = slice(_END * EMBEDDING, (_END + 1) * EMBEDDING)
        weights = tensors["output.weight"][1]
        weights[end] = array("f", [_BRIEF * weight for weight in weights[end]])
    return write_gguf(path, values, tensors)


def write_tiny_adapter(path: Path, architecture: str = "llama") -> Path:
    """A LoRA adapter of rank 4 for two layers of the tiny model."""
    source = random.Random(5)
    tensors = {}
    for name, into, out in (
        ("blk.0.attn_q", EMBEDDING, EMBEDDING),
        ("blk.1.ffn_down", FEED_FORWARD, EMBEDDING),
    ):
        tensors[f"{name}.weight.lora_a"] = random_matrix(source, into, _RANK)
        tensors[f"{name}.weight.lora_b"] = random_matrix(source, _RANK, out)
    values = {
        "general.architecture": architecture,
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": 8.0,
    }
    return write_gguf(path, values, tensors)


def write_gguf(
    path: Path, values: Mapping[str, object], tensors: Mapping[str, Tensor]
) -> Path:
    """Write a GGUF file (version 3, all tensors F32) and return its path."""
    data = {name: floats.tobytes() for name, (_, floats) in tensors.items()}
    described = {
        name: TensorInfo(shape, _F32, len(data[name]))
        for name, (shape, _) in tensors.items()
    }
    path.write_bytes(
        write_header(values, described) + b"".join(map(_aligned, data.values()))
    )
    return path


@dataclass(frozen=True, slots=True)
class TensorInfo:
    shape: tuple[int, ...]
    kind: int  # GGML's number
    size_bytes: int


def write_header(
    values: Mapping[str, object], tensors: Mapping[str, TensorInfo]
) -> bytes:
    """What stands before the data of these tensors, which follow aligned."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    head += b"".join(_string(key) + _value(value) for key, value in values.items())
    offset = 0
    for name, tensor in tensors.items():
        shape = tensor.shape
        head += _string(name)
        head += struct.pack(
            f"<I{len(shape)}QIQ", len(shape), *shape, tensor.kind, offset
        )
        offset += tensor.size_bytes + -tensor.size_bytes % _ALIGNMENT
    return _aligned(head)


def random_matrix(
    source: random.Random, columns: int, rows: int, scale: float = 3.0
) -> Tensor:
    """Normally distributed: `scale` is the deviation of an output whose inputs deviate by one."""
    deviation = scale / columns**0.5
    return (columns, rows), array(
        "f", (source.gauss(0, deviation) for _ in range(columns * rows))
    )


def ones(size: int, factor: float = 1.0) -> Tensor:
    """The weights of a norm that does nothing more than that, or multiplies by `factor`."""
    return (size,), array("f", [factor] * size)


def _tensors(vocabulary: int, source: random.Random, layers: int) -> dict[str, Tensor]:
    def matrix(columns: int, rows: int) -> Tensor:
        return random_matrix(source, columns, rows)

    tensors = {
        "token_embd.weight": matrix(EMBEDDING, vocabulary),
        "output_norm.weight": ones(EMBEDDING),
        "output.weight": matrix(EMBEDDING, vocabulary),
    }
    for layer in range(min(layers, LAYERS)):
        tensors |= {
            f"blk.{layer}.attn_norm.weight": ones(EMBEDDING),
            f"blk.{layer}.attn_q.weight": matrix(EMBEDDING, EMBEDDING),
            f"blk.{layer}.attn_k.weight": matrix(EMBEDDING, EMBEDDING),
            f"blk.{layer}.attn_v.weight": matrix(EMBEDDING, EMBEDDING),
            f"blk.{layer}.attn_output.weight": matrix(EMBEDDING, EMBEDDING),
            f"blk.{layer}.ffn_norm.weight": ones(EMBEDDING),
            f"blk.{layer}.ffn_gate.weight": matrix(EMBEDDING, FEED_FORWARD),
            f"blk.{layer}.ffn_up.weight": matrix(EMBEDDING, FEED_FORWARD),
            f"blk.{layer}.ffn_down.weight": matrix(FEED_FORWARD, EMBEDDING),
        }
    for layer in range(LAYERS, layers):
        alike = f"blk.{layer % LAYERS}."
        tensors |= {
            name.replace(alike, f"blk.{layer}."): tensors[name]
            for name in list(tensors)
            if name.startswith(alike)
        }
    return tensors


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: object) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + _string(value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(
                _string(str(item)) for item in value
            )
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    raise TypeError(value)


def _aligned(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNMENT)
