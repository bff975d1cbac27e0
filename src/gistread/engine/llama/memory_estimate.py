"""What a model takes of the memory of a machine, by its header: before it is loaded, and before it is fetched.

Pure: a header in, bytes out. The list of models and the loading ask the same functions, so that what is said to fit is
loaded. Where in a machine the bytes lie, this does not know.
"""

from dataclasses import dataclass

from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.kv_layout import MemoryKind

KV_BYTES = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
"""Bytes of a number in the KV cache, by what it is kept as."""
SEQUENCES = 48
"""Running, and kept for requests that begin the same. A sequence costs no memory of its own..."""
STATES = 6
"""... but in recurrent models, where each has a state."""
_LOGIT_BYTES = 4
_LEAST_VOCABULARY = 32_000
"""Where the header does not say: the smallest that is usual."""


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """What a model takes, in bytes."""

    weights: int
    layers: int
    """Not bytes: the number of layers, without the output; 1 at least."""
    cell: int
    """Of a token in an F16 KV cache of all layers; 0: not known, or nothing is kept of a token."""
    states: int
    """Of the recurrent layers' states, for all sequences."""
    scratch: int
    """What evaluating a batch takes beside. The logits of its tokens are most."""


def sizes_of(header: GgufHeader, batch_tokens: int, *, weights: int | None = None) -> ModelSizes:
    """By the header of a model. `weights`: bytes of all its files, where it has several."""
    memory = header.memory
    keeps_states = memory.kind in (MemoryKind.RECURRENT, MemoryKind.HYBRID)
    sequences = STATES if keeps_states else SEQUENCES
    return ModelSizes(
        weights=header.file_bytes if weights is None else weights,
        layers=max(1, header.layers),
        cell=memory.kv_bytes_per_token,
        states=memory.state_bytes * sequences,
        scratch=(batch_tokens + sequences) * max(header.vocabulary, _LEAST_VOCABULARY) * _LOGIT_BYTES,
    )


def batch_tokens_of(parameters: int, *, on_gpu: bool) -> int:
    """Tokens evaluated at once. Fixed for a model and a device, so that a run can be repeated exactly.

    Larger is little faster on a CPU, and a status line or a waiting person sees nothing meanwhile.
    """
    if on_gpu:
        return 512
    return 256 if parameters < 1_000_000_000 else 128 if parameters < 5_000_000_000 else 64


def cell_bytes(sizes: ModelSizes, kv_type: str) -> float:
    """Of one token in a KV cache of this type, a key of `KV_BYTES`."""
    return sizes.cell * KV_BYTES[kv_type] / KV_BYTES["f16"]


def needed_bytes(sizes: ModelSizes, cells: int, kv_type: str = "f16") -> int:
    """For the model with so many tokens in its KV cache."""
    return sizes.weights + sizes.states + sizes.scratch + round(cells * cell_bytes(sizes, kv_type))


def cells_that_fit(sizes: ModelSizes, free_bytes: int, kv_type: str = "f16") -> int | None:
    """Tokens in the KV cache for which these bytes do; None: any number; 0: not even the weights have room."""
    spare = free_bytes - needed_bytes(sizes, 0)
    if spare < 0:
        return 0
    return int(spare / cell_bytes(sizes, kv_type)) if sizes.cell else None
