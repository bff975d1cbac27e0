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
# By number: name, and numbers and bytes of a block
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
_LONGEST_TEXT_BYTES = 1 << 20
_MOST_TENSORS = 65_536
_MOST_PAIRS = 4096
_MOST_DIMENSIONS = 4
_MOST_LAYERS = 4096
_SHORT_ARRAY = 1024  # Numbers of an array that has one for each layer
_LENGTH_BYTES = 8  # Of the length before a string
_STATE_BYTES = 4  # Of a number in a recurrent state
_KV_BYTES = 2  # Of a number in an F16 KV cache
_HYBRID_INTERVAL = 4  # Every fourth layer of Qwen's hybrids attends
_GUESSED_TYPE = 1024  # Marks a type that llama.cpp guessed
_LICENCE_CHARACTERS = 80  # Some headers contain the whole text
_SAMPLES = 64  # Of the tensors, in a fingerprint
_SAMPLE_BYTES = 4096
_BLOCK_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 15
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
    """The memory that a model needs, at most, beside its weights.

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
    is_adapter = lora.contains == "adapter" and not lora.missing_bytes
    if not is_adapter or lora.architecture != header.architecture:
        problem = f"{adapter.name} is not a LoRA adapter for {header.name}."
        raise EngineError(problem, "Name a GGUF adapter made for this model.")
    fingerprints = f"{header.fingerprint} {lora.fingerprint}"
    digest = hashlib.sha256(fingerprints.encode()).hexdigest()
    return replace(
        header,
        name=f"{header.name}+{adapter.stem}",
        fingerprint=digest[:_FINGERPRINT_CHARACTERS],
        adapter=adapter,
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
    """What a header contains, by key."""

    pairs: dict[str, int | float | bool | str] = field(default_factory=dict)
    # Short arrays of integers or booleans, and those asked for
    arrays: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # The length of every array
    array_lengths: dict[str, int] = field(default_factory=dict)
    # Arrays of strings; empty unless asked for
    strings: dict[str, list[bytes]] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    header_bytes: int = 0  # Without padding
    file_bytes: int = 0
    fingerprint: str = ""  # See `GgufHeader`

    def text(self, key: str) -> str:
        """A string; empty if missing."""
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
        counts = [default] * layers
        for layer, number in enumerate(array[:layers]):
            if 0 <= number <= _LARGEST_NUMBER:
                counts[layer] = number
        return tuple(counts)

    @property
    def data_start(self) -> int:
        """Where the tensors begin in the file."""
        alignment = self.number(_ALIGNMENT, _DEFAULT_ALIGNMENT)
        padding = -self.header_bytes % alignment  # Up to the next multiple
        return self.header_bytes + padding

    @property
    def data_bytes(self) -> int:
        """From the start of the first tensor to the end of the last."""
        if not self.tensors:
            return 0
        last = max(self.tensors.values(), key=lambda tensor: tensor.offset)
        _, per_block, block_bytes = _TENSOR_TYPES.get(last.kind, ("", 1, 0))
        return last.offset + last.weights // per_block * block_bytes

    def most_used_type(self, prefix: str = "") -> str:
        """The type of most weights in the tensors whose names begin so; empty if there are none."""
        weights = Counter[int]()  # By type
        for name, tensor in self.tensors.items():
            if name.startswith(prefix):
                weights[tensor.kind] += tensor.weights
        if not weights.total():
            return ""
        [(kind, _)] = weights.most_common(1)
        name, *_ = _TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))
        return name


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
        with path.open("rb", buffering=_BUFFER_BYTES) as file:
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
    # 0 is no version, or the end of the file: the header is damaged, which shows later.
    if version and version not in _VERSIONS:
        reason = f"it is GGUF version {version}, which is not supported"
        raise BrokenModelError(
            path, reason, "Fetch a newer conversion of this model (GGUF 3)."
        )


def _header_from(path: Path, contents: Contents) -> GgufHeader:
    """The header, from the contents that are of use."""
    arch = contents.text("general.architecture")
    title = contents.text("general.name")
    most_used = contents.most_used_type()
    # Without the bit of a guess. -1, if there is no type, then stands for none either.
    file_type = contents.number("general.file_type", -1) & ~_GUESSED_TYPE
    licence = " ".join(contents.text("general.license").split())
    is_named_by_hash = path.stem.startswith("sha256-")  # As Ollama does
    expected_bytes = contents.data_start + contents.data_bytes
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
        missing_bytes=max(0, expected_bytes - contents.file_bytes),
        fingerprint=contents.fingerprint,
        title=title,
        contains=contents.text("general.type"),
        pooling=contents.number(f"{arch}.pooling_type"),
    )


@dataclass(frozen=True, slots=True)
class _ArchitectureKeys:
    """The numbers that a header gives for its own architecture: `llama.block_count`."""

    contents: Contents
    architecture: str

    def number(self, key: str, default: int = 0) -> int:
        return self.contents.number(f"{self.architecture}.{key}", default)

    def of_layers(self, key: str, layers: int, default: int = 0) -> tuple[int, ...]:
        return self.contents.of_layers(f"{self.architecture}.{key}", layers, default)


def _memory_of(contents: Contents, architecture: str) -> Memory:
    """The kind and size of a model's memory, as its keys and its architecture tell."""
    keys = _ArchitectureKeys(contents, architecture)
    layers = min(keys.number("block_count"), _MOST_LAYERS)
    heads = keys.of_layers("attention.head_count", layers)
    state_numbers = 0
    if any(map(keys.number, _STATE_KEYS)):
        attends = any(heads) and not architecture.startswith(_RECURRENT)
        kind = MemoryKind.HYBRID if attends else MemoryKind.RECURRENT
        state_numbers = _state_numbers(keys)
    elif keys.number("attention.sliding_window") and architecture not in _WINDOW_UNUSED:
        kind = MemoryKind.SLIDING_WINDOW
    else:
        kind = MemoryKind.ATTENTION
    kv_numbers = 0
    if kind is not MemoryKind.RECURRENT:
        kv_numbers = _kv_numbers(keys, heads)
    return Memory(kind, _KV_BYTES * kv_numbers, _STATE_BYTES * layers * state_numbers)


