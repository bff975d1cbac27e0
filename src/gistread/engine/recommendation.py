"""Recommends a model of the catalogue for a machine, from estimated sizes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gistread.engine.catalogue import CatalogueEntry
from gistread.engine.llama.fit import FreeMemory, free_memory
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.machine import APPLE, available_bytes, gpu_maker, physical_cores
from gistread.errors import EngineError
from gistread.units import format_size

WINDOW_TOKENS = 8_192  # Window that a recommended model must have memory for: some pages and the gists of a long book
_LEAST_WINDOW_TOKENS = 4_096
# Buffers of llama.cpp for a batch of 512 tokens, mostly logits over a vocabulary of 150,000.
_BUFFERS_BYTES = 400_000_000
_PARAMETERS_PER_CORE = 1e9
"""Largest acceptable model per core. SmolLM2 135M reads 320 tokens a second on two cores (86 GFLOP/s), so a model of
1 B parameters per core reads about 20: a novel of 100,000 words in two hours."""

Device = Literal["gpu", "memory", "nowhere"]


@dataclass(frozen=True, slots=True)
class Machine:
    free_bytes: int
    gpu_bytes: int  # Usable memory of graphics cards; 0: none
    cores: int


@dataclass(frozen=True, slots=True)
class CatalogueFit:
    place: Device
    context_tokens: int  # Largest window that fits; 0 if none does or it is unknown


@dataclass(frozen=True, slots=True)
class Recommendation:
    entry: CatalogueEntry
    reason: str  # A clause for the person


def needed_bytes(entry: CatalogueEntry, window_tokens: int = WINDOW_TOKENS) -> int:
    """Memory for the model with this window, or its own if smaller; 0 if its size is unknown."""
    if not entry.size_bytes:
        return 0
    window = min(window_tokens, entry.context_tokens or window_tokens)
    return entry.size_bytes + window * entry.kv_bytes_per_token + _BUFFERS_BYTES


def estimate_fit(entry: CatalogueEntry, machine: Machine) -> CatalogueFit | None:
    """Where the model fits, the GPU first; None if its size is unknown."""
    if not entry.size_bytes:
        return None
    places: tuple[tuple[Device, int], ...] = (("gpu", machine.gpu_bytes), ("memory", machine.free_bytes))
    for place, free_bytes in places:
        if needed_bytes(entry, _LEAST_WINDOW_TOKENS) <= free_bytes:
            return CatalogueFit(place, _window(entry, free_bytes))
    return CatalogueFit("nowhere", 0)


def recommend(entries: Iterable[CatalogueEntry], machine: Machine) -> Recommendation | None:
    """The largest model for GPU or memory and cores, else the fastest that fits; None if none does."""
    texts = [entry for entry in entries if entry.kind == "text" and entry.size_bytes]
    on_gpu = [entry for entry in texts if needed_bytes(entry) <= machine.gpu_bytes]
    if on_gpu:
        reason = (
            f"the largest that fits the GPU's {format_size(machine.gpu_bytes)} with a {WINDOW_TOKENS:,}-token window"
        )
        return Recommendation(max(on_gpu, key=_worth), reason)
    in_memory = [entry for entry in texts if needed_bytes(entry) <= machine.free_bytes]
    if not in_memory:
        return None
    cores = "1 core" if machine.cores == 1 else f"{machine.cores} cores"
    quick = [entry for entry in in_memory if _active(entry) <= machine.cores * _PARAMETERS_PER_CORE]
    if quick:
        reason = f"the largest that fits {format_size(machine.free_bytes)} of free memory and suits {cores}"
        return Recommendation(max(quick, key=_worth), reason)
    reason = f"the quickest; {cores} will need hours for a novel with any of these"
    return Recommendation(min(in_memory, key=_active), reason)


def _worth(entry: CatalogueEntry) -> tuple[int, int]:
    return entry.parameters, entry.size_bytes


def _active(entry: CatalogueEntry) -> int:
    return entry.active_parameters or entry.parameters or entry.size_bytes * 2


def _window(entry: CatalogueEntry, free_bytes: int) -> int:
    if not entry.kv_bytes_per_token:
        return entry.context_tokens
    tokens = (free_bytes - needed_bytes(entry, 0)) // entry.kv_bytes_per_token
    return min(tokens // 1024 * 1024, entry.context_tokens or tokens)


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
