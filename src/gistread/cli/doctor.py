"""`gistread doctor`: the engine on this machine, its speed, and advice to make it faster."""

import argparse
import asyncio
from dataclasses import asdict, dataclass, field

import psutil

from gistread import __version__
from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.json_output import Json
from gistread.cli.loading import load_info
from gistread.cli.model_check import check_results, result_document
from gistread.cli.opening import load_settings
from gistread.cli.output import fail, write, write_json
from gistread.cli.tuning import forget_tuning, tune_settings
from gistread.config import Config
from gistread.engine.llama.fit import Gpu
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.library import Advice, Library, ask_library, build_advice
from gistread.engine.llama.machine import available_bytes, cpu_flags, gpu_maker, physical_cores
from gistread.engine.llama.measurements import Measurements
from gistread.engine.llama.requantized_copy import FAST, copy_obstacle, may_lack_kernels
from gistread.engine.llama.tuning import TUNED
from gistread.engine.model_source import ModelSource, find_source, header_of
from gistread.engine.protocol import EngineInfo, Placement
from gistread.errors import EngineError, ExitStatus
from gistread.memory.check_results import CheckResult
from gistread.memory.estimate import expected_pace
from gistread.memory.model import ReadingMode
from gistread.paths import default_paths
from gistread.units import counted, format_duration, format_size

_NOVEL_WORDS = 100_000


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
    no_model: EngineError | None = None  # No model is chosen: there is none, or there are several
    problem: EngineError | None = None  # The engine cannot be used


def run(arguments: argparse.Namespace) -> ExitStatus:
    config = load_settings(arguments)
    if arguments.untune:
        forget_tuning()
        write(f"{', '.join(TUNED)} are chosen by gistread again.")
        return ExitStatus.DONE
    if arguments.tune:
        tuned = run_until_interrupted(tune_settings(arguments.model or "", config, quiet=arguments.json))
        if arguments.json:
            write_json(tuned)
        return ExitStatus.DONE
    found = run_until_interrupted(_examine(arguments.model or "", config, measure=arguments.measure))
    if arguments.json:
        write_json(_document(found))
    else:
        for name, value in _rows(found):
            write(f"{name:18}{value}")
        write(_advice_text(found))
    if found.problem is not None:
        fail(str(found.problem))
        return ExitStatus.ENGINE
    return ExitStatus.DONE


async def _examine(model_name: str, config: Config, *, measure: bool) -> _Findings:
    # Loading a model changes memory and load: measure them first.
    found = _Findings(physical_cores(), available_bytes(), psutil.getloadavg()[0], gpu_maker())
    try:
        found.library = await asyncio.to_thread(ask_library)
        found.advice += build_advice(found.library, cpu_flags(), found.gpu)
        name = model_name or config.model
        try:
            model = find_source(name)
        except EngineError as error:
            if name:
                raise
            found.no_model = error
        else:
            await _examine_model(model, config, found, measure=measure)
    except EngineError as error:
        found.problem = error
    return found


async def _examine_model(model: ModelSource, config: Config, found: _Findings, *, measure: bool) -> None:
    if model.path is None:
        found.advice.clear()  # llama.cpp is not used.
        found.info = await load_info(model, config)
        return
    found.header = header = await asyncio.to_thread(header_of, model)
    measurements = Measurements(default_paths().measurements)
    if measure:
        measurements.forget(header.fingerprint)
    found.info = info = await load_info(model, config)
    found.check = check_results().get(header.fingerprint)
    on_gpu = bool(info.placement and info.placement.gpu_layers)
    if may_lack_kernels(header) and not on_gpu:
        compared = any(setup.variant == FAST for setup in measurements.of_model(header.fingerprint))
        found.advice += _quantization_advice(header, config, compared=compared)
    found.advice += _load_advice(found, info)
    if (config.threads or 0) > found.cores:
        what = f"The settings use {config.threads} threads on {counted(found.cores, 'core')}: too many."
        found.advice.append(Advice(what, "Remove threads from your settings."))


def _quantization_advice(header: GgufHeader, config: Config, *, compared: bool) -> list[Advice]:
    if compared and config.fast_weights != "never":
        return []
    what = f"Weights in {header.quantization} may be slow on this processor"
    if config.fast_weights == "never":
        return [Advice(f"{what}, and your settings do not allow a faster copy.", 'Set fast_weights = "ask".')]
    folder = default_paths().weights
    if why := copy_obstacle(header, folder, allow_large=True):
        return [Advice(f"{what}; {why}.", "Download this model as Q4_0, Q4_K_M or Q8_0.")]
    why = copy_obstacle(header, folder, allow_large=False)
    how = f"Make a faster copy: gistread models convert {header.path.stem}"
    return [Advice(f"{what}; {why}." if why else f"{what}.", how)]


def _load_advice(found: _Findings, info: EngineInfo) -> list[Advice]:
    advice: list[Advice] = []
    if info.placement and info.placement.notice:
        how = "Use a smaller model or quantisation, close other programs, or set context_tokens or kv_cache."
        advice.append(Advice(info.placement.notice, how))
    if info.rates is None:
        what = f"The machine is too busy to measure its speed (load {found.load:.1f}, {counted(found.cores, 'core')})."
        advice.append(Advice(what, "Run it again when other programs are idle."))
    return advice