def _state_numbers(keys: _ArchitectureKeys) -> int:
    """Numbers in the recurrent state of a layer, at most."""
    inner = keys.number("ssm.inner_size")
    size = keys.number("ssm.state_size")
    groups = keys.number("ssm.group_count")
    convolved = max(0, keys.number("ssm.conv_kernel") - 1)
    width = keys.number("embedding_length")
    # As llama.cpp computes the sizes for Mamba and for RWKV. A model is one of them, or neither.
    mamba = convolved * (inner + 2 * groups * size) + size * inner
    rwkv = width * (keys.number("wkv.head_size") + 2)
    return mamba + rwkv


def _kv_numbers(keys: _ArchitectureKeys, heads: tuple[int, ...]) -> int:
    """Numbers in the KV cache per token, over all layers with attention."""
    layers = len(heads)
    kv_heads = keys.of_layers("attention.head_count_kv", layers, default=-1)
    width = keys.number("embedding_length")
    is_qwen_hybrid = keys.architecture.startswith(("qwen35", "qwen3next"))
    usual_interval = _HYBRID_INTERVAL if is_qwen_hybrid else 1
    interval = max(1, keys.number("full_attention_interval", usual_interval))
    numbers = 0
    for layer in range(interval - 1, layers, interval):  # The last of each interval
        usual_size = width // heads[layer] if heads[layer] else 0
        key_size = keys.number("attention.key_length", usual_size)
        value_size = keys.number("attention.value_length", usual_size)
        # Without a count of its own, each head has keys and values.
        count = kv_heads[layer] if kv_heads[layer] >= 0 else heads[layer]
        numbers += count * (key_size + value_size)
    return numbers


