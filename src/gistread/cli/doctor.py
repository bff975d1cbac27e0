"""`gistread doctor`: the engine on this machine, its speed, and advice to make it faster."""

import argparse
import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import psutil

from gistread import __version__
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.models import check_results, result_document
from gistread.cli.opening import load_settings
from gistread.cli.output import Json, fail, or_null, report
from gistread.cli.sessions import load_info
from gistread.config import Config
from gistread.engine.llama.fast_copy import lacks_kernels
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.library import Library, ask_library
from gistread.engine.llama.machine import (
    available_bytes,
    gpu_maker,
    physical_cores,
    processor_flags,
)
from gistread.engine.models import ModelSource, find_chosen, header_of
from gistread.engine.protocol import EngineInfo
from gistread.errors import EngineError, ExitStatus
from gistread.memory.check_results import CheckResult
from gistread.memory.model import ReadingMode
from gistread.memory.sizes import expected_pace
from gistread.units import (
    counted,
    fields,
    format_duration,
    format_rate,
    format_size,
)

_NOVEL_WORDS = 100_000
# Instruction sets by Linux's names, and llama.cpp's. AMX is left out: virtual machines often report
# it and forbid it, and the model's process ends.
_KERNELS = {
    "avx512f": "AVX512",
    "avx512vbmi": "AVX512_VBMI",
    "avx512_vnni": "AVX512_VNNI",
    "avx512_bf16": "AVX512_BF16",
    "avx_vnni": "AVX_VNNI",
}
# Two cores of a Xeon of 2023; models of 0.5 and 1.5 billion parameters
_WIDER_SPEED = 1.5
_COMPILE = (
    "python3 -m pip install --force-reinstall --no-deps --no-cache-dir "
    "--no-binary llama-cpp-python llama-cpp-python"
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What slows the engine down (`what`) and how to fix it (`how`), one line each."""

    what: str
    how: str


@dataclass(slots=True)
class _Findings:
    """What is known of this machine and its engine; None where unknown."""

    cores: int
    memory_free: int
    load: float
    gpu: str  # The maker of a graphics card; empty without one
    library: Library | None = None
    header: GgufHeader | None = None
    info: EngineInfo | None = None
    check: CheckResult | None = None
    advice: list[Advice] = field(default_factory=list)
    problem: EngineError | None = None  # The engine cannot be used


def run(arguments: argparse.Namespace) -> ExitStatus:
    findings = run_until_interrupted(
        _examine(arguments.model or "", load_settings(arguments))
    )
    lines = [f"{name:18}{value}" for name, value in _rows(findings)]
    if findings.advice:
        lines += ["", "Advice:"]
        for advice in findings.advice:
            lines += [f"- {advice.what}", f"  {advice.how}"]
    elif findings.problem is None:
        lines += ["", "No advice: nothing is known that would make it faster."]
    report(arguments, _document(findings), lines)
    if findings.problem is not None:
        fail(str(findings.problem))
        return ExitStatus.ENGINE
    return ExitStatus.DONE


async def _examine(model_name: str, config: Config) -> _Findings:
    """Examine the machine, the engine and the model. Raises EngineError for a named model."""
    # Loading a model changes memory and load: measure them first.
    load_1_min, _, _ = psutil.getloadavg()
    findings = _Findings(
        cores=physical_cores(),
        memory_free=available_bytes(),
        load=load_1_min,
        gpu=gpu_maker(),
    )
    try:
        findings.library = await asyncio.to_thread(ask_library)
        findings.advice += _build_advice(findings.library.kernels, processor_flags())
        if findings.gpu and not findings.library.gpus:
            what = f"This build of llama.cpp does not use the {findings.gpu} graphics card."
            how = "`gistread docs models` names the builds for cards."
            findings.advice.append(Advice(what, how))
        try:
            model = find_chosen(model_name, config)
        except EngineError as error:
            if model_name or config.model:
                raise
            # There is no model yet, or there are several.
            findings.advice.append(Advice(error.message, error.hint))
        else:
            await _examine_model(model, config, findings)
    except EngineError as error:
        findings.problem = error
    return findings


def _build_advice(kernels: Sequence[str], flags: Collection[str]) -> list[Advice]:
    """A build for this processor, if the installed one leaves out its wider instructions."""
    supported = [kernel for flag, kernel in _KERNELS.items() if flag in flags]
    missing = [kernel for kernel in supported if kernel not in kernels]
    if "AVX512" not in missing:
        return []
    wanted_kernels = ("AVX2", "FMA", "F16C", *missing)
    options = " ".join(f"-DGGML_{kernel}=ON" for kernel in wanted_kernels)
    what = (
        f"This build of llama.cpp leaves out {', '.join(missing)}, which this processor has: "
        f"with them, prompts were evaluated {_WIDER_SPEED} times as fast where it was measured."
    )
    how = f'Compile it: CMAKE_ARGS="-DGGML_NATIVE=OFF {options}" {_COMPILE}'
    return [Advice(what, how)]


async def _examine_model(
    model: ModelSource, config: Config, findings: _Findings
) -> None:
    """Load the model, and add what is known of it and advice. Raises EngineError."""
    if model.path is None:
        findings.advice.clear()  # llama.cpp is not used.
        findings.info = await load_info(model, config)
        return
    header = await asyncio.to_thread(header_of, model)
    findings.header = header
    info = await load_info(model, config)
    findings.info = info
    findings.check = check_results().get(header.fingerprint)
    on_gpu = bool(info.placement and info.placement.gpu_layers)
    is_converted = info.weights != header.quantization
    if lacks_kernels(header) and not on_gpu and not is_converted:
        what = f"Its layers are in {header.layer_type}, which may be slow on this processor."
        # Not as Q4_K_M: some layers of a small model are in another type then.
        how = "Download this model as Q4_0 or Q8_0."
        findings.advice.append(Advice(what, how))
    if info.placement and info.placement.notice:
        how = (
            "Use a smaller model or quantisation, close other programs, "
            "or set context_tokens or kv_cache."
        )
        findings.advice.append(Advice(info.placement.notice, how))


def _rows(findings: _Findings) -> Iterator[tuple[str, str]]:
    """(name, value) of each finding."""
    yield "gistread", __version__
    yield from _library_rows(findings)
    yield "cores", f"{findings.cores} physical"
    yield "memory free", format_size(findings.memory_free)
    yield from _model_rows(findings)
    if findings.info is not None:
        yield from _placement_rows(findings.info)
        if findings.check is not None:
            yield "check", findings.check.line
        elif findings.header is not None:
            name = findings.header.path.stem
            yield "check", f"not yet: gistread models check {name}"
        yield from _pace_rows(findings.info)


def _library_rows(findings: _Findings) -> Iterator[tuple[str, str]]:
    library = findings.library
    if library is None:
        return
    yield "llama-cpp-python", library.version
    yield "kernels", " ".join(library.kernels)
    cards = [f"{gpu.name} ({format_size(gpu.free_bytes)} free)" for gpu in library.gpus]
    if findings.gpu and not cards:
        cards = [f"{findings.gpu}, not used"]
    yield "GPU", ", ".join(cards) or "none"


def _model_rows(findings: _Findings) -> Iterator[tuple[str, str]]:
    header = findings.header
    if header is not None:
        size = format_size(header.file_bytes)
        yield "model", f"{header.path.stem} · {header.quantization} · {size}"
    elif findings.info is not None:
        yield "model", findings.info.name


def _placement_rows(info: EngineInfo) -> Iterator[tuple[str, str]]:
    if info.weights:
        yield "weights in use", info.weights
    yield "device", info.device
    yield "window", f"{info.context_tokens:,} tokens"
    placement = info.placement
    if placement:
        threads = counted(placement.threads, "thread")
        yield "KV cache", f"{placement.kv_tokens:,} tokens, as {placement.kv_type}"
        yield "work", f"{threads} · batches of {placement.batch_tokens} tokens"


def _pace_rows(info: EngineInfo) -> Iterator[tuple[str, str]]:
    if info.rates is not None:
        yield "prefill", format_rate(info.rates.prefill)
        yield "decode", format_rate(info.rates.decode)
    for reading in ReadingMode:
        words_per_s = expected_pace(info, reading).words_per_s
        if words_per_s:
            duration = format_duration(_NOVEL_WORDS / words_per_s)
            yield reading.value, f"{_NOVEL_WORDS:,} words in about {duration}"


def _document(findings: _Findings) -> Json:
    info = findings.info
    library = findings.library
    machine = fields(findings, "cores", "memory_free", "load")
    return {
        "gistread": __version__,
        "library": or_null(asdict, library),
        "machine": {**machine, "gpu": findings.gpu or None},
        "model": or_null(_model_document, findings.header),
        "engine": or_null(_engine_document, info),
        "verdict": or_null(result_document, findings.check),
        "rates": asdict(info.rates) if info and info.rates else None,
        "advice": [asdict(advice) for advice in findings.advice],
        "problem": or_null(str, findings.problem),
    }


def _model_document(header: GgufHeader) -> Json:
    return {
        **fields(header, "name", "quantization"),
        "path": str(header.path),
        "adapter": or_null(str, header.adapter),
        "size": header.file_bytes,
        "kv_bytes_per_token": header.memory.kv_bytes_per_token,
    }


def _engine_document(info: EngineInfo) -> Json:
    return {
        **fields(info, "name", "device", "weights", "context_tokens", "parallel"),
        "fit": or_null(asdict, info.placement),
    }
