"""Makes a copy of a model with other weights: `python -m gistread.engine.llama.worker.quantize SRC DST TYPE`.

A process of its own, since llama.cpp cannot be told to stop: it is killed. The copy appears under its name when it
is whole. The end of standard input means that nobody waits for it any more: what was begun is removed.
Exit status 0: the copy is there.
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
    """Whether `target` is now a copy of `source` in this quantisation (`Q8_0`)."""
    partial = partial_copy(target, os.getpid())
    partial.parent.mkdir(parents=True, exist_ok=True)
    threading.Thread(target=_end_with_the_pipe, args=(partial,), daemon=True).start()
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


def _end_with_the_pipe(partial: Path) -> None:
    # Not through sys.stdin: a thread waiting in there cannot be left behind when Python ends.
    while os.read(0, 4096):
        pass
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)
    os._exit(1)


def main() -> None:
    # Ctrl+C in the terminal reaches every process of the group; what it means is the client's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICENESS)
    source, target, quantization = sys.argv[1:]
    sys.exit(not convert(Path(source), Path(target), quantization))


if __name__ == "__main__":
    main()
