"""Which model of the catalogue suits a machine, and why. Pure: numbers in, an entry and words out.

What a model needs is estimated from the catalogue's figures. Whether it is so is known when it is loaded.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gistread.engine.catalogue import CatalogueEntry
from gistread.units import format_size

WINDOW_TOKENS = 8_192
"""The window that a model should have room for: some pages and the gists of a long book."""
_LEAST_WINDOW_TOKENS = 4_096
_BUFFERS_BYTES = 400_000_000
"""llama.cpp's own, for a batch of 512 tokens: most of it are logits over a vocabulary of 150,000."""
_PARAMETERS_PER_CORE = 1e9
"""What one core reads at a bearable pace. SmolLM2 135M takes 320 tokens a second on two cores (86 GFLOP/s), so that a
model of 1 B parameters a core takes some 20: a novel of 100,000 words in two hours."""

Device = Literal["gpu", "memory", "nowhere"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What a model may use."""

    free_bytes: int
    """Memory."""
    gpu_bytes: int
    """Memory of the graphics card that llama.cpp can use here; 0: none."""
    cores: int
    """Physical ones."""


@dataclass(frozen=True, slots=True)
class CatalogueFit:
    """Whether a model fits a machine."""

    place: Device
    context_tokens: int
    """The window that there is room for, at most what it was trained for; 0 where it does not fit, or is not known."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    entry: CatalogueEntry
    reason: str
    """For the person, one sentence."""


def needed_bytes(entry: CatalogueEntry, window_tokens: int = WINDOW_TOKENS) -> int:
    """Memory for the model and this window, or its own where that is smaller; 0 where its size is not known."""
    if not entry.size_bytes:
        return 0
    window = min(window_tokens, entry.context_tokens or window_tokens)
    return entry.size_bytes + window * entry.kv_bytes_per_token + _BUFFERS_BYTES


def estimate_fit(entry: CatalogueEntry, machine: Machine) -> CatalogueFit | None:
    """Where the model fits, the GPU first; None where the catalogue does not say enough to tell."""
    if not entry.size_bytes:
        return None
    places: tuple[tuple[Device, int], ...] = (("gpu", machine.gpu_bytes), ("memory", machine.free_bytes))
    for place, free_bytes in places:
        if needed_bytes(entry, _LEAST_WINDOW_TOKENS) <= free_bytes:
            return CatalogueFit(place, _window(entry, free_bytes))
    return CatalogueFit("nowhere", 0)


def recommend(entries: Iterable[CatalogueEntry], machine: Machine) -> Recommendation | None:
    """The model that writes text and suits this machine best; None where none fits.

    The most parameters win: on the GPU as far as they fit with `WINDOW_TOKENS`, else in memory as far as the cores
    can cope. Where no model is small enough for the cores, the quickest is better than none.
    """
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
