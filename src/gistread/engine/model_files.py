"""One model on this machine, described: what stands in the list of models, and whether it can be used.

Only headers are read; nothing is loaded. Where models lie, `model_search.py` knows; which one a name means,
`models.py`.
"""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from gistread.engine.llama.architectures import is_known
from gistread.engine.llama.fit import DEFAULT_CONTEXT_TOKENS, LEAST_WINDOW
from gistread.engine.llama.gguf import BrokenModelError, GgufHeader, read_header
from gistread.engine.llama.kv_layout import MemoryKind
from gistread.engine.llama.memory_estimate import ModelSizes, batch_tokens_of, cells_that_fit, needed_bytes, sizes_of
from gistread.engine.model_kinds import WRITING, ModelKind, kind_of
from gistread.engine.model_search import FoundModel, own_adapter
from gistread.errors import EngineError


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One model on this machine."""

    path: Path
    """Of a model in several files, the first."""
    name: str
    """What `--model` takes: the file's name without suffix, or Ollama's name."""
    size_bytes: int
    """Of all its files."""
    quantization: str
    architecture: str
    context_length: int | None
    """Tokens it was trained for."""
    parameters: int | None
    licence: str
    usable: bool
    """Whether it writes text: `--model` takes it."""
    problem: str = ""
    """Why it is not usable, for the person."""
    kind: ModelKind = ModelKind.TEXT
    has_template: bool = True
    """Whether it brings a chat template: base models, which only go on with a text, have none."""
    memory: MemoryKind | None = None
    """How it remembers what it has read; None: not known."""
    parts: int = 1
    """Files that it lies in."""
    place: str = ""
    """Whose folder it was found in: `Ollama`, `LM Studio` …"""
    aliases: tuple[str, ...] = ()
    """Other names of the same file: `--model` takes them, too."""
    sizes: ModelSizes | None = None
    """What it takes of the memory; None: not known."""
    adapter: Path | None = None
    """The LoRA adapter that it is used with unless another is named."""

    @property
    def embeds(self) -> bool:
        """Whether it is an embedding model: `--embedding-model` takes it, and `--model` does not."""
        return self.kind is ModelKind.EMBEDDINGS


class Availability(IntEnum):
    """How near a model is to being used: the order of every list."""

    READY = 0
    TOO_LARGE = 1
    """It writes, and there is no memory for it now."""
    EMBEDDINGS = 2
    UNUSABLE = 3


@dataclass(frozen=True, slots=True)
class MemoryFit:
    """Whether a model has room in the memory that is free, and for how much text."""

    context_tokens: int
    """The largest window that there is room for, at most what it was trained for; 0: not even the weights fit."""
    needed_bytes: int
    """With the usual window."""
    free_bytes: int
    enough: bool
    """Whether that window is one to work with."""


def memory_fit_of(model: ModelFile, free_bytes: int) -> MemoryFit | None:
    """How this model fits into so many free bytes; None where its header does not tell."""
    if model.sizes is None:
        return None
    trained = model.context_length or DEFAULT_CONTEXT_TOKENS
    needed = needed_bytes(model.sizes, min(DEFAULT_CONTEXT_TOKENS, trained))
    room = cells_that_fit(model.sizes, free_bytes)
    context = trained if room is None else min(room, trained)
    return MemoryFit(context, needed, free_bytes, enough=context >= min(LEAST_WINDOW, trained))


def availability_of(model: ModelFile, fit: MemoryFit | None) -> Availability:
    """Whether to offer it, and behind which others."""
    if model.embeds:
        return Availability.EMBEDDINGS
    if not model.usable:
        return Availability.UNUSABLE
    return Availability.READY if fit is None or fit.enough else Availability.TOO_LARGE


def describe(found: FoundModel) -> ModelFile:
    """What the headers of a model's files say. A file that is broken is described as that."""
    size_bytes = sum(map(_size, found.parts))
    try:
        headers = _headers(found)
    except EngineError as error:
        reason = error.reason if isinstance(error, BrokenModelError) else error.message.rstrip(".")
        return ModelFile(
            path=found.parts[0],
            name=found.name,
            size_bytes=size_bytes,
            quantization="",
            architecture="",
            context_length=None,
            parameters=None,
            licence="",
            usable=False,
            problem=reason,
            kind=ModelKind.BROKEN,
            has_template=False,
            parts=len(found.parts),
            place=found.place,
            aliases=found.aliases,
        )
    first = headers[0]
    kind, problem = _kind(headers, found.name)
    parameters = sum(header.parameters for header in headers)
    return ModelFile(
        path=first.path,
        name=found.name,
        size_bytes=size_bytes,
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
        parts=len(found.parts),
        place=found.place,
        aliases=found.aliases,
        sizes=sizes_of(first, batch_tokens_of(parameters, on_gpu=False), weights=size_bytes),
        adapter=own_adapter(first.path),
    )


def _headers(found: FoundModel) -> list[GgufHeader]:
    for number, part in enumerate(found.parts, 1):
        if len(found.parts) > 1 and not part.exists():
            raise EngineError(f"part {number} of {len(found.parts)} is missing")
    return [read_header(part, fingerprint=False) for part in found.parts]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _kind(headers: list[GgufHeader], name: str) -> tuple[ModelKind, str]:
    """What the whole is for, and why it cannot be used for text; empty where it can."""
    first, count = headers[0], len(headers)
    if count == 1 and first.split_count > 1:
        return ModelKind.PART, (
            f"it is part {first.split_number} of {first.split_count} of a model, and not named as one"
        )
    if any(header.split_count not in (1, count) for header in headers):
        return ModelKind.BROKEN, f"its files say that there are {first.split_count} of them, not {count}"
    kind, problem = kind_of(first, name)
    if missing := sum(header.missing_bytes for header in headers):
        return ModelKind.BROKEN, f"it is cut off: {missing:,} bytes are missing"
    if not problem and not is_known(first.architecture):
        return ModelKind.OTHER, f"the installed llama.cpp does not know its architecture, {first.architecture}"
    return kind, problem
