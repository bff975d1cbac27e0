"""Describes local models in words, for the command line and the screen."""

from gistread.engine.llama.kv_layout import MemoryKind
from gistread.engine.model_files import MemoryFit, ModelFile
from gistread.engine.model_kinds import WRITING, ModelKind
from gistread.engine.protocol import Placement
from gistread.units import format_size

_KINDS = {ModelKind.BASE: "base model, without a chat template", ModelKind.EMBEDDINGS: "embedding model"}
_MEMORIES = {
    MemoryKind.SLIDING_WINDOW: "sliding window",
    MemoryKind.RECURRENT: "recurrent: the beginning of a long text fades",
    MemoryKind.HYBRID: "hybrid of attention and recurrent memory",
}
_ROUND = 1000


def facts(model: ModelFile) -> list[str]:
    facts = [format_size(model.size_bytes), _KINDS.get(model.kind, ""), model.quantization]
    if model.parameters:
        facts.append(f"{format_count(model.parameters)} parameters")
    return [fact for fact in facts if fact]


def other_facts(model: ModelFile) -> list[str]:
    facts: list[str] = []
    if model.context_length and model.kind in WRITING:
        facts.append(f"trained for {model.context_length:,} tokens")
    if model.memory in _MEMORIES and model.kind in WRITING:
        facts.append(_MEMORIES[model.memory])
    facts.append(model.licence)
    if model.parts > 1:
        facts.append(f"{model.parts} files")
    facts.append(model.place)
    if model.aliases:
        facts.append(f"also called {', '.join(model.aliases)}")
    return [fact for fact in facts if fact]


def memory_fit_text(model: ModelFile, fit: MemoryFit | None) -> str:
    if fit is None:
        return ""
    if not fit.enough:
        return f"too large for now: it needs {format_size(fit.needed_bytes)}, {format_size(fit.free_bytes)} are free"
    if model.context_length is None:
        return "fits"
    if fit.context_tokens >= model.context_length:
        return "fits, with its whole context"
    return f"fits, with {_rounded(fit.context_tokens):,} tokens of context"


def placement_text(placement: Placement) -> str:
    parts = [
        f"{placement.gpu_layers} of {placement.layers} layers on the graphics card"
        if placement.gpu_layers
        else "on the processor",
        f"{placement.threads} thread{'s' if placement.threads != 1 else ''}",
        f"KV cache for {placement.kv_tokens:,} tokens as {placement.kv_type}",
        f"batches of {placement.batch_tokens}",
        f"flash attention {'on' if placement.flash_attention else 'off'}",
    ]
    return " · ".join(parts)


def format_count(count: int) -> str:
    """`135 M`, `4.0 B`, as in model names."""
    return f"{count / 1e9:.1f} B" if count >= 999.5e6 else f"{max(1, round(count / 1e6))} M"


def _rounded(tokens: int) -> int:
    return tokens // _ROUND * _ROUND if tokens >= 10 * _ROUND else tokens
