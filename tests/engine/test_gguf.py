"""The header reader, on valid, damaged and hostile files."""

import os
import random
import struct
from pathlib import Path

import pytest

from gistread.engine.llama.gguf import read_header
from gistread.errors import EngineError
from tests.tiny_gguf import CHAT_TEMPLATE, write_gguf, write_tiny_gguf


def test_the_starter_is_described(starter: Path) -> None:
    header = read_header(starter)
    assert header.name == "SmolLM2-135M-Instruct.Q4_1"
    assert (header.architecture, header.quantization, header.licence) == (
        "llama",
        "Q4_1",
        "apache-2.0",
    )
    assert (header.context_length, header.layers, header.vocabulary) == (
        8192,
        30,
        49152,
    )
    assert header.parameters == 134_515_008
    # 30 layers, 3 KV heads of 64, keys and values, 2 bytes each
    assert header.memory.kv_bytes_per_token == 23_040
    assert "<|im_start|>" in header.chat_template
    assert header.missing_bytes == 0


def test_a_file_written_by_hand_is_described(tiny: Path) -> None:
    header = read_header(tiny)
    assert (header.quantization, header.vocabulary, header.context_length) == (
        "F32",
        261,
        4096,
    )
    assert header.chat_template == CHAT_TEMPLATE
    assert header.memory.kv_bytes_per_token == 2 * 2 * 4 * (16 + 16)


def test_the_fingerprint_depends_on_the_weights_and_not_on_the_path(
    tmp_path: Path,
) -> None:
    first = write_tiny_gguf(tmp_path / "one.gguf", seed=1)
    same = write_tiny_gguf(tmp_path / "same.gguf", seed=1)
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2)
    assert read_header(first).fingerprint == read_header(same).fingerprint
    assert read_header(first).fingerprint != read_header(other).fingerprint


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such model file"),
        (b"", "it is not a GGUF model"),
        (b"PK\x03\x04", "it is not a GGUF model"),
        (b"\0" * 100, "it is not a GGUF model"),
        (b"GGUF\0\0\0\x03" + b"\0" * 16, "which is not supported"),
        (b"GGUF", "damaged or cut off"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "damaged or cut off"),
        (b"GGUF\x01\0\0\0" + b"\0" * 16, "version 1"),
    ],
)
def test_files_that_are_no_model_are_described(
    tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EngineError, match=says):
        read_header(path)


@pytest.mark.parametrize("name", ["two\nlines.gguf", "no \udcff\udcfe UTF-8.gguf"])
def test_a_path_with_line_breaks_or_invalid_bytes_is_refused(
    tiny: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(tiny.read_bytes())
    with pytest.raises(EngineError, match="not UTF-8") as caught:
        read_header(path)
    assert caught.value.hint == "Rename it."


def test_counts_in_a_header_are_bounded(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", {"tokenizer.ggml.token_type": [0] * 10}, {})
    data = path.read_bytes()
    at = data.index(b"token_type") + len("token_type") + 8
    path.write_bytes(data[:at] + struct.pack("<Q", 60_000_000) + data[at + 8 :])
    os.truncate(path, 3_000_000_000)
    with pytest.raises(EngineError, match="damaged or cut off"):
        read_header(path)


def test_a_mutated_header_is_read_or_refused(tiny: Path, tmp_path: Path) -> None:
    dice = random.Random(5)
    original = tiny.read_bytes()[:8000]
    path = tmp_path / "mutated.gguf"
    read = refused = 0
    for _ in range(300):
        content = bytearray(original)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(content) - 8)
            content[at : at + 8] = dice.randbytes(8)
        path.write_bytes(content)
        try:
            assert read_header(path).file_bytes == len(content)
        except EngineError:
            refused += 1
        else:
            read += 1
    assert min(read, refused) > 10
