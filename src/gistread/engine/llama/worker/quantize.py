"""Requantizes a model: `python -m gistread.engine.llama.worker.quantize SOURCE TARGET TYPE [ADAPTER]`.

A process of its own because llama.cpp's quantization can only be stopped by killing it. The target appears under its
name when it is complete. When standard input closes, the process removes the partial file and exits.
"""

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import llama_cpp as llama

from gistread.engine.llama.machine import physical_cores
from gistread.engine.llama.requantized_copy import partial_copy, plain_copy
from gistread.engine.llama.worker.lora import merge

_NICENESS = 5


def convert(source: Path, target: Path, quantization: str, adapter: Path | None = None) -> bool:
    """Write a copy of `source` in this quantization (`Q8_0`), with the adapter merged into it; returns success."""
    partial = partial_copy(target, os.getpid())
    plain = plain_copy(partial)
    partial.parent.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=_exit_with_pipe, args=((partial, plain),), daemon=True).start()
    try:
        if adapter is not None:
            if not _quantize(source, plain, "F16"):
                return False
            merge(plain, adapter)
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


def main() -> None:
    # Ctrl+C in the terminal reaches the whole process group; the client decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    source, target, quantization, *adapter = sys.argv[1:]
    sys.exit(not convert(Path(source), Path(target), quantization, Path(adapter[0]) if adapter else None))


if __name__ == "__main__":
    main()
