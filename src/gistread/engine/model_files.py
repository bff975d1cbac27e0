"""Describes local models from the headers of their files, and whether they can be used."""

from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

from gistread.engine.llama.fit import MemoryFit, ModelSizes, batch_tokens_of, memory_fit, sizes_of
from gistread.engine.llama.gguf import BrokenModelError, GgufHeader, MemoryKind, read_header
from gistread.engine.llama.machine import file_bytes
from gistread.engine.model_search import FoundModel, own_adapter
from gistread.errors import EngineError

_ENCODERS = frozenset({"bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "t5encoder"})
_LEAST_CONTEXT = 256  # Tokens: a page and its gist have to fit


@dataclass(frozen=True, slots=True)
class ModelFile:
    path: Path  # The first file of a model in several
    name: str  # For `--model`: the file's name without suffix, or Ollama's name
    size_bytes: int  # Size of all files
    quantization: str = ""
    architecture: str = ""
    context_length: int | None = None  # In tokens; None if unknown
    parameters: int | None = None
    licence: str = ""
    problem: str = ""  # Why it cannot be used with `--model`, for the user
    has_template: bool = True  # False for base models
    memory: MemoryKind | None = None  # None if unknown
    parts: int = 1  # Number of files
    place: str = ""  # The program whose folder it was found in: `Ollama`, `LM Studio` …
    aliases: tuple[str, ...] = ()  # Other names of the same file, also accepted by `--model`
    sizes: ModelSizes | None = None  # Memory needs; None if unknown
    adapter: Path | None = None  # Its default LoRA adapter

    @property
    def usable(self) -> bool:
        return not self.problem


class Availability(IntEnum):
    """Whether a model can be used now; lists are sorted by it."""

    READY = 0
    TOO_LARGE = 1
    UNUSABLE = 2


def memory_fit_of(model: ModelFile, free_bytes: int) -> MemoryFit | None:
    """Estimate the fit; None if the header does not tell."""
    return memory_fit(model.sizes, model.context_length or 0, free_bytes) if model.sizes else None


def availability_of(model: ModelFile, fit: MemoryFit | None) -> Availability:
    if not model.usable:
        return Availability.UNUSABLE
    return Availability.READY if fit is None or fit.enough else Availability.TOO_LARGE


def describe(found: FoundModel) -> ModelFile:
    """Describe a model from the headers of its files; a broken one gets a `problem`."""
    parts, size_bytes = len(found.parts), sum(map(file_bytes, found.parts))
    plain = ModelFile(found.parts[0], found.name, size_bytes, parts=parts, place=found.place, aliases=found.aliases)
    try:
        for number, part in enumerate(found.parts, 1):
            if parts > 1 and not part.exists():
                raise EngineError(f"part {number} of {parts} is missing")
        headers = [read_header(part, fingerprint=False) for part in found.parts]
    except EngineError as error:
        reason = error.reason if isinstance(error, BrokenModelError) else error.message.rstrip(".")
        return replace(plain, problem=reason, has_template=False)
    first = headers[0]
    parameters = sum(header.parameters for header in headers)
    return replace(
        plain,
        quantization=first.quantization,
        architecture=first.architecture,
        context_length=first.context_length or None,
        parameters=parameters or None,
        licence=first.licence,
        problem=_problem(headers),
        has_template=bool(first.chat_template),
        memory=first.memory.kind if first.layers else None,
        sizes=sizes_of(first, batch_tokens_of(parameters, on_gpu=False), weights=size_bytes),
        adapter=own_adapter(first.path),
    )


def check_writes_text(header: GgufHeader) -> None:
    """Raises EngineError unless the file is a complete model, or a part of one, that writes text."""
    if problem := _problem([header], is_whole=False):
        raise EngineError(f"{header.path.name} cannot be used: {problem}.", "Choose another (`gistread models list`).")


def _problem(headers: list[GgufHeader], *, is_whole: bool = True) -> str:
    """Why these files are no model that writes text; empty if they are one."""
    first, count = headers[0], len(headers)
    if first.contains == "adapter":
        return "it is a LoRA adapter for another model"
    if first.contains == "mmproj" or first.architecture == "clip" or first.name.casefold().startswith("mmproj"):
        return "it is the image projector of another model"
    if first.pooling or first.architecture in _ENCODERS:
        return "it makes embeddings, not text"
    if not first.vocabulary or not first.parameters:
        return "it contains no language model"
    if is_whole and any(header.split_count not in (1, count) for header in headers):
        return f"it has {count} of {first.split_count} files"
    if (is_whole or first.split_count == 1) and (missing := sum(header.missing_bytes for header in headers)):
        return f"it is cut off: {missing:,} bytes are missing"
    if 0 < first.context_length < _LEAST_CONTEXT:
        return f"it was trained for {first.context_length} tokens, too few to read a page"
    return ""
