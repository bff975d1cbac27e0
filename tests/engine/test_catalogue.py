"""The catalogue of models to fetch: packaged entries and the user's own."""

import datetime
from pathlib import Path

import pytest

from gistread.engine.catalogue import CatalogueEntry, read_catalogue
from gistread.engine.fetching.network import Network
from gistread.engine.fetching.plan import plan_entry
from gistread.engine.llama.fit import Gpu
from gistread.engine.llama.library import Library
from gistread.engine.recommendation import Machine, estimate_fit, needed_bytes, recommend, this_machine
from gistread.errors import EngineError, UsageError

GB = 10**9
NOWHERE = Path("/nowhere/models.toml")


@pytest.fixture(scope="module")
def entries() -> tuple[CatalogueEntry, ...]:
    return read_catalogue(NOWHERE).entries


def test_the_catalogue_is_dated_and_complete() -> None:
    catalogue = read_catalogue(NOWHERE)
    assert catalogue.dated <= datetime.date.today()
    for entry in catalogue.entries:
        assert entry.good_for
        assert entry.licence
        assert entry.parameters
        assert entry.context_tokens
        assert entry.quantization in entry.file
        assert len(entry.revision) == 40, "a branch may change, and the checksum with it"
        assert entry.machine_gb in (4, 8, 16, 24)
        assert plan_entry(entry, Network()) is not None


def test_every_memory_class_has_a_model_that_fits_it(
    entries: tuple[CatalogueEntry, ...],
) -> None:
    for entry in entries:
        assert needed_bytes(entry) < entry.machine_gb * GB * 0.85
    assert {entry.machine_gb for entry in entries if entry.kind == "text"} == {4, 8, 16, 24}


