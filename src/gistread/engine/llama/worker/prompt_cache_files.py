"""Prompt cache files: KV states on disk, so that prefixes survive a restart.

They are named by a hash of all they depend on.
"""

import contextlib
import hashlib
import os
import struct
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

# All files together. 3,000 tokens take 70 MB with the starter, 350 MB with a model of 3 billion
# parameters.
LIMIT_BYTES = 2 * 2**30
LEAST_TOKENS = 256  # Shorter prompts are evaluated fast enough

State = npt.NDArray[np.uint8]

_SUFFIX = ".kv"
_MAGIC = b"gistreadkv1\n"
_HEAD = struct.Struct("<12sIQ")  # Magic, CRC-32 of the data, bytes of the data


@dataclass(frozen=True, slots=True)
class PromptCacheFiles:
    """Prompt cache files in one directory.

    Disk errors are ignored: the tokens are evaluated again.
    """

    directory: Path
    identity: str  # Everything a KV state depends on besides the tokens
    limit_bytes: int = LIMIT_BYTES

    def has(self, tokens: Sequence[int]) -> bool:
        return self._path(tokens).exists()

    def load(self, tokens: Sequence[int]) -> State | None:
        """Read the state of these tokens; None if there is none. A damaged file is removed."""
        path = self._path(tokens)
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD.size).ljust(_HEAD.size)
                state = np.fromfile(file, dtype=np.uint8)
            os.utime(path)
        except OSError:
            return None
        magic, checksum, size = _HEAD.unpack(head)
        if (
            magic == _MAGIC
            and len(state) == size
            and zlib.crc32(state.data) == checksum
        ):
            return state
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def save(self, tokens: Sequence[int], state: State) -> None:
        """Write the state atomically, evicting old files if needed."""
        if len(state) > self.limit_bytes:
            return
        path = self._path(tokens)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            # Remove the least recently used files until the rest fits, and partial files of killed
            # processes.
            own = self.directory.glob(f"*{_SUFFIX}*")
            files = sorted(
                ((f.stat().st_mtime, f.stat().st_size, f) for f in own), reverse=True
            )
            total = 0
            for _, size, old in files:
                total += size
                if total > self.limit_bytes - len(state) or old.suffix != _SUFFIX:
                    old.unlink(missing_ok=True)
            with temporary.open("wb") as file:
                file.write(_HEAD.pack(_MAGIC, zlib.crc32(state.data), len(state)))
                state.tofile(file)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _path(self, tokens: Sequence[int]) -> Path:
        digest = hashlib.sha256(
            self.identity.encode() + b"\0" + array("i", tokens).tobytes()
        )
        return self.directory / f"{digest.hexdigest()[:40]}{_SUFFIX}"
