"""The engine's speed is measured once, stored, and given to the scheduler."""

import asyncio
from pathlib import Path

import pytest

from gistread.engine.llama.measurements import MeasuredSetup, Measurement, Measurements
from gistread.engine.protocol import Rates
from gistread.engine.reading_cost import seconds_per_token
from tests.engine.conftest import StartEngine

SUBJECT = MeasuredSetup("f1", "", "CPU, 2 threads", 2, "1.0 AVX2")
FOUND = Measurement(Rates(300.0, ((1, 50.0), (2, 80.0))), 2)


@pytest.fixture
def kept(tmp_path: Path) -> Measurements:
    return Measurements(tmp_path / "cache" / "measured.json")


@pytest.fixture(autouse=True)
def busy_machines_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure even on a busy machine."""
    monkeypatch.setattr("gistread.engine.llama.measurements.UNDISTURBED_SHARE", 0.0)


async def test_without_a_cache_nothing_is_measured(tiny: Path, start: StartEngine) -> None:
    info = (await start(tiny)).info
    assert info.rates is None
    assert info.parallel >= 1


async def test_rates_are_measured_once_and_stored(tiny: Path, start: StartEngine, tmp_path: Path) -> None:
    info = (await start(tiny, cache=tmp_path, fast_weights="never", measure=True)).info
    assert info.rates is not None
    assert info.rates.prefill > 0
    assert [n for n, _ in info.rates.decode][:2] == [1, 2]
    assert all(rate > 0 for _, rate in info.rates.decode)
    assert info.parallel in [n for n, _ in info.rates.decode]
    (subject, _), *others = Measurements(tmp_path / "measured.json").of_model(info.fingerprint).items()
    assert not others
    told = Measurement(Rates(7.0, ((1, 1.0),)), 3)
    Measurements(tmp_path / "measured.json").store(subject, told)
    second = (await start(tiny, cache=tmp_path, fast_weights="never")).info
    assert (second.rates, second.parallel) == (told.rates, told.parallel)


async def test_a_loaded_model_is_measured_when_nothing_has_been_asked_for_a_while(
    tiny: Path, start: StartEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.supervisor._POLL_S", 0.01)
    engine = await start(tiny, cache=tmp_path, fast_weights="never")
    await next(task for task in asyncio.all_tasks() if task.get_name() == "measure-rates")
    assert engine.info.rates is not None
    ((_, measured),) = Measurements(tmp_path / "measured.json").of_model(engine.info.fingerprint).items()
    assert measured == Measurement(engine.info.rates, engine.info.parallel)


async def test_a_cache_that_cannot_be_written_is_no_error(tiny: Path, start: StartEngine, tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.write_text("in the way")
    assert (await start(tiny, cache=file, measure=True)).info.rates is not None


async def test_measurements_on_a_busy_machine_are_discarded(
    tiny: Path, start: StartEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.measurements.UNDISTURBED_SHARE", 2.0)
    info = (await start(tiny, cache=tmp_path, measure=True)).info
    assert info.rates is None
    assert not (tmp_path / "measured.json").exists()


def test_measurements_are_stored_by_model_variant_device_and_library(kept: Measurements) -> None:
    kept.store(SUBJECT, FOUND)
    assert kept.of(SUBJECT) == FOUND
    for other in (
        MeasuredSetup("f2", "", "CPU, 2 threads", 2, "1.0 AVX2"),
        MeasuredSetup("f1", "Q8_0", "CPU, 2 threads", 2, "1.0 AVX2"),
        MeasuredSetup("f1", "", "a GPU", 2, "1.0 AVX2"),
        MeasuredSetup("f1", "", "CPU, 2 threads", 4, "1.0 AVX2"),
        MeasuredSetup("f1", "", "CPU, 2 threads", 2, "1.0 AVX2 AVX512"),
    ):
        assert kept.of(other) is None


def test_an_unusable_variant_is_remembered(kept: Measurements) -> None:
    kept.store(SUBJECT, Measurement(None, 1))
    assert kept.of(SUBJECT) == Measurement(None, 1)


def test_one_model_can_be_forgotten(kept: Measurements) -> None:
    other = MeasuredSetup("f2", "", "CPU, 2 threads", 2, "1.0 AVX2")
    kept.store(SUBJECT, FOUND)
    kept.store(other, FOUND)
    kept.forget("f1")
    assert kept.of(SUBJECT) is None
    assert kept.of(other) == FOUND


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"format": 9, "entries": []}', b'{"format": 1, "entries": 7}', b"\xff\xfe"],
)
def test_damaged_and_foreign_files_are_ignored_and_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "measured.json"
    path.write_bytes(content)
    kept = Measurements(path)
    assert kept.of(SUBJECT) is None
    kept.store(SUBJECT, FOUND)
    assert kept.of(SUBJECT) == FOUND


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b'"prefill": 300.0', b'"prefill": -1'),
        (b'"prefill": 300.0', b'"prefill": "fast"'),
        (b'"parallel": 2', b'"parallel": 0'),
        (b'"form": ""', b'"form": 3'),
        (b'"decode"', b'"encode"'),
    ],
)
def test_impossible_entries_are_ignored(tmp_path: Path, good: bytes, bad: bytes) -> None:
    path = tmp_path / "measured.json"
    Measurements(path).store(SUBJECT, FOUND)
    content = path.read_bytes()
    assert good in content
    path.write_bytes(content.replace(good, bad))
    assert Measurements(path).of(SUBJECT) is None


def test_reading_costs_what_is_prefilled_and_what_is_decoded_at_so_many_sequences() -> None:
    rates = Rates(100.0, ((1, 10.0), (4, 20.0), (8, 25.0)))
    assert seconds_per_token(rates, 1) == pytest.approx(0.012 + 0.02)
    assert seconds_per_token(rates, 4) == pytest.approx(0.012 + 0.01)
    assert seconds_per_token(rates, 6) == seconds_per_token(rates, 4), "rates in between are not known"
    assert seconds_per_token(rates, 4, prefilled=2.2) == pytest.approx(0.022 + 0.01)
