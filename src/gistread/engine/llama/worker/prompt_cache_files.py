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
_NAME_CHARACTERS = 40  # Of a digest
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
        is_complete = magic == _MAGIC and len(state) == size
        if is_complete and zlib.crc32(state.data) == checksum:
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
            self._make_room(len(state))
            with temporary.open("wb") as file:
                file.write(_HEAD.pack(_MAGIC, zlib.crc32(state.data), len(state)))
                state.tofile(file)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _make_room(self, needed_bytes: int) -> None:
        """Remove the least recently used files, and partial files of killed processes.

        Raises OSError.
        """
        files = self.directory.glob(f"*{_SUFFIX}*")
        sized = [(path.stat(), path) for path in files]
        latest_first = sorted(sized, key=lambda file: file[0].st_mtime, reverse=True)
        total_bytes = needed_bytes
        for status, path in latest_first:
            total_bytes += status.st_size
            is_partial = path.suffix != _SUFFIX
            if total_bytes > self.limit_bytes or is_partial:
                path.unlink(missing_ok=True)

    def _path(self, tokens: Sequence[int]) -> Path:
        """The file of these tokens; another model or version of llama.cpp has another."""
        key = self.identity.encode() + b"\0" + array("i", tokens).tobytes()
        digest = hashlib.sha256(key).hexdigest()
        return self.directory / f"{digest[:_NAME_CHARACTERS]}{_SUFFIX}"
