"""What a GGUF file says of itself: its header, read without llama.cpp and without reading the weights.

A GGUF file (version 2 or 3, little endian) is a magic number, two counts, that many metadata pairs, that many
tensor descriptions, and then the tensors, aligned. The header answers what a person and the engine want to
know before a model is loaded: its name, architecture, context length, size, chat template, and whether the
file is whole. Arrays (the vocabulary) are walked over, not kept.

Every count and length in the file is a claim: none is believed beyond the end of the file.
"""

import hashlib
import mmap
import os
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gistread.errors import EngineError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MAX_PAIRS = 65_536
_MAX_TENSORS = 1_000_000
_MAX_ARRAY = 16_000_000
_MAX_KEPT_STRING_BYTES = 4_000_000
_SAMPLES, _SAMPLE_BYTES = 64, 4096

# Metadata value types: number -> struct format. 8 is a string, 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

# Tensor types: number -> (name, values a block, bytes a block), as in ggml.h.
_TENSOR_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}

# `general.file_type`: the mix of tensor types that people know a file by.
_FILE_TYPES = {
    **dict(enumerate(("F32", "F16", "Q4_0", "Q4_1"))),
    **dict(enumerate(("Q8_0", "Q5_0", "Q5_1", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M"), 7)),
    **dict(enumerate(("Q5_K_S", "Q5_K_M", "Q6_K", "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS"), 16)),
    **dict(enumerate(("IQ1_S", "IQ4_NL", "IQ3_S", "IQ3_M", "IQ2_S", "IQ2_M", "IQ4_XS", "IQ1_M", "BF16"), 24)),
    **dict(enumerate(("TQ1_0", "TQ2_0", "MXFP4"), 36)),
}

Scalar = int | float | bool | str


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
    kv_bytes_per_token: int
    """Of an F16 KV cache with one head size for all layers; 0 where it cannot be told."""
    vocabulary: int
    """Number of tokens."""
    chat_template: str
    split_count: int
    """Files that the model consists of; 1 when it is whole."""
    missing_bytes: int
    """By how much the file is too short for the tensors that it lists."""
    fingerprint: str
    """Of the header and of samples of the weights: the same wherever the file lies."""
    title: str
    """What its makers call it (`general.name`)."""
    pooling: int | None
    """How vectors of tokens become one of the text, as llama.cpp numbers it; None: nothing is said of vectors."""


def read_header(path: Path) -> GgufHeader:
    """Read the header of one GGUF file.

    Raises EngineError when there is no such file, it cannot be read, or it is not a readable GGUF file. A file
    whose tensors are cut off is described (`missing_bytes`): the caller decides.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise _not_gguf(path, "empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Header(path, data, size).read()
    except FileNotFoundError:
        raise EngineError(
            f"There is no model file {path}.", "`gistread models list` shows those that are here."
        ) from None
    except IsADirectoryError:
        raise _not_gguf(path, "a directory") from None
    except (OSError, ValueError) as error:
        raise EngineError(f"The model file {path} cannot be read: {error}.") from None


def _not_gguf(path: Path, what: str) -> EngineError:
    return EngineError(f"{path} is not a GGUF model: it is {what}.", "`gistread models list` shows usable models.")


class _Header:
    """One pass over the bytes of a header."""

    def __init__(self, path: Path, data: mmap.mmap, size: int) -> None:
        self._path = path
        self._data = data
        self._size = size
        self._at = 0
        self._pairs: dict[str, Scalar] = {}
        self._array_lengths: dict[str, int] = {}

    def read(self) -> GgufHeader:
        if self._data[:4] != _MAGIC:
            raise _not_gguf(self._path, "something else")
        self._at = 4
        try:
            return self._describe()
        except (struct.error, UnicodeDecodeError, OverflowError, _BeyondEndError):
            raise EngineError(
                f"The model file {self._path} is damaged or cut off in its header.", "Fetch it again."
            ) from None

    def _describe(self) -> GgufHeader:
        version = self._scalar("I")
        if version not in _VERSIONS:
            raise EngineError(
                f"{self._path} is GGUF version {version}, which is not known here.",
                "Fetch a newer conversion of this model (GGUF 3).",
            )
        tensors, pairs = int(self._scalar("Q")), int(self._scalar("Q"))
        if tensors > _MAX_TENSORS or pairs > _MAX_PAIRS:
            raise _BeyondEndError
        for _ in range(pairs):
            self._pair()
        parameters, type_weights, layer_weights, data_bytes = self._tensors(tensors)
        alignment = self._int("general.alignment") or _DEFAULT_ALIGNMENT
        data_start = -(-self._at // alignment) * alignment
        arch = self._text("general.architecture")
        most_used = type_weights.most_common(1)[0][0] if type_weights else ""
        layer_type = layer_weights.most_common(1)[0][0] if layer_weights else most_used
        return GgufHeader(
            path=self._path,
            file_bytes=self._size,
            name=self._name(),
            architecture=arch,
            quantization=_FILE_TYPES.get(self._int("general.file_type", -1), most_used),
            layer_type=layer_type,
            parameters=parameters,
            licence=self._text("general.license"),
            context_length=self._int(f"{arch}.context_length"),
            layers=self._int(f"{arch}.block_count"),
            kv_bytes_per_token=self._kv_bytes_per_token(arch),
            vocabulary=self._array_lengths.get("tokenizer.ggml.tokens", 0),
            chat_template=self._text("tokenizer.chat_template"),
            split_count=max(1, self._int("split.count", 1)),
            missing_bytes=max(0, data_start + data_bytes - self._size),
            fingerprint=self._fingerprint(data_start),
            title=self._text("general.name"),
            pooling=self._int(f"{arch}.pooling_type", -1) if f"{arch}.pooling_type" in self._pairs else None,
        )

    def _pair(self) -> None:
        key = self._string()
        kind = int(self._scalar("I"))
        if kind == _ARRAY:
            self._array_lengths[key] = self._skip_array()
        elif kind == _STRING:
            self._pairs[key] = self._string()
        elif kind in _SCALARS:
            self._pairs[key] = self._scalar(_SCALARS[kind])
        else:
            raise _BeyondEndError

    def _tensors(self, count: int) -> tuple[int, Counter[str], Counter[str], int]:
        """Weights in all, by tensor type, by tensor type in the layers; and bytes of data that the tensors take."""
        parameters, by_type, in_layers, data_bytes = 0, Counter[str](), Counter[str](), 0
        for _ in range(count):
            is_layer = self._string().startswith("blk.")
            dimensions = int(self._scalar("I"))
            if dimensions > 8:
                raise _BeyondEndError
            weights = 1
            for _ in range(dimensions):
                weights *= int(self._scalar("Q"))
            kind = int(self._scalar("I"))
            offset = int(self._scalar("Q"))
            name, per_block, block_bytes = _TENSOR_TYPES.get(kind, (f"type {kind}", 1, 0))
            parameters += weights
            by_type[name] += weights
            if is_layer:
                in_layers[name] += weights
            data_bytes = max(data_bytes, offset + weights // per_block * block_bytes)
        return parameters, by_type, in_layers, data_bytes

    def _skip_array(self) -> int:
        kind = int(self._scalar("I"))
        length = int(self._scalar("Q"))
        if length > _MAX_ARRAY:
            raise _BeyondEndError
        if kind == _STRING:
            for _ in range(length):
                self._skip(int(self._scalar("Q")))
        elif kind in _SCALARS:
            self._skip(length * struct.calcsize(_SCALARS[kind]))
        else:
            raise _BeyondEndError
        return length

    def _scalar(self, code: str) -> int | float | bool:
        value: int | float | bool = struct.unpack_from("<" + code, self._data, self._at)[0]
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self) -> str:
        length = int(self._scalar("Q"))
        if length > _MAX_KEPT_STRING_BYTES:
            raise _BeyondEndError
        start = self._at
        self._skip(length)
        return self._data[start : self._at].decode("utf-8", "replace")

    def _skip(self, length: int) -> None:
        self._at += length
        if self._at > self._size:
            raise _BeyondEndError

    def _text(self, key: str) -> str:
        value = self._pairs.get(key, "")
        return value if isinstance(value, str) else ""

    def _int(self, key: str, otherwise: int = 0) -> int:
        value = self._pairs.get(key, otherwise)
        return value if isinstance(value, int) else otherwise

    def _name(self) -> str:
        """The file's own name, which people know it by; a store of blobs names files by hash, there the header's."""
        stem = self._path.stem
        return self._text("general.name") or stem if stem.startswith("sha256-") else stem

    def _kv_bytes_per_token(self, arch: str) -> int:
        heads = self._int(f"{arch}.attention.head_count")
        kv_heads = self._int(f"{arch}.attention.head_count_kv", heads)
        if not heads:
            return 0
        head_size = self._int(f"{arch}.embedding_length") // heads
        key_size = self._int(f"{arch}.attention.key_length", head_size)
        value_size = self._int(f"{arch}.attention.value_length", head_size)
        return 2 * self._int(f"{arch}.block_count") * kv_heads * (key_size + value_size)

    def _fingerprint(self, data_start: int) -> str:
        digest = hashlib.sha256(self._data[: min(data_start, self._size)])
        digest.update(struct.pack("<Q", self._size))
        step = max(_SAMPLE_BYTES, (self._size - data_start) // _SAMPLES)
        for at in range(data_start, self._size, step):
            digest.update(self._data[at : at + _SAMPLE_BYTES])
        return digest.hexdigest()[:32]


class _BeyondEndError(Exception):
    """A count or length in the header cannot be true."""
