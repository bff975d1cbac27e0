"""A small model whose type has slow kernels is copied once into a fast one, and read from there."""

from dataclasses import replace
from pathlib import Path

import pytest

from gistread.child_process import run_python
from gistread.engine.llama.fast_copy import copy_path, find_copy, needs_copy
from gistread.engine.llama.gguf import GgufHeader, read_header
from tests.engine.conftest import StartEngine
from tests.tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model in a type that has slow kernels."""
    folder = tmp_path_factory.mktemp("models")
    plain, slow = write_tiny_gguf(folder / "plain.gguf"), folder / "slow.gguf"
    run_python(
        "gistread.engine.llama.worker.quantize",
        str(plain),
        str(slow),
        "Q4_1",
        "",
        timeout_s=60,
    )
    return slow


@pytest.fixture
def header(slow: Path) -> GgufHeader:
    return read_header(slow)


def test_only_small_whole_models_of_a_slow_type_are_copied(header: GgufHeader) -> None:
    assert needs_copy(header)
    assert not needs_copy(replace(header, layer_type="Q8_0"))
    assert not needs_copy(replace(header, parameters=1_000_000_000))


async def test_the_copy_is_made_once_and_used_and_made_again_if_cut_off(
    slow: Path, start: StartEngine, tmp_path: Path
) -> None:
    left = tmp_path / "weights" / f"f16.any.Q8_0.gguf.{2**22 + 1}.partial"
    left.parent.mkdir()
    left.write_bytes(b"GGUF")  # By a killed process
    info = (await start(slow, cache=tmp_path)).info
    assert info.weights.startswith("Q8_0 copy of ")
    assert info.fingerprint == read_header(slow).fingerprint
    (made,) = (tmp_path / "weights").iterdir()
    assert read_header(made).layer_type == "Q8_0"
    written, whole = made.stat().st_ino, made.read_bytes()
    assert (await start(slow, cache=tmp_path)).info.weights == info.weights
    assert made.stat().st_ino == written
    made.write_bytes(whole[:-100])
    assert (await start(slow, cache=tmp_path)).info.weights == info.weights
    assert made.read_bytes() == whole


async def test_a_copy_that_cannot_be_loaded_is_never_tried_again(
    slow: Path,
    header: GgufHeader,
    start: StartEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copy = copy_path(header, tmp_path / "weights")
    copy.parent.mkdir()
    # Another architecture
    copy.write_bytes(slow.read_bytes().replace(b"llama", b"lamma"))
    for _ in range(2):
        assert (await start(slow, cache=tmp_path)).info.weights == header.quantization
        assert find_copy(header, copy.parent) is None
