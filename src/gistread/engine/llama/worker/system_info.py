"""Describes the installed llama.cpp and its devices, as one line of JSON, without a model.

`python -m gistread.engine.llama.worker.system_info`, run by `library.ask_library`.
"""

import ctypes
import os
import sys

import llama_cpp as llama
import orjson

from gistread.engine.llama.fit import Gpu

_DISCRETE, _INTEGRATED = _GPUS = (1, 2)
"""ggml's device types for graphics cards; 0 is a processor, 3 a library such as BLAS."""


def library() -> str:
    """Identifies the build: version of the binding and its instruction sets."""
    return f"{llama.__version__} {' '.join(kernels())}"


def kernels() -> list[str]:
    """Instruction sets that llama.cpp was built with and can use here: `AVX2`, `FMA`, `REPACK` …"""
    said: str = llama.llama_print_system_info().decode("utf-8", "replace")
    # CPU : SSE3 = 1 | AVX2 = 1 | … | CUDA : ARCHS = 900 | …
    pairs = [part.rpartition(":")[2].partition("=") for part in said.split("|")]
    return [name.strip() for name, _, value in pairs if value.strip() not in ("", "0")]


def gpus() -> tuple[Gpu, ...]:
    """Graphics cards that ggml can use; empty if it cannot be asked."""
    try:
        ggml = llama.llama_cpp._lib
        ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
        ggml.ggml_backend_dev_get.restype = ctypes.c_void_p
        ggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
        ggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
        ggml.ggml_backend_dev_description.restype = ctypes.c_char_p
        ggml.ggml_backend_dev_description.argtypes = [ctypes.c_void_p]
        ggml.ggml_backend_dev_memory.restype = None
        ggml.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_size_t)] * 2]
        devices = [ggml.ggml_backend_dev_get(index) for index in range(ggml.ggml_backend_dev_count())]
        return tuple(_gpu(ggml, device) for device in devices if ggml.ggml_backend_dev_type(device) in _GPUS)
    except AttributeError:
        return ()


def _gpu(ggml: ctypes.CDLL, device: int) -> Gpu:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    ggml.ggml_backend_dev_memory(device, ctypes.byref(free), ctypes.byref(total))
    # Metal reports a discrete card, but Apple's processors share the machine's memory with it.
    shares = ggml.ggml_backend_dev_type(device) == _INTEGRATED or sys.platform == "darwin"
    name = ggml.ggml_backend_dev_description(device).decode("utf-8", "replace")
    return Gpu(name, free.value, total.value, shares)


def backends() -> list[str]:
    """Backends that ggml was built with: `CPU`, `CUDA`, `Metal` …, whether or not a device is present."""
    try:
        ggml = llama.llama_cpp._lib
        ggml.ggml_backend_reg_count.restype = ctypes.c_size_t
        ggml.ggml_backend_reg_get.restype = ctypes.c_void_p
        ggml.ggml_backend_reg_get.argtypes = [ctypes.c_size_t]
        ggml.ggml_backend_reg_name.restype = ctypes.c_char_p
        ggml.ggml_backend_reg_name.argtypes = [ctypes.c_void_p]
        found = [ggml.ggml_backend_reg_get(index) for index in range(ggml.ggml_backend_reg_count())]
        return [ggml.ggml_backend_reg_name(item).decode("utf-8", "replace") for item in found]
    except AttributeError:
        return []


def main() -> None:
    pipe = os.dup(1)
    os.dup2(2, 1)
    llama.llama_backend_init()
    description = {"version": llama.__version__, "kernels": kernels(), "backends": backends(), "gpus": gpus()}
    with os.fdopen(pipe, "wb") as out:
        out.write(orjson.dumps(description))


if __name__ == "__main__":
    main()
