"""Copies of models, requantized to a tensor type with fast CPU kernels: often twice as fast, with almost no loss."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import psutil

from gistread.atomic_write import make_folder
from gistread.engine.llama.gguf import GgufHeader, read_header
from gistread.engine.llama.machine import available_bytes, file_bytes, free_disk_bytes
from gistread.errors import EngineError
from gistread.units import format_size

FAST = "Q8_0"  # Quantization of the copies
UNASKED_BYTES = 512_000_000  # Largest copy that is made automatically
ALL_COPIES_BYTES = 4_000_000_000

_HAVE_KERNELS = {"F16", "BF16", "Q8_0", "Q4_0", "Q4_K"}
_BYTES_PER_WEIGHT = 34 / 32
_DISK_SPARE = 3
_MEMORY_SPARE = 1.5
_LOOK_EVERY_S = 0.2
_CONVERTER = "gistread.engine.llama.worker.quantize"


def may_lack_kernels(header: GgufHeader) -> bool:
    """Whether the model's layers have a type that may lack fast kernels on a processor."""
    return header.split_count == 1 and bool(header.layer_type) and header.layer_type not in _HAVE_KERNELS


def copy_bytes(header: GgufHeader) -> int:
    """Approximate size of a copy, on disk and in memory."""
    return round(header.parameters * _BYTES_PER_WEIGHT)


def is_small(header: GgufHeader) -> bool:
    """Whether a copy is made unasked."""
    return copy_bytes(header) <= UNASKED_BYTES


def copy_obstacle(header: GgufHeader, folder: Path, *, allow_large: bool) -> str:
    """Why no copy can be made, for the person; empty if one can. `allow_large`: the person asked for it."""
    size = copy_bytes(header)
    if size > ALL_COPIES_BYTES:
        return f"a copy would take {format_size(size)}; all copies may take {format_size(ALL_COPIES_BYTES)}"
    if not is_small(header) and not allow_large:
        return f"a copy takes {format_size(size)}, which is not done unasked"
    if (free_disk_bytes(folder) or 0) < _DISK_SPARE * size:
        return f"a copy takes {format_size(size)}, and the disk has less than {_DISK_SPARE} times that"
    if available_bytes() < _MEMORY_SPARE * size:
        return f"a copy takes {format_size(size)} of memory, and {format_size(available_bytes())} are free"
    return ""


def copy_path(header: GgufHeader, folder: Path) -> Path:
    return folder / f"{header.fingerprint}.{FAST}.gguf"


def partial_path(target: Path, process: int) -> Path:
    return target.with_name(f"{target.name}.{process}.partial")


def f16_path(partial: Path) -> Path:
    """Path of the F16 weights to which the same process adds an adapter."""
    return partial.with_name(f"f16.{partial.name}")


def pop_interruption(header: GgufHeader, folder: Path) -> bool:
    """Whether the last attempt at a copy was killed. Clears the mark, so the next run tries again."""
    try:
        _interruption_mark(header, folder).unlink()
    except OSError:
        return False
    return True


def _interruption_mark(header: GgufHeader, folder: Path) -> Path:
    """A file that exists while the copy is being made, and after a kill."""
    return folder / f"{header.fingerprint}.begun"


def find_copy(header: GgufHeader, folder: Path) -> Path | None:
    """Path of this model's copy if it exists and is complete; a damaged one is removed."""
    path = copy_path(header, folder)
    if not path.exists():
        return None
    with contextlib.suppress(EngineError):
        found = read_header(path)
        if not found.missing_bytes and found.parameters == header.parameters:
            with contextlib.suppress(OSError):
                os.utime(path)  # Mark it as recently used for `_make_room`.
            return path
    remove_copy(header, folder)
    return None


def remove_copy(header: GgufHeader, folder: Path) -> None:
    with contextlib.suppress(OSError):
        copy_path(header, folder).unlink(missing_ok=True)


async def make_copy(
    header: GgufHeader, folder: Path, *, log: BinaryIO | None, progress: Callable[[float], None]
) -> Path | None:
    """Make the copy, or None if llama.cpp fails. `progress` gets the share written. Cancelling leaves nothing."""
    target = copy_path(header, folder)
    await asyncio.to_thread(_make_room, folder, copy_bytes(header))
    begun = _interruption_mark(header, folder)
    with contextlib.suppress(OSError):
        make_folder(folder)
        begun.touch()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", _CONVERTER, str(header.path), str(target), FAST),
            *([str(header.adapter)] if header.adapter else []),
            stdin=asyncio.subprocess.PIPE,
            stdout=log if log is not None else asyncio.subprocess.DEVNULL,
            stderr=log if log is not None else asyncio.subprocess.DEVNULL,
            start_new_session=True,
            # An adapter's matrices are too narrow for more threads to pay.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    except OSError:
        return None
    partial = partial_path(target, process.pid)
    ending = asyncio.create_task(process.wait(), name="converter")
    share = 0.0  # Never falls: the finished file is renamed before the process ends
    try:
        while not ending.done():
            await asyncio.wait([ending], timeout=_LOOK_EVERY_S)
            share = 1.0 if ending.done() else max(share, min(1.0, file_bytes(partial) / copy_bytes(header)))
            progress(share)
    finally:
        if not ending.done():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(ending)
        for left in (partial, f16_path(partial), begun):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
    return find_copy(header, folder) if process.returncode == 0 else None


def _make_room(folder: Path, needed: int) -> None:
    """Remove partial copies of dead processes, and the least recently used copies while space is needed."""
    with contextlib.suppress(OSError):
        for partial in folder.glob("*.partial"):
            writer = partial.suffixes[-2].removeprefix(".")
            if not (writer.isdecimal() and psutil.pid_exists(int(writer))):
                partial.unlink(missing_ok=True)
        copies = sorted(folder.glob(f"*.{FAST}.gguf"), key=lambda path: path.stat().st_mtime)
        total = sum(map(file_bytes, copies))
        for path in copies:
            if total + needed <= ALL_COPIES_BYTES:
                return
            total -= file_bytes(path)
            path.unlink()
