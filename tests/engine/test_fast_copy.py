"""A small model whose type has slow kernels is copied once into a fast one, and read from there."""

import asyncio
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from gistread.engine.llama import fast_copy
from gistread.engine.llama.fast_copy import copy_path, find_copy, make_copy, needs_copy
from gistread.engine.llama.gguf import GgufHeader, read_header
from tests.engine.conftest import StartEngine


@pytest.fixture
def header(tiny: Path) -> GgufHeader:
    return read_header(tiny)


@pytest.fixture(autouse=True)
def slow_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the tiny model's type were slow, and the machine had no graphics card."""
    monkeypatch.setattr(fast_copy, "_HAVE_KERNELS", {"Q8_0"})
    monkeypatch.setattr("gistread.engine.llama.client.gpu_maker", lambda: "")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_only_small_whole_models_of_a_slow_type_are_copied(header: GgufHeader) -> None:
    assert needs_copy(header)
    assert not needs_copy(replace(header, layer_type="Q8_0"))
    assert not needs_copy(replace(header, parameters=1_000_000_000))
    assert not needs_copy(replace(header, split_count=2))


async def test_the_copy_is_made_once_and_used(tiny: Path, start: StartEngine, tmp_path: Path) -> None:
    info = (await start(tiny, cache=tmp_path)).info
    assert info.weights.startswith("Q8_0 copy of ")
    assert info.fingerprint == read_header(tiny).fingerprint
    (made,) = (tmp_path / "weights").iterdir()
    assert read_header(made).layer_type == "Q8_0"
    written = made.stat().st_ino
    assert (await start(tiny, cache=tmp_path)).info.weights == info.weights
    assert made.stat().st_ino == written


async def test_a_copy_that_cannot_be_loaded_is_never_tried_again(
    tiny: Path, header: GgufHeader, start: StartEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_path(header, tmp_path / "weights")
    copy.parent.mkdir()
    copy.write_bytes(tiny.read_bytes().replace(b"llama", b"lamma"))  # Another architecture
    for _ in range(2):
        assert (await start(tiny, cache=tmp_path)).info.weights == header.quantization
        assert find_copy(header, copy.parent) is None


async def test_a_copy_that_is_cut_off_is_made_again(tiny: Path, start: StartEngine, tmp_path: Path) -> None:
    await start(tiny, cache=tmp_path)
    (made,) = (tmp_path / "weights").iterdir()
    whole = made.read_bytes()
    made.write_bytes(whole[:-100])
    assert (await start(tiny, cache=tmp_path)).info.weights.startswith("Q8_0 copy of ")
    assert made.read_bytes() == whole


async def test_cancelling_leaves_nothing_behind(starter: Path, tmp_path: Path) -> None:
    making = asyncio.create_task(make_copy(read_header(starter), tmp_path, None))
    while not list(tmp_path.glob("*.partial")):
        await asyncio.sleep(0.01)
        assert not making.done()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert names(tmp_path) == []
    assert not [p for p in psutil.Process().children() if "quantize" in " ".join(p.cmdline())]
