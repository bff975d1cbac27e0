"""The header of a GGUF file as it lies there: metadata pairs, and what its list of tensors adds up to.

A GGUF file (version 2 or 3, little endian) is a magic number, two counts, that many metadata pairs, that many
tensor descriptions, and then the tensors, aligned. Every count and length is a claim: none is believed beyond the
end of the file, and what is kept or walked over is bounded, so that no file takes more than some 70 MB or a second.

A vocabulary is a hundred thousand strings, each told by its length alone, and walking over them takes most of the
time of reading a header. So it is hopped over: the next key is searched for instead. A hop that went wrong shows,
since the pairs and tensors that were counted are not found behind it, and then every string is walked over.

What the pairs mean, this does not know.
"""

import struct
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from gistread.engine.llama.gguf_types import ARRAY, SCALARS, STRING, TENSOR_TYPES

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
LARGEST_NUMBER = 1 << 48
"""A larger one is no size of anything."""

_BLOCK_BYTES = 1 << 20
"""Read at once. Headers of models are some megabytes."""
_MOST_BYTES = 64 << 20
"""Of a header."""
_MOST_PAIRS = 4096
_MOST_TENSORS = 65_536
_MOST_STRINGS = 4_000_000
"""In all arrays: the largest vocabularies have a quarter of a million tokens and twice as many merges."""
_LONGEST_KEY_BYTES = 1024
_LONGEST_KEPT_BYTES = 1 << 20
"""Of a text; chat templates have some thousands. A longer one is passed over."""
_KEPT_NUMBERS = 1024
"""Of an array: those with a number for each layer are kept."""
_NUMBER_BYTES = 40
"""What Python takes for one."""
_KEPT_BYTES = 8 << 20
"""Of all texts and numbers."""
_MOST_DIMENSIONS = 4

_WORTH_A_HOP = 2000
"""Strings."""
_HOP_BYTES = 64
"""For each string: as far is the next key searched for."""
_NEXT_KEY = b"\0\0\0\0\0\0tokenizer."
"""As vocabularies are followed by: the upper six bytes of the key's length, and its beginning."""
_KEY_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")

Scalar = int | float | bool | str
Array = list[bytes] | list[int | float | bool]
"""The strings of an array are bytes: those of a vocabulary need not be whole characters."""
Value = Scalar | Array


class DamagedError(Exception):
    """A count or length in the header cannot be true, or the file ends within it."""


