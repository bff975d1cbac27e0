"""An incomplete download: `NAME.part`, its state in `NAME.part.json`, and a lock.

Every byte is hashed once, when it is written or when a download is resumed.
"""

import asyncio
import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from gistread import journal
from gistread.engine.fetching.unfinished import STATE_SUFFIX
from gistread.errors import FetchError, StorageError
from gistread.units import format_size

_MAGIC = b"GGUF"
_READ_BYTES = 1 << 20
_LEAVE_FREE_BYTES = 64_000_000
"""Disk space to leave free."""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Identifies the remote file that the bytes belong to, so that they are continued from the same one."""

    source: str = ""
    """SHA-256 of the address, which may contain a secret."""
    etag: str = ""
    modified: str = ""
    """Last-Modified, for servers without an ETag."""
    size_bytes: int | None = None
    sha256: str = ""
    """Expected checksum of the whole file; empty if unknown."""

    @property
    def strong_etag(self) -> str:
        """For If-Range (RFC 9110, 13.1.5)."""
        return "" if self.etag.startswith("W/") else self.etag

    @property
    def known(self) -> bool:
        """Whether a later response can be recognized as the same file."""
        return bool(self.sha256 or self.etag or self.modified)


@dataclass(frozen=True, slots=True)
class ResumeInfo:
    """What to fetch to resume this download."""

    spec: str = ""
    """Empty for an address that may contain a secret."""
    size_bytes: int | None = None
    """Of all files of the model."""


class PartialFile:
    """Owns the incomplete file, locked for one process. Use as a context manager."""

    def __init__(self, folder: Path, name: str, resume: ResumeInfo | None = None) -> None:
        self.path = folder / f"{name}.part"
        self._state = folder / f"{name}{STATE_SUFFIX}"
        self._name = name
        self._resume = resume or ResumeInfo()
        self._file: FileIO | None = None
        self._hash = hashlib.sha256()
        self.length = 0
        """Bytes on disk and hashed."""
        self.identity = FileIdentity()

    def __enter__(self) -> Self:
        """Raises FetchError if another process has it, StorageError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()
        except OSError as error:
            raise self._storage_error(error) from error
        self.identity = self._read_identity()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; an empty one is removed."""
        if self._file is not None:
            if not os.fstat(self._file.fileno()).st_size:
                self._unlink()
            self._close_file()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    async def rehash(self, report: Callable[[int], None]) -> None:
        """Hash the bytes on disk, reporting their number; discard them unless they begin like GGUF."""
        file = self._opened()
        file.seek(0)
        self._hash, self.length = hashlib.sha256(), 0
        while block := file.read(_READ_BYTES):
            if self.length == 0 and block[: len(_MAGIC)] != _MAGIC[: len(block)]:
                self.restart()
                return
            self._hash.update(block)
            self.length += len(block)
            report(self.length)
            await asyncio.sleep(0)

    def write(self, data: bytes) -> None:
        """Append bytes. Raises FetchError unless the file begins like GGUF, StorageError."""
        if self.length < len(_MAGIC):
            start = self._beginning() + data
            if start[: len(_MAGIC)] != _MAGIC[: len(start)]:
                self.restart()
                raise FetchError(f"The address of {self._name} has no GGUF file.", "Nothing was kept.")
        try:
            journal.write_all(self._opened(), data)
        except OSError as error:
            raise self._storage_error(error) from error
        self._hash.update(data)
        self.length += len(data)

    def restart(self) -> None:
        """Discard all bytes."""
        try:
            self._opened().truncate(0)
            self._opened().seek(0)
            self._state.unlink(missing_ok=True)
        except OSError as error:
            raise self._storage_error(error) from error
        self._hash, self.length = hashlib.sha256(), 0
        self.identity = FileIdentity()

    def remember(self, identity: FileIdentity) -> None:
        """Store the identity, before more bytes are written."""
        if identity == self.identity:
            return
        new = self._state.with_name(self._state.name + ".new")
        try:
            new.write_bytes(orjson.dumps({**asdict(identity), "errand": asdict(self._resume)}))
            new.replace(self._state)
        except OSError as error:
            raise self._storage_error(error) from error
        self.identity = identity

    def check_room(self, size_bytes: int) -> None:
        """Raises StorageError if the disk has no space for the rest of a file of this size."""
        check_room(self.path.parent, size_bytes - self.length, self._name)

    def sync(self) -> None:
        """Flush to disk. Raises StorageError."""
        try:
            os.fsync(self._opened().fileno())
        except OSError as error:
            raise self._storage_error(error) from error

    def rename(self, target: Path) -> None:
        """Give the complete file its name, atomically. Raises StorageError, also if the name is taken."""
        try:
            try:
                target.hardlink_to(self.path)
            except FileExistsError:
                raise
            except OSError:  # file systems without hard links
                if target.exists():
                    raise FileExistsError(errno.EEXIST, "a file with this name exists", str(target)) from None
                self.path.rename(target)
            self.path.unlink(missing_ok=True)
            self._state.unlink(missing_ok=True)
        except FileExistsError:
            raise StorageError(f"{target} exists already and is another file.", "Move it away first.") from None
        except OSError as error:
            raise self._storage_error(error) from error
        self._close_file()

    def discard(self) -> None:
        """Remove the file and its state."""
        self._unlink()
        self._close_file()

    def _unlink(self) -> None:
        with contextlib.suppress(OSError):
            self._state.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO:
        while True:
            # Unbuffered, so that a write refused by a full disk is not repeated on close.
            file = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
            if not journal.try_lock(file):
                file.close()
                raise FetchError(f"Another gistread is fetching {self._name}.", "Wait for it, or stop it.")
            # Another process may have renamed it between opening and locking.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    return file
            file.close()

    def _opened(self) -> FileIO:
        assert self._file is not None
        return self._file

    def _beginning(self) -> bytes:
        file = self._opened()
        file.seek(0)
        return file.read(self.length) or b""

    def _read_identity(self) -> FileIdentity:
        """Empty if the state file is missing or invalid."""
        try:
            kept = orjson.loads(self._state.read_bytes())
            kept.pop("errand", None)
            identity = FileIdentity(**kept)
        except (OSError, ValueError, TypeError, AttributeError):
            return FileIdentity()
        texts = (identity.source, identity.etag, identity.modified, identity.sha256)
        sound = all(isinstance(text, str) for text in texts) and isinstance(identity.size_bytes, int | None)
        return identity if sound else FileIdentity()

    def _storage_error(self, error: OSError) -> StorageError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return StorageError(
                f"The disk is full: {self.path.parent}.",
                "Free some space and try again: the download resumes where it stopped.",
            )
        return StorageError(f"{self.path}: {error.strerror or error}.", "`gistread paths` shows every folder in use.")


def check_room(folder: Path, needed_bytes: int, name: str) -> None:
    """Raises StorageError if the disk of this folder, which need not exist, has less free space."""
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    try:
        free_bytes = shutil.disk_usage(existing).free
    except OSError:
        return
    if needed_bytes > max(0, free_bytes - _LEAVE_FREE_BYTES):
        raise StorageError(
            f"{name} needs {format_size(needed_bytes)} more on disk; {format_size(free_bytes)} are free in {existing}.",
            "Free some space, or choose a smaller model. What was fetched before is kept.",
        )


def source_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()
