"""Describes local models from the headers of their files, and whether they can be used."""

from dataclasses import replace
from enum import IntEnum

from gistread.engine.llama.fit import MemoryFit, batch_tokens_of, memory_fit, sizes_of
from gistread.engine.llama.gguf import BrokenModelError, GgufHeader, read_header
from gistread.engine.model_search import ModelFile, own_adapter
from gistread.errors import EngineError

_ENCODERS = frozenset(
    {"bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "t5encoder"}
)
_LEAST_CONTEXT = 256  # Tokens: a page and its gist have to fit


class Availability(IntEnum):
    """Whether a model can be used now; lists are sorted by it."""

    READY = 0
    TOO_LARGE = 1
    UNUSABLE = 2


def memory_fit_of(model: ModelFile, free_bytes: int) -> MemoryFit | None:
    """Estimate the fit; None if the sizes are unknown."""
    if not model.sizes:
        return None
    return memory_fit(model.sizes, model.context_length or 0, free_bytes)


def availability_of(model: ModelFile, fit: MemoryFit | None) -> Availability:
    if not model.usable:
        return Availability.UNUSABLE
    if fit is not None and not fit.enough:
        return Availability.TOO_LARGE
    return Availability.READY


def describe(model: ModelFile) -> ModelFile:
    """Add what the file's header contains; a broken model gets a `problem`."""
    try:
        header = read_header(model.path, fingerprint=False)
    except EngineError as error:
        if isinstance(error, BrokenModelError):
            reason = error.reason
        else:
            reason = error.message.rstrip(".")
        return replace(model, problem=reason, has_template=False)
    batch_tokens = batch_tokens_of(header.parameters, on_gpu=False)
    return replace(
        model,
        quantization=header.quantization,
        architecture=header.architecture,
        context_length=header.context_length or None,
        parameters=header.parameters or None,
        licence=header.licence,
        problem=_problem(header),
        has_template=bool(header.chat_template),
        memory=header.memory.kind if header.layers else None,
        sizes=sizes_of(header, batch_tokens),
        adapter=own_adapter(header.path),
    )


def check_writes_text(header: GgufHeader) -> None:
    """Raises EngineError unless the file is a complete model that writes text."""
    if problem := _problem(header):
        raise EngineError(
            f"{header.path.name} cannot be used: {problem}.",
            "Choose another (`gistread models list`).",
        )


def _problem(header: GgufHeader) -> str:
    """Why this is not a complete model that writes text; empty if it is one."""
    if header.contains == "adapter":
        return "it is a LoRA adapter for another model"
    is_named_projector = header.name.casefold().startswith("mmproj")
    if (
        header.contains == "mmproj"
        or header.architecture == "clip"
        or is_named_projector
    ):
        return "it is the image projector of another model"
    if header.split_count > 1:
        return f"it is one of {header.split_count} files; `llama-gguf-split --merge` makes them one"
    if header.pooling or header.architecture in _ENCODERS:
        return "it makes embeddings, not text"
    if not header.vocabulary or not header.parameters:
        return "it contains no language model"
    if header.missing_bytes:
        return f"it is cut off: {header.missing_bytes:,} bytes are missing"
    tokens = header.context_length
    if 0 < tokens < _LEAST_CONTEXT:
        return f"it was trained for {tokens} tokens, too few to read a page"
    return ""
