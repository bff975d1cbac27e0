"""Half a hundred models with vocabularies of today's size in a home of their own, listed by a process that starts."""

import os
import random
import resource
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from tests.benchmarks.figures import Finding, Spread, Table, Target
from tests.benchmarks.setting import Setting

MODELS = 50
TOKENS = 150_000
_RUNS = 7
_QUICK_MODELS, _QUICK_RUNS = 5, 2
_LAYERS = 36
_OF_LAYER = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


async def measure(setting: Setting) -> AsyncIterator[Finding]:
    count, runs = (_QUICK_MODELS, _QUICK_RUNS) if setting.quick else (MODELS, _RUNS)
    home = setting.folder / "home"
    header_bytes = write_models(home / "models", count)
    wall, busy = zip(*(_list(home) for _ in range(runs + 1)), strict=True)
    times = Spread.of(wall[1:])  # Python compiles in the first run
    yield Table(
        f"{count} models listed, headers of {header_bytes / 1e6:.1f} MB each",
        ("gistread models list", "[s]"),
        (("until it has ended", times), ("of the processor", Spread.of(busy[1:]))),
    )
    yield Target(f"{count} models listed, cold [s]", times.median, at_most=0.5)


def write_models(folder: Path, count: int) -> int:
    """Files that look like models of 4 B parameters, as sparse files; how large a header is, in bytes."""
    folder.mkdir(parents=True)
    source = random.Random(1)
    words = ["".join(source.choices("etaoinshrdlucmf", k=source.randint(1, 12))) for _ in range(TOKENS)]
    merges = [f"{one} {other}" for one, other in zip(words, reversed(words), strict=True)]
    vocabulary = _pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, TOKENS) + b"".join(map(_text, words)))
    vocabulary += _pair("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, TOKENS) + bytes(4 * TOKENS))
    vocabulary += _pair("tokenizer.ggml.merges", 9, struct.pack("<IQ", 8, TOKENS) + b"".join(map(_text, merges)))
    tensors, data_bytes = _tensors()
    header = b""
    for number in range(count):
        pairs = [
            _pair("general.architecture", 8, _text("qwen3")),
            _pair("general.name", 8, _text(f"Model {number}")),
            _pair("general.license", 8, _text("apache-2.0")),
            *(_pair(f"qwen3.{key}", 4, struct.pack("<I", value)) for key, value in _NUMBERS.items()),
            _pair("tokenizer.ggml.model", 8, _text("gpt2")),
            vocabulary,
            _pair("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 1)),
            _pair("tokenizer.chat_template", 8, _text("{{ messages }}" * 300)),
            _pair("general.file_type", 4, struct.pack("<I", 15)),
        ]
        header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs) + 2) + b"".join(pairs) + b"".join(tensors)
        with (folder / f"model-{number:02}-Q4_K_M.gguf").open("wb") as file:
            file.write(header)
            file.truncate(-(-len(header) // 32) * 32 + data_bytes)
    return len(header)


_NUMBERS = {
    "block_count": _LAYERS,
    "context_length": 262_144,
    "embedding_length": 2560,
    "feed_forward_length": 9728,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "attention.key_length": 128,
    "attention.value_length": 128,
}


def _tensors() -> tuple[list[bytes], int]:
    """Descriptions of the tensors, each 2560 by 4096 in Q4_K, and the bytes that all of them take."""
    names = ["token_embd.weight", "output_norm.weight"]
    names += [f"blk.{layer}.{name}.weight" for layer in range(_LAYERS) for name in _OF_LAYER]
    size = 2560 * 4096 // 256 * 144
    described = [
        _text(name) + struct.pack("<IQQIQ", 2, 2560, 4096, 12, index * size) for index, name in enumerate(names)
    ]
    return described, len(names) * size


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _pair(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _list(home: Path) -> tuple[float, float]:
    """Seconds until the command has ended, and of the processor."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HF_", "LLAMA", "OLLAMA"))
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "gistread", "models", "list"]
    subprocess.run(command, env={**kept, "HOME": str(home)}, capture_output=True, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
