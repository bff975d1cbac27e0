"""Describes models in words, local ones and those to download."""

from pathlib import Path

from gistread.engine.catalogue import CatalogueEntry, Machine, estimate_fit
from gistread.engine.fetching.download import DownloadStep, Progress
from gistread.engine.fetching.plan import Plan, present_bytes
from gistread.engine.llama.fit import MemoryFit
from gistread.engine.llama.gguf import MemoryKind
from gistread.engine.model_search import ModelFile
from gistread.engine.protocol import Placement
from gistread.units import format_duration, format_size

_MEMORIES: dict[MemoryKind | None, str] = {
    MemoryKind.SLIDING_WINDOW: "sliding window",
    MemoryKind.RECURRENT: "recurrent: the beginning of a long text fades",
    MemoryKind.HYBRID: "hybrid of attention and recurrent memory",
}


_FITS = "fits this machine"
_FITS_GPU = "fits the GPU"
_TOO_LARGE = "too large for now"


def facts(model: ModelFile) -> list[str]:
    """Size, quantization and parameters, as far as they are known."""
    known = [format_size(model.size_bytes)]
    if not model.has_template:
        known.append("base model, without a chat template")
    if model.quantization:
        known.append(model.quantization)
    if model.parameters:
        known.append(f"{format_count(model.parameters)} parameters")
    return known


def other_facts(model: ModelFile) -> list[str]:
    """Window, kind of memory, licence, place and aliases, as far as they are known."""
    facts: list[str] = []
    if model.context_length:
        words = words_of(model.context_length)
        facts.append(f"reads up to about {words} words at once")
    facts += [_MEMORIES.get(model.memory, ""), model.licence, model.place]
    if model.aliases:
        facts.append(f"also called {', '.join(model.aliases)}")
    return [fact for fact in facts if fact]


def memory_fit_text(fit: MemoryFit | None, trained_for: int | None) -> str:
    """Whether and how far the model fits; empty if that is unknown.

    `trained_for`: its context length in tokens, if known.
    """
    if fit is None:
        return ""
    if not fit.enough:
        return (
            f"{_TOO_LARGE}: it needs {format_size(fit.needed_bytes)}, "
            f"{format_size(fit.free_bytes)} are free"
        )
    if not trained_for or fit.context_tokens >= trained_for:
        return _FITS
    return f"{_FITS}, about {words_of(fit.context_tokens)} words at once"


def placement_text(placement: Placement) -> str:
    """`on the processor · holds about 6,100 words at once`"""
    if placement.gpu_layers:
        layers = f"{placement.gpu_layers} of {placement.layers} layers"
        where = f"{layers} on the graphics card"
    else:
        where = "on the processor"
    return f"{where} · holds about {words_of(placement.kv_tokens)} words at once"


_WORDS_PER_TOKEN = 0.75  # Of English
_ROUNDED_FROM = 1000  # From this number of words on, rounded to hundreds
_BILLION_IN_MILLIONS = 1000
_WHOLE_MEGABYTES = 9.5  # From this rate on, written without a decimal


def words_of(tokens: float) -> str:
    """About how many English words these tokens make: `6,100`."""
    words = round(tokens * _WORDS_PER_TOKEN)
    if words >= _ROUNDED_FROM:
        words = round(words, -2)
    return f"{words:,}"


def format_count(count: int) -> str:
    """`135 M`, `4.0 B`, as in model names."""
    millions = round(count / 1e6)
    if millions >= _BILLION_IN_MILLIONS:
        return f"{count / 1e9:.1f} B"
    return f"{max(1, millions)} M"


_CHECKSUM_SOURCES = {"catalogue": "the catalogue's", "hub": "what the hub says it is"}


def entry_facts(entry: CatalogueEntry) -> list[str]:
    """Size, quantization, parameters and licence, in this order."""
    if entry.active_parameters:
        active = f", {format_count(entry.active_parameters)} of them a token"
    else:
        active = ""
    parameters = f"{format_count(entry.parameters)} parameters{active}"
    return [
        format_size(entry.size_bytes),
        entry.quantization,
        parameters,
        entry.licence,
    ]


def fit_text(entry: CatalogueEntry, machine: Machine) -> str:
    """Whether and where a model to download fits, and if nowhere, which machine it is for."""
    place, fit = estimate_fit(entry, machine)
    text = memory_fit_text(fit, entry.context_tokens)
    if place == "nowhere" and entry.machine_gb:
        return f"{text}; for machines of {entry.machine_gb} GB"
    if place == "gpu":
        return text.replace(_FITS, _FITS_GPU, 1)
    return text


def fit_verdict(entry: CatalogueEntry, machine: Machine) -> str:
    """Whether the model fits, in a few words: `fits the GPU`, `too large for now`."""
    place, fit = estimate_fit(entry, machine)
    if not fit.enough:
        return _TOO_LARGE
    return _FITS_GPU if place == "gpu" else _FITS


def plan_lines(plan: Plan, folder: Path) -> list[str]:
    """What a download takes, from where and to where, a line each."""
    size = format_size(plan.file.size_bytes)
    if begun_bytes := present_bytes(plan, folder):
        size += f", of which {format_size(begun_bytes)} are here"
    return [
        f"size      {size}",
        f"licence   {plan.licence or 'not stated'}, see {plan.page}",
        f"from      {plan.host}",
        f"to        {folder}",
        f"checksum  {_CHECKSUM_SOURCES[plan.checksum_source]}",
    ]


def progress_text(progress: Progress) -> str:
    """`1.2 GB of 2.5 GB · 31 MB/s · 42 s left`"""
    done = format_size(progress.done_bytes)
    parts = [f"{done} of {format_size(progress.total_bytes)}"]
    if progress.step is DownloadStep.CHECKING:
        parts.append("verifying the file")
    elif progress.step is DownloadStep.WAITING:
        parts.append(progress.notice)
    elif progress.bytes_per_s:
        megabytes = progress.bytes_per_s / 1e6
        decimals = 0 if megabytes >= _WHOLE_MEGABYTES else 1
        parts.append(f"{megabytes:.{decimals}f} MB/s")
        left_bytes = progress.total_bytes - progress.done_bytes
        parts.append(f"{format_duration(left_bytes / progress.bytes_per_s)} left")
    return " · ".join(parts)


def share_of(progress: Progress) -> float:
    """The share of the bytes that are done, from 0 to 1."""
    return min(1.0, progress.done_bytes / progress.total_bytes)
