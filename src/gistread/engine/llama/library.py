"""Describes the installed llama.cpp: its version and what it supports."""

import re
import signal
import subprocess
from dataclasses import dataclass

import orjson

from gistread.child_process import run_python
from gistread.engine.llama.fit import Gpu
from gistread.errors import EngineError
from gistread.paths import pip_install

_PACKAGE = "llama-cpp-python"
_DESCRIBE = "gistread.engine.llama.worker.system_info"
_DESCRIBE_WITHIN_S = 60

_MISSING = re.compile(r"(lib[\w.+-]+): cannot open shared object file: No such file")


@dataclass(frozen=True, slots=True)
class Library:
    version: str
    kernels: tuple[str, ...]  # Instruction sets in use: `AVX2`, `FMA` …
    gpus: tuple[Gpu, ...]


def installed_version() -> str:
    """Version of llama-cpp-python, without importing it; empty if it is not installed."""
    from importlib import metadata  # slow to import

    try:
        return metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        return ""


def ask_library() -> Library:
    """Describe the library, loading it in a separate process.

    Raises EngineError if it is missing or unusable.
    """
    try:
        process = run_python(_DESCRIBE, timeout_s=_DESCRIBE_WITHIN_S)
        described = orjson.loads(process.stdout) if process.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise _unusable(str(error)) from None
    if process.returncode == -signal.SIGILL:
        message = "This build of llama.cpp uses instructions that this processor lacks."
        options = f"--force-reinstall --no-deps --no-cache-dir --no-binary {_PACKAGE}"
        rebuild = pip_install(f"{options} {_PACKAGE}=={installed_version()}")
        raise EngineError(
            message, f"Rebuild it, with a C++ compiler installed: {rebuild}"
        )
    if described is None:
        log = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _unusable(log[-1] if log else f"exit status {process.returncode}")
    gpus = tuple(Gpu(**gpu) for gpu in described["gpus"])
    return Library(described["version"], tuple(described["kernels"]), gpus)


def _unusable(reason: str) -> EngineError:
    if missing := _MISSING.search(reason):
        return EngineError(
            f"llama.cpp needs {missing[1]}, which this system lacks.",
            "Install the package of it; on Debian and Ubuntu, libgomp.so.1 comes with: sudo apt "
            "install libgomp1",
        )
    return EngineError(
        f"llama-cpp-python cannot be used: {reason.rstrip('.')}.",
        f"Install it again: {pip_install(f'--force-reinstall --no-cache-dir {_PACKAGE}')}",
    )
