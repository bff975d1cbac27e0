"""`gistread models convert NAME`: makes a requantised copy of a model, and keeps it if it is faster."""

from dataclasses import replace

from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.loading import load_info
from gistread.cli.output import say, write_json
from gistread.config import Config
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.measurements import Measurement, Measurements
from gistread.engine.llama.requantized_copy import FAST, copy_obstacle, find_copy, may_lack_kernels
from gistread.engine.model_source import ModelSource, header_of
from gistread.engine.protocol import EngineInfo
from gistread.engine.reading_cost import seconds_per_token
from gistread.errors import EngineError, ExitStatus, StorageError
from gistread.paths import default_paths


def convert(model: ModelSource, config: Config, *, json: bool) -> ExitStatus:
    """Make the copy and measure both. Raises EngineError, or StorageError if there is no room."""
    if model.path is None:
        raise EngineError(f"{model.name} is on a server.", "Name a GGUF file.")
    paths = default_paths()
    header = header_of(model)
    measurements = Measurements(paths.measurements)
    info: EngineInfo | None = None
    if may_lack_kernels(header):
        if not find_copy(header, paths.weights) and (why := copy_obstacle(header, paths.weights, allow_large=True)):
            raise StorageError(f"No faster copy of {header.name} can be made: {why}.")
        measurements.forget(header.fingerprint)
        info = run_until_interrupted(load_info(model, replace(config, fast_weights="always")))
    variants = {setup.variant: measured for setup, measured in measurements.of_model(header.fingerprint).items()}
    copy = find_copy(header, paths.weights) if may_lack_kernels(header) else None
    if json:
        write_json(
            {
                "model": {"name": header.name, "fingerprint": header.fingerprint},
                "weights": info.weights if info else header.quantization,
                "copy": str(copy) if copy else None,
                "size": copy.stat().st_size if copy else None,
            }
        )
    else:
        say(_summary(header, variants, used=copy is not None))
    return ExitStatus.DONE


def _summary(header: GgufHeader, variants: dict[str, Measurement], *, used: bool) -> str:
    if not may_lack_kernels(header):
        return f"{header.name} needs no copy: llama.cpp is fast with {header.quantization}."
    if not {"", FAST} <= variants.keys():
        if ask_library().gpus:
            return f"{header.name} needs no copy: it runs on the graphics card."
        return (
            f"Other programs use the processor, so nothing was measured. {header.name} is measured at its next start."
        )
    original, copy = variants[""], variants[FAST]
    if original.rates is None or copy.rates is None:
        return f"No copy of {header.name} could be made; see the log (`gistread paths`). The original is used."
    ratio = seconds_per_token(original.rates, original.parallel) / seconds_per_token(copy.rates, copy.parallel)
    if used:
        return f"The {FAST} copy of {header.name} reads {ratio:.1f} times as fast; it is used from now on."
    return f"A {FAST} copy of {header.name} is not faster here ({ratio:.2f} times as fast); it was removed."
