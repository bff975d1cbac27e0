"""Requantizes a model: `python -m gistread.engine.llama.worker.quantize SOURCE TARGET TYPE`.

A process of its own because llama.cpp's quantization can only be stopped by killing it. The target appears under its
name when it is complete. When standard input closes, the process removes the partial file and exits.
"""

import contextlib
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

import llama_cpp as llama

from gistread.engine.llama.machine import physical_cores
from gistread.engine.llama.requantized_copy import partial_copy

_NICENESS = 5


def convert(source: Path, target: Path, quantization: str) -> bool:
    """Write a copy of `source` in this quantization (`Q8_0`). Returns whether it succeeded."""
    partial = partial_copy(target, os.getpid())
    partial.parent.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=_exit_with_pipe, args=(partial,), daemon=True).start()
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{quantization}")
    parameters.nthread = physical_cores()
    parameters.allow_requantize = True
    try:
        if llama.llama_model_quantize(os.fsencode(source), os.fsencode(partial), ctypes.byref(parameters)):
            return False
        partial.replace(target)
        return True
    finally:
        partial.unlink(missing_ok=True)


def _exit_with_pipe(partial: Path) -> None:
    # Not sys.stdin: Python cannot exit while a thread reads it.
    while os.read(0, 4096):
        pass
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)
    os._exit(1)


def main() -> None:
    # Ctrl+C in the terminal reaches the whole process group; the client decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICENESS)
    source, target, quantization = sys.argv[1:]
    sys.exit(not convert(Path(source), Path(target), quantization))


if __name__ == "__main__":
    main()
