"""What is known of a model on this machine, in words for people: the command line and the screen say the same.

Nothing is read and nothing decided here.
"""

from gistread.engine.llama.kv_layout import MemoryKind
from gistread.engine.model_files import MemoryFit, ModelFile
from gistread.engine.model_kinds import WRITING, ModelKind
from gistread.engine.protocol import Placement
from gistread.units import format_size

_KINDS = {
    ModelKind.BASE: "base model, without a chat template",
    ModelKind.EMBEDDINGS: "embedding model",
}
_MEMORIES = {
    MemoryKind.SLIDING_WINDOW: "sliding window",
    MemoryKind.RECURRENT: "recurrent: the beginning of a long text fades",
    MemoryKind.HYBRID: "hybrid of attention and recurrent memory",
}
_ROUND = 1000


def facts(model: ModelFile) -> list[str]:
    """What kind of model it is and how large, the most telling first."""
    told = [format_size(model.size_bytes), _KINDS.get(model.kind, ""), model.quantization]
    if model.parameters:
        told.append(f"{count_words(model.parameters)} parameters")
    return [fact for fact in told if fact]


def other_facts(model: ModelFile) -> list[str]:
    """What else is known of it."""
    told: list[str] = []
    if model.context_length and model.kind in WRITING:
        told.append(f"trained for {model.context_length:,} tokens")
    if model.memory in _MEMORIES and model.kind in WRITING:
        told.append(_MEMORIES[model.memory])
    told.append(model.licence)
    if model.parts > 1:
        told.append(f"{model.parts} files")
    told.append(model.place)
    if model.aliases:
        told.append(f"also called {', '.join(model.aliases)}")
    return [fact for fact in told if fact]


def memory_fit_text(model: ModelFile, fit: MemoryFit | None) -> str:
    """Whether there is room for it, and for how much text beside; empty where that cannot be told."""
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
    """How a model that is loaded lies in this machine."""
    parts = [
        f"{placement.gpu_layers} of {placement.layers} layers on the graphics card"
        if placement.gpu_layers
        else "on the processor",
        f"{placement.threads} thread{'s' if placement.threads != 1 else ''}",
        f"KV cache for {placement.cells:,} tokens as {placement.kv_type}",
        f"batches of {placement.batch_tokens}",
        f"flash attention {'on' if placement.flash_attention else 'off'}",
    ]
    return " · ".join(parts)


def count_words(count: int) -> str:
    """`135 M`, `4.0 B`, as models are named."""
    return f"{count / 1e9:.1f} B" if count >= 999.5e6 else f"{max(1, round(count / 1e6))} M"


def _rounded(tokens: int) -> int:
    """To what people remember, and never to more than there is."""
    return tokens // _ROUND * _ROUND if tokens >= 10 * _ROUND else tokens
