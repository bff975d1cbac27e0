"""Parses the header of a GGUF file: metadata pairs, and totals over its list of tensors.

Counts and lengths are untrusted: all work is bounded, to about 70 MB and one second. Walking over the strings of a
vocabulary would take most of the time. The parser searches for the next key instead, and walks only if the result is
inconsistent.
"""

import math
import struct
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from gistread.engine.llama.gguf_types import ARRAY, SCALARS, STRING, TENSOR_TYPES

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
_MOST_ELEMENTS = 2_000_000
"""Strings in all arrays, and numbers in a wanted array. The largest vocabularies have 250,000 tokens and twice as many
merges."""
_LONGEST_KEY_BYTES = 1024
_LONGEST_KEPT_BYTES = 1 << 20  # Longer texts are skipped; chat templates have some thousands
_KEPT_NUMBERS = 1024  # Longer arrays are skipped; those with a number per layer are kept
_NUMBER_BYTES = 40  # Memory Python needs for one
_KEPT_BYTES = 8 << 20
_LONGEST_TENSOR_BYTES = 1024  # A tensor's description: a name (64 bytes in ggml) and some numbers

_LENGTH = struct.Struct("<Q")
_NUMBER = struct.Struct("<I")
# By number of dimensions: sizes, type, offset.
_SHAPES = tuple(struct.Struct(f"<{dimensions}QIQ") for dimensions in range(5))

_SKIP_FROM = 2000  # Strings: shorter arrays are walked
# Per string: where the search for the next key begins and ends. No vocabulary has shorter strings on average.
_SKIP_BYTES = 11, 64
# What follows a vocabulary: the upper six bytes of a key's length, and its beginning.
_NEXT_KEY = b"\0\0\0\0\0\0tokenizer."
_KEY_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")

Scalar = int | float | bool | str
Array = list[bytes] | list[int | float | bool]  # Strings in arrays are bytes, since tokens need not be whole characters
Value = Scalar | Array


class DamagedError(Exception):
    """A count or length in the header is impossible, or the file ends within it."""


@dataclass(eq=False)
class UnknownVersionError(Exception):
    version: int

    @property
    def is_big_endian(self) -> bool:
        return int.from_bytes(self.version.to_bytes(4, "little"), "big") in VERSIONS


class Tensor(NamedTuple):
    shape: tuple[int, ...]  # Rows first
    kind: int  # A key of `TENSOR_TYPES`
    offset: int  # From the start of the first tensor, in bytes


@dataclass(frozen=True, slots=True)
class Tensors:
    weights: int
    by_type: Mapping[str, int]  # Number of weights by type name
    in_layers: Mapping[str, int]  # The same for the layers only
    data_bytes: int  # From the start of the first tensor to the end of the last


@dataclass(frozen=True, slots=True)
class Contents:
    pairs: Mapping[str, Scalar]
    arrays: Mapping[str, tuple[int, ...]]  # Short arrays of integers or booleans
    array_lengths: Mapping[str, int]  # The length of every array
    tensors: Tensors
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


def read_contents(file: BinaryIO, size: int) -> Contents:
    """Read the header of a file with the GGUF magic. Raises DamagedError, UnknownVersionError, OSError."""
    try:
        contents = _Pass(_Window(file, size), skips=True).read()
        if contents.data_start + contents.tensors.data_bytes <= size:
            return contents
    except DamagedError:
        pass
    return _Pass(_Window(file, size), skips=False).read()


def read_pairs(file: BinaryIO, size: int, keys: Collection[str]) -> dict[str, Value]:
    """Read the values of these keys, arrays included; missing keys are left out. Raises as `read_contents`."""
    found = _Pass(_Window(file, size), skips=False, wanted=keys).read_pairs()
    return {key: found[key] for key in keys if key in found}


def read_tensors(file: BinaryIO, size: int) -> dict[str, Tensor]:
    """Every tensor by name. Raises as `read_contents`."""
    return _Pass(_Window(file, size), skips=False).read_tensors()


