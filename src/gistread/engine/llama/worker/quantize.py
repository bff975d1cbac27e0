"""Requantizes a model with its adapter merged in. Runs as a process that can be killed and leaves no partial file."""

import contextlib
import ctypes
import math
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp as llama
import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_tensors, read_values
from gistread.engine.llama.gguf_contents import Tensor
from gistread.engine.llama.machine import physical_cores
from gistread.engine.llama.requantized_copy import f16_path, partial_path
from gistread.system import lower_priority

_NICENESS = 5
_ALPHA = "adapter.lora.alpha"
_A, _B = ".lora_a", ".lora_b"
_DTYPES: dict[int, np.dtype[Any]] = {0: np.dtype("<f4"), 1: np.dtype("<f2")}  # Unquantized tensor types


def convert(source: Path, target: Path, quantization: str, adapter: Path | None = None) -> bool:
    """Write a copy of `source` in this quantization (`Q8_0`), with the adapter merged into it; returns success."""
    partial = partial_path(target, os.getpid())
    plain = f16_path(partial)
    partial.parent.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=_exit_with_pipe, args=((partial, plain),), daemon=True).start()
    try:
        if adapter is not None:
            if not _quantize(source, plain, "F16"):
                return False
            _merge(plain, adapter)
            source = plain
        if not _quantize(source, partial, quantization):
            return False
        partial.replace(target)
        return True
    finally:
        partial.unlink(missing_ok=True)
        plain.unlink(missing_ok=True)


def _quantize(source: Path, target: Path, quantization: str) -> bool:
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{quantization}")
    parameters.nthread = physical_cores()
    parameters.allow_requantize = True
    return not llama.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(parameters))


def _exit_with_pipe(unfinished: Sequence[Path]) -> None:
    # Not sys.stdin: Python cannot exit while a thread reads it.
    while os.read(0, 4096):
        pass
    for path in unfinished:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    os._exit(1)


def _merge(model: Path, adapter: Path) -> None:
    """Add the adapter to the weights of `model`, in place. Raises ValueError if it does not match."""
    (start, weights), (adapter_start, matrices) = read_tensors(model), read_tensors(adapter)
    alpha = float(read_values(adapter, (_ALPHA,)).get(_ALPHA, 0))  # type: ignore[arg-type]
    for name in sorted(matrices):
        target = weights.get(name.removesuffix(_A).removesuffix(_B))
        if target is None or not name.startswith("blk."):
            raise ValueError(f"{name} matches no layer of the model")
        if name.endswith(_A):
            low = _read(adapter, adapter_start, matrices[name])
            up = _read(adapter, adapter_start, matrices[f"{name.removesuffix(_A)}{_B}"])
            change = (up @ low) * (alpha / len(low) if alpha else 1.0)
            before = _read(model, start, target)
            with model.open("r+b") as file:
                file.seek(start + target.offset)
                file.write((before + change).astype(_DTYPES[target.kind]).tobytes())


def _read(path: Path, start: int, tensor: Tensor) -> npt.NDArray[np.float32]:
    if tensor.kind not in _DTYPES:
        raise ValueError(f"{path.name} has quantized matrices")
    found = np.fromfile(path, _DTYPES[tensor.kind], math.prod(tensor.shape), offset=start + tensor.offset)
    return found.astype(np.float32).reshape(tensor.shape)


def main() -> None:
    # Ctrl+C in the terminal reaches the whole process group; the client decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    lower_priority(_NICENESS)
    source, target, quantization, *adapter = sys.argv[1:]
    sys.exit(not convert(Path(source), Path(target), quantization, Path(adapter[0]) if adapter else None))


if __name__ == "__main__":
    main()
