"""Estimates the memory a model needs, from its header, before it is loaded or fetched."""

from dataclasses import dataclass

from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.kv_layout import MemoryKind

KV_BYTES = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
"""Bytes per number in the KV cache, by data type."""
SEQUENCES = 48
"""Sequences in a context, running and cached. They cost no memory of their own..."""
STATES = 6
"""... except in recurrent models, where each has a state."""
_LOGIT_BYTES = 4
_LEAST_VOCABULARY = 32_000
"""Assumed if the header does not say."""


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Memory needs of a model, in bytes."""

    weights: int
    layers: int
    """Number of layers, without the output; at least 1."""
    cell: int
    """Per token in an F16 KV cache of all layers; 0 if unknown or without one."""
    states: int
    """Recurrent states of all sequences."""
    scratch: int
    """Buffers for evaluating a batch, mostly logits."""


def sizes_of(header: GgufHeader, batch_tokens: int, *, weights: int | None = None) -> ModelSizes:
    """Sizes of a model. `weights`: bytes of all its files, if it has several."""
    memory = header.memory
    has_states = memory.kind in (MemoryKind.RECURRENT, MemoryKind.HYBRID)
    sequences = STATES if has_states else SEQUENCES
    return ModelSizes(
        weights=header.file_bytes if weights is None else weights,
        layers=max(1, header.layers),
        cell=memory.kv_bytes_per_token,
        states=memory.state_bytes * sequences,
        scratch=(batch_tokens + sequences) * max(header.vocabulary, _LEAST_VOCABULARY) * _LOGIT_BYTES,
    )


def batch_tokens_of(parameters: int, *, on_gpu: bool) -> int:
    """Batch size in tokens, fixed for a model and a device so that runs are reproducible.

    Larger batches are little faster on a CPU and delay interactive requests.
    """
    if on_gpu:
        return 512
    return 256 if parameters < 1_000_000_000 else 128 if parameters < 5_000_000_000 else 64


def cell_bytes(sizes: ModelSizes, kv_type: str) -> float:
    """Bytes per token in a KV cache of this type."""
    return sizes.cell * KV_BYTES[kv_type] / KV_BYTES["f16"]


def needed_bytes(sizes: ModelSizes, cells: int, kv_type: str = "f16") -> int:
    """Bytes for the model with this many cells."""
    return sizes.weights + sizes.states + sizes.scratch + round(cells * cell_bytes(sizes, kv_type))


def cells_that_fit(sizes: ModelSizes, free_bytes: int, kv_type: str = "f16") -> int | None:
    """Cells that fit; None: any number; 0: not even the weights fit."""
    spare = free_bytes - needed_bytes(sizes, 0)
    if spare < 0:
        return 0
    return int(spare / cell_bytes(sizes, kv_type)) if sizes.cell else None
