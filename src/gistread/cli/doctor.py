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
from gistread.cli.output import Json, fail, report
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
from gistread.units import counted, fields, format_duration, format_size

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
_WIDER_SPEED = 1.5  # Two cores of a Xeon of 2023; models of 0.5 and 1.5 billion parameters
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
    """Fields are None if unknown."""

    cores: int
    memory_free: int
    load: float
    gpu: str
    library: Library | None = None
    header: GgufHeader | None = None
    info: EngineInfo | None = None
    check: CheckResult | None = None
    advice: list[Advice] = field(default_factory=list)
    problem: EngineError | None = None  # The engine cannot be used


def run(arguments: argparse.Namespace) -> ExitStatus:
    found = run_until_interrupted(_examine(arguments.model or "", load_settings(arguments)))
    lines = [f"{name:18}{value}" for name, value in _rows(found)]
    if found.advice:
        lines += ["", "Advice:", *(f"- {one.what}\n  {one.how}" for one in found.advice)]
    elif found.problem is None:
        lines += ["", "No advice: nothing is known that would make it faster."]
    report(arguments, _document(found), lines)
    if found.problem is not None:
        fail(str(found.problem))
        return ExitStatus.ENGINE
    return ExitStatus.DONE


async def _examine(model_name: str, config: Config) -> _Findings:
    # Loading a model changes memory and load: measure them first.
    found = _Findings(physical_cores(), available_bytes(), psutil.getloadavg()[0], gpu_maker())
    try:
        found.library = await asyncio.to_thread(ask_library)
        found.advice += _build_advice(found.library.kernels, processor_flags())
        if found.gpu and not found.library.gpus:
            what = f"This build of llama.cpp does not use the {found.gpu} graphics card."
            found.advice.append(Advice(what, "`gistread docs models` names the builds for cards."))
        try:
            model = find_chosen(model_name, config)
        except EngineError as error:
            if model_name or config.model:
                raise
            found.advice.append(
                Advice(error.message, error.hint)
            )  # There is no model yet, or there are several
        else:
            await _examine_model(model, config, found)
    except EngineError as error:
        found.problem = error
    return found


def _build_advice(kernels: Sequence[str], flags: Collection[str]) -> list[Advice]:
    """A build for this processor, if the installed one leaves out its wider instructions."""
    missing = [
        kernel for flag, kernel in _KERNELS.items() if flag in flags and kernel not in kernels
    ]
    if "AVX512" not in missing:
        return []
    options = " ".join(f"-DGGML_{kernel}=ON" for kernel in ("AVX2", "FMA", "F16C", *missing))
    what = (
        f"This build of llama.cpp leaves out {', '.join(missing)}, which this processor has: "
        f"with them, prompts were evaluated {_WIDER_SPEED} times as fast where it was measured."
    )
    how = f'Compile it: CMAKE_ARGS="-DGGML_NATIVE=OFF {options}" {_COMPILE}'
    return [Advice(what, how)]


async def _examine_model(model: ModelSource, config: Config, found: _Findings) -> None:
    if model.path is None:
        found.advice.clear()  # llama.cpp is not used.
        found.info = await load_info(model, config)
        return
    found.header = header = await asyncio.to_thread(header_of, model)
    found.info = info = await load_info(model, config)
    found.check = check_results().get(header.fingerprint)
    on_gpu = bool(info.placement and info.placement.gpu_layers)
    if lacks_kernels(header) and not on_gpu and info.weights == header.quantization:
        what = f"Weights in {header.quantization} may be slow on this processor."
        found.advice.append(Advice(what, "Download this model as Q4_0, Q4_K_M or Q8_0."))
    if info.placement and info.placement.notice:
        how = (
            "Use a smaller model or quantisation, close other programs, or set context_tokens or "
            "kv_cache."
        )
        found.advice.append(Advice(info.placement.notice, how))


def _rows(found: _Findings) -> Iterator[tuple[str, str]]:
    yield "gistread", __version__
    if library := found.library:
        yield "llama-cpp-python", library.version
        yield "kernels", " ".join(library.kernels)
        cards = [f"{gpu.name} ({format_size(gpu.free_bytes)} free)" for gpu in library.gpus]
        yield "GPU", ", ".join(cards) or (f"{found.gpu}, not used" if found.gpu else "none")
    yield "cores", f"{found.cores} physical"
    yield "memory free", format_size(found.memory_free)
    header, info = found.header, found.info
    if header is not None:
        yield (
            "model",
            f"{header.path.stem} · {header.quantization} · {format_size(header.file_bytes)}",
        )
    elif info is not None:
        yield "model", info.name
    if info is None:
        return
    if info.weights:
        yield "weights in use", info.weights
    yield "device", info.device
    yield "window", f"{info.context_tokens:,} tokens"
    if fit := info.placement:
        yield "KV cache", f"{fit.kv_tokens:,} tokens, as {fit.kv_type}"
        yield "work", f"{counted(fit.threads, 'thread')} · batches of {fit.batch_tokens} tokens"
    if header is not None:
        yield (
            "check",
            found.check.line
            if found.check
            else f"not yet: gistread models check {header.path.stem}",
        )
    if info.rates is not None:
        yield "prefill", f"{info.rates.prefill:.0f} tok/s"
        yield "decode", f"{info.rates.decode:.0f} tok/s"
    for reading in ReadingMode:
        if speed := expected_pace(info, reading).words_per_s:
            yield (
                reading.value,
                f"{_NOVEL_WORDS:,} words in about {format_duration(_NOVEL_WORDS / speed)}",
            )


def _document(found: _Findings) -> Json:
    header, info, library = found.header, found.info, found.library
    return {
        "gistread": __version__,
        "library": library and asdict(library),
        "machine": {**fields(found, "cores", "memory_free", "load"), "gpu": found.gpu or None},
        "model": header
        and {
            **fields(header, "name", "quantization"),
            "path": str(header.path),
            "adapter": str(header.adapter) if header.adapter else None,
            "size": header.file_bytes,
            "kv_bytes_per_token": header.memory.kv_bytes_per_token,
        },
        "engine": info
        and {
            **fields(info, "name", "device", "weights", "context_tokens", "parallel"),
            "fit": asdict(info.placement) if info.placement else None,
        },
        "verdict": result_document(found.check) if found.check else None,
        "rates": asdict(info.rates) if info and info.rates else None,
        "advice": [asdict(advice) for advice in found.advice],
        "problem": str(found.problem) if found.problem else None,
    }
