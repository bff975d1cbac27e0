"""Requantized copies: when they are made, used, and replaced if damaged."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from gistread.engine.llama import requantized_copy, weight_variants
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.measurements import Measurement, Measurements
from gistread.engine.llama.messages import Loaded
from gistread.engine.llama.requantized_copy import (
    copy_obstacle,
    copy_path,
    find_copy,
    make_copy,
    may_lack_kernels,
    partial_path,
)
from gistread.engine.llama.weight_variants import WorkerActions, faster_variant, load_fastest
from gistread.engine.protocol import Rates
from gistread.errors import EngineError
from gistread.paths import MEASUREMENTS, WEIGHTS
from tests.engine.conftest import StartEngine

SLOW = Measurement(Rates(100.0, ((1, 50.0),)), 1)
QUICK = Measurement(Rates(300.0, ((1, 40.0),)), 1)


class Fake:
    """A fake worker with given measurements, which copies files."""

    def __init__(self, original: Measurement = SLOW, copy: Measurement = QUICK, *, on_gpu: bool = False) -> None:
        self.speeds = {False: original, True: copy}
        self.on_gpu = on_gpu
        self.done: list[str] = []
        self.broken: set[str] = set()
        """What does not work: `load copy`, `measure original` …"""
        self._copy = False

    @property
    def steps(self) -> WorkerActions:
        return WorkerActions(self._load, self._measure, self._make)

    async def _load(self, path: Path) -> Loaded:
        self._copy = path.parent.name == WEIGHTS
        self._do("load")
        return Loaded(8192, "a GPU" if self.on_gpu else "CPU", self.on_gpu, 2, "1.0", 4)

    async def _measure(self) -> Measurement:
        self._do("measure")
        return self.speeds[self._copy]

    async def _make(self, header: GgufHeader, folder: Path) -> Path | None:
        self.done.append("make")
        if "make" in self.broken:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        copy_path(header, folder).write_bytes(header.path.read_bytes())
        return find_copy(header, folder)

    def _do(self, what: str) -> None:
        name = f"{what} {'copy' if self._copy else 'original'}"
        self.done.append(name)
        if name in self.broken:
            raise EngineError(f"{name}: broken")


@pytest.fixture
def header(tiny: Path) -> GgufHeader:
    """The tiny model: its F32 weights are not among the forms that need no copy."""
    return read_header(tiny)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def exists(header: GgufHeader, cache: Path) -> bool:
    return copy_path(header, cache / WEIGHTS).exists()


async def test_the_copy_of_a_small_model_is_used_without_measuring_before_the_first_page(
    header: GgufHeader, tmp_path: Path
) -> None:
    fake = Fake()
    chosen = await load_fastest(fake.steps, header, tmp_path, "ask")
    assert fake.done == ["make", "load copy"]
    assert (chosen.measured, chosen.weights) == (Measurement(None, 4), "Q8_0 copy of F32")
    assert chosen.setup is not None, "it may be measured later"
    Measurements(tmp_path / MEASUREMENTS).store(chosen.setup, QUICK)
    again = Fake()
    assert (await load_fastest(again.steps, header, tmp_path, "ask")).measured == QUICK
    assert again.done == ["load copy"]


async def test_after_a_kill_while_copying_one_run_reads_without_a_copy(header: GgufHeader, tmp_path: Path) -> None:
    making = asyncio.create_task(make_copy(header, tmp_path / WEIGHTS, log=None, progress=lambda share: None))
    while not list(tmp_path.glob(f"{WEIGHTS}/*.begun")):
        await asyncio.sleep(0.001)
        assert not making.done()
    (begun,) = tmp_path.glob(f"{WEIGHTS}/*.begun")
    assert await making
    assert not begun.exists()
    copy_path(header, tmp_path / WEIGHTS).unlink()
    begun.touch()
    for done in (["load original"], ["make", "load copy"]):
        fake = Fake()
        await load_fastest(fake.steps, header, tmp_path, "ask")
        assert fake.done == done


async def test_a_model_without_a_copy_is_loaded_and_not_measured(header: GgufHeader, tmp_path: Path) -> None:
    fake = Fake()
    chosen = await load_fastest(fake.steps, header, tmp_path, "never")
    assert fake.done == ["load original"]
    assert chosen.setup is not None


async def test_the_variants_of_a_large_model_are_compared_once(
    header: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requantized_copy, "UNASKED_BYTES", 1000)
    await compared_once(header, tmp_path, measure=False)


async def test_asked_to_measure_it_compares_the_variants_of_a_small_model_too(
    header: GgufHeader, tmp_path: Path
) -> None:
    await compared_once(header, tmp_path, measure=True)


async def compared_once(header: GgufHeader, cache: Path, *, measure: bool) -> None:
    fake = Fake()
    chosen = await load_fastest(fake.steps, header, cache, "always", measure=measure)
    assert fake.done == ["load original", "measure original", "make", "load copy", "measure copy"]
    assert (chosen.measured, chosen.weights, chosen.setup) == (QUICK, "Q8_0 copy of F32", None)
    again = Fake()
    assert await load_fastest(again.steps, header, cache, "always", measure=measure) == chosen
    assert again.done == ["load copy"]


async def test_a_copy_that_is_slower_is_removed_and_not_made_again(header: GgufHeader, tmp_path: Path) -> None:
    fake = Fake(QUICK, SLOW)
    chosen = await load_fastest(fake.steps, header, tmp_path, "ask", measure=True)
    assert (chosen.measured, chosen.weights) == (QUICK, "F32")
    assert fake.done[-1] == "load original"
    assert not exists(header, tmp_path)
    again = Fake()
    await load_fastest(again.steps, header, tmp_path, "ask")
    assert again.done == ["load original"]


@pytest.mark.parametrize(("on_gpu", "setting"), [(True, "always"), (False, "never")])
async def test_no_copy_on_a_gpu_or_where_the_settings_say_never(
    header: GgufHeader, tmp_path: Path, on_gpu: bool, setting: str
) -> None:
    fake = Fake(on_gpu=on_gpu)
    chosen = await load_fastest(fake.steps, header, tmp_path, setting, measure=True)  # type: ignore[arg-type]
    assert fake.done == ["load original", "measure original"]
    assert chosen.weights == "F32"


async def test_with_a_graphics_card_no_copy_is_made_before_the_card_was_tried(
    header: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_variants, "gpu_maker", lambda: "NVIDIA")
    fake = Fake(on_gpu=True)
    await load_fastest(fake.steps, header, tmp_path, "ask")
    assert fake.done == ["load original", "measure original"], "measuring takes no time on a card"
    unused = Fake()
    await load_fastest(unused.steps, header, tmp_path / "without support", "ask")
    assert unused.done == ["load original", "make", "load copy"]


async def test_a_large_copy_is_made_only_if_allowed(
    header: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requantized_copy, "UNASKED_BYTES", 1000)
    fake = Fake()
    await load_fastest(fake.steps, header, tmp_path, "ask")
    assert "make" not in fake.done
    await load_fastest(fake.steps, header, tmp_path, "always")
    assert "make" in fake.done
    later = Fake()
    assert (await load_fastest(later.steps, header, tmp_path, "ask")).weights == "Q8_0 copy of F32"


@pytest.mark.parametrize("broken", ["make", "load copy", "measure copy"])
async def test_a_failed_copy_falls_back_to_the_original_and_is_not_retried(
    header: GgufHeader, tmp_path: Path, broken: str
) -> None:
    fake = Fake()
    fake.broken.add(broken)
    chosen = await load_fastest(fake.steps, header, tmp_path, "ask", measure=broken.startswith("measure"))
    assert chosen.weights == "F32"
    assert fake.done[-1] == "load original"
    assert not exists(header, tmp_path)
    again = Fake()
    await load_fastest(again.steps, header, tmp_path, "ask")
    assert again.done == ["load original"]


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"GGUF"])
async def test_a_damaged_copy_is_made_again(
    header: GgufHeader, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    await load_fastest(Fake().steps, header, tmp_path, "ask")
    copy = copy_path(header, tmp_path / WEIGHTS)
    copy.write_bytes(damage(copy.read_bytes()))
    fake = Fake()
    chosen = await load_fastest(fake.steps, header, tmp_path, "ask")
    assert chosen.weights == "Q8_0 copy of F32"
    assert fake.done == ["make", "load copy"]


async def test_a_model_that_fails_the_measurement_can_still_be_used(header: GgufHeader, tmp_path: Path) -> None:
    fake = Fake()
    fake.broken.add("measure original")
    chosen = await load_fastest(fake.steps, header, tmp_path, "ask", measure=True)
    assert chosen.measured.rates is None
    assert fake.done == ["load original", "measure original", "load original"]


@pytest.mark.parametrize("disturbed", [False, True])
async def test_disturbed_measurements_decide_nothing(header: GgufHeader, tmp_path: Path, disturbed: bool) -> None:
    nothing = Measurement(None, 4)
    fake = Fake(original=SLOW if disturbed else nothing, copy=nothing if disturbed else QUICK)
    chosen = await load_fastest(fake.steps, header, tmp_path, "ask", measure=True)
    assert chosen.weights == "F32"
    later = await load_fastest(Fake().steps, header, tmp_path, "ask", measure=True)
    assert later.weights == "Q8_0 copy of F32"


async def test_a_model_that_cannot_be_loaded_is_an_error(header: GgufHeader, tmp_path: Path) -> None:
    fake = Fake()
    fake.broken |= {"make", "load original"}
    with pytest.raises(EngineError, match="load original"):
        await load_fastest(fake.steps, header, tmp_path, "ask")


def test_variants_are_compared_by_the_time_to_read_a_book() -> None:
    slow_decode = Measurement(Rates(300.0, ((1, 10.0),)), 1)
    assert faster_variant(SLOW, QUICK)
    assert not faster_variant(SLOW, slow_decode)
    assert not faster_variant(SLOW, SLOW)


@pytest.mark.parametrize("form", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_K"])
def test_types_with_fast_kernels_need_no_copy(header: GgufHeader, form: str) -> None:
    assert may_lack_kernels(replace(header, layer_type="Q4_1"))
    assert not may_lack_kernels(replace(header, layer_type=form))


def test_a_copy_needs_room_on_the_disk_and_in_memory(
    header: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copy_obstacle(header, tmp_path, allow_large=False) == ""
    assert "unasked" in copy_obstacle(replace(header, parameters=10**9), tmp_path, allow_large=False)
    assert "all copies may take" in copy_obstacle(replace(header, parameters=10**11), tmp_path, allow_large=True)
    monkeypatch.setattr(requantized_copy, "available_bytes", lambda: 1000)
    assert "memory" in copy_obstacle(header, tmp_path, allow_large=True)
    monkeypatch.setattr(requantized_copy, "free_disk_bytes", lambda folder: 1000)
    assert "disk" in copy_obstacle(header, tmp_path, allow_large=True)


async def test_llama_cpp_makes_a_copy_that_loads(header: GgufHeader, start: StartEngine, tmp_path: Path) -> None:
    shares: list[float] = []
    made = await make_copy(header, tmp_path, log=None, progress=shares.append)
    assert made is not None
    assert read_header(made).layer_type == "Q8_0"
    assert shares[-1] == 1.0
    assert names(tmp_path) == [made.name]
    assert (await start(made)).info.weights == "Q8_0"


async def test_the_least_recently_used_and_partial_copies_are_removed_for_space(
    header: GgufHeader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, name in enumerate(("newest", "middle", "oldest")):
        path = tmp_path / f"{name}.Q8_0.gguf"
        path.write_bytes(bytes(400_000))
        os.utime(path, (time.time() - age * 1000,) * 2)
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    partial_path(tmp_path / "left.Q8_0.gguf", gone.pid).write_bytes(b"half")
    running = partial_path(tmp_path / "other.Q8_0.gguf", os.getpid())
    running.write_bytes(b"half")
    monkeypatch.setattr(requantized_copy, "ALL_COPIES_BYTES", 1_000_000)
    made = await make_copy(header, tmp_path, log=None, progress=lambda share: None)
    assert made is not None
    assert names(tmp_path) == sorted(["middle.Q8_0.gguf", "newest.Q8_0.gguf", made.name, running.name])


async def test_cancelling_leaves_nothing_behind(starter: Path, tmp_path: Path) -> None:
    header = read_header(starter)
    making = asyncio.create_task(make_copy(header, tmp_path, log=None, progress=lambda share: None))
    while not list(tmp_path.glob("*.partial")):
        await asyncio.sleep(0.01)
        assert not making.done()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert names(tmp_path) == []
    assert not [p for p in psutil.Process().children() if "converting" in " ".join(p.cmdline())]


def test_a_converter_without_its_parent_leaves_nothing_behind(starter: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "gistread.engine.llama.worker.quantize",
        str(starter),
        str(tmp_path / "x"),
        "Q8_0",
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    while not list(tmp_path.glob("*.partial")):
        time.sleep(0.01)
        assert process.poll() is None
    process.stdin.close()
    assert process.wait(10) != 0
    assert names(tmp_path) == []


async def test_the_fingerprint_is_the_same_for_every_variant(
    tiny: Path, header: GgufHeader, start: StartEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.measurements.UNDISTURBED_SHARE", 0.0)
    info = (await start(tiny, cache=tmp_path, measure=True)).info
    assert (info.name, info.fingerprint) == (header.name, header.fingerprint)
    forms = {setup.variant for setup in Measurements(tmp_path / MEASUREMENTS).of_model(header.fingerprint)}
    assert forms == {"", "Q8_0"}
    assert exists(header, tmp_path) == info.weights.startswith("Q8_0 copy")
