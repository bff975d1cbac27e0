"""The catalogue of models that can be fetched by name, and which of them suits a machine."""

import contextlib
import datetime
import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from gistread.engine.llama.fit import (
    DEFAULT_CONTEXT_TOKENS,
    FreeMemory,
    Gpu,
    MemoryFit,
    ModelSizes,
    free_memory,
    memory_fit,
)
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.machine import (
    APPLE,
    available_bytes,
    gpu_maker,
    physical_cores,
)
from gistread.engine.protocol import DECODED, SINGLE_PASS_PREFILLED
from gistread.errors import EngineError
from gistread.units import counted, format_size


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model file on the hub."""

    name: str  # For `models get`
    repository: str  # `owner/repository` on the hub
    file: str  # Path in the repository; the first of a model in several files
    good_for: str = ""
    revision: str = "main"  # Commit or branch of the repository
    licence: str = ""
    size_bytes: int = 0
    sha256: str = ""  # Hexadecimal digest of the file
    parameters: int = 0
    # Parameters used per token in a mixture of experts; 0: all
    active_parameters: int = 0
    quantization: str = ""
    context_tokens: int = 0  # Context length the model was trained for
    kv_bytes_per_token: int = 0  # For an F16 KV cache
    # Memory of the smallest common machine it suits: 4, 8, 16 or 24
    machine_gb: int = 0


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Models that can be fetched by name."""

    dated: datetime.date
    entries: tuple[CatalogueEntry, ...]
    starter: CatalogueEntry  # Found by name only; not listed

    def find(self, name: str) -> CatalogueEntry | None:
        typed = name.casefold()
        for entry in (*self.entries, self.starter):
            if entry.name.casefold() == typed:
                return entry
        return None

    def similar(self, name: str) -> tuple[str, ...]:
        """Suggestions: names that contain this one, else the most similar."""
        names = [entry.name for entry in self.entries]
        typed = name.casefold()
        containing = [known for known in names if typed in known]
        return tuple(containing or difflib.get_close_matches(typed, names, n=1))


def read_catalogue() -> Catalogue:
    file = resources.files("gistread.engine") / "catalogue.toml"
    document = tomllib.loads(file.read_text("utf-8"))
    entries = tuple(CatalogueEntry(**table) for table in document["model"])
    starter = CatalogueEntry(**document["starter"])
    return Catalogue(document["dated"], entries, starter)


# Buffers of llama.cpp for a batch of 512 tokens, mostly logits over a vocabulary of 150,000.
_BUFFERS_BYTES = 400_000_000
_PARAMETERS_PER_CORE = 1e9
"""Largest acceptable model per core. SmolLM2 135M reads 320 tokens a second on two cores (86
GFLOP/s), so a model of 1 B parameters per core reads about 20: a novel of 100,000 words in three
hours, with its gists.
"""

_FLOPS_PER_CORE = 43e9  # From the same measurement
_TOKENS_PER_WORD = 1.35  # English prose
_DECODING_PACE = 0.35  # Relative to that of evaluating prompts
# Of a book, in prompt tokens
_TOKEN_COST = SINGLE_PASS_PREFILLED + DECODED / _DECODING_PACE


@dataclass(frozen=True, slots=True)
class Machine:
    free_bytes: int
    gpu_bytes: int  # Usable memory of graphics cards; 0: none
    cores: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    entry: CatalogueEntry
    reason: str  # A clause for the user


def estimate_fit(
    entry: CatalogueEntry, machine: Machine
) -> tuple[Literal["gpu", "memory", "nowhere"], MemoryFit]:
    """Where the model fits, the GPU first, and how it fits there; in memory if nowhere."""
    on_gpu = _fit(entry, machine.gpu_bytes)
    if on_gpu.enough:
        return "gpu", on_gpu
    in_memory = _fit(entry, machine.free_bytes)
    if in_memory.enough:
        return "memory", in_memory
    return "nowhere", in_memory


def recommend(
    entries: Sequence[CatalogueEntry], machine: Machine
) -> Recommendation | None:
    """The model to suggest; None if none fits with the default window.

    The window has to hold some pages and the gists of a long book. The first of these that there
    is: the largest model for the GPU, the largest for memory and cores, the quickest for memory.
    """
    on_gpu = [entry for entry in entries if _fits(entry, machine.gpu_bytes)]
    if on_gpu:
        gpu_size = format_size(machine.gpu_bytes)
        window = f"a {DEFAULT_CONTEXT_TOKENS:,}-token window"
        reason = f"the largest that fits the GPU's {gpu_size} with {window}"
        return Recommendation(max(on_gpu, key=_size), reason)
    in_memory = [entry for entry in entries if _fits(entry, machine.free_bytes)]
    if not in_memory:
        return None
    cores = counted(machine.cores, "core")
    most_parameters = machine.cores * _PARAMETERS_PER_CORE
    quick = [entry for entry in in_memory if _active(entry) <= most_parameters]
    if quick:
        free_size = format_size(machine.free_bytes)
        reason = f"the largest that fits {free_size} of free memory and suits {cores}"
        return Recommendation(max(quick, key=_size), reason)
    reason = f"the quickest; {cores} will need hours for a novel with any of these"
    return Recommendation(min(in_memory, key=_active), reason)


def reading_s(entry: CatalogueEntry, machine: Machine, words: int) -> float:
    """Rough seconds to read a book of so many words; 0 on a GPU, where it is not estimated."""
    if _fits(entry, machine.gpu_bytes):
        return 0.0
    tokens = words * _TOKENS_PER_WORD * _TOKEN_COST
    # A multiplication and an addition for each parameter.
    flops_per_token = 2 * _active(entry)
    return tokens * flops_per_token / (machine.cores * _FLOPS_PER_CORE)


def _size(entry: CatalogueEntry) -> tuple[int, int]:
    """The key by which the largest model is found."""
    return entry.parameters, entry.size_bytes


def _active(entry: CatalogueEntry) -> int:
    """Parameters used per token."""
    return entry.active_parameters or entry.parameters


def _fits(entry: CatalogueEntry, free_bytes: int) -> bool:
    """Whether a model fits with the default window; `estimate_fit` accepts a smaller one too."""
    return _fit(entry, free_bytes).needed_bytes <= free_bytes


def _fit(entry: CatalogueEntry, free_bytes: int) -> MemoryFit:
    """How a model fits. Its layers are not split, so one stands for all."""
    sizes = ModelSizes(
        entry.size_bytes,
        layers=1,
        cell=entry.kv_bytes_per_token,
        states=0,
        scratch=_BUFFERS_BYTES,
    )
    return memory_fit(sizes, entry.context_tokens, free_bytes)


def this_machine() -> Machine:
    """Describe this machine.

    Takes a second with a graphics card, because llama.cpp is asked about it.
    """
    free = _free_memory(with_cards=bool(gpu_maker()))
    return Machine(free.memory_bytes, free.gpu_bytes or 0, physical_cores())


def free_for_models() -> int:
    """Free bytes for a model whose layers may be split between memory and cards."""
    # Apple's cards share the machine's memory.
    has_own_memory = gpu_maker() not in ("", APPLE)
    free = _free_memory(with_cards=has_own_memory)
    if free.shared:
        return free.memory_bytes
    return free.memory_bytes + (free.gpu_bytes or 0)


def _free_memory(*, with_cards: bool) -> FreeMemory:
    """Free memory of this machine, and of its cards if llama.cpp can be asked about them."""
    gpus: tuple[Gpu, ...] = ()
    if with_cards:
        with contextlib.suppress(EngineError):
            gpus = ask_library().gpus
    return free_memory(available_bytes(), gpus)
