"""Headers of models, broken in their counts, lengths, types and keys, or in any byte.

Each is described as in the list of models, in words and as JSON. The limits are tighter than a
book's because a list reads fifty headers at once.
"""

import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random

import orjson

from gistread.cli.models import _document
from gistread.engine.llama.gguf import (
    ARRAY,
    SCALARS,
    STRING,
    read_contents,
    read_header,
)
from gistread.engine.model_files import availability_of, describe, memory_fit_of
from gistread.engine.model_search import ModelFile
from gistread.engine.model_text import facts, memory_fit_text, other_facts
from gistread.errors import GistreadError
from tests.fuzzing.mutate import mutated
from tests.fuzzing.run import Cases
from tests.tiny_architectures import WRITERS
from tests.tiny_gguf import metadata, write_gguf, write_tiny_adapter, write_tiny_gguf

_HANG_S = 1.0
_MEMORY_BYTES = 200 * 1024 * 1024
_HEADER_BYTES = 60_000
"""Of a seed: all of its header and a little of the weights."""
_LARGEST_BYTES = 1_000_000
_FREE_BYTES = 8_000_000_000
_NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    31,
    255,
    256,
    1024,
    1025,
    4096,
    4097,
    65_535,
    65_536,
    1_000_000,
    16_000_000,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**48,
    2**48 + 1,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_KEYS = (
    "general.alignment",
    "general.architecture",
    "general.type",
    "general.file_type",
    "general.name",
    "split.count",
    "split.no",
    "tokenizer.ggml.tokens",
    "tokenizer.chat_template",
    "general.license",
    "",
    "a" * 1025,
    "block_count",
    "attention.head_count",
    "attention.head_count_kv",
    "context_length",
    "embedding_length",
    "ssm.state_size",
    "wkv.head_size",
    "shortconv.l_cache",
    "kda.head_dim",
    "nextn_predict_layers",
    "pooling_type",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.shared_kv_layers",
    "attention.key_length",
    "attention.key_length_mla",
    "attention.key_length_swa",
    "attention.recurrent_layers",
    "full_attention_interval",
    "feed_forward_length",
)
_ARCHITECTURES = (
    "llama",
    "qwen35",
    "nemotron_h",
    "falcon-h1",
    "lfm2",
    "gemma4",
    "rwkv7",
    "mamba",
    "bert",
    "clip",
    "t5",
    "dream",
    "",
    "\x1b[2J",
    "\0",
    "\u202ellama",
    "é" * 200,
)


class HeaderCases(Cases):
    """Mutated headers: the same index gives the same one."""

    name = "gguf"

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._folder = tempfile.TemporaryDirectory()
        self._files = self._seeds()
        with suppress(GistreadError):
            # what it imports is imported once, before any worker is forked
            self.check(0)

    @property
    def hang_s(self) -> float:
        return _HANG_S

    @property
    def memory_bytes(self) -> int:
        return _MEMORY_BYTES

    def suffix(self, index: int) -> str:
        return "header.gguf"

    def file(self, index: int) -> bytes:
        return mutated_model(Random(f"{self.name}:{self._seed}:{index}"), self._files)

    def _written(self, index: int) -> Path:
        # A worker of its own looks at each few hundred of them: they do not share the file.
        path = Path(self._folder.name, f"{os.getpid()}.gguf")
        path.write_bytes(self.file(index))
        return path

    def check(self, index: int) -> None:
        path = self._written(index)
        if index % 20 == 0:
            # what it claims may well be there, as zeros
            os.truncate(path, 3_000_000_000)
        model = describe(ModelFile(path, path.stem))
        fit = memory_fit_of(model, _FREE_BYTES)
        shown = [
            *facts(model),
            *other_facts(model),
            memory_fit_text(fit, model.context_length),
            availability_of(model, fit).name,
            model.problem,
        ]
        assert all(isinstance(words, str) for words in shown)
        assert model.usable or model.problem
        context_tokens = fit.context_tokens if fit else 0
        assert (
            min(model.context_length or 0, model.parameters or 0, context_tokens) >= 0
        )
        document = orjson.loads(orjson.dumps(_document(model, _FREE_BYTES, None)))
        assert document["usable"] == model.usable
        self._check_as_worker(path)

    def _check_as_worker(self, path: Path) -> None:
        """Read what a worker reads. Raises GistreadError when the header is refused."""
        memory = read_header(path).memory
        assert memory.kv_bytes_per_token >= 0
        assert memory.state_bytes >= 0

    def _seeds(self) -> list[bytes]:
        path = Path(self._folder.name, "seed.gguf")
        made = [write_tiny_gguf(path).read_bytes()]
        made += [write(path, 1).read_bytes() for write in WRITERS.values()]
        many = metadata(
            tokenizer__ggml__tokens=[f"t{number}" for number in range(2500)]
        )
        made.append(write_gguf(path, many | {"general.file_type": 7}, {}).read_bytes())
        split = {
            "split.count": 3,
            "split.no": 1,
            "general.type": "adapter",
            "general.alignment": 64,
        }
        made.append(write_gguf(path, metadata() | split, {}).read_bytes())
        made.append(write_gguf(path, {}, {}).read_bytes())
        return [data[:_HEADER_BYTES] for data in made]


