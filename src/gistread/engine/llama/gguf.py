"""Reads the header of a GGUF file, without llama.cpp and without the weights."""

import hashlib
import os
import re
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from gistread.engine.llama import gguf_contents
from gistread.engine.llama.gguf_contents import (
    FILE_TYPES,
    MAGIC,
    Contents,
    DamagedError,
    Tensor,
    UnknownVersionError,
    Value,
)
from gistread.engine.llama.kv_layout import Memory, memory_of
from gistread.errors import EngineError

_LIST_HINT = "`gistread models list` shows usable models."
_T = TypeVar("_T")
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_LONGEST_LICENCE = 80  # Characters: some headers contain the whole text
# Not allowed in a path, which is stored in settings and sent to other processes.
_BAD_PATH = re.compile("[\r\n\ud800-\udfff]")
_GUESSED_TYPE = 1024  # Flag of a `general.file_type` that llama.cpp guessed


class BrokenModelError(EngineError):
    def __init__(self, path: Path, reason: str, hint: str) -> None:
        """`reason`: a clause such as `its header is damaged`."""
        super().__init__(f"The model file {path} cannot be used: {reason}.", hint)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The header of one file. Missing counts are 0, missing texts empty."""

    path: Path
    file_bytes: int
    name: str
    architecture: str
    quantization: str  # Usual name of the mix of tensor types: `Q4_K_M`
    layer_type: str  # Tensor type of most weights in the layers
    parameters: int  # Number of weights
    licence: str
    context_length: int
    layers: int
    memory: Memory
    vocabulary: int  # Number of tokens
    chat_template: str
    split_count: int  # Files of the model
    missing_bytes: int  # How much shorter the file is than its tensors require
    fingerprint: str  # Hash of the header and samples of the weights; empty if not requested
    title: str  # `general.name`
    contains: str  # `general.type`: `model`, `adapter`, `mmproj` …
    pooling: int | None  # Pooling type of an embedding model, as numbered by llama.cpp; None if not given
    adapter: Path | None = None  # The LoRA adapter that the model is used with; name and fingerprint are of both


def read_header(path: Path, *, fingerprint: bool = True) -> GgufHeader:
    """Read the header of a GGUF file, and samples of the weights for the fingerprint. Raises EngineError."""

    def read(file: BinaryIO, size: int) -> GgufHeader:
        contents = gguf_contents.read_contents(file)
        digest = _fingerprint(file, contents.data_start, size) if fingerprint else ""
        return _header_from(path, size, contents, digest)

    return _read_with(path, read)


def read_adapted_header(path: Path, adapter: Path | None) -> GgufHeader:
    """Read the header of a model and apply its LoRA adapter, if any. Raises EngineError if they do not match."""
    header = read_header(path)
    if adapter is None:
        return header
    lora = read_header(adapter)
    if lora.contains != "adapter" or lora.architecture != header.architecture or lora.missing_bytes:
        problem = f"{adapter.name} is not a LoRA adapter for {header.name}."
        raise EngineError(problem, "Name a GGUF adapter made for this model.")
    both = hashlib.sha256(f"{header.fingerprint} {lora.fingerprint}".encode()).hexdigest()[:32]
    return replace(header, name=f"{header.name}+{adapter.stem}", fingerprint=both, adapter=adapter)


def read_values(path: Path, keys: Collection[str]) -> dict[str, Value]:
    """Read the values of these keys, arrays included; missing keys are left out. Raises as `read_header`."""
    return _read_with(path, lambda file, size: gguf_contents.read_pairs(file, keys))


def read_tensors(path: Path) -> tuple[int, dict[str, Tensor]]:
    """Where the tensors begin in the file, and each by name. Raises as `read_header`."""

    def read(file: BinaryIO, size: int) -> tuple[int, dict[str, Tensor]]:
        contents = gguf_contents.read_contents(file)
        return contents.data_start, dict(contents.tensors)

    return _read_with(path, read)


def _read_with(path: Path, read: Callable[[BinaryIO, int], _T]) -> _T:
    if _BAD_PATH.search(str(path)):
        raise BrokenModelError(path, "its path contains line breaks or bytes that are not UTF-8", "Rename it.")
    try:
        # Reading a pipe or a device could block forever.
        if not path.is_file() and path.exists():
            raise BrokenModelError(path, "it is not a regular file", _LIST_HINT)
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if file.read(len(MAGIC)) != MAGIC:
                raise BrokenModelError(path, "it is not a GGUF model", _LIST_HINT)
            file.seek(0)
            return read(file, size)
    except FileNotFoundError:
        raise EngineError(f"No such model file: {path}", _LIST_HINT) from None
    except DamagedError:
        raise BrokenModelError(path, "its header is damaged or cut off", "Fetch it again.") from None
    except UnknownVersionError as error:
        reason = f"it is GGUF version {error.version}, which is not supported"
        raise BrokenModelError(path, reason, "Fetch a newer conversion of this model (GGUF 3).") from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BrokenModelError(path, f"it cannot be read ({said})", _LIST_HINT) from None


def _header_from(path: Path, size: int, contents: Contents, fingerprint: str) -> GgufHeader:
    arch, title = contents.text("general.architecture"), contents.text("general.name")
    most_used = contents.most_used_type()
    pooling_key = f"{arch}.pooling_type"
    return GgufHeader(
        path=path,
        file_bytes=size,
        name=title or path.stem if path.stem.startswith("sha256-") else path.stem,  # Ollama names files by hash
        architecture=arch,
        quantization=FILE_TYPES.get(contents.number("general.file_type", -1) & ~_GUESSED_TYPE, most_used),
        layer_type=contents.most_used_type("blk.") or most_used,
        parameters=sum(tensor.weights for tensor in contents.tensors.values()),
        licence=" ".join(contents.text("general.license").split())[:_LONGEST_LICENCE],
        context_length=contents.number(f"{arch}.context_length"),
        layers=contents.number(f"{arch}.block_count"),
        memory=memory_of(contents),
        vocabulary=contents.array_lengths.get("tokenizer.ggml.tokens", 0),
        chat_template=contents.text("tokenizer.chat_template").strip(),
        split_count=max(1, contents.number("split.count", 1)),
        missing_bytes=max(0, contents.data_start + contents.data_bytes - size),
        fingerprint=fingerprint,
        title=title,
        contains=contents.text("general.type"),
        pooling=contents.number(pooling_key) if pooling_key in contents.pairs else None,
    )


def _fingerprint(file: BinaryIO, data_start: int, size: int) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    left = min(data_start, size)
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)
    digest.update(struct.pack("<Q", size))
    step = max(_SAMPLE_BYTES, (size - data_start) // _SAMPLES)
    for at in range(data_start, size, step):
        file.seek(at)
        digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:32]
