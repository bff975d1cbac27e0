"""Writes a tiny embedding model: BERT's architecture with random weights.

Its vocabulary has words and letters. What its vectors mean nobody knows, but they are a function of
the text, other for other texts, and llama.cpp makes them as it makes those of any encoder.
"""

import random
import string
from array import array
from pathlib import Path

from tests.tiny_gguf import Tensor, ones, random_matrix, write_gguf

DIMENSION = 32
LAYERS = 2
HEADS = 4
FEED_FORWARD = 64
MAX_TOKENS = 64
"""Of one text, the two around it included."""
WORDS = ("the", "lamp", "sea", "key", "brother", "storm", "house", "and", "of", "was")
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_NORMAL, _CONTROL = 1, 3
_WORD_BEGINS = "▁"
MEAN, CLS = 1, 2


def write_tiny_bert(
    path: Path, seed: int = 1, *, name: str = "Tiny BERT", pooling: int = MEAN
) -> Path:
    """Write the model (about 100 kB) and return its path. `pooling`: as GGUF numbers it."""
    source = random.Random(seed)
    pieces = [*string.ascii_lowercase, *string.digits, *string.punctuation]
    tokens = [
        *_SPECIAL,
        *(_WORD_BEGINS + piece for piece in (*WORDS, *pieces)),
        *pieces,
    ]
    values: dict[str, object] = {
        "general.architecture": "bert",
        "general.name": name,
        "general.file_type": 0,
        "bert.context_length": MAX_TOKENS,
        "bert.embedding_length": DIMENSION,
        "bert.block_count": LAYERS,
        "bert.feed_forward_length": FEED_FORWARD,
        "bert.attention.head_count": HEADS,
        "bert.attention.layer_norm_epsilon": 1e-12,
        "bert.attention.causal": False,
        "bert.pooling_type": pooling,
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [
            _CONTROL if token in _SPECIAL else _NORMAL for token in tokens
        ],
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.unknown_token_id": 1,
        "tokenizer.ggml.cls_token_id": 2,
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.seperator_token_id": 3,
        "tokenizer.ggml.eos_token_id": 3,
        "tokenizer.ggml.mask_token_id": 4,
    }
    return write_gguf(path, values, _tensors(len(tokens), source))


def _tensors(vocabulary: int, source: random.Random) -> dict[str, Tensor]:
    tensors = {
        "token_embd.weight": random_matrix(source, DIMENSION, vocabulary),
        "position_embd.weight": random_matrix(source, DIMENSION, MAX_TOKENS, scale=0.3),
        "token_types.weight": random_matrix(source, DIMENSION, 2, scale=0.3),
        **_norm("token_embd_norm"),
    }
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors |= _linear(source, f"blk.{layer}.{name}", DIMENSION, DIMENSION)
        tensors |= _norm(f"blk.{layer}.attn_output_norm")
        tensors |= _linear(source, f"blk.{layer}.ffn_up", DIMENSION, FEED_FORWARD)
        tensors |= _linear(source, f"blk.{layer}.ffn_down", FEED_FORWARD, DIMENSION)
        tensors |= _norm(f"blk.{layer}.layer_output_norm")
    return tensors


def _linear(
    source: random.Random, name: str, columns: int, rows: int
) -> dict[str, Tensor]:
    return {
        f"{name}.weight": random_matrix(source, columns, rows, scale=1.0),
        f"{name}.bias": _zeros(rows),
    }


def _norm(name: str) -> dict[str, Tensor]:
    return {f"{name}.weight": ones(DIMENSION), f"{name}.bias": _zeros(DIMENSION)}


def _zeros(size: int) -> Tensor:
    return (size,), array("f", [0.0] * size)
