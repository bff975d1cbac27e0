"""Incomplete downloads: `NAME.part`, the identity of its file in `NAME.part.json`, a lock. Bytes are hashed once."""

import asyncio
import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Self

import orjson

from gistread.engine.llama.machine import free_disk_bytes
from gistread.engine.model_search import whole_name
from gistread.errors import FetchError, StorageError
from gistread.store import journal
from gistread.store.files import make_folder, private_opener, replace_file
from gistread.units import format_size

_PART, _IDENTITY = ".part", ".part.json"
_MAGIC = b"GGUF"
_READ_BYTES = 1 << 20
_LEAVE_FREE_BYTES = 64_000_000


class PartialFile:
    """Owns the incomplete file, locked for one process. Use as a context manager."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}{_PART}"
        self._identity_path = folder / f"{name}{_IDENTITY}"
        self._name = name
        self._file: FileIO
        self._hash = hashlib.sha256()
        self.length = 0  # Bytes on disk and hashed
        self.identity = ""  # Of the remote file: a later response resumes only the same one; empty if unknown

    def __enter__(self) -> Self:
        """Raises FetchError if another process has it, StorageError."""
        with self._storing():
            make_folder(self.path.parent)
            self._file = self._open()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            kept = orjson.loads(self._identity_path.read_bytes())
            self.identity = str(kept if isinstance(kept, str) else kept.get("sha256", ""))  # 0.2 wrote a record
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed and not os.fstat(self._file.fileno()).st_size:
            self.discard()
        self._file.close()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    async def rehash(self, report: Callable[[int], None]) -> None:
        """Hash the bytes on disk, reporting their number; discard them unless they begin like GGUF."""
        self._file.seek(0)
        self._hash, self.length = hashlib.sha256(), 0
        while block := self._file.read(_READ_BYTES):
            if self.length == 0 and block[: len(_MAGIC)] != _MAGIC[: len(block)]:
                self.restart()
                return
            self._hash.update(block)
            self.length += len(block)
            report(self.length)
            await asyncio.sleep(0)

    def write(self, data: bytes) -> None:
        """Append bytes. Raises FetchError unless the file begins like GGUF, StorageError."""
        if self.length == 0 and data[: len(_MAGIC)] != _MAGIC[: len(data)]:
            self.restart()
            raise FetchError(f"The address of {self._name} has no GGUF file.", "Nothing was kept.")
        with self._storing():
            journal.write_all(self._file, data)
        self._hash.update(data)
        self.length += len(data)

    def restart(self, identity: str = "") -> None:
        """Discard all bytes; those written from now on are of this file."""
        with self._storing():
            self._file.truncate(0)
            self._file.seek(0)
            if identity:
                replace_file(self._identity_path, orjson.dumps(identity))
            else:
                self._identity_path.unlink(missing_ok=True)
        self._hash, self.length, self.identity = hashlib.sha256(), 0, identity

    def sync(self) -> None:
        """Flush to disk. Raises StorageError."""
        with self._storing():
            os.fsync(self._file.fileno())

    def rename(self, target: Path) -> None:
        """Give the complete file its name. Raises StorageError, also if the name is taken."""
        if target.exists():
            raise StorageError(f"{target} exists already and is another file.", "Move it away first.")
        with self._storing():
            self.path.rename(target)
            self._identity_path.unlink(missing_ok=True)
        self._file.close()

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self._identity_path.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _open(self) -> FileIO:
        while True:
            # Unbuffered: a write that fails on a full disk is not repeated on close.
            file = FileIO(private_opener(str(self.path), os.O_RDWR | os.O_CREAT), "r+b")
            if not journal.try_lock(file):
                file.close()
                raise FetchError(f"Another gistread is fetching {self._name}.", "Wait for it, or stop it.")
            # Another process may have renamed it between opening and locking.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return file
            file.close()

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                hint = "Free some space and try again: the download resumes where it stopped."
                raise StorageError(f"The disk is full: {self.path.parent}.", hint) from error
            hint = "`gistread paths` shows every folder in use."
            raise StorageError(f"{self.path}: {error.strerror or error}.", hint) from error


def check_room(folder: Path, needed_bytes: int, name: str) -> None:
    """Raises StorageError if the disk of this folder, which need not exist, has less free space."""
    free_bytes = free_disk_bytes(folder)
    if free_bytes is not None and needed_bytes > max(0, free_bytes - _LEAVE_FREE_BYTES):
        raise StorageError(
            f"{name} needs {format_size(needed_bytes)} more on disk; {format_size(free_bytes)} are free in {folder}.",
            "Free some space, or choose a smaller model. What was fetched before is kept.",
        )


def discard_download(folder: Path, name: str) -> list[Path]:
    """Delete the partial files of a model, and return them. Raises FetchError while another process fetches it."""
    names = [path.name.removesuffix(_PART) for path in folder.glob(f"*{_PART}")]
    found = [PartialFile(folder, one) for one in names if whole_name(one) == whole_name(name)]
    for partial in found:
        with partial:
            partial.discard()
    return [partial.path for partial in found]
