"""Describes local models from the headers of their files, and whether they can be used."""

from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

from gistread.engine.llama.fit import (
    DEFAULT_CONTEXT_TOKENS,
    LEAST_WINDOW,
    ModelSizes,
    batch_tokens_of,
    cells_that_fit,
    needed_bytes,
    sizes_of,
)
from gistread.engine.llama.gguf import BrokenModelError, GgufHeader, read_header
from gistread.engine.llama.kv_layout import MemoryKind
from gistread.engine.llama.library import supports_architecture
from gistread.engine.llama.machine import file_bytes
from gistread.engine.model_kinds import WRITING, ModelKind, kind_of
from gistread.engine.model_search import FoundModel, own_adapter
from gistread.errors import EngineError


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
    usable: bool = False  # Whether it writes text and can be used with `--model`
    problem: str = ""  # Why it is not usable, for the person
    kind: ModelKind = ModelKind.TEXT
    has_template: bool = True  # False for base models
    memory: MemoryKind | None = None  # None if unknown
    parts: int = 1  # Number of files
    place: str = ""  # The program whose folder it was found in: `Ollama`, `LM Studio` …
    aliases: tuple[str, ...] = ()  # Other names of the same file, also accepted by `--model`
    sizes: ModelSizes | None = None  # Memory needs; None if unknown
    adapter: Path | None = None  # Its default LoRA adapter

    @property
    def embeds(self) -> bool:
        return self.kind is ModelKind.EMBEDDINGS


class Availability(IntEnum):
    """Whether a model can be used now; lists are sorted by it."""

    READY = 0
    TOO_LARGE = 1
    EMBEDDINGS = 2
    UNUSABLE = 3


@dataclass(frozen=True, slots=True)
class MemoryFit:
    context_tokens: int  # Largest window that fits, at most the model's context length; 0: not even the weights fit
    needed_bytes: int  # With the default window
    free_bytes: int
    enough: bool  # Whether that window is large enough to be useful


def memory_fit_of(model: ModelFile, free_bytes: int) -> MemoryFit | None:
    """Estimate the fit; None if the header does not tell."""
    if model.sizes is None:
        return None
    trained = model.context_length or DEFAULT_CONTEXT_TOKENS
    needed = needed_bytes(model.sizes, min(DEFAULT_CONTEXT_TOKENS, trained))
    cells = cells_that_fit(model.sizes, free_bytes)
    context = trained if cells is None else min(cells, trained)
    return MemoryFit(context, needed, free_bytes, enough=context >= min(LEAST_WINDOW, trained))


def availability_of(model: ModelFile, fit: MemoryFit | None) -> Availability:
    if model.embeds:
        return Availability.EMBEDDINGS
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
        return replace(plain, problem=reason, kind=ModelKind.BROKEN, has_template=False)
    first = headers[0]
    kind, problem = _kind(headers, found.name)
    parameters = sum(header.parameters for header in headers)
    return replace(
        plain,
        quantization=first.quantization,
        architecture=first.architecture,
        context_length=first.context_length or None,
        parameters=parameters or None,
        licence=first.licence,
        usable=kind in WRITING,
        problem=problem,
        kind=kind,
        has_template=bool(first.chat_template),
        memory=first.memory.kind if first.layers else None,
        sizes=sizes_of(first, batch_tokens_of(parameters, on_gpu=False), weights=size_bytes),
        adapter=own_adapter(first.path),
    )


def _kind(headers: list[GgufHeader], name: str) -> tuple[ModelKind, str]:
    first, count = headers[0], len(headers)
    if count == 1 and first.split_count > 1:
        number = f"part {first.split_number} of {first.split_count}"
        return ModelKind.PART, f"it is {number} of a model, but not named like one"
    if any(header.split_count not in (1, count) for header in headers):
        return ModelKind.BROKEN, f"it has {count} files, but according to them {first.split_count}"
    kind, problem = kind_of(first, name)
    if missing := sum(header.missing_bytes for header in headers):
        return ModelKind.BROKEN, f"it is cut off: {missing:,} bytes are missing"
    if not problem and not supports_architecture(first.architecture):
        return ModelKind.OTHER, f"the installed llama.cpp does not know its architecture, {first.architecture}"
    return kind, problem
