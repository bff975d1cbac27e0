"""Parses the header of a GGUF file: metadata pairs and the list of tensors.

Counts and lengths are untrusted: all work is bounded, to about 100 MB and a second or two.
"""

import math
import re
import struct
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

# Types of metadata values: number -> struct format.
SCALARS = MappingProxyType({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"})
STRING, ARRAY = 8, 9

# Types of tensors, as in ggml.h: number, name, values a block / bytes a block.
_TENSOR_TYPES = """
    0 F32 1/4, 1 F16 1/2, 2 Q4_0 32/18, 3 Q4_1 32/20, 6 Q5_0 32/22, 7 Q5_1 32/24, 8 Q8_0 32/34, 9 Q8_1 32/36
    10 Q2_K 256/84, 11 Q3_K 256/110, 12 Q4_K 256/144, 13 Q5_K 256/176, 14 Q6_K 256/210, 15 Q8_K 256/292
    16 IQ2_XXS 256/66, 17 IQ2_XS 256/74, 18 IQ3_XXS 256/98, 19 IQ1_S 256/50, 20 IQ4_NL 32/18, 21 IQ3_S 256/110
    22 IQ2_S 256/82, 23 IQ4_XS 256/136, 24 I8 1/1, 25 I16 1/2, 26 I32 1/4, 27 I64 1/8, 28 F64 1/8, 29 IQ1_M 256/56
    30 BF16 1/2, 34 TQ1_0 256/54, 35 TQ2_0 256/66, 39 MXFP4 32/17, 40 NVFP4 64/36, 41 Q1_0 128/18, 42 Q2_0 64/18
"""
TENSOR_TYPES = MappingProxyType(
    {
        int(number): (name, int(values), int(size))
        for number, name, values, size in re.findall(r"(\d+) (\w+) (\d+)/(\d+)", _TENSOR_TYPES)
    }
)

# `general.file_type`: usual names for mixes of tensor types.
FILE_TYPES = MappingProxyType(
    {
        **dict(enumerate(("F32", "F16", "Q4_0", "Q4_1"))),
        **dict(enumerate(("Q8_0", "Q5_0", "Q5_1", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M"), 7)),
        **dict(enumerate(("Q5_K_S", "Q5_K_M", "Q6_K", "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS"), 16)),
        **dict(enumerate(("IQ1_S", "IQ4_NL", "IQ3_S", "IQ3_M", "IQ2_S", "IQ2_M", "IQ4_XS", "IQ1_M", "BF16"), 24)),
        **dict(enumerate(("TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0", "Q2_0"), 36)),
    }
)

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
_ALIGNMENT = "general.alignment"
_ALIGNMENTS = frozenset(1 << power for power in range(21))
LARGEST_NUMBER = 1 << 48  # Larger numbers are not sizes

_BLOCK_BYTES = 1 << 18
_MOST_BYTES = 64 << 20  # Largest header; real ones have some megabytes
_MOST_PAIRS = 4096
_MOST_TENSORS = 65_536
# Strings in all arrays, and numbers in a wanted one. The largest vocabularies have 250,000 tokens and twice as many
# merges.
_MOST_ELEMENTS = 2_000_000
_LONGEST_KEY_BYTES = 1024
_LONGEST_KEPT_BYTES = 1 << 20  # Longer texts are skipped; chat templates have some thousands
_KEPT_BYTES = 8 << 20
_KEPT_NUMBERS = 1024  # Longer arrays are skipped; those with a number per layer are kept
_MOST_DIMENSIONS = 4

_LENGTH = struct.Struct("<Q")

Scalar = int | float | bool | str
Array = list[bytes] | list[int | float | bool]  # Strings in arrays are bytes, since tokens need not be whole characters
Value = Scalar | Array


class DamagedError(Exception):
    """A count or length in the header is impossible, or the file ends within it."""


@dataclass(eq=False)
class UnknownVersionError(Exception):
    version: int


class Tensor(NamedTuple):
    shape: tuple[int, ...]  # Rows first
    kind: int  # A key of `TENSOR_TYPES`
    offset: int  # From the start of the first tensor, in bytes

    @property
    def weights(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Contents:
    pairs: Mapping[str, Scalar]
    arrays: Mapping[str, tuple[int, ...]]  # Short arrays of integers or booleans
    array_lengths: Mapping[str, int]  # The length of every array
    tensors: Mapping[str, Tensor]
    end: int  # Bytes of the header, without padding

    def text(self, key: str) -> str:
        value = self.pairs.get(key, "")
        return value if isinstance(value, str) else ""

    def number(self, key: str, default: int = 0) -> int:
        """A count; `default` if missing or implausible."""
        value = self.pairs.get(key, default)
        return value if isinstance(value, int) and 0 <= value <= LARGEST_NUMBER else default

    def of_layers(self, key: str, layers: int, default: int = 0) -> tuple[int, ...]:
        """A count for each layer; the file has one for all layers, or an array."""
        found = self.arrays.get(key)
        if found is None:
            return (self.number(key, default),) * layers
        sound = [number if 0 <= number <= LARGEST_NUMBER else default for number in found[:layers]]
        return tuple(sound + [default] * (layers - len(sound)))

    @property
    def data_start(self) -> int:
        alignment = self.number(_ALIGNMENT, DEFAULT_ALIGNMENT)
        return -(-self.end // alignment) * alignment

    @property
    def data_bytes(self) -> int:
        """From the start of the first tensor to the end of the last."""
        last = max(self.tensors.values(), key=lambda tensor: tensor.offset, default=Tensor((0,), 0, 0))
        _, per_block, block_bytes = TENSOR_TYPES.get(last.kind, ("", 1, 0))
        return last.offset + last.weights // per_block * block_bytes

    def most_used_type(self, prefix: str = "") -> str:
        """The type of most weights in the tensors whose names begin so; empty if there are none."""
        weights = Counter[int]()
        for name, tensor in self.tensors.items():
            weights[tensor.kind] += tensor.weights * name.startswith(prefix)
        kind, most = weights.most_common(1)[0] if weights else (0, 0)
        return TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))[0] if most else ""


def read_contents(file: BinaryIO) -> Contents:
    """Read the header of a file with the GGUF magic. Raises DamagedError, UnknownVersionError, OSError."""
    reader = _Reader(file)
    count = reader.read_pairs()
    tensors = dict(reader.tensor() for _ in range(count))
    # As llama.cpp does. With an alignment of gigabytes the whole file would count as header.
    if reader.pairs.get(_ALIGNMENT, DEFAULT_ALIGNMENT) not in _ALIGNMENTS:
        raise DamagedError
    return Contents(reader.pairs, reader.arrays, reader.array_lengths, tensors, reader.at)


def read_pairs(file: BinaryIO, keys: Collection[str]) -> dict[str, Value]:
    """Read the values of these keys, arrays included; missing keys are left out. Raises as `read_contents`."""
    reader = _Reader(file, keys)
    reader.read_pairs()
    found = {**reader.pairs, **reader.whole}
    return {key: found[key] for key in keys if key in found}


class _Reader:
    """One pass over a header. `wanted`: arrays to keep whole."""

    def __init__(self, file: BinaryIO, wanted: Collection[str] = ()) -> None:
        self._file = file
        self._wanted = wanted
        self._data = b""  # The file, as far as it was read
        self._strings = 0
        self._kept_bytes = 0
        self.at = len(MAGIC)  # Offset of what is read next
        self.pairs: dict[str, Scalar] = {}
        self.arrays: dict[str, tuple[int, ...]] = {}
        self.array_lengths: dict[str, int] = {}
        self.whole: dict[str, Array] = {}

    def read_pairs(self) -> int:
        """Read all pairs and return the number of tensors."""
        version = self._number("I")
        if version not in VERSIONS:
            raise UnknownVersionError(version)
        tensors, pairs = self._number("Q"), self._number("Q")
        if tensors > _MOST_TENSORS or pairs > _MOST_PAIRS:
            raise DamagedError
        for _ in range(pairs):
            self._pair()
        return tensors

    def tensor(self) -> tuple[str, Tensor]:
        name = self._take(self._number("Q"), _LONGEST_KEY_BYTES).decode("utf-8", "replace")
        dimensions = self._number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise DamagedError
        tensor = Tensor(self._unpack(f"{dimensions}Q")[::-1], self._number("I"), self._number("Q"))
        if tensor.weights > LARGEST_NUMBER or tensor.offset > LARGEST_NUMBER:
            raise DamagedError
        return name, tensor

    def _pair(self) -> None:
        key = self._take(self._number("Q"), _LONGEST_KEY_BYTES).decode("utf-8", "replace")
        kind = self._number("I")
        if kind == ARRAY:
            self._array(key, self._number("I"), self._number("Q"))
        elif kind == STRING:
            length = self._number("Q")
            if length > _LONGEST_KEPT_BYTES:
                self._skip(length)
            else:
                self._keep(length)
                self.pairs[key] = self._take(length, length).decode("utf-8", "replace")
        elif kind in SCALARS:
            self.pairs[key] = self._unpack(SCALARS[kind])[0]
        else:
            raise DamagedError

    def _array(self, key: str, kind: int, length: int) -> None:
        self.array_lengths[key] = length
        is_wanted = key in self._wanted
        if kind == STRING:
            strings = self._walk_strings(length, keep=is_wanted)
            if is_wanted:
                self.whole[key] = strings
            return
        if kind not in SCALARS or length > (_MOST_ELEMENTS if is_wanted else _MOST_BYTES):
            raise DamagedError
        if is_wanted or (length <= _KEPT_NUMBERS and SCALARS[kind] not in "fd"):
            self._keep(length)
            numbers: tuple[int | float | bool, ...] = self._unpack(f"{length}{SCALARS[kind]}")
            if is_wanted:
                self.whole[key] = list(numbers)
            if length <= _KEPT_NUMBERS:
                self.arrays[key] = tuple(map(int, numbers))
        else:
            self._skip(length * struct.calcsize("<" + SCALARS[kind]))

    def _walk_strings(self, count: int, *, keep: bool) -> list[bytes]:
        """Move past strings, hundreds of thousands in a vocabulary, and return them if they are kept."""
        self._strings += count
        if self._strings > _MOST_ELEMENTS:
            raise DamagedError
        strings: list[bytes] = []
        at, data = self.at, self._data
        for _ in range(count):
            if at + _LENGTH.size > len(data):
                data = self._data_until(at + _LENGTH.size)
            start = at + _LENGTH.size
            at = start + _LENGTH.unpack_from(data, at)[0]
            if keep:
                data = self._data_until(at)
                strings.append(data[start:at])
        self.at = at
        self._data_until(at)
        return strings

    def _keep(self, size: int) -> None:
        self._kept_bytes += size
        if self._kept_bytes > _KEPT_BYTES:
            raise DamagedError

    def _number(self, code: str) -> int:
        return self._unpack(code)[0]

    def _unpack(self, code: str) -> tuple[int, ...]:
        start = self._skip(struct.calcsize("<" + code))
        return struct.unpack_from("<" + code, self._data, start)

    def _take(self, length: int, most: int) -> bytes:
        if length > most:
            raise DamagedError
        start = self._skip(length)
        return self._data[start : self.at]

    def _skip(self, length: int) -> int:
        """Read so many bytes and move past them. Returns where they begin."""
        start, self.at = self.at, self.at + length
        self._data_until(self.at)
        return start

    def _data_until(self, end: int) -> bytes:
        if end > _MOST_BYTES:
            raise DamagedError
        while len(self._data) < end:
            # A growing block, so that bytes are copied a few times at most.
            block = self._file.read(min(max(_BLOCK_BYTES, len(self._data)), _MOST_BYTES))
            if not block:
                raise DamagedError
            self._data += block
        return self._data
