"""Writes tiny models of the kinds of memory that a language model can have.

They are siblings of the one in `tiny_gguf.py`. Attention over everything, attention of which every
other layer sees the last few tokens alone, a recurrent state instead of attention, and both side by
side. Their weights are random, of scales at which what they write depends on all that they have
read, and they write nothing but printable ASCII.
"""

import random
import re
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tiny_gguf import (
    EMBEDDING,
    FEED_FORWARD,
    HEADS,
    Tensor,
    metadata,
    ones,
    random_matrix,
    write_gguf,
)

SLIDING_WINDOW = 64
"""Tokens that a layer of the sliding-window model sees."""

_WRITTEN = range(ord(" "), ord("~") + 1)
"""Tokens that an answer can have.

No answer ends by itself, and each is text that can be read back exactly.
"""
_SHARPNESS = 2.0
"""Of attention. A sharper one magnifies the differences of half precision from batch to batch."""
_INNER = 2 * EMBEDDING
_STATE = 16
_KERNEL = 4
_STEP_RANK = 8


def write_attention(path: Path, seed: int = 1) -> Path:
    """Llama's architecture: every layer sees everything."""
    layers = 2
    values = _metadata("llama", layers)
    source = random.Random(seed)
    tensors = _frame(source, values)
    for layer in range(layers):
        tensors |= _named(layer, _attention(source) | _feed_forward(source))
    return write_gguf(path, values, tensors)


def write_sliding_window(path: Path, seed: int = 1) -> Path:
    """Gemma 2's architecture.

    A layer that sees a window of 64 tokens, and one that sees everything.
    """
    layers = 2
    values = _metadata(
        "gemma2", layers, **{"gemma2.attention.sliding_window": SLIDING_WINDOW}
    )
    source = random.Random(seed)
    tensors = _frame(source, values, tied=True)
    for layer in range(layers):
        tensors |= _named(layer, _attention(source) | _feed_forward(source))
        # The output matrix is the embedding: unless the layers outweigh it, each token is followed
        # by itself.
        tensors |= _named(
            layer,
            {
                "post_attention_norm": ones(EMBEDDING, 10.0),
                "post_ffw_norm": ones(EMBEDDING, 10.0),
            },
        )
    return write_gguf(path, values, tensors)


def write_recurrent(path: Path, seed: int = 1) -> Path:
    """Mamba: a state of fixed size, and no attention."""
    layers = 2
    values = _metadata("mamba", layers, **_state_space("mamba"))
    source = random.Random(seed)
    tensors = _frame(source, values)
    for layer in range(layers):
        tensors |= _named(layer, _mamba(source))
    return write_gguf(path, values, tensors)


def write_hybrid(path: Path, seed: int = 1) -> Path:
    """Jamba: Mamba's state in two layers, attention in the one between them."""
    heads = [0, HEADS, 0]
    values = _metadata(
        "jamba",
        len(heads),
        **_state_space("jamba"),
        **{"jamba.attention.head_count_kv": heads},
    )
    source = random.Random(seed)
    tensors = _frame(source, values)
    for layer, attends in enumerate(heads):
        mixer = _attention(source) if attends else _mamba(source) | _mamba_norms()
        tensors |= _named(layer, mixer | _feed_forward(source))
    return write_gguf(path, values, tensors)


def _metadata(architecture: str, layers: int, **own: Any) -> dict[str, object]:
    plain = {
        re.sub(r"\Allama\.", f"{architecture}.", key): value
        for key, value in metadata().items()
    }
    return (
        plain
        | {"general.architecture": architecture, f"{architecture}.block_count": layers}
        | own
    )


def _state_space(architecture: str) -> dict[str, object]:
    return {
        f"{architecture}.ssm.conv_kernel": _KERNEL,
        f"{architecture}.ssm.inner_size": _INNER,
        f"{architecture}.ssm.state_size": _STATE,
        f"{architecture}.ssm.time_step_rank": _STEP_RANK,
    }


def _frame(
    source: random.Random, values: dict[str, object], *, tied: bool = False
) -> dict[str, Tensor]:
    """What stands before the first layer and after the last.

    `tied`: the embedding is the output matrix too.
    """
    tokens = values["tokenizer.ggml.tokens"]
    assert isinstance(tokens, list)
    embedding = random_matrix(source, EMBEDDING, len(tokens))
    output = embedding if tied else random_matrix(source, EMBEDDING, len(tokens))
    for token in range(len(tokens)):
        if token not in _WRITTEN:
            output[1][token * EMBEDDING : (token + 1) * EMBEDDING] = array(
                "f", [0.0] * EMBEDDING
            )
    frame = {"token_embd.weight": embedding, "output_norm.weight": ones(EMBEDDING)}
    return frame if tied else frame | {"output.weight": output}


def _named(layer: int, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    def name(short: str) -> str:
        return (
            short if short.endswith((".bias", "ssm_a", "ssm_d")) else f"{short}.weight"
        )

    return {f"blk.{layer}.{name(short)}": tensor for short, tensor in tensors.items()}


def _attention(source: random.Random) -> dict[str, Tensor]:
    return {
        "attn_norm": ones(EMBEDDING),
        "attn_q": random_matrix(source, EMBEDDING, EMBEDDING, scale=_SHARPNESS),
        "attn_k": random_matrix(source, EMBEDDING, EMBEDDING, scale=_SHARPNESS),
        "attn_v": random_matrix(source, EMBEDDING, EMBEDDING),
        "attn_output": random_matrix(source, EMBEDDING, EMBEDDING),
    }


def _feed_forward(source: random.Random) -> dict[str, Tensor]:
    return {
        "ffn_norm": ones(EMBEDDING),
        "ffn_gate": random_matrix(source, EMBEDDING, FEED_FORWARD),
        "ffn_up": random_matrix(source, EMBEDDING, FEED_FORWARD),
        "ffn_down": random_matrix(source, FEED_FORWARD, EMBEDDING),
    }


def _mamba(source: random.Random) -> dict[str, Tensor]:
    decay = [-(1 + index) / 8 for _ in range(_INNER) for index in range(_STATE)]
    # The softplus of the step's bias is how fast a channel forgets: from within a few tokens to
    # within hundreds.
    step = [source.uniform(-5.0, -1.0) for _ in range(_INNER)]
    return {
        "attn_norm": ones(EMBEDDING),
        "ssm_in": random_matrix(source, EMBEDDING, 2 * _INNER),
        "ssm_conv1d": random_matrix(source, _KERNEL, _INNER),
        "ssm_conv1d.bias": ((_INNER,), array("f", [0.0] * _INNER)),
        "ssm_x": random_matrix(source, _INNER, _STEP_RANK + 2 * _STATE),
        "ssm_dt": random_matrix(source, _STEP_RANK, _INNER, scale=0.05),
        "ssm_dt.bias": ((_INNER,), array("f", step)),
        "ssm_a": ((_STATE, _INNER), array("f", decay)),
        "ssm_d": ones(_INNER, 0.3),
        "ssm_out": random_matrix(source, _INNER, EMBEDDING),
    }


def _mamba_norms() -> dict[str, Tensor]:
    return {
        "ssm_dt_norm": ones(_STEP_RANK),
        "ssm_b_norm": ones(_STATE),
        "ssm_c_norm": ones(_STATE),
    }


WRITERS: dict[str, Callable[[Path, int], Path]] = {
    "attention": write_attention,
    "sliding window": write_sliding_window,
    "recurrent": write_recurrent,
    "hybrid": write_hybrid,
}
