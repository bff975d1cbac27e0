"""Describes local models in words, for the command line and the screen."""

from gistread.engine.llama.fit import MemoryFit
from gistread.engine.llama.gguf import MemoryKind
from gistread.engine.model_files import ModelFile
from gistread.engine.protocol import Placement
from gistread.units import format_size

_MEMORIES = {
    MemoryKind.SLIDING_WINDOW: "sliding window",
    MemoryKind.RECURRENT: "recurrent: the beginning of a long text fades",
    MemoryKind.HYBRID: "hybrid of attention and recurrent memory",
}


def facts(model: ModelFile) -> list[str]:
    facts = [
        format_size(model.size_bytes),
        "" if model.has_template else "base model, without a chat template",
        model.quantization,
    ]
    if model.parameters:
        facts.append(f"{format_count(model.parameters)} parameters")
    return [fact for fact in facts if fact]


def other_facts(model: ModelFile) -> list[str]:
    facts: list[str] = []
    if model.context_length:
        facts.append(f"trained for {model.context_length:,} tokens")
    if model.memory in _MEMORIES:
        facts.append(_MEMORIES[model.memory])
    facts.append(model.licence)
    if model.parts > 1:
        facts.append(f"{model.parts} files")
    facts.append(model.place)
    if model.aliases:
        facts.append(f"also called {', '.join(model.aliases)}")
    return [fact for fact in facts if fact]


def memory_fit_text(fit: MemoryFit | None, trained_for: int | None) -> str:
    if fit is None:
        return ""
    if not fit.enough:
        return f"too large for now: it needs {format_size(fit.needed_bytes)}, {format_size(fit.free_bytes)} are free"
    if not trained_for:
        return "fits"
    if fit.context_tokens >= trained_for:
        return "fits, with its whole context"
    tokens = fit.context_tokens if fit.context_tokens < 10_000 else fit.context_tokens // 1000 * 1000
    return f"fits, with {tokens:,} tokens of context"


def placement_text(placement: Placement) -> str:
    parts = [
        f"{placement.gpu_layers} of {placement.layers} layers on the graphics card"
        if placement.gpu_layers
        else "on the processor",
        f"{placement.threads} thread{'s' if placement.threads != 1 else ''}",
        f"KV cache for {placement.kv_tokens:,} tokens as {placement.kv_type}",
        f"batches of {placement.batch_tokens}",
    ]
    return " · ".join(parts)


def format_count(count: int) -> str:
    """`135 M`, `4.0 B`, as in model names."""
    return f"{count / 1e9:.1f} B" if count >= 999.5e6 else f"{max(1, round(count / 1e6))} M"
