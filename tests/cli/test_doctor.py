"""`gistread doctor`, over the real worker and a model small enough to write here."""

import contextlib
import io
import shutil
from pathlib import Path

import pytest

from gistread.cli import main
from gistread.engine.llama.library import Library
from gistread.errors import EngineError, ExitStatus
from gistread.paths import default_paths
from tests.cli.conftest import XDG, Ran, Run
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def first_run(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
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
    """The tiny model, which this home has measured."""
    shutil.copytree(first_run[0], home / "XDG_CACHE_HOME")
    return tiny


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> str:
        raise EngineError("No model was found on this machine.", "Install the starter.")

    default_paths().config_file.unlink()
    monkeypatch.setattr("gistread.engine.models.default_spec", nothing)


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
    assert set(document["library"]) == {"version", "kernels", "gpus"}
    assert document["verdict"] is None
    assert document["problem"] is None


def test_json_measures_the_machine(first_run: tuple[Path, Ran]) -> None:
    document = first_run[1].json
    assert document["machine"]["cores"] >= 1
    assert document["machine"]["memory_free"] > 0
    assert document["rates"]["prefill"] > 0
    assert document["rates"]["decode"] > 0


def test_json_describes_the_model_and_how_it_fits(first_run: tuple[Path, Ran]) -> None:
    document = first_run[1].json
    assert document["model"]["quantization"] == "F32"
    assert document["model"]["kv_bytes_per_token"] == 2 * 2 * (64 + 64)
    assert document["engine"]["parallel"] >= 1
    fit = document["engine"]["fit"]
    assert fit["gpu_layers"] == 0
    assert fit["cells"] >= document["engine"]["context_tokens"]
    assert (fit["kv_type"], fit["notice"]) == ("f16", "")


def test_text_has_a_line_for_each_finding_and_stderr_is_empty(
    run: Run, measured: Path
) -> None:
    ran = run("doctor", "--model", measured)
    assert (ran.status, ran.err) == (ExitStatus.DONE, "")
    for word in (
        "llama-cpp-python",
        "kernels",
        "GPU",
        "cores",
        "memory free",
        "weights in use",
        "prefill",
        "decode",
    ):
        assert f"\n{word}" in ran.out
    assert "100,000 words in about" in ran.out
    assert "graphics card" not in ran.out, "there is none"
    assert "gistread models check tiny" in ran.out


@pytest.mark.process
def test_without_a_model_it_prints_the_rest_and_how_to_get_one(
    run: Run, no_model: None
) -> None:
    ran = run("doctor")
    assert ran.status == ExitStatus.DONE
    assert "llama-cpp-python" in ran.out
    assert "Install the starter." in ran.out


@pytest.mark.process
def test_an_unusable_model_is_an_error_after_the_rest(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    ran = run("doctor", "--model", broken)
    assert ran.status == ExitStatus.ENGINE
    assert "llama-cpp-python" in ran.out
    assert "damaged" in ran.err


def test_an_unusable_library_is_an_error_after_the_rest(
    run: Run, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gistread.engine.llama.library._DESCRIBE", "gistread.no_such_module"
    )
    ran = run("doctor", "--model", tiny)
    assert ran.status == ExitStatus.ENGINE
    assert "memory free" in ran.out
    assert "no_such_module" in ran.err
    assert "Traceback" not in ran.err


def test_a_card_that_is_not_used_comes_with_advice(
    run: Run, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gistread.cli.doctor.ask_library",
        lambda: Library("0.3.36", ("AVX2", "FMA"), ()),
    )
    for maker, is_named in (("NVIDIA", True), ("", False)):
        monkeypatch.setattr("gistread.cli.doctor.gpu_maker", lambda maker=maker: maker)
        assert (
            "does not use the NVIDIA graphics card" in run("doctor").out
        ) == is_named


def test_a_build_without_instructions_of_the_processor_comes_with_the_command_for_another(
    run: Run, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = frozenset({"avx2", "fma", "avx512f", "avx512_vnni", "amx_int8"})
    monkeypatch.setattr("gistread.cli.doctor.processor_flags", lambda: flags)
    for kernels, is_advised in (
        (("AVX2",), True),
        (("AVX2", "AVX512", "AVX512_VNNI"), False),
    ):
        monkeypatch.setattr(
            "gistread.cli.doctor.ask_library",
            lambda kernels=kernels: Library("0.3.36", kernels, ()),
        )
        out = run("doctor").out
        assert ("-DGGML_AVX512=ON -DGGML_AVX512_VNNI=ON" in out) == is_advised
        assert "AMX" not in out
