"""Which llama.cpp is installed and what would make it faster on this machine.

The library is asked in a process of its own (`worker/describing.py`). The advice is pure: facts in, words out.
"""

import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata

import orjson

from gistread.engine.llama.fitting import Gpu
from gistread.errors import EngineError

_PACKAGE = "llama-cpp-python"
_DESCRIBE = "gistread.engine.llama.worker.describing"
_DESCRIBE_WITHIN_S = 60
_NO_GPU = {"CPU", "BLAS", "RPC"}

# What llama.cpp calls its kernels, and the flag of the processor that each needs.
_KERNELS = {
    **{"AVX": "avx", "AVX2": "avx2", "FMA": "fma", "F16C": "f16c", "BMI2": "bmi2", "AVX_VNNI": "avx_vnni"},
    **{"AVX512": "avx512f", "AVX512_VBMI": "avx512vbmi", "AVX512_VNNI": "avx512_vnni", "AVX512_BF16": "avx512_bf16"},
    **{"AMX_INT8": "amx_int8", "DOTPROD": "asimddp", "MATMUL_INT8": "i8mm", "SVE": "sve"},
}
_GPU_BUILDS = {"NVIDIA": "-DGGML_CUDA=ON", "AMD": "-DGGML_HIP=ON", "Apple": "-DGGML_METAL=ON"}
_NATIVE_BUILD = "-DGGML_NATIVE=ON"


@dataclass(frozen=True, slots=True)
class Library:
    """llama-cpp-python as it is installed."""

    version: str
    kernels: tuple[str, ...]
    """Of the processor: `AVX2`, `FMA` …"""
    backends: tuple[str, ...]
    """What it was built with: `CPU`, `CUDA` …"""
    gpus: tuple[Gpu, ...]
    """Graphics cards that it can use."""

    @property
    def has_gpu_support(self) -> bool:
        """Whether it was built for any graphics card."""
        return not set(self.backends) <= _NO_GPU


@dataclass(frozen=True, slots=True)
class Advice:
    """What slows the engine down, and what to do about it: one line each."""

    what: str
    how: str


def installed_version() -> str:
    """Of llama-cpp-python, without importing it; empty where it is not installed."""
    try:
        return metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        return ""


def ask_library() -> Library:
    """Raises EngineError when llama-cpp-python is not there or cannot be used on this machine."""
    command = [sys.executable, "-m", _DESCRIBE]
    try:
        process = subprocess.run(command, capture_output=True, check=False, timeout=_DESCRIBE_WITHIN_S)
        found = orjson.loads(process.stdout) if process.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise _unusable(str(error)) from None
    if found is None:
        said = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _unusable(said[-1] if said else f"exit status {process.returncode}")
    gpus = tuple(Gpu(**gpu) for gpu in found["gpus"])
    return Library(found["version"], tuple(found["kernels"]), tuple(found["backends"]), gpus)


def _unusable(reason: str) -> EngineError:
    return EngineError(
        f"llama-cpp-python cannot be used: {reason.rstrip('.')}.",
        "Install it again: python3 -m pip install --force-reinstall --no-cache-dir llama-cpp-python",
    )


def build_advice(library: Library, cpu_flags: frozenset[str], gpu_maker: str) -> list[Advice]:
    """What another build of the library would do better here.

    `gpu_maker`: of a card in this machine, or empty. A GPU that is used makes the processor's kernels unimportant.
    """
    if library.gpus:
        return []
    advice: list[Advice] = []
    if gpu_maker in _GPU_BUILDS and not library.has_gpu_support:
        what = f"There is a graphics card ({gpu_maker}) that this build of llama.cpp cannot use."
        advice.append(Advice(what, f"Rebuild it: {rebuild(library, _GPU_BUILDS[gpu_maker])}"))
    unused = [name for name, flag in _KERNELS.items() if flag in cpu_flags and name not in library.kernels]
    if unused:
        what = f"The processor has {', '.join(unused)}, which this build of llama.cpp does not use."
        advice.append(Advice(what, f"Rebuild it: {rebuild(library, _NATIVE_BUILD)}"))
    return advice


def rebuild(library: Library, option: str) -> str:
    """The command that builds the same version with another option of CMake."""
    pip = "python3 -m pip install --force-reinstall --no-deps --no-cache-dir --no-binary llama-cpp-python"
    return f'CMAKE_ARGS="{option}" {pip} llama-cpp-python=={library.version}'