class AdapterCases(HeaderCases):
    """Mutated headers of LoRA adapters, each read beside the model that it was made for."""

    name = "adapter"

    def check(self, index: int) -> None:
        path, model = self._written(index), Path(self._folder.name, "model.gguf")
        if not model.exists():
            write_tiny_gguf(model)
        assert read_header(model, path).adapter == path
        assert all(
            tensor.offset >= 0 and min(tensor.shape, default=0) >= 0
            for tensor in read_contents(path).tensors.values()
        )

    def _seeds(self) -> list[bytes]:
        return [
            write_tiny_adapter(Path(self._folder.name, "seed.gguf")).read_bytes()[
                :_HEADER_BYTES
            ]
        ]


def mutated_model(random: Random, files: list[bytes]) -> bytes:
    """One of the files, broken where the format gives its bytes a meaning, or anywhere."""
    data = random.choice(files)
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        if random.random() < 0.75:
            data = _break_field(data, random)
        else:
            data = mutated(data, random, files)
    data = data[:_LARGEST_BYTES]
    return b"GGUF" + data[4:] if random.random() < 0.95 else data


def _break_field(data: bytes, random: Random) -> bytes:
    """One thing changed that the format gives a meaning to."""
    match random.randrange(6):
        case 0:  # a count of the head
            return _put(data, random.choice((4, 8, 16)), random)
        case 1:  # a number somewhere behind a key
            return _put(data, _after_key(data, random), random)
        case 2:  # a length or a number anywhere
            return _put(data, random.randrange(max(1, len(data))), random)
        case 3:  # one more pair, which the head knows of
            return _with_pair(data, _pair(data, random))
        case 4:  # many of them
            pair = _pair(data, random)
            count = min(
                random.choice((30, 30, 30, 30, 300, 4097)), _LARGEST_BYTES // len(pair)
            )
            return _with_pair(data, pair * count, count)
        case _:  # the type of a value
            at = _after_key(data, random)
            return data[:at] + struct.pack("<I", random.randrange(14)) + data[at + 4 :]


def _put(data: bytes, at: int, random: Random) -> bytes:
    number = random.choice(_NUMBERS)
    form = random.choice(("<Q", "<I"))
    put = struct.pack(form, number % (2 ** (8 * struct.calcsize(form))))
    return data[:at] + put + data[at + len(put) :]


def _after_key(data: bytes, random: Random) -> int:
    """Where the type of a value stands, or near it."""
    key = random.choice(
        (
            b"general.",
            b"tokenizer.",
            b"llama.",
            b"mamba.",
            b"jamba.",
            b"gemma2.",
            b"blk.",
            b"split.",
        )
    )
    start = data.find(key, random.randrange(max(1, len(data))))
    if start < 8:
        return random.randrange(max(1, len(data)))
    (length,) = struct.unpack_from("<Q", data, start - 8)
    return min(start + int(length) % 200, len(data)) + random.choice((0, 4, 8, 16))


def _with_pair(data: bytes, pairs: bytes, count: int = 1) -> bytes:
    if len(data) < 24:
        return data + pairs
    (known,) = struct.unpack_from("<Q", data, 16)
    return data[:16] + struct.pack("<Q", (known + count) % 2**64) + pairs + data[24:]


def _pair(data: bytes, random: Random) -> bytes:
    key = random.choice(_KEYS)
    if "." not in key or not key.startswith(("general", "split", "tokenizer")):
        key = f"{random.choice(('llama', 'mamba', 'jamba', 'gemma2', *_ARCHITECTURES))}.{key}"
    kind = random.choice((*SCALARS, STRING, ARRAY))
    if kind == STRING:
        value = _text(
            random.choice((*_ARCHITECTURES, "adapter", "mmproj", "x" * 100_000))
        )
    elif kind == ARRAY:
        inner = random.choice((*SCALARS, STRING, ARRAY))
        count = random.choice((0, 1, 3, 40, 1024, 5000))
        if inner == STRING:
            body = _text("") * count
        else:
            body = random.randbytes(count * _size(inner))
        value = (
            struct.pack("<IQ", inner, random.choice((count, count, *_NUMBERS))) + body
        )
    else:
        if random.random() < 0.5:
            value = random.randbytes(_size(kind))
        else:
            value = bytes(_size(kind))
    return _text(key) + struct.pack("<I", kind) + value


def _size(kind: int) -> int:
    return struct.calcsize("<" + SCALARS[kind]) if kind in SCALARS else 8


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(encoded)) + encoded
