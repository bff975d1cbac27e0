"""The catalogue of models to fetch: its entries and recommendations."""

import datetime

import pytest

from gistread.engine.catalogue import (
    CatalogueEntry,
    Machine,
    estimate_fit,
    read_catalogue,
    recommend,
    this_machine,
)
from gistread.engine.fetching.network import Network
from gistread.engine.fetching.plan import plan_entry
from gistread.engine.llama.fit import Gpu
from gistread.engine.llama.library import Library

GB = 10**9


@pytest.fixture(scope="module")
def entries() -> tuple[CatalogueEntry, ...]:
    return read_catalogue().entries


def test_the_catalogue_is_dated_and_its_files_can_be_verified() -> None:
    catalogue = read_catalogue()
    assert catalogue.dated <= datetime.date.today()
    for entry in (*catalogue.entries, catalogue.starter):
        assert entry.size_bytes
        assert len(entry.sha256) == 64


def test_each_entry_of_the_catalogue_is_complete(
    entries: tuple[CatalogueEntry, ...],
) -> None:
    for entry in entries:
        assert entry.good_for
        assert entry.licence
        assert entry.parameters
        assert entry.context_tokens
        assert entry.quantization
        assert entry.quantization in entry.file
        assert len(entry.revision) == 40, (
            "a branch may change, and the checksum with it"
        )
        assert entry.machine_gb in (4, 8, 16, 24)
        assert plan_entry(entry, Network()) is not None


@pytest.mark.parametrize(
    ("free_gb", "gpu_gb", "cores", "expected"),
    [
        (3, 0, 2, "qwen3-1.7b"),
        (4, 0, 4, "ministral-3-3b"),
        (6, 0, 4, "qwen3-4b-instruct"),
        (8, 0, 8, "qwen3-4b-instruct"),
        (8, 0, 12, "ministral-3-8b"),
        (16, 0, 4, "qwen3-4b-instruct"),
        (16, 0, 16, "ministral-3-14b"),
        (24, 0, 4, "qwen3-30b-instruct"),
        (24, 0, 2, "qwen3-1.7b"),
        (24, 0, 1, "qwen3-0.6b"),
        (4, 4, 4, "ministral-3-3b"),
        (8, 8, 4, "ministral-3-8b"),
        (8, 12, 4, "ministral-3-14b"),
        (16, 16, 2, "ministral-3-14b"),
        (24, 24, 2, "qwen3-30b-instruct"),
        (64, 80, 8, "qwen3-30b-instruct"),
        (24, 1, 4, "qwen3-30b-instruct"),
    ],
)
def test_the_recommendation_suits_the_machine(
    entries: tuple[CatalogueEntry, ...],
    free_gb: float,
    gpu_gb: float,
    cores: int,
    expected: str,
) -> None:
    machine = Machine(round(free_gb * GB), round(gpu_gb * GB), cores)
    best = recommend(entries, machine)
    assert best is not None
    assert best.entry.name == expected
    room = estimate_fit(best.entry, machine)
    assert room is not None
    place, fit = room
    assert place == ("gpu" if "GPU" in best.reason else "memory")
    assert fit.context_tokens >= 8192


def test_nothing_is_recommended_for_a_machine_without_room(
    entries: tuple[CatalogueEntry, ...],
) -> None:
    assert recommend(entries, Machine(round(1.5 * GB), 0, 4)) is None


def test_free_gpu_memory_counts_if_there_is_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def library() -> Library:
        return Library("0.3", (), (Gpu("card", 12 * GB, 16 * GB),))

    monkeypatch.setattr("gistread.engine.catalogue.ask_library", library)
    monkeypatch.setattr("gistread.engine.catalogue.gpu_maker", lambda: "NVIDIA")
    here = this_machine()
    assert 10 * GB < here.gpu_bytes < 12 * GB
    assert here.free_bytes > 0
    assert here.cores >= 1
    monkeypatch.setattr("gistread.engine.catalogue.gpu_maker", lambda: "")
    assert this_machine().gpu_bytes == 0
