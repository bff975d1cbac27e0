"""`gistread doctor` and `gistread models convert`, over the real worker and a model small enough to write here."""

import contextlib
import io
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gistread.cli import main
from gistread.config import load_config, save_setting
from gistread.engine.llama import machine, requantized_copy
from gistread.engine.llama.fit import Gpu
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.library import Library, build_advice
from gistread.engine.protocol import Placement
from gistread.errors import EngineError, ExitStatus
from gistread.paths import default_paths
from tests.cli.conftest import XDG, Ran, Run
from tests.fake_engine import FakeEngine
from tests.tiny_gguf import write_tiny_gguf

LIBRARY = Library("0.3.36", ("AVX2", "FMA"), ("CPU",), ())


@pytest.fixture(scope="module", autouse=True)
def undisturbed() -> Iterator[None]:
    """Measure on a busy machine too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gistread.engine.llama.measurements.UNDISTURBED_SHARE", 0.0)
        yield


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def first_run(undisturbed: None, tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A cache, and the run of `doctor --json` that measured the tiny model into it."""
    folder = tmp_path_factory.mktemp("measured")
    printed = io.BytesIO()
    out = io.TextIOWrapper(printed)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        for variable in XDG:
            patch.setenv(variable, str(folder / variable))
        status = main(["doctor", "--model", str(tiny), "--json"])
    return folder / "XDG_CACHE_HOME", Ran(status, printed.getvalue().decode(), "")


@pytest.fixture
def measured(first_run: tuple[Path, Ran], tiny: Path, home: Path) -> Path:
    """The tiny model, which this home has measured and compared with its copy."""
    shutil.copytree(first_run[0], home / "XDG_CACHE_HOME")
    return tiny