def _rows(found: _Findings) -> list[tuple[str, str]]:
    rows = [("gistread", __version__)]
    if library := found.library:
        built = f"built for {', '.join(library.backends)}"
        card = ", ".join(map(_card, library.gpus)) or found.gpu or "none"
        rows += [
            ("llama-cpp-python", library.version),
            ("kernels", " ".join(library.kernels)),
            ("GPU", f"{card}; {built if library.has_gpu_support else 'support not in this build'}"),
        ]
    rows += [("cores", f"{found.cores} physical"), ("memory free", format_size(found.memory_free))]
    header, info = found.header, found.info
    if header is None and info is not None:
        rows += [
            ("model", info.name),
            ("device", info.device),
            ("window", f"{info.context_tokens:,} tokens"),
            ("parallel", f"{info.parallel} requests at first; more while that is faster"),
        ]
    if header is not None:
        rows.append(("model", f"{header.path.stem} · {header.quantization} · {format_size(header.file_bytes)}"))
        if header.adapter:
            rows.append(("adapter", f"{header.adapter} · {format_size(header.adapter.stat().st_size)}"))
    if header is not None and info is not None:
        cell_kib = header.memory.kv_bytes_per_token / 1024
        rows += [
            ("weights in use", info.weights),
            ("device", info.device),
            ("window", f"{info.context_tokens:,} tokens · KV cache {cell_kib:.1f} KiB a token"),
            *(_placement_rows(info.placement, has_card=bool(library and library.gpus)) if info.placement else []),
            ("check", found.check.line if found.check else f"not yet: gistread models check {header.path.stem}"),
        ]
        rows += _rates_rows(info)
    return rows


def _placement_rows(placement: Placement, *, has_card: bool) -> list[tuple[str, str]]:
    attention = f"flash attention {'on' if placement.flash_attention else 'off'}"
    return [
        *([("layers", f"{placement.gpu_layers} of {placement.layers} on a graphics card")] if has_card else []),
        ("KV cache", f"{placement.kv_tokens:,} tokens, as {placement.kv_type}"),
        ("work", f"{counted(placement.threads, 'thread')} · batches of {placement.batch_tokens} tokens · {attention}"),
    ]


def _card(gpu: Gpu) -> str:
    """`NVIDIA H100 (80.6 GB of 85.5 GB free)`"""
    room = f" ({format_size(gpu.free_bytes)} of {format_size(gpu.total_bytes)} free)" if gpu.total_bytes else ""
    return f"{gpu.name}{room}"


def _rates_rows(info: EngineInfo) -> list[tuple[str, str]]:
    if info.rates is None:
        return [("rates", "could not be measured")]
    decode = " · ".join(f"{sequences}: {rate:.0f}" for sequences, rate in info.rates.decode)
    rows = [
        ("prefill", f"{info.rates.prefill:.0f} tok/s"),
        ("decode", f"{decode} tok/s, by parallel sequences"),
        ("parallel", f"up to {info.parallel} requests"),
    ]
    novel = {reading: expected_pace(info, reading).words_per_s for reading in ReadingMode}
    return rows + [
        (reading.value, f"{_NOVEL_WORDS:,} words in about {format_duration(_NOVEL_WORDS / speed)}")
        for reading, speed in novel.items()
        if speed
    ]


def _advice_text(found: _Findings) -> str:
    lines = [f"- {advice.what}\n  {advice.how}" for advice in found.advice]
    if found.no_model is not None:
        lines.append(f"- {found.no_model.message}\n  {found.no_model.hint}")
    elif not lines and found.problem is None:
        return "\nNo advice: nothing is known that would make it faster."
    return "\n".join(["", "Advice:", *lines]) if lines else ""


def _document(found: _Findings) -> Json:
    header, info, library = found.header, found.info, found.library
    rates = info.rates if info else None
    return {
        "gistread": __version__,
        "library": library and {**asdict(library), "gpu_support": library.has_gpu_support},
        "machine": {
            "cores": found.cores,
            "memory_free": found.memory_free,
            "load": found.load,
            "gpu": found.gpu or None,
        },
        "model": header
        and {
            "name": header.name,
            "path": str(header.path),
            "adapter": str(header.adapter) if header.adapter else None,
            "size": header.file_bytes,
            "quantization": header.quantization,
            "kv_bytes_per_token": header.memory.kv_bytes_per_token,
        },
        "engine": info
        and {
            **{name: getattr(info, name) for name in ("name", "device", "weights", "context_tokens", "parallel")},
            "fit": asdict(info.placement) if info.placement else None,
        },
        "verdict": result_document(found.check) if found.check else None,
        "rates": rates
        and {
            "prefill": rates.prefill,
            "decode": [{"sequences": sequences, "tokens_per_s": rate} for sequences, rate in rates.decode],
        },
        "advice": [asdict(advice) for advice in found.advice],
        "problem": str(found.problem or found.no_model or "") or None,
    }