class _Window:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.end = min(size, _MOST_BYTES)  # Offset at which reading stops
        self.start = 0  # Offset of `data` in the file
        self.data = b""

    def show(self, at: int, length: int) -> int:
        """Buffer `length` bytes at offset `at` and return where they begin in `data`. Raises DamagedError."""
        offset = at - self.start
        if offset >= 0 and offset + length <= len(self.data):
            return offset
        if at + length > self.end:
            raise DamagedError
        self._file.seek(at)
        parts, wanted = [], max(length, min(_BLOCK_BYTES, self.end - at))
        while wanted > 0 and (block := self._file.read(wanted)):
            parts.append(block)
            wanted -= len(block)
        self.start, self.data = at, b"".join(parts)
        if len(self.data) < length:
            raise DamagedError
        return 0


class _Pass:
    """One pass over a header. `skips`: search past large vocabularies. `wanted`: arrays to keep."""

    def __init__(self, window: _Window, *, skips: bool, wanted: Collection[str] = ()) -> None:
        self._window = window
        self._skips = skips
        self._wanted = wanted
        self._whole: dict[str, Array] = {}
        self._at = len(MAGIC)
        self._strings = 0
        self._kept_bytes = 0
        self._pairs: dict[str, Scalar] = {}
        self._arrays: dict[str, tuple[int, ...]] = {}
        self._array_lengths: dict[str, int] = {}

    def read(self) -> Contents:
        tensors = self._read_pairs()
        # As llama.cpp does. With an alignment of gigabytes the whole file would count as header.
        if self._pairs.get(_ALIGNMENT, DEFAULT_ALIGNMENT) not in _ALIGNMENTS:
            raise DamagedError
        found = self._tensors(tensors)
        return Contents(self._pairs, self._arrays, self._array_lengths, found, self._at)

    def read_pairs(self) -> dict[str, Value]:
        self._read_pairs()
        return {**self._pairs, **self._whole}

    def read_tensors(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for _ in range(self._read_pairs()):
            name = self._take(self._number("Q"), _LONGEST_TENSOR_BYTES).decode("utf-8", "replace")
            shape = self._unpack(f"{self._number('I')}Q")
            found[name] = Tensor(shape[::-1], self._number("I"), self._number("Q"))
        return found

    def _read_pairs(self) -> int:
        version = self._number("I")
        if version not in VERSIONS:
            raise UnknownVersionError(version)
        tensors, pairs = self._number("Q"), self._number("Q")
        if tensors > _MOST_TENSORS or pairs > _MOST_PAIRS:
            raise DamagedError
        for _ in range(pairs):
            self._pair()
        return tensors

    def _pair(self) -> None:
        key = self._take(self._number("Q"), _LONGEST_KEY_BYTES).decode("utf-8", "replace")
        kind = self._number("I")
        if kind == ARRAY:
            kind, length = self._number("I"), self._number("Q")
            start = self._at
            if kind == STRING:
                self._skip_strings(length)
            elif kind not in SCALARS or length > (_MOST_ELEMENTS if key in self._wanted else _MOST_BYTES):
                raise DamagedError
            elif length <= _KEPT_NUMBERS and SCALARS[kind] not in "fd":
                self._keep(length * _NUMBER_BYTES)
                self._arrays[key] = tuple(map(int, self._unpack(f"{length}{SCALARS[kind]}")))
            else:
                self._skip(length * struct.calcsize("<" + SCALARS[kind]))
            self._array_lengths[key] = length
            if key in self._wanted:
                self._whole[key] = self._array_from(start, kind, length)
        elif kind == STRING:
            self._text(key)
        elif kind in SCALARS:
            self._pairs[key] = self._unpack(SCALARS[kind])[0]
        else:
            raise DamagedError

    def _text(self, key: str) -> None:
        length = self._number("Q")
        if length > _LONGEST_KEPT_BYTES:
            self._skip(length)
            return
        self._keep(length)
        self._pairs[key] = self._take(length, length).decode("utf-8", "replace")

    def _array_from(self, start: int, kind: int, length: int) -> Array:
        at = self._window.show(start, self._at - start)
        data = self._window.data
        if kind != STRING:
            return list(struct.unpack_from(f"<{length}{SCALARS[kind]}", data, at))
        strings: list[bytes] = []
        for _ in range(length):
            end = at + 8 + _LENGTH.unpack_from(data, at)[0]
            strings.append(data[at + 8 : end])
            at = end
        return strings

    def _tensors(self, count: int) -> Tensors:
        by_kind, in_layers = Counter[int](), Counter[int]()
        last, last_weights, last_kind = 0, 0, 0
        window, data, start = self._window, self._window.data, self._window.start
        at, safe = self._at - start, -1
        # Runs for hundreds of tensors in each of many files, so bytes are unpacked in place.
        for _ in range(count):
            if at > safe:
                at = window.show(start + at, max(0, min(_LONGEST_TENSOR_BYTES, window.end - start - at)))
                data, start = window.data, window.start
                safe = len(data) - _LONGEST_TENSOR_BYTES
            try:
                name_end = at + 8 + _LENGTH.unpack_from(data, at)[0]
                form = _SHAPES[_NUMBER.unpack_from(data, name_end)[0]]
                *shape, kind, offset = form.unpack_from(data, name_end + 4)
            except (struct.error, OverflowError, IndexError):
                raise DamagedError from None
            weights = math.prod(shape)
            if weights > LARGEST_NUMBER or offset > LARGEST_NUMBER:
                raise DamagedError
            by_kind[kind] += weights
            if data.startswith(b"blk.", at + 8):
                in_layers[kind] += weights
            if offset >= last:
                last, last_weights, last_kind = offset, weights, kind
            at = name_end + 4 + form.size
        self._at = start + at
        _, per_block, block_bytes = _tensor_type(last_kind)
        return Tensors(
            weights=sum(by_kind.values()),
            by_type={_tensor_type(kind)[0]: weights for kind, weights in by_kind.items()},
            in_layers={_tensor_type(kind)[0]: weights for kind, weights in in_layers.items()},
            data_bytes=last + last_weights // per_block * block_bytes,
        )

    def _keep(self, size: int) -> None:
        self._kept_bytes += size
        if self._kept_bytes > _KEPT_BYTES:
            raise DamagedError

    def _skip_strings(self, count: int) -> None:
        self._strings += count
        if self._strings > _MOST_ELEMENTS:
            raise DamagedError
        if not (self._skips and count >= _SKIP_FROM and self._skip_to_key(count)):
            while count:
                at = self._window.show(self._at, _LENGTH.size)
                data, start = self._window.data, self._window.start
                try:
                    while count:
                        at += 8 + _LENGTH.unpack_from(data, at)[0]
                        count -= 1
                except (struct.error, OverflowError):
                    pass
                self._at = start + at
            if self._at > self._window.end:
                raise DamagedError

    def _skip_to_key(self, count: int) -> bool:
        """Search for the next key and continue there. Returns False if none is near."""
        window = self._window
        at, most = (self._at + each * count for each in _SKIP_BYTES)
        until = min(most, window.end) - len(_NEXT_KEY)
        while at < until:
            offset = window.show(at, len(_NEXT_KEY))
            found = window.data.find(_NEXT_KEY, offset)
            if found < 0:
                at = window.start + len(window.data) - len(_NEXT_KEY) + 1
                continue
            key = window.start + found - 2  # the key's length has two lower bytes before
            if self._is_pair(key):
                self._at = key
                return True
            at = key + 3
        return False

    def _is_pair(self, at: int) -> bool:
        length = _LENGTH.unpack_from(self._window.data, self._window.show(at, 8))[0]
        if length > _LONGEST_KEY_BYTES:
            return False
        offset = self._window.show(at + 8, length + 4)
        key = self._window.data[offset : offset + length]
        kind = _NUMBER.unpack_from(self._window.data, offset + length)[0]
        return _KEY_BYTES.issuperset(key) and bool(kind <= max(SCALARS))

    def _number(self, code: str) -> int:
        return self._unpack(code)[0]

    def _unpack(self, code: str) -> tuple[int, ...]:
        length = struct.calcsize("<" + code)
        offset = self._window.show(self._at, length)
        self._at += length
        return struct.unpack_from("<" + code, self._window.data, offset)

    def _take(self, length: int, most: int) -> bytes:
        if length > most:
            raise DamagedError
        offset = self._window.show(self._at, length)
        self._at += length
        return self._window.data[offset : offset + length]

    def _skip(self, length: int) -> None:
        self._at += length
        if self._at > self._window.end:
            raise DamagedError


def _tensor_type(kind: int) -> tuple[str, int, int]:
    return TENSOR_TYPES.get(kind) or (f"type {kind}", 1, 0)
