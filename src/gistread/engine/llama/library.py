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

_MISSING = re.compile(
    r"(?P<library>lib[\w.+-]+): cannot open shared object file: No such file"
)


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
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unusable(str(error)) from None
    if process.returncode == -signal.SIGILL:
        raise _too_new_instructions()
    if process.returncode != 0:
        log = process.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _unusable(log[-1] if log else f"exit status {process.returncode}")
    try:
        description = orjson.loads(process.stdout)
    except ValueError as error:
        raise _unusable(str(error)) from None
    gpus = tuple(Gpu(**gpu) for gpu in description["gpus"])
    return Library(description["version"], tuple(description["kernels"]), gpus)


def _too_new_instructions() -> EngineError:
    """The error for a build that an illegal instruction ended."""
    options = f"--force-reinstall --no-deps --no-cache-dir --no-binary {_PACKAGE}"
    rebuild = pip_install(f"{options} {_PACKAGE}=={installed_version()}")
    return EngineError(
        "This build of llama.cpp uses instructions that this processor lacks.",
        f"Rebuild it, with a C++ compiler installed: {rebuild}",
    )


def _unusable(reason: str) -> EngineError:
    """The error for a llama.cpp that cannot be used; `reason`: what Python or the system said."""
    if missing := _MISSING.search(reason):
        return EngineError(
            f"llama.cpp needs {missing['library']}, which this system lacks.",
            "Install the package of it; on Debian and Ubuntu, libgomp.so.1 comes with: sudo apt "
            "install libgomp1",
        )
    reinstall = pip_install(f"--force-reinstall --no-cache-dir {_PACKAGE}")
    return EngineError(
        f"llama-cpp-python cannot be used: {reason.rstrip('.')}.",
        f"Install it again: {reinstall}",
    )
