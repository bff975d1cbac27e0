"""Incomplete downloads: `NAME.part`, its state in `NAME.part.json`, and a lock. Every byte is hashed once."""

import asyncio
import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Self

import orjson

from gistread import journal
from gistread.atomic_write import make_folder, private_opener, replace_file
from gistread.engine.llama.machine import free_disk_bytes
from gistread.engine.model_search import whole_name
from gistread.errors import FetchError, StorageError
from gistread.units import format_size

_STATE_SUFFIX = ".part.json"
_MAGIC = b"GGUF"
_READ_BYTES = 1 << 20
_LEAVE_FREE_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Identifies the remote file, so that a download only resumes from the same one."""

    source: str = ""  # SHA-256 of the address, which may contain a secret
    etag: str = ""
    modified: str = ""  # Last-Modified, for servers without an ETag
    size_bytes: int | None = None
    sha256: str = ""  # Expected checksum of the whole file; empty if unknown

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
    spec: str = ""  # Empty for an address that may contain a secret
    size_bytes: int | None = None  # Size of all files of the model


class PartialFile:
    """Owns the incomplete file, locked for one process. Use as a context manager."""

    def __init__(self, folder: Path, name: str, resume: ResumeInfo | None = None) -> None:
        self.path = folder / f"{name}.part"
        self._state = folder / f"{name}{_STATE_SUFFIX}"
        self._name = name
        self._resume = resume or ResumeInfo()
        self._file: FileIO | None = None
        self._hash = hashlib.sha256()
        self.length = 0  # Bytes on disk and hashed
        self.identity = FileIdentity()

    def __enter__(self) -> Self:
        """Raises FetchError if another process has it, StorageError."""
        with self._storing():
            make_folder(self.path.parent)
            self._file = self._open()
        self.identity = self._read_identity()
        return self

    def __exit__(self, *_: object) -> None:
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
        with self._storing():
            journal.write_all(self._opened(), data)
        self._hash.update(data)
        self.length += len(data)

    def restart(self) -> None:
        with self._storing():
            self._opened().truncate(0)
            self._opened().seek(0)
            self._state.unlink(missing_ok=True)
        self._hash, self.length = hashlib.sha256(), 0
        self.identity = FileIdentity()

    def remember(self, identity: FileIdentity) -> None:
        """Store the identity, before more bytes are written."""
        if identity == self.identity:
            return
        with self._storing():
            replace_file(self._state, orjson.dumps({**asdict(identity), "errand": asdict(self._resume)}))
        self.identity = identity

    def check_room(self, size_bytes: int) -> None:
        """Raises StorageError if the disk has no space for the rest of a file of this size."""
        check_room(self.path.parent, size_bytes - self.length, self._name)

    def sync(self) -> None:
        """Flush to disk. Raises StorageError."""
        with self._storing():
            os.fsync(self._opened().fileno())

    def rename(self, target: Path) -> None:
        """Give the complete file its name. Raises StorageError, also if the name is taken."""
        if target.exists():
            raise StorageError(f"{target} exists already and is another file.", "Move it away first.")
        with self._storing():
            self.path.rename(target)
            self._state.unlink(missing_ok=True)
        self._close_file()

    def discard(self) -> None:
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

    def _opened(self) -> FileIO:
        assert self._file is not None
        return self._file

    def _beginning(self) -> bytes:
        file = self._opened()
        file.seek(0)
        return file.read(self.length) or b""

    def _read_identity(self) -> FileIdentity:
        try:
            kept = orjson.loads(self._state.read_bytes())
            kept.pop("errand", None)
            identity = FileIdentity(**kept)
        except (OSError, ValueError, TypeError, AttributeError):
            return FileIdentity()
        texts = (identity.source, identity.etag, identity.modified, identity.sha256)
        sound = all(isinstance(text, str) for text in texts) and isinstance(identity.size_bytes, int | None)
        return identity if sound else FileIdentity()

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageError(
                    f"The disk is full: {self.path.parent}.",
                    "Free some space and try again: the download resumes where it stopped.",
                ) from error
            raise StorageError(
                f"{self.path}: {error.strerror or error}.", "`gistread paths` shows every folder in use."
            ) from error


def check_room(folder: Path, needed_bytes: int, name: str) -> None:
    """Raises StorageError if the disk of this folder, which need not exist, has less free space."""
    free_bytes = free_disk_bytes(folder)
    if free_bytes is not None and needed_bytes > max(0, free_bytes - _LEAVE_FREE_BYTES):
        raise StorageError(
            f"{name} needs {format_size(needed_bytes)} more on disk; {format_size(free_bytes)} are free in {folder}.",
            "Free some space, or choose a smaller model. What was fetched before is kept.",
        )


def source_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class UnfinishedDownload:
    spec: str  # Fetching it again resumes the download
    name: str
    done_bytes: int
    size_bytes: int | None  # Total; None if unknown

    @property
    def share(self) -> float | None:
        return min(1.0, self.done_bytes / self.size_bytes) if self.size_bytes else None


def unfinished_downloads(folder: Path) -> list[UnfinishedDownload]:
    """Unfinished downloads, by name, except from addresses that may contain a secret and so are not stored."""
    found: dict[str, UnfinishedDownload] = {}
    for state in sorted(folder.glob(f"*{_STATE_SUFFIX}")):
        try:
            resume = orjson.loads(state.read_bytes())["errand"]
            spec, size = resume["spec"], resume["size_bytes"]
            present = state.with_name(state.name.removesuffix(".json")).stat().st_size
        except (OSError, ValueError, LookupError, TypeError):
            continue
        if not (isinstance(spec, str) and spec and present and isinstance(size, int | None)):
            continue
        if spec in found:
            present += found[spec].done_bytes
        name = whole_name(state.name.removesuffix(_STATE_SUFFIX))
        found[spec] = UnfinishedDownload(spec, name, present, size)
    return list(found.values())


def discard_download(folder: Path, name: str) -> list[Path]:
    """Delete the partial files of a model, and return them. Raises FetchError while another process fetches it."""
    names = [state.name.removesuffix(_STATE_SUFFIX) for state in folder.glob(f"*{_STATE_SUFFIX}")]
    found = [PartialFile(folder, one) for one in names if whole_name(one) == whole_name(name)]
    for partial in found:
        with partial:
            partial.discard()
    return [partial.path for partial in found]
