"""Reads the header of a GGUF file, without llama.cpp and without the weights.

Counts and lengths are untrusted: all work is bounded, to about 100 MB and a second or two.
"""

import hashlib
import math
import os
import re
import struct
import tomllib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, NamedTuple

from gistread.errors import EngineError

_LIST_HINT = "`gistread models list` shows usable models."
# Not allowed in a path, which is stored in settings and sent to other processes.
_BAD_PATH = re.compile("[\r\n\ud800-\udfff]")

# Types of metadata values: number -> struct format.
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
STRING, ARRAY = 8, 9

_TABLES = tomllib.loads(Path(__file__).with_name("gguf.toml").read_text("utf-8"))
_TENSOR_TYPES: dict[int, tuple[str, int, int]] = {
    number: (name, *block) for name, (number, *block) in _TABLES["tensor_types"].items()
}
# By `general.file_type`
_FILE_TYPES = {number: name for name, number in _TABLES["file_types"].items()}

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = "general.alignment"
_DEFAULT_ALIGNMENT = 32
# An alignment of gigabytes would count the whole file as header
_MOST_ALIGNMENT_BITS = 20
_LARGEST_NUMBER = 1 << 48  # Larger ones are no sizes
_LONGEST_KEY_BYTES = 1024
_MOST_TENSORS = 65_536
_MOST_PAIRS = 4096
_MOST_DIMENSIONS = 4
_MOST_LAYERS = 4096
_SHORT_ARRAY = 1024  # Numbers of an array that has one for each layer
_LENGTH_BYTES = 8  # Of the length before a string
_STATE_BYTES = 4  # Of a number in a recurrent state
_HYBRID_INTERVAL = 4  # Every fourth layer of Qwen's hybrids attends
_GUESSED_TYPE = 1024  # Marks a type that llama.cpp guessed
_LICENCE_CHARACTERS = 80  # Some headers contain the whole text
_SAMPLES = 64  # Of the tensors, in a fingerprint
_SAMPLE_BYTES = 4096
_FINGERPRINT_CHARACTERS = 32

_MOST_BYTES = 64 << 20  # Largest header; real ones have some megabytes
# In all arrays: the largest vocabularies have 250,000 tokens and twice as many merges
_MOST_STRINGS = 2_000_000

