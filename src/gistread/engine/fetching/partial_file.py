"""A file that is not complete yet: `NAME.part`, what is known of it in `NAME.part.json`, and who is at work on it.

Every byte is hashed once, when it is written or, after a break, when it is found here. Where the bytes come from,
this does not know.
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
"""On the disk, for everything else."""


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Of which file these bytes are the beginning, so that no other one's are put behind them."""

    source: str = ""
    """SHA-256 of its address: addresses may hold secrets."""
    etag: str = ""
    modified: str = ""
    """Last-Modified, for servers without an ETag."""
    size_bytes: int | None = None
    sha256: str = ""
    """Of the whole file, as the catalogue or the hub has it; empty: nobody says."""

    @property
    def strong_etag(self) -> str:
        """Fit for If-Range (RFC 9110, 13.1.5)."""
        return "" if self.etag.startswith("W/") else self.etag

    @property
    def known(self) -> bool:
        """Whether a later answer can be told to be of the same file."""
        return bool(self.sha256 or self.etag or self.modified)


@dataclass(frozen=True, slots=True)
class ResumeInfo:
    """Of what model these bytes are a part, for whoever goes on with it on another day."""

    spec: str = ""
    """What names it; empty: an address that may hold a secret."""
    size_bytes: int | None = None
    """Of all its files."""


class PartialFile:
    """Owns the incomplete file. Opened by one process at a time."""

    def __init__(self, folder: Path, name: str, errand: ResumeInfo | None = None) -> None:
        self.path = folder / f"{name}.part"
        self._state = folder / f"{name}{STATE_SUFFIX}"
        self._name = name
        self._errand = errand or ResumeInfo()
        self._file: FileIO | None = None
        self._hash = hashlib.sha256()
        self.length = 0
        """Bytes that are here and hashed."""
        self.origin = FileIdentity()

    def __enter__(self) -> Self:
        """Raises FetchError while another process has it, StorageError where nothing can be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()
        except OSError as error:
            raise self._storage_error(error) from error
        self.origin = self._read_origin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Of a file of which nothing has come, nothing is left."""
        if self._file is not None:
            if not os.fstat(self._file.fileno()).st_size:
                self._unlink()
            self._end()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    async def take_up(self, tell: Callable[[int], None]) -> None:
        """Hash what is here; `tell` how far. What is no beginning of a model is thrown away."""
        file = self._opened()
        file.seek(0)
        self._hash, self.length = hashlib.sha256(), 0
        while block := file.read(_READ_BYTES):
            if self.length == 0 and block[: len(_MAGIC)] != _MAGIC[: len(block)]:
                self.restart()
                return
            self._hash.update(block)
            self.length += len(block)
            tell(self.length)
            await asyncio.sleep(0)

    def write(self, data: bytes) -> None:
        """Put these bytes behind the others. Raises FetchError for what is no model, StorageError for a full disk."""
        if self.length < len(_MAGIC):
            start = self._beginning() + data
            if start[: len(_MAGIC)] != _MAGIC[: len(start)]:
                self.restart()
                raise FetchError(f"What is at the address of {self._name} is no GGUF file.", "Nothing was kept.")
        try:
            journal.write_all(self._opened(), data)
        except OSError as error:
            raise self._storage_error(error) from error
        self._hash.update(data)
        self.length += len(data)

    def restart(self) -> None:
        """Throw away the bytes that are here."""
        try:
            self._opened().truncate(0)
            self._opened().seek(0)
            self._state.unlink(missing_ok=True)
        except OSError as error:
            raise self._storage_error(error) from error
        self._hash, self.length = hashlib.sha256(), 0
        self.origin = FileIdentity()

    def remember(self, origin: FileIdentity) -> None:
        """Write down what these bytes are of, before any more of them come."""
        if origin == self.origin:
            return
        new = self._state.with_name(self._state.name + ".new")
        try:
            new.write_bytes(orjson.dumps({**asdict(origin), "errand": asdict(self._errand)}))
            new.replace(self._state)
        except OSError as error:
            raise self._storage_error(error) from error
        self.origin = origin

    def check_room(self, size_bytes: int) -> None:
        """Raises StorageError where the disk has no room for the rest of a file of this size."""
        check_room(self.path.parent, size_bytes - self.length, self._name)

    def settle(self) -> None:
        """Everything is on the disk. Raises StorageError."""
        try:
            os.fsync(self._opened().fileno())
        except OSError as error:
            raise self._storage_error(error) from error

    def place(self, target: Path) -> None:
        """The file is complete: give it its name, in one step. Raises StorageError, also where there is one already."""
        if os.name == "nt":
            self._end()  # an open file cannot be renamed there
        try:
            try:
                target.hardlink_to(self.path)
            except FileExistsError:
                raise
            except OSError:  # file systems without hard links
                if target.exists():
                    raise FileExistsError(errno.EEXIST, "there is a file of this name", str(target)) from None
                self.path.rename(target)
            self.path.unlink(missing_ok=True)
            self._state.unlink(missing_ok=True)
        except FileExistsError:
            raise StorageError(f"{target} is there already, and is another file.", "Move it away first.") from None
        except OSError as error:
            raise self._storage_error(error) from error
        self._end()

    def discard(self) -> None:
        """Leave nothing of it."""
        self._unlink()
        self._end()

    def _unlink(self) -> None:
        with contextlib.suppress(OSError):
            self._state.unlink(missing_ok=True)
            if os.name == "nt":
                self._end()  # an open file cannot be removed there
            self.path.unlink(missing_ok=True)

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO:
        while True:
            # Unbuffered: what a full disk refuses must not lie in a buffer and be written after all, later.
            file = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644), "r+b")
            if not journal.try_lock(file):
                file.close()
                raise FetchError(f"Another gistread is fetching {self._name}.", "Wait for it, or stop it there.")
            # Between opening and locking another process may have completed and renamed it.
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

    def _read_origin(self) -> FileIdentity:
        """Empty where nothing sensible is written down."""
        try:
            kept = orjson.loads(self._state.read_bytes())
            kept.pop("errand", None)
            origin = FileIdentity(**kept)
        except (OSError, ValueError, TypeError, AttributeError):
            return FileIdentity()
        texts = (origin.source, origin.etag, origin.modified, origin.sha256)
        sound = all(isinstance(text, str) for text in texts) and isinstance(origin.size_bytes, int | None)
        return origin if sound else FileIdentity()

    def _storage_error(self, error: OSError) -> StorageError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return StorageError(
                f"The disk is full: {self.path.parent}.", "Make room and ask again: it goes on from where it stopped."
            )
        return StorageError(f"{self.path}: {error.strerror or error}.", "`gistread paths` shows every folder in use.")


def check_room(folder: Path, needed_bytes: int, name: str) -> None:
    """Raises StorageError where the disk of this folder, which need not exist yet, has less room than that."""
    there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    try:
        free_bytes = shutil.disk_usage(there).free
    except OSError:
        return
    if needed_bytes > max(0, free_bytes - _LEAVE_FREE_BYTES):
        raise StorageError(
            f"{name} needs {format_size(needed_bytes)} more on disk; {format_size(free_bytes)} are free in {there}.",
            "Make room, or choose a smaller model. What was fetched before is kept.",
        )


def source_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()
