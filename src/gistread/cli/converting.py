"""`gistread models convert NAME`: leave for a large copy of a model's weights, and whether it is any faster."""

from dataclasses import replace

from gistread.cli.interrupt import run_until_interrupted
from gistread.cli.loading import loaded
from gistread.cli.output import say, write_json
from gistread.cli.progress import ProgressLine
from gistread.config import Config
from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.llama.library import ask_library
from gistread.engine.llama.measurements import Measurement, Measurements
from gistread.engine.llama.requantized_copy import FAST, find_copy, may_pay, obstacle
from gistread.engine.model_source import ModelSource, header_of
from gistread.engine.protocol import EngineInfo
from gistread.engine.reading_cost import seconds_per_token
from gistread.errors import EngineError, ExitStatus, StorageError
from gistread.paths import default_paths


def convert(model: ModelSource, config: Config, *, json: bool) -> ExitStatus:
    """Make the copy, measure both, keep the faster. Raises EngineError, StorageError where there is no room."""
    if model.path is None:
        raise EngineError(f"{model.name} is on a server: its weights are not here.", "Name a GGUF file.")
    paths = default_paths()
    header = header_of(model)
    kept = Measurements(paths.measurements)
    info: EngineInfo | None = None
    if may_pay(header):
        if not find_copy(header, paths.weights) and (why := obstacle(header, paths.weights, allow_large=True)):
            raise StorageError(f"No faster copy of {header.name} can be made: {why}.")
        kept.forget(header.fingerprint)
        info = run_until_interrupted(_load(model, replace(config, fast_weights="always")))
    forms = {setup.variant: measured for setup, measured in kept.of_model(header.fingerprint).items()}
    copy = find_copy(header, paths.weights) if may_pay(header) else None
    if json:
        write_json(
            {
                "model": header.name,
                "weights": info.weights if info else header.quantization,
                "copy": str(copy) if copy else None,
                "size": copy.stat().st_size if copy else 0,
            }
        )
    else:
        say(_verdict(header, forms, used=copy is not None))
    return ExitStatus.DONE


async def _load(model: ModelSource, config: Config) -> EngineInfo:
    with ProgressLine() as line:
        async with loaded(model, config, line) as engine:
            return engine.info


def _verdict(header: GgufHeader, forms: dict[str, Measurement], *, used: bool) -> str:
    if not may_pay(header):
        return f"{header.name} needs no copy: {header.quantization} is a form that llama.cpp is fast with."
    if not {"", FAST} <= forms.keys():
        if ask_library().gpus:
            return f"{header.name} needs no copy: the graphics card does the work."
        return f"Other programs have the cores, so nothing was measured; {header.name} is measured at its next start."
    original, copy = forms[""], forms[FAST]
    if original.rates is None or copy.rates is None:
        return f"No copy of {header.name} could be made; the file itself is used. `gistread paths` names the log."
    ratio = seconds_per_token(original.rates, original.parallel) / seconds_per_token(copy.rates, copy.parallel)
    if used:
        return f"Reading with the {FAST} copy of {header.name} is {ratio:.1f} times as fast; it is used from now on."
    return f"A {FAST} copy of {header.name} is not faster here ({ratio:.2f} times as fast); it has been removed."
