"""Describes this machine, as reported by the operating system.

Free memory, cores, instruction sets, graphics cards.
"""

import contextlib
import math
import os
import platform
import shutil
import sys
from pathlib import Path

import psutil

_GROUP = Path("/sys/fs/cgroup")
_PROCESSOR = Path("/proc/cpuinfo")

NVIDIA = "NVIDIA"
AMD = "AMD"
INTEL = "Intel"
APPLE = "Apple"

# Files that exist when a card's driver is loaded.
_DRIVERS = {
    "/proc/driver/nvidia/version": NVIDIA,
    "/dev/nvidiactl": NVIDIA,
    "/usr/lib/wsl/lib/libcuda.so.1": NVIDIA,
    "/dev/kfd": AMD,
}
_CARDS = Path("/sys/class/drm")
# PCI vendor ids of cards that can be used without their maker's driver.
_VENDORS = {"0x1002": AMD, "0x8086": INTEL}


def available_bytes() -> int:
    """Free memory of the machine, or of the process's control group if less."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_GROUP / "memory.max").read_text().strip()
        used = int((_GROUP / "memory.current").read_text())
        # Lines such as `inactive_file 4096`
        statistics = (_GROUP / "memory.stat").read_text().splitlines()
        counts = dict(line.split() for line in statistics)
    except (OSError, ValueError):
        return free
    if limit == "max":
        return free
    # The page cache counts as used, but is reclaimable.
    cached = int(counts.get("inactive_file", 0)) + int(counts.get("active_file", 0))
    return min(free, int(limit) - used + cached)


def free_disk_bytes(folder: Path) -> int | None:
    """Free bytes on the disk of a folder, which need not exist; None if unknown."""
    path = folder.absolute()
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    try:
        return shutil.disk_usage(existing).free
    except OSError:
        return None


def file_bytes(path: Path) -> int:
    """Size of a file; 0 if it cannot be read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def physical_cores() -> int:
    """Physical cores this process may use, given its affinity and control group."""
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    allowed = cores
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):  # The quota may be `max`
        limits = (_GROUP / "cpu.max").read_text()  # `200000 100000`
        quota, period = map(int, limits.split())
        allowed = min(allowed, math.ceil(quota / period))
    return max(1, min(cores, allowed))


def processor_flags() -> frozenset[str]:
    """Instruction sets of the processor, by Linux's names; empty on other systems."""
    with contextlib.suppress(OSError):
        for line in _PROCESSOR.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "flags":
                return frozenset(value.split())
    return frozenset()


def gpu_maker() -> str:
    """Maker of a card that llama.cpp could use, one of the constants above.

    Empty if none is found.
    """
    if sys.platform == "darwin":
        if platform.machine() != "arm64":  # Cards in older Macs count as none.
            return ""
        return APPLE
    for driver_file, maker in _DRIVERS.items():
        if Path(driver_file).exists():
            return maker
    for vendor_file in sorted(_CARDS.glob("renderD*/device/vendor")):
        with contextlib.suppress(OSError):
            vendor = vendor_file.read_text().strip()
            if vendor in _VENDORS:
                return _VENDORS[vendor]
    return ""
