"""A GGUF file becomes a model that can be worked with, or one clear sentence why it cannot.

Decides context, batch, threads and layers from the header and the machine. Reports progress and can be
stopped while it loads.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import jinja2
import llama_cpp as llama

from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes, physical_cores
from gistread.engine.llama.worker.context import KV_BYTES, Context
from gistread.engine.llama.worker.describing import gpu_names, library
from gistread.engine.llama.worker.snapshots import Snapshots
from gistread.engine.llama.worker.weights import Weights
from gistread.errors import EngineError

DEFAULT_CONTEXT_TOKENS = 8192
"""The window when none is asked for: what the paper's models had, and what fits most machines."""
EMBEDDED_TOKENS = 2048
"""Of one text that becomes a vector, at most: some models take more, at a price that grows with the square."""
_BATCH_OF_TEXTS = 512
"""Tokens of short texts that become vectors at once. More are no faster on a CPU."""
_TEXTS = 32
"""That become vectors at once. llama.cpp fails when the tokens of a batch cannot be shared out evenly among them."""
_SEQUENCES = 48
"""Running, and kept for requests that begin the same. A sequence costs no memory of its own..."""
_STATES = 6
"""... but in recurrent models, where each has a state."""
_WINDOWS = 2
"""Cells for so many full windows where there is memory for them: a question and the reading beside it."""
_WINDOWS_ON_GPU = 4
"""There, dozens of requests run at once."""
_ALL_LAYERS = 999
_ERROR_LEVEL = 4


class LoadCancelled(Exception):  # noqa: N818 - it is not an error
    """The load was stopped on request."""


@dataclass(slots=True)
class LoadedModel:
    """What the scheduler works with. Nothing of it changes but `parallel`."""

    weights: Weights
    context: Context
    """For all requests, one of which may fill the whole window."""
    context_tokens: int
    """The window: prompt and answer of one request."""
    batch_tokens: int
    threads: int
    device: str
    on_gpu: bool = False
    kv_type: str = "f16"
    snapshots: Snapshots | None = None
    """None: nothing is kept on disk."""
    parallel: int = 8
    """Requests at work at the same time: a guess, until the client says what was measured (`configure`)."""


def load(
    path: Path,
    context_tokens: int | None,
    *,
    kv_type: str,
    snapshots: Mapping[str, str] | None,
    progress: Callable[[float], None],
    cancelled: Callable[[], bool],
) -> LoadedModel:
    """Load the model at `path` with a window of `context_tokens` (at most what it was trained for).

    `kv_type`: of the numbers in the KV cache, a key of `KV_TYPES`. `snapshots`: `directory` and `model`, what the
    weights are known by. `progress` is called with the share loaded, 0 to 1. Raises EngineError, LoadCancelled.
    """
    header = read_header(path)
    window = min(context_tokens or DEFAULT_CONTEXT_TOKENS, header.context_length or DEFAULT_CONTEXT_TOKENS)
    check_file(header)
    on_gpu = bool(llama.llama_supports_gpu_offload())
    cell_bytes = round(header.kv_bytes_per_token * KV_BYTES[kv_type] / KV_BYTES["f16"])
    cells = _cells(header, window, cell_bytes, on_gpu=on_gpu)
    handle = _open(path, progress, cancelled, on_gpu=on_gpu)
    threads = physical_cores()  # more than that only make each other wait: they spin
    batch_tokens = _batch_tokens(header.parameters, on_gpu=on_gpu)
    try:
        weights = Weights(handle, header.chat_template)
        sequences = _SEQUENCES if weights.can_roll_back else _STATES
        context = Context(
            weights,
            cells=cells,
            sequences=sequences,
            batch_tokens=batch_tokens,
            threads=threads,
            kv_type=kv_type,
        )
    except jinja2.TemplateError as error:
        raise EngineError(f"The chat template of {path.name} cannot be used: {error}.") from None
    except MemoryError:
        raise EngineError(
            f"There is no memory for a window of {window} tokens of {path.name}.",
            "Choose a smaller one (--context), or a smaller model."
            + (f' Not every model can do with kv_cache = "{kv_type}".' if kv_type != "f16" else ""),
        ) from None
    return LoadedModel(
        weights,
        context,
        window,
        batch_tokens,
        threads,
        device=_device(threads, on_gpu=on_gpu),
        on_gpu=on_gpu,
        kv_type=kv_type,
        snapshots=_snapshots(snapshots, kv_type),
    )


