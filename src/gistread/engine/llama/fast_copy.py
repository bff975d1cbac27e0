"""A copy of a small model in a tensor type with fast kernels, made once for models that lack them.

llama.cpp multiplies matrices of some types slowly on a processor. For each second of processor time
the starter (Q4_1 with an adapter) evaluates 229 tokens of a prompt, and 428 as Q8_0 with the
adapter merged in; it decodes 106 and 146. So it reads a book in two thirds of the time.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil

from gistread.child_process import run_python
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes, free_disk_bytes
from gistread.errors import EngineError
from gistread.store.files import make_folder

FAST = "Q8_0"

_HAVE_KERNELS = {"F16", "BF16", "F32", "Q8_0", "Q4_0", "Q4_K"}
_BYTES_PER_WEIGHT = 34 / 32
_MOST_BYTES = 512_000_000  # Of a copy
_CONVERTER = "gistread.engine.llama.worker.quantize"
_WITHIN_S = 600.0


def lacks_kernels(header: GgufHeader) -> bool:
    """Whether the model's layers have a type that may lack fast kernels on a processor."""
    return bool(header.layer_type) and header.layer_type not in _HAVE_KERNELS


def needs_copy(header: GgufHeader) -> bool:
    """Whether a copy would be faster, and small enough."""
    return lacks_kernels(header) and _copy_bytes(header) <= _MOST_BYTES


def _copy_bytes(header: GgufHeader) -> float:
    return header.parameters * _BYTES_PER_WEIGHT


def copy_path(header: GgufHeader, folder: Path) -> Path:
    """Where the copy is, or would be. An empty file stands for a copy that is of no use."""
    return folder / f"{header.fingerprint}.{FAST}.gguf"


def find_copy(header: GgufHeader, folder: Path) -> Path | None:
    """Path of the copy, if there is one that is of use. A damaged one is removed."""
    path = copy_path(header, folder)
    with contextlib.suppress(OSError):
        if not path.stat().st_size:
            return None
        if not _is_damaged(path):
            return path
        path.unlink()
    return None


def _is_damaged(path: Path) -> bool:
    try:
        header = read_header(path, fingerprint=False)
    except EngineError:
        return True
    return header.missing_bytes > 0


def make_copy(header: GgufHeader, folder: Path) -> Path | None:
    """Make the copy, in a process; None without room, or if it fails now or has failed before."""
    target = copy_path(header, folder)
    if target.exists() or not _make_room(header, folder):
        return None
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    unquantized = partial.with_name(f"f16.{partial.name}")
    arguments = [str(header.path), str(partial), FAST, str(unquantized)]
    if header.adapter:
        arguments.append(str(header.adapter))
    try:
        process = run_python(_CONVERTER, *arguments, timeout_s=_WITHIN_S)
        if process.returncode:
            sys.stderr.write(process.stderr.decode("utf-8", "replace"))  # To the log
            reject_copy(header, folder)
        else:
            partial.replace(target)
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        for unfinished in (partial, unquantized):
            unfinished.unlink(missing_ok=True)
    return find_copy(header, folder)


def reject_copy(header: GgufHeader, folder: Path) -> None:
    """Make sure that the copy is neither used nor made again."""
    with contextlib.suppress(OSError):
        copy_path(header, folder).write_bytes(b"")


_DISK_SHARE = 3  # Free disk that a copy needs, in sizes of it
_MEMORY_SHARE = 1.5  # The same of memory, while it is made


def _make_room(header: GgufHeader, folder: Path) -> bool:
    """Remove the partial files of killed processes.

    Returns False if there is no room on the disk or in memory.
    """
    size = _copy_bytes(header)
    with contextlib.suppress(OSError, ValueError):
        make_folder(folder)
        for partial in folder.glob("*.partial"):
            pid = int(partial.stem.rpartition(".")[2])  # `NAME.PID.partial`
            if not psutil.pid_exists(pid):
                partial.unlink()
    has_disk = (free_disk_bytes(folder) or 0) >= _DISK_SHARE * size
    return has_disk and available_bytes() >= _MEMORY_SHARE * size
