"""Recommends a model of the catalogue for a machine, from estimated sizes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gistread.engine.catalogue import CatalogueEntry
from gistread.engine.llama.fit import (
    DEFAULT_CONTEXT_TOKENS,
    FreeMemory,
    MemoryFit,
    ModelSizes,
    free_memory,
    memory_fit,
)
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.machine import APPLE, available_bytes, gpu_maker, physical_cores
from gistread.engine.protocol import DECODED, SINGLE_PASS_PREFILLED
from gistread.errors import EngineError
from gistread.units import format_size

# Buffers of llama.cpp for a batch of 512 tokens, mostly logits over a vocabulary of 150,000.
_BUFFERS_BYTES = 400_000_000
_PARAMETERS_PER_CORE = 1e9
"""Largest acceptable model per core. SmolLM2 135M reads 320 tokens a second on two cores (86 GFLOP/s), so a model of
1 B parameters per core reads about 20: a novel of 100,000 words in three hours, with its gists."""

_FLOPS_PER_CORE = 43e9  # From the same measurement
_TOKENS_PER_WORD = 1.35  # English prose
_TOKEN_COST = SINGLE_PASS_PREFILLED + DECODED / 0.35  # Of a book, in prompt tokens; decoding is a third as fast

Device = Literal["gpu", "memory", "nowhere"]


@dataclass(frozen=True, slots=True)
class Machine:
    free_bytes: int
    gpu_bytes: int  # Usable memory of graphics cards; 0: none
    cores: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    entry: CatalogueEntry
    reason: str  # A clause for the user


def fit_in(entry: CatalogueEntry, free_bytes: int) -> MemoryFit:
    sizes = ModelSizes(entry.size_bytes, layers=1, cell=entry.kv_bytes_per_token, states=0, scratch=_BUFFERS_BYTES)
    return memory_fit(sizes, entry.context_tokens, free_bytes)


def estimate_fit(entry: CatalogueEntry, machine: Machine) -> tuple[Device, MemoryFit] | None:
    """Where the model fits, the GPU first; None if its size is unknown."""
    if not entry.size_bytes:
        return None
    if (on_gpu := fit_in(entry, machine.gpu_bytes)).enough:
        return "gpu", on_gpu
    in_memory = fit_in(entry, machine.free_bytes)
    return "memory" if in_memory.enough else "nowhere", in_memory


def recommend(entries: Iterable[CatalogueEntry], machine: Machine) -> Recommendation | None:
    """The largest model for GPU or memory and cores, else the fastest that fits; None if none does."""
    texts = [entry for entry in entries if entry.size_bytes]
    on_gpu = [entry for entry in texts if _has_room(entry, machine.gpu_bytes)]
    if on_gpu:
        reason = (
            f"the largest that fits the GPU's {format_size(machine.gpu_bytes)} with a "
            f"{DEFAULT_CONTEXT_TOKENS:,}-token window"
        )
        return Recommendation(max(on_gpu, key=_worth), reason)
    in_memory = [entry for entry in texts if _has_room(entry, machine.free_bytes)]
    if not in_memory:
        return None
    cores = "1 core" if machine.cores == 1 else f"{machine.cores} cores"
    quick = [entry for entry in in_memory if _active(entry) <= machine.cores * _PARAMETERS_PER_CORE]
    if quick:
        reason = f"the largest that fits {format_size(machine.free_bytes)} of free memory and suits {cores}"
        return Recommendation(max(quick, key=_worth), reason)
    reason = f"the quickest; {cores} will need hours for a novel with any of these"
    return Recommendation(min(in_memory, key=_active), reason)


def reading_s(entry: CatalogueEntry, machine: Machine, words: int) -> float:
    """Rough seconds to read a book of so many words on the processor; 0 on a GPU or if unknown."""
    if _has_room(entry, machine.gpu_bytes) or not entry.parameters:
        return 0.0
    tokens_per_s = machine.cores * _FLOPS_PER_CORE / (2 * _active(entry))
    return words * _TOKENS_PER_WORD * _TOKEN_COST / tokens_per_s


def _has_room(entry: CatalogueEntry, free_bytes: int) -> bool:
    """Whether the model fits with the default window: some pages and the gists of a long book."""
    return fit_in(entry, free_bytes).needed_bytes <= free_bytes


def _worth(entry: CatalogueEntry) -> tuple[int, int]:
    return entry.parameters, entry.size_bytes


def _active(entry: CatalogueEntry) -> int:
    return entry.active_parameters or entry.parameters or entry.size_bytes * 2


def this_machine() -> Machine:
    """Describe this machine. Takes a second with a graphics card, because llama.cpp is asked about it."""
    free = _free_memory(bool(gpu_maker()))
    return Machine(free.memory_bytes, free.gpu_bytes or 0, physical_cores())


def free_for_models() -> int:
    """Free bytes for a model whose layers may be split between memory and cards."""
    free = _free_memory(gpu_maker() not in ("", APPLE))  # Apple's cards share the machine's memory.
    return free.memory_bytes if free.shared else free.memory_bytes + (free.gpu_bytes or 0)


def _free_memory(has_cards: bool) -> FreeMemory:
    try:
        gpus = ask_library().gpus if has_cards else ()
    except EngineError:
        gpus = ()
    return free_memory(available_bytes(), gpus)