@pytest.mark.parametrize(
    ("free_gb", "gpu_gb", "cores", "expected"),
    [
        (1.5, 0, 4, None),
        (3, 0, 2, "qwen3-1.7b"),
        (4, 0, 4, "ministral-3-3b"),
        (6, 0, 4, "qwen3-4b-instruct"),
        (8, 0, 8, "qwen3-4b-instruct"),
        (8, 0, 12, "ministral-3-8b"),
        (16, 0, 4, "qwen3-4b-instruct"),
        (16, 0, 16, "ministral-3-14b"),
        (24, 0, 4, "qwen3-30b-instruct"),
        (24, 0, 2, "qwen3-1.7b"),
        (24, 0, 1, "qwen3-1.7b"),
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
    entries: tuple[CatalogueEntry, ...], free_gb: float, gpu_gb: float, cores: int, expected: str | None
) -> None:
    machine = Machine(round(free_gb * GB), round(gpu_gb * GB), cores)
    best = recommend(entries, machine)
    assert (best.entry.name if best else None) == expected
    if best is not None:
        room = estimate_fit(best.entry, machine)
        assert room is not None
        assert room.place == ("gpu" if "GPU" in best.reason else "memory")
        assert room.context_tokens >= 8192


def test_the_reason_names_what_decides(entries: tuple[CatalogueEntry, ...]) -> None:
    def reason(machine: Machine) -> str:
        best = recommend(entries, machine)
        assert best is not None
        return best.reason

    assert "16.0 GB of free memory" in reason(Machine(16 * GB, 0, 4))
    assert "4 cores" in reason(Machine(16 * GB, 0, 4))
    assert "GPU's 24.0 GB" in reason(Machine(16 * GB, 24 * GB, 4))
    assert "1 core will need hours" in reason(Machine(16 * GB, 0, 1))


def test_a_better_machine_never_gets_a_smaller_model(entries: tuple[CatalogueEntry, ...]) -> None:
    def parameters(free: int, gpu: int, cores: int) -> int:
        best = recommend(entries, Machine(free * GB, gpu * GB, cores))
        return best.entry.parameters if best else 0

    for cores in (1, 2, 4, 8, 16):
        sizes = [parameters(free, 0, cores) for free in range(1, 40)]
        assert sizes == sorted(sizes)
    sizes = [parameters(24, 0, cores) for cores in range(1, 40)]
    assert sizes == sorted(sizes)


def test_embedding_models_are_in_the_list_and_never_recommended(entries: tuple[CatalogueEntry, ...]) -> None:
    embedders = [entry for entry in entries if entry.kind == "embedding"]
    assert embedders
    assert recommend(embedders, Machine(64 * GB, 0, 8)) is None


def test_the_window_that_fits_is_at_most_the_trained_length() -> None:
    entry = CatalogueEntry("m", "o/r", "m.gguf", size_bytes=GB, context_tokens=10_000, kv_bytes_per_token=100_000)
    for free_gb, window in [(1.5, 0), (1.9, 4096), (2.3, 8192), (50, 10_000)]:
        room = estimate_fit(entry, Machine(round(free_gb * GB), 0, 4))
        assert room is not None
        assert room.context_tokens == window
        assert room.place == ("memory" if window else "nowhere")


def test_a_model_of_unknown_size_gets_no_estimate() -> None:
    entry = CatalogueEntry("m", "o/r", "m.gguf")
    assert estimate_fit(entry, Machine(64 * GB, 0, 8)) is None
    assert recommend([entry], Machine(64 * GB, 0, 8)) is None


OWN = """
[[model]]
name = "mine"
repository = "me/mine-GGUF"
file = "sub/mine.Q8_0.gguf"
"""


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(text)
    return path


def test_own_models_are_added(tmp_path: Path) -> None:
    catalogue = read_catalogue(own(tmp_path, OWN))
    mine = catalogue.find("MINE")
    assert mine == CatalogueEntry("mine", "me/mine-GGUF", "sub/mine.Q8_0.gguf", own=True)
    assert catalogue.find("qwen3-4b-instruct") is not None


def test_an_own_model_replaces_a_catalogue_entry_of_the_same_name(tmp_path: Path) -> None:
    catalogue = read_catalogue(own(tmp_path, OWN.replace('"mine"', '"Qwen3-1.7B"')))
    found = catalogue.find("qwen3-1.7b")
    assert found is not None
    assert found.repository == "me/mine-GGUF"
    assert len(catalogue.entries) == len(read_catalogue(NOWHERE).entries)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[model", "not valid TOML"),
        ("[model]\nname = 'x'", "list of tables"),
        ("model = [1]", "list of tables"),
        ("[[models]]\nname = 'x'", "unknown key 'models'"),
        ("[[model]]\nname = 'x'", r"model 1 \(x\): repository is missing"),
        (OWN + "licens = 'mit'", "Did you mean licence"),
        (OWN + "size_bytes = '3 GB'", "size_bytes must be a whole number, 0 or more, not '3 GB'"),
        (OWN + "size_bytes = -1", "size_bytes must be"),
        (OWN + "size_bytes = true", "size_bytes must be"),
        (OWN + "sha256 = 'abc'", "sha256 must be 64 hexadecimal digits"),
        (OWN + "kind = 'image'", 'kind must be "text" or "embedding"'),
        (OWN + "licence = 3", "licence must be a text"),
        (OWN.replace("me/mine-GGUF", "../etc"), "repository must be"),
        (OWN.replace("me/mine-GGUF", "mine"), "repository must be"),
        (OWN.replace("sub/mine.Q8_0.gguf", "../../x.gguf"), "file must be"),
        (OWN.replace("sub/mine.Q8_0.gguf", "sub/mine.bin"), "file must be"),
        (OWN.replace('"mine"', '"a name"'), "name must be"),
        (OWN + OWN, "two models are named mine"),
        (OWN + "own = true", "unknown key 'own'"),
    ],
)
def test_errors_in_the_own_catalogue_name_their_place(tmp_path: Path, text: str, said: str) -> None:
    path = own(tmp_path, text)
    with pytest.raises(UsageError, match=said) as raised:
        read_catalogue(path)
    assert str(path) in str(raised.value)


def test_a_binary_catalogue_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_catalogue(path)


def test_free_gpu_memory_counts_if_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> Library:
        return Library("0.3", (), ("CUDA",), (Gpu("card", 12 * GB, 16 * GB),))

    monkeypatch.setattr("gistread.engine.recommendation.ask_library", asked)
    monkeypatch.setattr("gistread.engine.recommendation.gpu_maker", lambda: "NVIDIA")
    here = this_machine()
    assert 10 * GB < here.gpu_bytes < 12 * GB
    assert here.free_bytes > 0
    assert here.cores >= 1
    monkeypatch.setattr("gistread.engine.recommendation.gpu_maker", lambda: "")
    assert this_machine().gpu_bytes == 0


def test_a_library_that_cannot_be_asked_means_no_graphics_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> Library:
        raise EngineError("llama-cpp-python cannot be used.")

    monkeypatch.setattr("gistread.engine.recommendation.ask_library", asked)
    monkeypatch.setattr("gistread.engine.recommendation.gpu_maker", lambda: "NVIDIA")
    assert this_machine().gpu_bytes == 0
