"""What a GGUF file says of itself, read without llama.cpp and without reading the weights.

The header answers what a person and the engine want to know before a model is loaded: its name, architecture, context
length, size, chat template, what it keeps of what it has read, and whether the file is whole. How its bytes are read is
the affair of `gguf_contents.py`.
"""

import hashlib
import os
import re
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from gistread.engine.llama.gguf_contents import (
    MAGIC,
    Contents,
    DamagedError,
    UnknownVersionError,
    Value,
    read_contents,
    read_pairs,
)
from gistread.engine.llama.gguf_types import FILE_TYPES
from gistread.engine.llama.kv_layout import Memory, memory_of
from gistread.errors import EngineError

_SHOWS = "`gistread models list` shows usable models."
_T = TypeVar("_T")
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_BEGINNING_BYTES = 64
_WEB_PAGE = re.compile(rb"\s*<(!doctype|html|head)", re.IGNORECASE)
_OTHERS = {
    b"version https://git-lfs": "a pointer of git-lfs to a file that was not fetched with it",
    b"PK\3\4": "a zip archive",
    b"\x1f\x8b": "packed with gzip",
    **dict.fromkeys((b"lmgg", b"fmgg", b"tjgg", b"algg"), "of a format that llama.cpp had before GGUF"),
}
_LONGEST_LICENCE = 80
"""Characters: some write all of it into the header."""
_UNSPEAKABLE = re.compile("[\r\n\ud800-\udfff]")
"""What a path cannot have that is kept in settings and told to other processes."""
_GUESSED = 1024
"""Flag of a `general.file_type` that was not written by who made the file."""


class BrokenModelError(EngineError):
    """A file that cannot be read as GGUF."""

    def __init__(self, path: Path, reason: str, hint: str) -> None:
        """`reason`: a sentence about the file, such as `its header is damaged`."""
        super().__init__(f"The model file {path} cannot be used: {reason}.", hint)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What the header of one file says. Counts are 0 and texts empty where the file does not say."""

    path: Path
    file_bytes: int
    name: str
    architecture: str
    quantization: str
    """What people know the file by: `Q4_K_M`, a mix of tensor types."""
    layer_type: str
    """The tensor type of most weights in the layers: which matrix kernel does most of the work."""
    parameters: int
    """Number of weights."""
    licence: str
    context_length: int
    """Tokens the model was trained for."""
    layers: int
    memory: Memory
    """What it keeps of what it has read."""
    vocabulary: int
    """Number of tokens."""
    chat_template: str
    split_count: int
    """Files that the model consists of; 1 when it is whole."""
    split_number: int
    """Which of them this is, from 1."""
    missing_bytes: int
    """By how much the file is too short for the tensors that it lists."""
    fingerprint: str
    """Of the header and of samples of the weights: the same wherever the file lies. Empty when not asked for."""
    title: str
    """What its makers call it (`general.name`)."""
    contains: str
    """What kind of file it says it is (`general.type`): `model`, `adapter`, `mmproj` …"""
    pooling: int | None
    """How vectors of tokens become one of the text, as llama.cpp numbers it; None: nothing is said of vectors."""

    @property
    def kv_bytes_per_token(self) -> int:
        return self.memory.kv_bytes_per_token


def read_header(path: Path, *, fingerprint: bool = True) -> GgufHeader:
    """Read the header of one GGUF file. Without `fingerprint` nothing is read but the header, and that faster.

    Raises EngineError when there is no such file, it cannot be read, or it is not a readable GGUF file. A file
    whose tensors are cut off is described (`missing_bytes`): the caller decides.
    """

    def read(file: BinaryIO, size: int) -> GgufHeader:
        contents = read_contents(file, size)
        mark = _fingerprint(file, contents.data_start, size) if fingerprint else ""
        return _described(path, size, contents, mark)

    return _reading(path, read)


def read_values(path: Path, keys: Collection[str]) -> dict[str, Value]:
    """What the header says under these keys, arrays too; a key that it lacks is left out. Raises as `read_header`."""
    return _reading(path, lambda file, size: read_pairs(file, size, keys))


def _reading(path: Path, read: Callable[[BinaryIO, int], _T]) -> _T:
    """What `read` makes of a file and its size."""
    if _UNSPEAKABLE.search(str(path)):
        raise BrokenModelError(path, "its path has line breaks, or bytes that are no UTF-8, in it", "Rename it.")
    try:
        # What is no regular file (a pipe, a device) could be waited for without end.
        if not path.is_file() and path.exists():
            raise _not_gguf(path, "a directory" if path.is_dir() else "no regular file")
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(_BEGINNING_BYTES)
            if not start.startswith(MAGIC):
                raise _not_gguf(path, _what_begins_so(start))
            file.seek(0)
            return read(file, size)
    except FileNotFoundError:
        raise EngineError(f"There is no model file {path}.", _SHOWS) from None
    except DamagedError:
        raise BrokenModelError(path, "its header is damaged or cut off", "Fetch it again.") from None
    except UnknownVersionError as error:
        if error.is_big_endian:
            raise BrokenModelError(
                path, "it is for big-endian machines", "Fetch the usual one of this model."
            ) from None
        reason = f"it is GGUF version {error.version}, which is not known here"
        raise BrokenModelError(path, reason, "Fetch a newer conversion of this model (GGUF 3).") from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BrokenModelError(path, f"it cannot be read ({said})", _SHOWS) from None


def _what_begins_so(start: bytes) -> str:
    """What a file that begins with these bytes is instead of a model."""
    if not start:
        return "empty"
    if _WEB_PAGE.match(start):
        return "a web page"
    return next((what for bytes_, what in _OTHERS.items() if start.startswith(bytes_)), "something else")


def _not_gguf(path: Path, what: str) -> BrokenModelError:
    return BrokenModelError(path, f"it is {what}, not a GGUF model", _SHOWS)


def _described(path: Path, size: int, contents: Contents, fingerprint: str) -> GgufHeader:
    arch = contents.text("general.architecture")
    tensors = contents.tensors
    most_used = _most(tensors.by_type)
    pooling_key = f"{arch}.pooling_type"
    return GgufHeader(
        path=path,
        file_bytes=size,
        name=_name(path, contents),
        architecture=arch,
        quantization=FILE_TYPES.get(contents.number("general.file_type", -1) & ~_GUESSED, most_used),
        layer_type=_most(tensors.in_layers) or most_used,
        parameters=tensors.weights,
        licence=" ".join(contents.text("general.license").split())[:_LONGEST_LICENCE],
        context_length=contents.number(f"{arch}.context_length"),
        layers=contents.number(f"{arch}.block_count"),
        memory=memory_of(contents),
        vocabulary=contents.array_lengths.get("tokenizer.ggml.tokens", 0),
        chat_template=contents.text("tokenizer.chat_template").strip(),
        split_count=max(1, contents.number("split.count", 1)),
        split_number=contents.number("split.no") + 1,
        missing_bytes=max(0, contents.data_start + tensors.data_bytes - size),
        fingerprint=fingerprint,
        title=contents.text("general.name"),
        contains=contents.text("general.type"),
        pooling=contents.number(pooling_key) if pooling_key in contents.pairs else None,
    )


def _most(weights: Mapping[str, int]) -> str:
    return max(weights, key=weights.__getitem__, default="")


def _name(path: Path, contents: Contents) -> str:
    """The file's own name, which people know it by; a store of blobs names files by hash, there the header's."""
    stem = path.stem
    return contents.text("general.name") or stem if stem.startswith("sha256-") else stem


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