def _fingerprint(file: BinaryIO, contents: Contents) -> str:
    """A hash of the header, the file's size and samples of the weights."""
    data_start = contents.data_start
    size = contents.file_bytes
    file.seek(0)
    digest = hashlib.sha256()
    unread_bytes = min(data_start, size)
    while unread_bytes and (block := file.read(min(unread_bytes, _BLOCK_BYTES))):
        digest.update(block)
        unread_bytes -= len(block)
    digest.update(struct.pack("<Q", size))
    step = max(_SAMPLE_BYTES, (size - data_start) // _SAMPLES)
    for offset in range(data_start, size, step):
        file.seek(offset)
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
        """Read the header from after the version to its end. Raises _DamagedError, OSError."""
        contents = self._contents
        tensors = self._number("Q")
        pairs = self._number("Q")
        if tensors > _MOST_TENSORS or pairs > _MOST_PAIRS:
            raise _DamagedError
        for _ in range(pairs):
            self._pair()
        # Powers of two: llama.cpp takes no other alignment.
        alignments = [1 << bits for bits in range(_MOST_ALIGNMENT_BITS + 1)]
        if contents.pairs.get(_ALIGNMENT, _DEFAULT_ALIGNMENT) not in alignments:
            raise _DamagedError
        for _ in range(tensors):
            self._tensor()
        contents.header_bytes = self._file.tell()
        contents.file_bytes = os.fstat(self._file.fileno()).st_size
        return contents

    def _tensor(self) -> None:
        """Read the description of a tensor."""
        name = self._text(_LONGEST_KEY_BYTES)
        dimensions = self._number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise _DamagedError
        shape = self._unpack(f"{dimensions}Q")[::-1]  # The file has the columns first.
        kind = self._number("I")
        offset = self._number("Q")
        tensor = Tensor(shape, kind, offset)
        if tensor.weights > _LARGEST_NUMBER or tensor.offset > _LARGEST_NUMBER:
            raise _DamagedError
        self._contents.tensors[name] = tensor

    def _pair(self) -> None:
        """Read a key and its value."""
        key = self._text(_LONGEST_KEY_BYTES)
        kind = self._number("I")
        if kind == ARRAY:
            item_kind = self._number("I")
            length = self._number("Q")
            self._array(key, item_kind, length)
        elif kind == STRING:
            self._contents.pairs[key] = self._text(_MOST_BYTES)
        elif kind in SCALARS:
            self._contents.pairs[key] = self._number(SCALARS[kind])
        else:
            raise _DamagedError

    def _array(self, key: str, kind: int, length: int) -> None:
        """Read an array of `length` items of the type `kind`.

        Strings are kept if asked for, whole numbers also if they are few, fractions never.
        """
        self._contents.array_lengths[key] = length
        is_wanted = key in self._arrays_to_read
        if kind == STRING:
            self._contents.strings[key] = self._strings(length, keep=is_wanted)
            return
        if kind not in SCALARS or length > _MOST_BYTES:
            raise _DamagedError
        code = SCALARS[kind]
        is_kept = is_wanted or length <= _SHORT_ARRAY
        if code in "fd" or not is_kept:
            self._skip(length, code)
        else:
            self._contents.arrays[key] = self._unpack(f"{length}{code}")

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
        """A text of at most `most` bytes; empty if it is too long to be useful.

        Chat templates have some thousands.
        """
        length = self._number("Q")
        if length > most:
            raise _DamagedError
        data = self._take(length)
        if length > _LONGEST_TEXT_BYTES:
            return ""
        return data.decode("utf-8", "replace")

    def _number(self, code: str) -> int:
        """Read one number; `code`: a format of `struct`, without the byte order."""
        return self._unpack(code)[0]

    def _unpack(self, code: str) -> tuple[int, ...]:
        little_endian = f"<{code}"
        data = self._take(struct.calcsize(little_endian))
        return struct.unpack(little_endian, data)

    def _take(self, length: int) -> bytes:
        """Read so many bytes. Raises _DamagedError if the header would be too long, or ends."""
        self._left -= length
        if self._left < 0:
            raise _DamagedError
        data = self._file.read(length)
        if len(data) < length:
            raise _DamagedError
        return data
