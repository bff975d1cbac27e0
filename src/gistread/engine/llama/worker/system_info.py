"""Describes the installed llama.cpp and its devices, and receives its log.

For `library.ask_library`.
"""

import ctypes
import os
import sys
from typing import Any

import llama_cpp as llama
import orjson

from gistread.engine.llama.fit import Gpu

# ggml's device types for graphics cards; 0 is a processor, 3 a library such as BLAS
_DISCRETE = 1
_INTEGRATED = 2
_DEBUG_LEVEL = 1
_ERROR_LEVEL = 4
# Referenced for as long as llama.cpp may call them: the life of the process
_CALLBACKS: list[object] = []


def library_build() -> str:
    """Identifies the build: version of the binding and its instruction sets."""
    return f"{llama.__version__} {' '.join(kernels())}"


def kernels() -> list[str]:
    """Instruction sets that llama.cpp was built with and can use here: `AVX2`, `FMA`, `REPACK` …"""
    info: str = llama.llama_print_system_info().decode("utf-8", "replace")
    # CPU : SSE3 = 1 | AVX2 = 1 | … | CUDA : ARCHS = 900 | …
    kernels: list[str] = []
    for setting in info.split("|"):
        after_device = setting.rpartition(":")[2]
        name, _, value = after_device.partition("=")
        if value.strip() not in ("", "0"):
            kernels.append(name.strip())
    return kernels


def gpus() -> tuple[Gpu, ...]:
    """Graphics cards that llama.cpp uses: integrated ones only without a discrete one.

    Empty if unknown.
    """
    try:
        device_at = _ggml("backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
        type_of = _ggml("backend_dev_type", ctypes.c_int, ctypes.c_void_p)
        name_of = _ggml("backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)
        size = ctypes.POINTER(ctypes.c_size_t)
        read_memory = _ggml("backend_dev_memory", None, ctypes.c_void_p, size, size)
        count_devices = _ggml("backend_dev_count", ctypes.c_size_t)
    except AttributeError:
        return ()
    by_kind: dict[int, list[Gpu]] = {_DISCRETE: [], _INTEGRATED: []}
    for index in range(count_devices()):
        device = device_at(index)
        kind = type_of(device)
        if kind not in by_kind:
            continue
        name = name_of(device).decode("utf-8", "replace")
        free = ctypes.c_size_t()
        total = ctypes.c_size_t()
        read_memory(device, ctypes.byref(free), ctypes.byref(total))
        # Metal reports a discrete card, but Apple's processors share the machine's memory with
        # it.
        shares_memory = kind == _INTEGRATED or sys.platform == "darwin"
        by_kind[kind].append(Gpu(name, free.value, total.value, shares_memory))
    return tuple(by_kind[_DISCRETE] or by_kind[_INTEGRATED])


def _ggml(name: str, result: Any, *arguments: Any) -> Any:
    """A function of ggml that the binding does not declare, by its types.

    Raises AttributeError if this build lacks it.
    """
    prototype = ctypes.CFUNCTYPE(result, *arguments)
    return prototype((f"ggml_{name}", llama.llama_cpp._lib))


def forward_log() -> list[str]:
    """Forward llama.cpp's log to stderr, which is a log file.

    Returns a list that collects its errors from now on.
    """
    errors: list[str] = []

    def on_line(level: int, text: bytes, _data: object) -> None:
        if level == _DEBUG_LEVEL:  # Dozens of lines for each batch
            return
        line = text.decode("utf-8", "replace")
        os.write(2, text)
        if level == _ERROR_LEVEL and line.strip():
            errors.append(line.strip())

    callback = llama.llama_log_callback(on_line)
    llama.llama_log_set(callback, None)
    _CALLBACKS.append(callback)
    return errors


def main() -> None:
    """Write the description to standard output as JSON."""
    # What llama.cpp prints must not mix with it.
    pipe = os.dup(1)
    os.dup2(2, 1)
    llama.llama_backend_init()
    description = {"version": llama.__version__, "kernels": kernels(), "gpus": gpus()}
    with os.fdopen(pipe, "wb") as out:
        out.write(orjson.dumps(description))


if __name__ == "__main__":
    main()