# Architectures whose files may name a window that llama.cpp ignores.
_WINDOW_UNUSED = frozenset(
    {"llama", "phi3", "phimoe", "qwen2", "qwen2moe", "qwen3", "qwen3moe"}
)
_RECURRENT = ("mamba", "rwkv", "arwkv")
_STATE_KEYS = ("ssm.state_size", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")


class MemoryKind(StrEnum):
    """The value is for people."""

    ATTENTION = "attention"
    # Some layers see only the last few thousand tokens
    SLIDING_WINDOW = "sliding window"
    RECURRENT = "recurrent"  # No attention: the beginning of a long text fades
    HYBRID = "hybrid"  # Attention in some layers, recurrence in others


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory a model needs, at most.

    KV cache for attention layers, a fixed state for recurrent ones.
    """

    kind: MemoryKind
    kv_bytes_per_token: int  # For an F16 KV cache; 0 if unknown or without one
    state_bytes: int  # Recurrent state of one sequence, as F32


class BrokenModelError(EngineError):
    def __init__(self, path: Path, reason: str, hint: str) -> None:
        # `reason`: a clause such as `its header is damaged`
        super().__init__(f"The model file {path} cannot be used: {reason}.", hint)
        self.reason = reason


class _DamagedError(Exception):
    """A count or length in the header is impossible, or the file ends within it."""


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
    # Hash of the header and samples of the weights; empty if not requested
    fingerprint: str
    title: str  # `general.name`
    contains: str  # `general.type`: `model`, `adapter`, `mmproj` …
    pooling: int  # Pooling type of an embedding model, as numbered by llama.cpp
    # The LoRA adapter that the model is used with; name and fingerprint are of both
    adapter: Path | None = None


def read_header(
    path: Path, adapter: Path | None = None, *, fingerprint: bool = True
) -> GgufHeader:
    """Read the header of a model, with a LoRA adapter if given.

    Raises EngineError, also if they do not match.
    """
    header = _header_from(path, read_contents(path, fingerprint=fingerprint))
    if adapter is None:
        return header
    lora = read_header(adapter)
    if (
        lora.contains != "adapter"
        or lora.architecture != header.architecture
        or lora.missing_bytes
    ):
        problem = f"{adapter.name} is not a LoRA adapter for {header.name}."
        raise EngineError(problem, "Name a GGUF adapter made for this model.")
    both = hashlib.sha256(
        f"{header.fingerprint} {lora.fingerprint}".encode()
    ).hexdigest()[:32]
    return replace(
        header, name=f"{header.name}+{adapter.stem}", fingerprint=both, adapter=adapter
    )


class Tensor(NamedTuple):
    shape: tuple[int, ...]  # Rows first
    kind: int  # ggml's number of the type: 0 is F32, 1 F16
    offset: int  # From the start of the first tensor, in bytes

    @property
    def weights(self) -> int:
        return math.prod(self.shape)


@dataclass(slots=True)
class Contents:
    pairs: dict[str, int | float | bool | str] = field(default_factory=dict)
    # Short arrays of integers or booleans
    arrays: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # The length of every array
    array_lengths: dict[str, int] = field(default_factory=dict)
    # Of the arrays asked for
    strings: dict[str, list[bytes]] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    header_bytes: int = 0  # Without padding
    file_bytes: int = 0
    fingerprint: str = ""  # See `GgufHeader`

    def text(self, key: str) -> str:
        value = self.pairs.get(key, "")
        if not isinstance(value, str):
            return ""
        return value

    def number(self, key: str, default: int = 0) -> int:
        """A count; `default` if missing or implausible."""
        value = self.pairs.get(key, default)
        if isinstance(value, int) and 0 <= value <= _LARGEST_NUMBER:
            return value
        return default

    def of_layers(self, key: str, layers: int, default: int = 0) -> tuple[int, ...]:
        """A count for each layer; the file has one for all layers, or an array."""
        array = self.arrays.get(key)
        if array is None:
            return (self.number(key, default),) * layers
        sound = [
            number if 0 <= number <= _LARGEST_NUMBER else default
            for number in array[:layers]
        ]
        return tuple(sound + [default] * (layers - len(sound)))

    @property
    def data_start(self) -> int:
        """Where the tensors begin in the file."""
        alignment = self.number(_ALIGNMENT, _DEFAULT_ALIGNMENT)
        return -(-self.header_bytes // alignment) * alignment

    @property
    def data_bytes(self) -> int:
        """From the start of the first tensor to the end of the last."""
        last = max(
            self.tensors.values(),
            key=lambda tensor: tensor.offset,
            default=Tensor((0,), 0, 0),
        )
        _, per_block, block_bytes = _TENSOR_TYPES.get(last.kind, ("", 1, 0))
        return last.offset + last.weights // per_block * block_bytes

    def most_used_type(self, prefix: str = "") -> str:
        """The type of most weights in the tensors whose names begin so; empty if there are none."""
        weights = Counter[int]()
        for name, tensor in self.tensors.items():
            weights[tensor.kind] += tensor.weights * name.startswith(prefix)
        kind, most = weights.most_common(1)[0] if weights else (0, 0)
        if not most:
            return ""
        return _TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))[0]


def read_contents(
    path: Path, arrays: Collection[str] = (), *, fingerprint: bool = False
) -> Contents:
    """Read the whole header, with these arrays however long they are. Raises EngineError."""
    if _BAD_PATH.search(str(path)):
        raise BrokenModelError(
            path,
            "its path contains line breaks or bytes that are not UTF-8",
            "Rename it.",
        )
    try:
        # Reading a pipe or a device could block forever
        if not path.is_file() and path.exists():
            raise BrokenModelError(path, "it is not a regular file", _LIST_HINT)
        with path.open("rb", buffering=1 << 15) as file:
            _check_format(path, file)
            contents = _Reader(file, arrays).read()
            contents.fingerprint = _fingerprint(file, contents) if fingerprint else ""
            return contents
    except FileNotFoundError:
        raise EngineError(f"No such model file: {path}", _LIST_HINT) from None
    except _DamagedError:
        raise BrokenModelError(
            path, "its header is damaged or cut off", "Fetch it again."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BrokenModelError(
            path, f"it cannot be read ({reason})", _LIST_HINT
        ) from None


def _check_format(path: Path, file: BinaryIO) -> None:
    """Read the first bytes. Raises BrokenModelError unless they are of a known version of GGUF."""
    if file.read(len(MAGIC)) != MAGIC:
        raise BrokenModelError(path, "it is not a GGUF model", _LIST_HINT)
    version = int.from_bytes(file.read(4), "little")
    if version and version not in _VERSIONS:
        reason = f"it is GGUF version {version}, which is not supported"
        raise BrokenModelError(
            path, reason, "Fetch a newer conversion of this model (GGUF 3)."
        )


def _header_from(path: Path, contents: Contents) -> GgufHeader:
    arch = contents.text("general.architecture")
    title = contents.text("general.name")
    most_used = contents.most_used_type()
    file_type = contents.number("general.file_type", -1) & ~_GUESSED_TYPE
    licence = " ".join(contents.text("general.license").split())
    is_named_by_hash = path.stem.startswith("sha256-")  # As Ollama does
    return GgufHeader(
        path=path,
        file_bytes=contents.file_bytes,
        name=title if is_named_by_hash and title else path.stem,
        architecture=arch,
        quantization=_FILE_TYPES.get(file_type, most_used),
        layer_type=contents.most_used_type("blk.") or most_used,
        parameters=sum(tensor.weights for tensor in contents.tensors.values()),
        licence=licence[:_LICENCE_CHARACTERS],
        context_length=contents.number(f"{arch}.context_length"),
        layers=contents.number(f"{arch}.block_count"),
        memory=_memory_of(contents, arch),
        vocabulary=contents.array_lengths.get("tokenizer.ggml.tokens", 0),
        chat_template=contents.text("tokenizer.chat_template").strip(),
        split_count=max(1, contents.number("split.count", 1)),
        missing_bytes=max(
            0, contents.data_start + contents.data_bytes - contents.file_bytes
        ),
        fingerprint=contents.fingerprint,
        title=title,
        contains=contents.text("general.type"),
        pooling=contents.number(f"{arch}.pooling_type"),
    )


def _memory_of(contents: Contents, architecture: str) -> Memory:
    def number(key: str, default: int = 0) -> int:
        return contents.number(f"{architecture}.{key}", default)

    layers = min(number("block_count"), _MOST_LAYERS)
    state = 0
    heads = contents.of_layers(f"{architecture}.attention.head_count", layers)
    kv_heads = contents.of_layers(
        f"{architecture}.attention.head_count_kv", layers, default=-1
    )
    width = number("embedding_length")
    if any(map(number, _STATE_KEYS)):
        attends = any(heads) and not architecture.startswith(_RECURRENT)
        kind = MemoryKind.HYBRID if attends else MemoryKind.RECURRENT
        inner, size = number("ssm.inner_size"), number("ssm.state_size")
        state = max(0, number("ssm.conv_kernel") - 1) * (
            inner + 2 * number("ssm.group_count") * size
        )
        state += size * inner + width * (number("wkv.head_size") + 2)
    elif number("attention.sliding_window") and architecture not in _WINDOW_UNUSED:
        kind = MemoryKind.SLIDING_WINDOW
    else:
        kind = MemoryKind.ATTENTION
    is_qwen_hybrid = architecture.startswith(("qwen35", "qwen3next"))
    usual_interval = _HYBRID_INTERVAL if is_qwen_hybrid else 1
    interval = max(1, number("full_attention_interval", usual_interval))
    attending = range(interval - 1, layers, interval)
    if kind is MemoryKind.RECURRENT:
        attending = range(0)
    numbers = 0
    for layer in attending:
        size = width // heads[layer] if heads[layer] else 0
        each = number("attention.key_length", size) + number(
            "attention.value_length", size
        )
        numbers += each * (kv_heads[layer] if kv_heads[layer] >= 0 else heads[layer])
    return Memory(kind, 2 * numbers, _STATE_BYTES * layers * state)


def _fingerprint(file: BinaryIO, contents: Contents) -> str:
    data_start, size = contents.data_start, contents.file_bytes
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
    return digest.hexdigest()[:_FINGERPRINT_CHARACTERS]


class _Reader:
    """One pass over a header."""

    def __init__(self, file: BinaryIO, arrays: Collection[str]) -> None:
        """`file`: after the version. `arrays`: keys of those to read."""
        self._file = file
        self._arrays_to_read = arrays
        self._left = _MOST_BYTES  # Bytes that the rest of the header may have
        self._strings_read = 0
        self._contents = Contents()

    def read(self) -> Contents:
        """Raises _DamagedError, OSError."""
        tensors, pairs = self._number("Q"), self._number("Q")
        if tensors > _MOST_TENSORS or pairs > _MOST_PAIRS:
            raise _DamagedError
        for _ in range(pairs):
            self._pair()
        # As llama.cpp does.
        alignments = [1 << bits for bits in range(_MOST_ALIGNMENT_BITS + 1)]
        if self._contents.pairs.get(_ALIGNMENT, _DEFAULT_ALIGNMENT) not in alignments:
            raise _DamagedError
        self._contents.tensors.update(self._tensor() for _ in range(tensors))
        self._contents.header_bytes = self._file.tell()
        self._contents.file_bytes = os.fstat(self._file.fileno()).st_size
        return self._contents

    def _tensor(self) -> tuple[str, Tensor]:
        name = self._text(_LONGEST_KEY_BYTES)
        dimensions = self._number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise _DamagedError
        shape = self._unpack(f"{dimensions}Q")[::-1]
        kind = self._number("I")
        offset = self._number("Q")
        tensor = Tensor(shape, kind, offset)
        if tensor.weights > _LARGEST_NUMBER or tensor.offset > _LARGEST_NUMBER:
            raise _DamagedError
        return name, tensor

    def _pair(self) -> None:
        key, kind = self._text(_LONGEST_KEY_BYTES), self._number("I")
        if kind == ARRAY:
            self._array(key, self._number("I"), self._number("Q"))
        elif kind == STRING:
            self._contents.pairs[key] = self._text(_MOST_BYTES)
        elif kind in SCALARS:
            self._contents.pairs[key] = self._number(SCALARS[kind])
        else:
            raise _DamagedError

    def _array(self, key: str, kind: int, length: int) -> None:
        self._contents.array_lengths[key] = length
        if kind == STRING:
            self._contents.strings[key] = self._strings(
                length, keep=key in self._arrays_to_read
            )
        elif kind not in SCALARS or length > _MOST_BYTES:
            raise _DamagedError
        elif SCALARS[kind] in "fd":
            self._skip(length, SCALARS[kind])
        elif length <= _SHORT_ARRAY or key in self._arrays_to_read:
            self._contents.arrays[key] = self._unpack(f"{length}{SCALARS[kind]}")
        else:
            self._skip(length, SCALARS[kind])

    def _skip(self, length: int, code: str) -> None:
        self._take(length * struct.calcsize(f"<{code}"))

    def _strings(self, count: int, *, keep: bool) -> list[bytes]:
        """The strings, hundreds of thousands in a vocabulary; empty unless they are to be kept."""
        self._strings_read += count
        if self._strings_read > _MOST_STRINGS:
            raise _DamagedError
        strings: list[bytes] = []
        # In local names, since this loop runs hundreds of thousands of times.
        read = self._file.read
        number = int.from_bytes
        left = self._left
        for _ in range(count):
            size = read(_LENGTH_BYTES)
            length = number(size, "little")
            left -= _LENGTH_BYTES + length
            if left < 0 or len(size) < _LENGTH_BYTES:
                raise _DamagedError
            text = read(length)
            if len(text) < length:
                raise _DamagedError
            if keep:
                strings.append(text)
        self._left = left
        return strings

    def _text(self, most: int) -> str:
        """A text of at most so many bytes; empty if it is too long to be useful.

        Chat templates have some thousands.
        """
        length = self._number("Q")
        if length > most:
            raise _DamagedError
        data = self._take(length)
        if length > 1 << 20:
            return ""
        return data.decode("utf-8", "replace")

    def _number(self, code: str) -> int:
        return self._unpack(code)[0]

    def _unpack(self, code: str) -> tuple[int, ...]:
        return struct.unpack("<" + code, self._take(struct.calcsize("<" + code)))

    def _take(self, length: int) -> bytes:
        self._left -= length
        if self._left < 0 or len(data := self._file.read(length)) < length:
            raise _DamagedError
        return data
