"""The memory a model needs, at most: KV cache for every token of attention layers, a fixed state for recurrent ones."""

from dataclasses import dataclass
from enum import StrEnum

from gistread.engine.llama.gguf_contents import Contents

_F16_BYTES, _F32_BYTES = 2, 4
_MOST_LAYERS = 4096


class MemoryKind(StrEnum):
    """The value is for people."""

    ATTENTION = "attention"
    SLIDING_WINDOW = "sliding window"  # Some layers see only the last few thousand tokens
    RECURRENT = "recurrent"  # No attention: the beginning of a long text fades
    HYBRID = "hybrid"  # Attention in some layers, recurrence in others


# Architectures whose files may name a window that llama.cpp ignores.
_WINDOW_UNUSED = frozenset({"llama", "phi3", "phimoe", "qwen2", "qwen2moe", "qwen3", "qwen3moe"})
_RECURRENT = ("mamba", "rwkv", "arwkv")
_STATE_KEYS = ("ssm.state_size", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")
_QWEN_INTERVAL = 4  # Every fourth layer of Qwen's hybrids attends, unless the file says otherwise


@dataclass(frozen=True, slots=True)
class Memory:
    kind: MemoryKind
    kv_bytes_per_token: int  # For an F16 KV cache; 0 if unknown or without one
    state_bytes: int  # Recurrent state of one sequence, as F32


def memory_of(contents: Contents) -> Memory:
    architecture = contents.text("general.architecture")

    def number(key: str, default: int = 0) -> int:
        return contents.number(f"{architecture}.{key}", default)

    layers = min(number("block_count"), _MOST_LAYERS)
    heads = contents.of_layers(f"{architecture}.attention.head_count", layers)
    kv_heads = contents.of_layers(f"{architecture}.attention.head_count_kv", layers, default=-1)
    width = number("embedding_length")
    if any(map(number, _STATE_KEYS)):
        attends = any(heads) and not architecture.startswith(_RECURRENT)
        kind = MemoryKind.HYBRID if attends else MemoryKind.RECURRENT
    elif number("attention.sliding_window") and architecture not in _WINDOW_UNUSED:
        kind = MemoryKind.SLIDING_WINDOW
    else:
        kind = MemoryKind.ATTENTION
    every = number("full_attention_interval", _QWEN_INTERVAL if architecture.startswith(("qwen35", "qwen3next")) else 1)
    numbers = 0
    for layer in () if kind is MemoryKind.RECURRENT else range(max(1, every) - 1, layers, max(1, every)):
        size = width // heads[layer] if heads[layer] else 0
        each = number("attention.key_length", size) + number("attention.value_length", size)
        numbers += each * (kv_heads[layer] if kv_heads[layer] >= 0 else heads[layer])
    state = 0
    if kind in (MemoryKind.RECURRENT, MemoryKind.HYBRID):
        inner, groups = number("ssm.inner_size"), number("ssm.group_count")
        state = max(0, number("ssm.conv_kernel") - 1) * (inner + 2 * groups * number("ssm.state_size"))
        state += number("ssm.state_size") * inner + width * (number("wkv.head_size") + 2)
    return Memory(kind, _F16_BYTES * numbers, _F32_BYTES * layers * state)