@pytest.fixture
def quick_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the process that describes llama.cpp."""
    monkeypatch.setattr("gistread.cli.doctor.ask_library", lambda: LIBRARY)


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> Path:
        raise EngineError("No model was found on this machine.", "Install the starter.")

    default_paths().config_file.unlink()
    monkeypatch.setattr("gistread.engine.models.default_model", nothing)


def test_json_has_every_finding(first_run: tuple[Path, Ran]) -> None:
    _, ran = first_run
    assert ran.status == ExitStatus.DONE
    document = ran.json
    assert set(document) == {
        "gistread",
        "library",
        "machine",
        "model",
        "engine",
        "rates",
        "verdict",
        "advice",
        "problem",
    }
    assert set(document["library"]) == {"version", "kernels", "backends", "gpus", "gpu_support"}
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["memory_free"] > 0
    assert document["model"]["quantization"] == "F32"
    assert document["model"]["kv_bytes_per_token"] == 2 * 2 * (64 + 64)
    assert document["engine"]["parallel"] >= 1
    fit = document["engine"]["fit"]
    assert fit["gpu_layers"] == 0
    assert fit["cells"] >= document["engine"]["context_tokens"]
    assert (fit["kv_type"], fit["notice"]) == ("f16", "")
    assert document["verdict"] is None
    assert document["rates"]["prefill"] > 0
    assert [entry["sequences"] for entry in document["rates"]["decode"]][:2] == [1, 2]
    assert document["problem"] is None


def test_text_has_a_line_for_each_finding_and_stderr_is_empty(run: Run, measured: Path) -> None:
    ran = run("doctor", "--model", measured)
    assert (ran.status, ran.err) == (ExitStatus.DONE, "")
    for word in ("llama-cpp-python", "kernels", "GPU", "cores", "memory free", "weights in use", "prefill", "decode"):
        assert f"\n{word}" in ran.out
    assert "100,000 words in about" in ran.out
    assert "graphics card" not in ran.out, "there is none"
    assert "gistread models check tiny" in ran.out


def test_tuned_settings_are_saved_and_undone(run: Run, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = Placement(0, 3, 8192, "f16", 256, 2, flash_attention=False)
    seconds = iter([4.0, 3.0])

    @contextlib.asynccontextmanager
    async def loaded(*_: object) -> AsyncIterator[FakeEngine]:
        engine = FakeEngine()
        engine._info = replace(engine.info, placement=placed)
        yield engine

    async def work_seconds(*_: object) -> float:
        return next(seconds, 4.0)

    monkeypatch.setattr("gistread.cli.tuning.open_engine", loaded)
    monkeypatch.setattr("gistread.cli.tuning.Work.seconds", work_seconds)
    before = default_paths().config_file.read_bytes()
    tuned = run("doctor", "--model", measured, "--tune", "--json").json
    assert tuned["saved"] == {"flash_attention": "on"}
    assert [trial["kept"] for trial in tuned["trials"][:3]] == [True, True, False]
    assert load_config(default_paths().config_file).flash_attention == "on"
    assert "chosen by gistread" in run("doctor", "--untune").out
    assert default_paths().config_file.read_bytes() == before


def test_layers_on_a_graphics_card_are_counted(run: Run, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = replace(LIBRARY, backends=("CPU", "CUDA"), gpus=(Gpu("NVIDIA H100", 70 * 2**30, 80 * 2**30),))
    monkeypatch.setattr("gistread.cli.doctor.ask_library", lambda: library)
    assert "0 of 3 on a graphics card" in run("doctor", "--model", measured).out


def test_settings_that_cannot_be_met_are_reported(run: Run, quick_library: None, measured: Path) -> None:
    save_setting(default_paths().config_file, "fast_weights", "never")
    save_setting(default_paths().config_file, "threads", 2 * machine.physical_cores())
    ran = run("doctor", "--model", measured, "--context", "5000")
    assert "too many" in ran.out
    assert "tiny was trained for 4,096 tokens; a longer context is not possible" in ran.err
    assert "Note" not in run("doctor", "--model", measured, "--context", "4000").err


def test_without_a_model_it_prints_the_rest_and_how_to_get_one(run: Run, no_model: None) -> None:
    ran = run("doctor")
    assert ran.status == ExitStatus.DONE
    assert "llama-cpp-python" in ran.out
    assert "Install the starter." in ran.out


def test_an_unusable_model_is_an_error_after_the_rest(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    ran = run("doctor", "--model", broken)
    assert ran.status == ExitStatus.ENGINE
    assert "llama-cpp-python" in ran.out
    assert "damaged" in ran.err


def test_an_unusable_library_is_an_error_after_the_rest(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.engine.llama.library._DESCRIBE", "gistread.no_such_module")
    ran = run("doctor", "--model", tiny)
    assert ran.status == ExitStatus.ENGINE
    assert "memory free" in ran.out
    assert "no_such_module" in ran.err
    assert "Traceback" not in ran.err


def test_a_machine_too_busy_to_measure_is_reported(
    run: Run, quick_library: None, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gistread.engine.llama.measurements.UNDISTURBED_SHARE", 2.0)
    ran = run("doctor", "--model", tiny)
    assert ran.status == ExitStatus.DONE
    assert "could not be measured" in ran.out
    assert "when other programs are idle" in ran.out


def test_measure_replaces_the_stored_rates(run: Run, quick_library: None, measured: Path) -> None:
    save_setting(default_paths().config_file, "fast_weights", "never")
    first = run("doctor", "--model", measured, "--json").json["rates"]
    assert run("doctor", "--model", measured, "--json").json["rates"] == first
    assert run("doctor", "--model", measured, "--measure", "--json").json["rates"] != first


def test_converting_slow_weights_of_a_large_model_is_advised(
    run: Run, quick_library: None, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requantized_copy, "UNASKED_BYTES", 1000)
    assert "gistread models convert tiny" in run("doctor", "--model", tiny).out
    assert run("models", "convert", tiny).status == ExitStatus.DONE
    assert "models convert" not in run("doctor", "--model", tiny).out
    save_setting(default_paths().config_file, "fast_weights", "never")
    assert 'Set fast_weights = "ask"' in run("doctor", "--model", tiny).out


def test_converting_reports_its_result(run: Run, measured: Path) -> None:
    document = run("models", "convert", measured, "--json").json
    assert document["model"]["name"] == "tiny"
    assert bool(document["copy"]) == document["weights"].startswith("Q8_0 copy")
    assert bool(document["copy"]) == bool(document["size"])
    ran = run("models", "convert", measured)
    assert (ran.status, ran.out) == (ExitStatus.DONE, "")
    assert "as fast" in ran.err


def test_converting_without_disk_space_is_an_error(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requantized_copy, "free_disk_bytes", lambda folder: 0)
    ran = run("models", "convert", tiny)
    assert ran.status == ExitStatus.FAILED
    assert "the disk has less" in ran.err


def test_converting_fast_weights_does_nothing(run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = replace(read_header(tiny), layer_type="Q4_0", quantization="Q4_0")
    monkeypatch.setattr("gistread.cli.model_convert.header_of", lambda model: header)
    ran = run("models", "convert", tiny)
    assert ran.status == ExitStatus.DONE
    assert "needs no copy" in ran.err
    assert not default_paths().weights.exists()


def test_missing_kernels_come_with_the_command_to_rebuild() -> None:
    (advice,) = build_advice(LIBRARY, frozenset({"avx2", "fma", "avx512f", "avx512_vnni"}), "")
    assert "AVX512, AVX512_VNNI" in advice.what
    assert 'CMAKE_ARGS="-DGGML_NATIVE=ON"' in advice.how
    assert "llama-cpp-python==0.3.36" in advice.how
    assert build_advice(LIBRARY, frozenset({"avx2", "fma"}), "") == []


@pytest.mark.parametrize(
    ("maker", "option", "tool"),
    [
        (machine.NVIDIA, "-DGGML_CUDA=ON", "nvcc"),
        (machine.AMD, "-DGGML_HIP=ON", "hipcc"),
        (machine.AMD_WITHOUT_ROCM, "-DGGML_VULKAN=ON", "glslc"),
        (machine.INTEL, "-DGGML_VULKAN=ON", "glslc"),
        (machine.APPLE, "-DGGML_METAL=ON", "Xcode"),
    ],
)
def test_a_graphics_card_that_the_build_cannot_use_is_reported(maker: str, option: str, tool: str) -> None:
    (advice,) = build_advice(LIBRARY, frozenset(), maker)
    assert maker in advice.what
    assert tool in advice.how
    assert f'CMAKE_ARGS="{option}" python3 -m pip install' in advice.how


def test_one_command_adds_everything_missing() -> None:
    (advice,) = build_advice(LIBRARY, frozenset({"avx512f"}), machine.NVIDIA)
    assert 'CMAKE_ARGS="-DGGML_CUDA=ON -DGGML_NATIVE=ON"' in advice.how
    assert advice.how.count("pip install") == 1


def test_a_gpu_build_that_finds_no_card_is_reported() -> None:
    (advice,) = build_advice(replace(LIBRARY, backends=("CUDA", "CPU")), frozenset(), machine.NVIDIA)
    assert "does not find" in advice.what


def test_missing_kernels_do_not_matter_with_a_graphics_card() -> None:
    library = replace(LIBRARY, backends=("CUDA", "CPU"), gpus=(Gpu("NVIDIA H100", 80_000_000_000, 80_000_000_000),))
    assert build_advice(library, frozenset({"avx512f"}), machine.NVIDIA) == []


def test_cards_without_a_known_driver_are_known_by_their_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_DRIVERS", {})
    monkeypatch.setattr(machine, "_CARDS", tmp_path)
    monkeypatch.setattr("sys.platform", "linux")
    assert machine.gpu_maker() == ""
    for number, vendor in enumerate(("0x1af4", "0x8086")):
        card = tmp_path / f"renderD{128 + number}" / "device"
        card.mkdir(parents=True)
        (card / "vendor").write_text(f"{vendor}\n")
        assert machine.gpu_maker() == ("" if number == 0 else machine.INTEL)