class UnknownVersionError(Exception):
    """GGUF, of another version."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version}")
        self.version = version


@dataclass(frozen=True, slots=True)
class Tensors:
    """What the list of tensors adds up to."""

    count: int
    weights: int
    by_type: Mapping[str, int]
    """Weights by the name of their type."""
    in_layers: Mapping[str, int]
    """The same of those in the layers."""
    data_bytes: int
    """From the beginning of the first tensor to the end of the last."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The header of one file."""

    pairs: Mapping[str, Scalar]
    arrays: Mapping[str, tuple[int, ...]]
    """Short arrays of whole numbers or truth values."""
    array_lengths: Mapping[str, int]
    """Of every array."""
    tensors: Tensors
    end: int
    """Bytes of the header, before the padding behind it."""

    def text(self, key: str) -> str:
        value = self.pairs.get(key, "")
        return value if isinstance(value, str) else ""

    def number(self, key: str, otherwise: int = 0) -> int:
        """Of something that is counted; `otherwise` where nothing, or nothing sensible, is said."""
        value = self.pairs.get(key, otherwise)
        return value if isinstance(value, int) and 0 <= value <= LARGEST_NUMBER else otherwise

    def of_layers(self, key: str, layers: int, otherwise: int = 0) -> tuple[int, ...]:
        """A number for each layer, whether the file gives one for all or an array with one each."""
        found = self.arrays.get(key)
        if found is None:
            return (self.number(key, otherwise),) * layers
        sound = [number if 0 <= number <= LARGEST_NUMBER else otherwise for number in found[:layers]]
        return tuple(sound + [otherwise] * (layers - len(sound)))

    @property
    def data_start(self) -> int:
        """Where the tensors begin."""
        alignment = self.number("general.alignment") or DEFAULT_ALIGNMENT
        return -(-self.end // alignment) * alignment


def read_contents(file: BinaryIO, size: int) -> Contents:
    """The header of a file of `size` bytes that begins as GGUF.

    Raises DamagedError, UnknownVersionError, OSError.
    """
    data = _Prefix(file, size)
    try:
        contents = _Pass(data, hops=True).read()
        if contents.data_start + contents.tensors.data_bytes <= size:
            return contents
    except DamagedError:
        pass
    return _Pass(data, hops=False).read()


def read_pairs(file: BinaryIO, size: int, keys: Collection[str]) -> dict[str, Value]:
    """What the header of a file says under these keys, arrays too; a key that it lacks is left out.

    Raises as `read_contents`.
    """
    found = _Pass(_Prefix(file, size), hops=False, wanted=keys).read_pairs()
    return {key: found[key] for key in keys if key in found}


class _Prefix:
    """The beginning of a file, read as far as it is wanted. A file that is cut while it is read has ended early."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size
        self.data = bytearray()

    def reach(self, end: int) -> None:
        """Have everything before `end`. Raises DamagedError where the file, or patience with it, ends before."""
        while len(self.data) < end:
            if end > min(self.size, _MOST_BYTES):
                raise DamagedError
            block = self._file.read(max(_BLOCK_BYTES, end - len(self.data)))
            if not block:
                raise DamagedError
            self.data += block


class _Pass:
    """One pass over a header. `hops`: whether large vocabularies are hopped over. `wanted`: arrays to keep whole."""

    def __init__(self, prefix: _Prefix, *, hops: bool, wanted: Collection[str] = ()) -> None:
        self._prefix = prefix
        self._hops = hops
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
        found = self._tensors(tensors)
        return Contents(self._pairs, self._arrays, self._array_lengths, found, self._at)

    def read_pairs(self) -> dict[str, Value]:
        self._read_pairs()
        return {**self._pairs, **self._whole}

    def _read_pairs(self) -> int:
        """The number of tensors that are described behind the pairs."""
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
            self._array(key, kind, length)
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

    def _array(self, key: str, kind: int, length: int) -> None:
        if kind == STRING:
            self._skip_strings(length)
        elif kind not in SCALARS or length > _MOST_BYTES:
            raise DamagedError
        elif length <= _KEPT_NUMBERS and SCALARS[kind] not in "fd":
            self._keep(length * _NUMBER_BYTES)
            self._arrays[key] = tuple(map(int, self._unpack(f"{length}{SCALARS[kind]}")))
        else:
            self._skip(length * struct.calcsize("<" + SCALARS[kind]))

    def _array_from(self, at: int, kind: int, length: int) -> Array:
        """The whole array that begins there, and has been gone over: its lengths can be believed."""
        data = self._prefix.data
        if kind != STRING:
            return list(struct.unpack_from(f"<{length}{SCALARS[kind]}", data, at))
        strings: list[bytes] = []
        length_at = struct.Struct("<Q").unpack_from
        for _ in range(length):
            end = at + 8 + length_at(data, at)[0]
            strings.append(bytes(data[at + 8 : end]))
            at = end
        return strings

    def _tensors(self, count: int) -> Tensors:
        weights_in_all, data_bytes = 0, 0
        by_type, in_layers = Counter[str](), Counter[str]()
        for _ in range(count):
            is_layer = self._take(self._number("Q"), _LONGEST_KEY_BYTES).startswith(b"blk.")
            dimensions = self._number("I")
            if dimensions > _MOST_DIMENSIONS:
                raise DamagedError
            *shape, kind, offset = self._unpack(f"{dimensions}QIQ")
            weights = 1
            for length in shape:
                weights *= length
            if weights > LARGEST_NUMBER or offset > LARGEST_NUMBER:
                raise DamagedError
            name, per_block, block_bytes = TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))
            weights_in_all += weights
            by_type[name] += weights
            if is_layer:
                in_layers[name] += weights
            data_bytes = max(data_bytes, offset + weights // per_block * block_bytes)
        return Tensors(count, weights_in_all, by_type, in_layers, data_bytes)

    def _keep(self, size: int) -> None:
        self._kept_bytes += size
        if self._kept_bytes > _KEPT_BYTES:
            raise DamagedError

    # Strings that nobody wants.

    def _skip_strings(self, count: int) -> None:
        self._strings += count
        if self._strings > _MOST_STRINGS:
            raise DamagedError
        if not (self._hops and count >= _WORTH_A_HOP and self._hop(count)):
            self._walk(count)

    def _walk(self, count: int) -> None:
        at, data, length_at = self._at, self._prefix.data, struct.Struct("<Q").unpack_from
        while count:
            try:
                while count:
                    at += 8 + length_at(data, at)[0]
                    count -= 1
            except (struct.error, OverflowError):
                self._prefix.reach(at + 8)
        self._prefix.reach(at)
        self._at = at

    def _hop(self, count: int) -> bool:
        """Go to the next key that looks like one. False: there is none near."""
        prefix = self._prefix
        least = self._at + 8 * count
        most = min(least + _HOP_BYTES * count, prefix.size, _MOST_BYTES)
        at = least
        while at < most:
            until = min(at + _BLOCK_BYTES, most)
            prefix.reach(until)
            found = prefix.data.find(_NEXT_KEY, at, until)
            if found < 0:
                at = until if until == most else until - len(_NEXT_KEY) + 1
            elif self._is_pair(found - 2):
                self._at = found - 2
                return True
            else:
                at = found + 1
        return False

    def _is_pair(self, at: int) -> bool:
        """Whether a pair may begin here."""
        data = self._prefix.data
        length = int.from_bytes(data[at : at + 8], "little")
        if length > _LONGEST_KEY_BYTES:
            return False
        end = at + 8 + length
        self._prefix.reach(end + 4)
        kind = int.from_bytes(data[end : end + 4], "little")
        return _KEY_BYTES.issuperset(data[at + 8 : end]) and (kind in SCALARS or kind in (STRING, ARRAY))

    # What everything is made of.

    def _number(self, code: str) -> int:
        value: int = self._unpack(code)[0]
        return value

    def _unpack(self, code: str) -> tuple[int, ...]:
        start = self._at
        self._skip(struct.calcsize("<" + code))
        return struct.unpack_from("<" + code, self._prefix.data, start)

    def _take(self, length: int, most: int) -> bytes:
        if length > most:
            raise DamagedError
        start = self._at
        self._skip(length)
        return bytes(self._prefix.data[start : self._at])

    def _skip(self, length: int) -> None:
        """Go on by so many bytes, which are there."""
        end = self._at + length
        self._prefix.reach(end)
        self._at = end
