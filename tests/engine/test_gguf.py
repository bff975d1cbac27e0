"""The header reader, on valid, damaged and hostile files."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gistread.engine.llama import gguf_contents
from gistread.engine.llama.gguf import read_header, read_values
from gistread.errors import EngineError
from tests.tiny_gguf import CHAT_TEMPLATE, metadata, write_gguf, write_tiny_gguf


def test_the_starter_is_described(starter: Path) -> None:
    header = read_header(starter)
    assert header.name == "SmolLM2-135M-Instruct.Q4_1"
    assert (header.architecture, header.quantization, header.licence) == ("llama", "Q4_1", "apache-2.0")
    assert (header.context_length, header.layers, header.vocabulary) == (8192, 30, 49152)
    assert header.parameters == 134_515_008
    assert header.memory.kv_bytes_per_token == 23_040  # 30 layers, 3 KV heads of 64, keys and values, 2 bytes each
    assert "<|im_start|>" in header.chat_template
    assert header.missing_bytes == 0


def test_a_file_written_by_hand_is_described(tiny: Path) -> None:
    header = read_header(tiny)
    assert (header.quantization, header.vocabulary, header.context_length) == ("F32", 261, 4096)
    assert header.chat_template == CHAT_TEMPLATE
    assert header.memory.kv_bytes_per_token == 2 * 2 * 4 * (16 + 16)


def test_the_fingerprint_depends_on_the_weights_and_not_on_the_path(tmp_path: Path) -> None:
    one = write_tiny_gguf(tmp_path / "one.gguf", seed=1)
    same = write_tiny_gguf(tmp_path / "same.gguf", seed=1)
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2)
    assert read_header(one).fingerprint == read_header(same).fingerprint
    assert read_header(one).fingerprint != read_header(other).fingerprint


def test_a_header_alone_is_read_without_touching_the_weights(tiny: Path) -> None:
    assert read_header(tiny, fingerprint=False).fingerprint == ""


def test_values_and_arrays_are_read_by_key(tiny: Path) -> None:
    keys = ("tokenizer.ggml.merges", "tokenizer.ggml.token_type", "llama.block_count", "no.such.key")
    found = read_values(tiny, keys)
    assert found["tokenizer.ggml.merges"] == [b"t h"]
    assert found["tokenizer.ggml.token_type"] == [1] * 256 + [3] * 4 + [1]
    assert found["llama.block_count"] == 2
    assert "no.such.key" not in found


def large(path: Path, *, before: str = "", after: str = "") -> Path:
    """A file with a vocabulary worth a hop; `before` and `after` are tokens in front and at the end of it."""
    tokens = [before, *(f"t{number}" for number in range(5000)), after]
    values = metadata(tokenizer__ggml__tokens=[token for token in tokens if token])
    return write_gguf(path, values | {"general.file_type": 7}, {})


@pytest.mark.parametrize("decoy", ["", "tokenizer.ggml.merges", "\0\0\0\0\0\0\0\0tokenizer.x"])
def test_a_vocabulary_is_skipped_and_the_keys_after_it_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoy: str
) -> None:
    path = large(tmp_path / "large.gguf", after=decoy)
    hopped = read_header(path)
    assert (hopped.vocabulary, hopped.quantization) == (5000 + bool(decoy), "Q8_0")
    assert hopped.chat_template == CHAT_TEMPLATE
    monkeypatch.setattr(gguf_contents, "_SKIP_FROM", 1 << 60)
    assert read_header(path) == hopped


def test_a_vocabulary_with_nothing_known_behind_it_is_walked_over(tmp_path: Path) -> None:
    values = {key: value for key, value in metadata().items() if not key.startswith("tokenizer.")}
    values["tokenizer.ggml.tokens"] = [f"t{number}" for number in range(5000)]
    header = read_header(write_gguf(tmp_path / "last.gguf", values | {"general.file_type": 7}, {}))
    assert (header.vocabulary, header.quantization) == (5000, "Q8_0")


def test_a_long_licence_is_shortened(tmp_path: Path) -> None:
    text = "MIT License\n\nPermission is hereby granted, free of charge, " * 50
    path = write_tiny_gguf(tmp_path / "m.gguf", general__license=text)
    assert read_header(path).licence == " ".join(text.split())[:80]


def test_a_blob_is_named_by_its_header(tmp_path: Path) -> None:
    assert read_header(write_tiny_gguf(tmp_path / "sha256-0f3a")).name == "Tiny"


def test_missing_bytes_are_counted(tiny: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny.read_bytes()[:-1000])
    assert 0 < read_header(cut).missing_bytes <= 1000


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such model file"),
        (b"", "empty"),
        (b"PK\x03\x04", "a zip archive, not a GGUF model"),
        (b"\n<!DOCTYPE html><title>Log in</title>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "a git-lfs pointer"),
        (b"lmgg" + b"\0" * 100, "older than GGUF"),
        (b"\0" * 100, "something else"),
        (b"GGUF\0\0\0\x03" + b"\0" * 16, "for big-endian machines"),
        (b"GGUF", "damaged or cut off"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "damaged or cut off"),
        (b"GGUF\x01\0\0\0" + b"\0" * 16, "version 1"),
    ],
)
def test_files_that_are_no_model_are_described(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EngineError, match=says):
        read_header(path)


@pytest.mark.parametrize("name", ["two\nlines.gguf", "no \udcff\udcfe UTF-8.gguf"])
def test_a_path_with_line_breaks_or_invalid_bytes_is_refused(tiny: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(tiny.read_bytes())
    with pytest.raises(EngineError, match="not UTF-8") as caught:
        read_header(path)
    assert caught.value.hint == "Rename it."


@pytest.mark.parametrize("alignment", [0, 24, 1 << 31])
def test_impossible_tensor_offsets_are_damage(tmp_path: Path, alignment: int) -> None:
    path = write_gguf(tmp_path / "m.gguf", metadata() | {"general.alignment": alignment}, {})
    os.truncate(path, 3_000_000_000)  # with an alignment of gigabytes all of this would be its header
    with pytest.raises(EngineError, match="damaged or cut off"):
        read_header(path)


def test_counts_in_a_header_are_bounded(tmp_path: Path) -> None:
    keys = ("tokenizer.ggml.token_type",)
    path = write_gguf(tmp_path / "m.gguf", {keys[0]: [0] * 10}, {})
    data = path.read_bytes()
    at = data.index(b"token_type") + len("token_type") + 8
    path.write_bytes(data[:at] + struct.pack("<Q", 60_000_000) + data[at + 8 :])
    os.truncate(path, 3_000_000_000)
    with pytest.raises(EngineError, match="damaged or cut off"):
        read_values(path, keys)


def test_a_directory_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="a directory"):
        read_header(tmp_path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_header_is_read_or_refused(tiny: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(tiny.read_bytes()[:8000])
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 9))
        content[at : at + 8] = data.draw(st.binary(min_size=1, max_size=8))
    path = tmp_path / "mutated.gguf"
    path.write_bytes(content)
    try:
        header = read_header(path)
    except EngineError:
        return
    assert header.file_bytes == len(content)
