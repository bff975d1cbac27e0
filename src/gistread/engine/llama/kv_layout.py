"""The memory a model needs: KV cache for every token of attention layers, a fixed state for recurrent ones."""

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


# As classified by llama.cpp (llm_arch_is_recurrent, llm_arch_is_hybrid).
_RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"})
_HYBRID = frozenset(
    {
        *("jamba", "falcon-h1", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe"),
        *("qwen3next", "qwen35", "qwen35moe", "qwen4exp", "kimi-linear", "kimi-k3", "minimax-01", "bailingmoe3"),
        *("deepseek4", "glm5-next"),
    }
)
# Architectures whose files may name a window that llama.cpp ignores.
_WINDOW_UNUSED = frozenset({"llama", "phi3", "phimoe", "qwen2", "qwen2moe", "qwen3", "qwen3moe"})
_INTERVAL = 4  # Every fourth layer of a hybrid attends, unless the file says default
_IN_INTERVALS = frozenset({"qwen3next", "qwen35", "qwen35moe", "qwen4exp"})


@dataclass(frozen=True, slots=True)
class Memory:
    kind: MemoryKind
    kv_bytes_per_token: int  # For an F16 KV cache; 0 if unknown or without one
    state_bytes: int  # Recurrent state of one sequence, as F32


def memory_of(contents: Contents) -> Memory:
    keys = _Keys(contents)
    kind = _kind(keys)
    return Memory(kind, _kv_bytes_per_token(keys, kind), _state_bytes(keys, kind))


class _Keys:
    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.architecture = contents.text("general.architecture")
        # Without draft layers (multi-token prediction), which are not used.
        self.layers = max(0, min(self.number("block_count"), _MOST_LAYERS) - self.number("nextn_predict_layers"))

    def number(self, key: str, default: int = 0) -> int:
        return self.contents.number(f"{self.architecture}.{key}", default)

    def of_layers(self, key: str, default: int = 0) -> tuple[int, ...]:
        return self.contents.of_layers(f"{self.architecture}.{key}", self.layers, default)

    def has(self, key: str) -> bool:
        name = f"{self.architecture}.{key}"
        return name in self.contents.pairs or name in self.contents.arrays

    @property
    def has_state(self) -> bool:
        return any(map(self.number, ("ssm.state_size", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")))


def _kind(keys: _Keys) -> MemoryKind:
    if keys.architecture in _RECURRENT or (keys.has_state and not keys.has("attention.head_count")):
        return MemoryKind.RECURRENT
    if keys.architecture in _HYBRID or keys.has_state:
        return MemoryKind.HYBRID
    if keys.number("attention.sliding_window") and keys.architecture not in _WINDOW_UNUSED:
        return MemoryKind.SLIDING_WINDOW
    return MemoryKind.ATTENTION


def _kv_bytes_per_token(keys: _Keys, kind: MemoryKind) -> int:
    """Sum over the layers with a KV cache; heads, their size and sharing differ by layer."""
    if kind is MemoryKind.RECURRENT:
        return 0
    heads = keys.of_layers("attention.head_count")
    kv_heads = keys.of_layers("attention.head_count_kv", default=-1)
    windowed = keys.of_layers("attention.sliding_window_pattern")
    has_windowed = keys.has("attention.key_length_swa") and len(set(windowed)) > 1
    recurrent = _recurrent_layers(keys, kind)
    # The last layers of some models share the cells of earlier ones.
    own = max(0, keys.layers - keys.number("attention.shared_kv_layers"))
    width = keys.number("embedding_length")
    lengths = keys.number("attention.key_length", -1), keys.number("attention.value_length", -1)
    in_window = keys.number("attention.key_length_swa", -1), keys.number("attention.value_length_swa", -1)
    # Latent attention caches one vector for both, as the key.
    values = 0 if keys.number("attention.key_length_mla") else 1
    numbers = 0
    for layer in range(own):
        if recurrent[layer] and not _is_parallel_hybrid(keys):
            continue
        key, value = in_window if has_windowed and windowed[layer] else lengths
        size = width // heads[layer] if heads[layer] else 0
        each = (key if key >= 0 else size) + values * (value if value >= 0 else size)
        numbers += (kv_heads[layer] if kv_heads[layer] >= 0 else heads[layer]) * each
    return _F16_BYTES * numbers


def _recurrent_layers(keys: _Keys, kind: MemoryKind) -> list[bool]:
    if kind is MemoryKind.RECURRENT:
        return [True] * keys.layers
    if kind is not MemoryKind.HYBRID:
        return [False] * keys.layers
    if keys.has("attention.recurrent_layers"):
        return list(map(bool, keys.of_layers("attention.recurrent_layers")))
    kv_heads = keys.of_layers("attention.head_count_kv", default=1)
    if 0 in kv_heads:
        # Feed-forward layers of Nemotron-H have neither.
        feeds = (
            keys.of_layers("feed_forward_length") if keys.architecture.startswith("nemotron_h") else (0,) * keys.layers
        )
        return [not heads and not width for heads, width in zip(kv_heads, feeds, strict=True)]
    if keys.architecture in _IN_INTERVALS or keys.has("full_attention_interval"):
        interval = keys.number("full_attention_interval", _INTERVAL) or _INTERVAL
        return [(layer + 1) % interval != 0 for layer in range(keys.layers)]
    return [_is_parallel_hybrid(keys)] * keys.layers


def _is_parallel_hybrid(keys: _Keys) -> bool:
    return keys.architecture == "falcon-h1"


def _state_bytes(keys: _Keys, kind: MemoryKind) -> int:
    layers = sum(_recurrent_layers(keys, kind))
    width, kernel = keys.number("embedding_length"), keys.number("ssm.conv_kernel")
    if head := keys.number("wkv.head_size"):
        numbers = keys.number("token_shift_count", 2) * width + head * width
    elif cached := keys.number("shortconv.l_cache"):
        numbers = width * (cached - 1)
    elif head := keys.number("kda.head_dim"):
        heads = max(keys.of_layers("attention.head_count"), default=0)
        numbers = 3 * max(kernel - 1, 0) * heads * head + head * head * heads
    else:
        inner, state = keys.number("ssm.inner_size"), keys.number("ssm.state_size")
        numbers = max(kernel - 1, 0) * (inner + 2 * keys.number("ssm.group_count") * state) + state * inner
    return _F32_BYTES * layers * numbers