def load_embedder(
    path: Path, pooling: int, *, progress: Callable[[float], None], cancelled: Callable[[], bool]
) -> LoadedModel:
    """Load the model at `path` to make vectors. The window is that of one text, and of a batch of many.

    Raises EngineError, LoadCancelled.
    """
    header = read_header(path)
    check_whole(header)
    window = min(EMBEDDED_TOKENS, header.context_length or EMBEDDED_TOKENS)
    batch_tokens = -(-max(window, _BATCH_OF_TEXTS) // _TEXTS) * _TEXTS
    on_gpu = bool(llama.llama_supports_gpu_offload())
    if not on_gpu:
        check_memory(header, batch_tokens, header.kv_bytes_per_token)
    handle = _open(path, progress, cancelled, on_gpu=on_gpu)
    threads = physical_cores()
    try:
        weights = Weights(handle, "")
        context = Context(
            weights,
            cells=batch_tokens,
            sequences=_TEXTS,
            batch_tokens=batch_tokens,
            threads=threads,
            pooling=pooling,
        )
    except MemoryError:
        raise EngineError(f"There is no memory for {path.name}.", "Choose a smaller embedding model.") from None
    return LoadedModel(
        weights, context, window, batch_tokens, threads, device=_device(threads, on_gpu=on_gpu), on_gpu=on_gpu
    )


def _open(
    path: Path, progress: Callable[[float], None], cancelled: Callable[[], bool], *, on_gpu: bool
) -> llama.llama_model_p:
    """The weights of a file. Raises EngineError, LoadCancelled."""
    log = _Log()
    llama.llama_backend_init()

    def on_progress(share: float, _data: object) -> bool:
        progress(share)
        return not cancelled()

    callback = llama.llama_progress_callback(on_progress)
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = _ALL_LAYERS if on_gpu else 0
    parameters.progress_callback = callback
    handle: llama.llama_model_p | None = llama.llama_model_load_from_file(os.fsencode(path), parameters)
    if not handle:
        if cancelled():
            raise LoadCancelled
        raise _load_error(path, log.errors)
    return handle


def _snapshots(where: Mapping[str, str] | None, kv_type: str) -> Snapshots | None:
    """Numbers of a cache depend on the weights, on what they are kept as, and on who computed them."""
    if where is None:
        return None
    return Snapshots(Path(where["directory"]), f"{where['model']} {kv_type} {library()}")


def check_file(header: GgufHeader) -> None:
    """Raises EngineError when the file cannot be a whole, generating model."""
    check_whole(header)
    if not header.architecture or not header.vocabulary:
        raise EngineError(
            f"{header.path.name} is a GGUF file without a model that writes text.",
            "Choose another (`gistread models list`).",
        )


def check_whole(header: GgufHeader) -> None:
    """Raises EngineError when something of the file is missing."""
    if header.missing_bytes and header.split_count == 1:
        raise EngineError(
            f"The model file {header.path.name} is cut off: {header.missing_bytes:,} bytes are missing.",
            "Fetch it again.",
        )


def check_memory(header: GgufHeader, cells: int, cell_bytes: int) -> None:
    """Raises EngineError when weights and KV cache need more memory than the machine has free."""
    needed = header.file_bytes + cells * cell_bytes
    free = available_bytes()
    if needed > free:
        raise EngineError(
            f"{header.path.name} needs {needed / 2**30:.1f} GiB of memory; {free / 2**30:.1f} GiB are free.",
            "Choose a smaller model or quantisation, or a smaller window (--context).",
        )


def _cells(header: GgufHeader, window: int, cell_bytes: int, *, on_gpu: bool) -> int:
    """Cells of the KV cache: one window at least, more where that leaves memory. Raises EngineError."""
    if on_gpu:
        return _WINDOWS_ON_GPU * window
    check_memory(header, window, cell_bytes)
    spare = available_bytes() - header.file_bytes - window * cell_bytes
    if cell_bytes:
        return window + max(0, min((_WINDOWS - 1) * window, spare // 2 // cell_bytes))
    return _WINDOWS * window


def _batch_tokens(parameters: int, *, on_gpu: bool) -> int:
    """Tokens evaluated at once. Fixed for a model and a device, so that a run can be repeated exactly.

    Larger is little faster on a CPU, and a status line or a waiting person sees nothing meanwhile.
    """
    if on_gpu:
        return 512
    return 256 if parameters < 1_000_000_000 else 128 if parameters < 5_000_000_000 else 64


def _device(threads: int, *, on_gpu: bool) -> str:
    cpu = f"CPU, {threads} thread{'s' if threads != 1 else ''}"
    return next(iter(gpu_names()), "GPU") if on_gpu else cpu


def _load_error(path: Path, errors: list[str]) -> EngineError:
    said = " ".join(errors)
    if found := re.search(r"unknown (?:model )?architecture: '([^']*)'", said):
        return EngineError(
            f"{path.name} has the architecture “{found[1]}”, which this llama.cpp does not know.",
            "Upgrade llama-cpp-python, or choose another model (`gistread models list`).",
        )
    if re.search(r"alloc|out of memory|mmap failed", said, re.IGNORECASE):
        return EngineError(f"There is no memory for {path.name}.", "Choose a smaller model or quantisation.")
    reason = errors[-1] if errors else "llama.cpp gave no reason"
    return EngineError(
        f"{path.name} cannot be loaded: {reason[:200].rstrip('.')}.", "Fetch it again, or choose another model."
    )


class _Log:
    """What llama.cpp says: all of it to stderr, which is a log file; its errors kept."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._callback = llama.llama_log_callback(self._on_line)
        llama.llama_log_set(self._callback, None)
        _KEPT_ALIVE.append(self._callback)

    def _on_line(self, level: int, text: bytes, _data: object) -> None:
        line = text.decode("utf-8", "replace")
        os.write(2, text)
        if level == _ERROR_LEVEL and line.strip():
            self.errors.append(line.strip())


_KEPT_ALIVE: list[object] = []
"""Callbacks that llama.cpp calls as long as the process lives."""
