"""Incomplete downloads: a file with the name and checksum of the whole one, and a lock."""

import asyncio
import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Self

import orjson

from gistread.engine.llama.machine import free_disk_bytes
from gistread.engine.model_search import plain_name
from gistread.errors import FetchError, StorageError
from gistread.store import journal
from gistread.store.files import make_folder
from gistread.units import format_size

_LEAVE_FREE_BYTES = 64_000_000
_DIGEST_IN_NAME = 12  # Characters of the checksum, enough to tell files apart


def partial_path(folder: Path, name: str, sha256: str) -> Path:
    """The path of the incomplete file, with the checksum in its name: only the same file resumes.

    A download begun by 0.2 keeps its path, `NAME.part`, with the checksum in `NAME.part.json`.
    """
    path = folder / f"{name}.{sha256[:_DIGEST_IN_NAME]}.part"
    older_path = folder / f"{name}.part"
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        if not path.exists():
            state = orjson.loads(_state_path(older_path).read_bytes())
            if state["sha256"] == sha256:
                return older_path
    return path


def _state_path(path: Path) -> Path:
    """Where 0.2 stored the checksum of this partial file."""
    return path.with_name(f"{path.name}.json")


@dataclass(eq=False, slots=True)
class PartialFile:
    """Owns an incomplete file, locked for one process. Use as a context manager."""

    path: Path  # A `partial_path`
    length: int = 0  # Bytes on disk
    _file: FileIO = field(init=False)

    def __enter__(self) -> Self:
        """Raises FetchError if another process has it, StorageError."""
        with self._storing():
            make_folder(self.path.parent)
            try:
                self._file = journal.open_locked(self.path, wait_s=0)
            except journal.InUseError:
                name = _model_name(self.path)
                raise FetchError(
                    f"Another gistread is fetching {name}.", "Wait for it, or stop it."
                ) from None
            self.length = self._file.seek(0, os.SEEK_END)
        return self

    def __exit__(self, *_: object) -> None:
        # Of an empty file, nothing can be resumed.
        if not self._file.closed and not self.length:
            self.discard()
        self._file.close()

    async def sha256(self) -> str:
        """Flush to disk, and hash what is there. Raises StorageError."""
        with self._storing():
            os.fsync(self._file.fileno())
            return await sha256_of(self.path)

    def write(self, data: bytes) -> None:
        """Append bytes. Raises StorageError."""
        with self._storing():
            journal.write_all(self._file, data)
        self.length += len(data)

    def restart(self) -> None:
        """Discard all bytes."""
        with self._storing():
            self._file.truncate(0)
        self.length = 0

    def rename(self, target: Path) -> None:
        """Give the complete file its name. Raises StorageError, also if the name is taken."""
        if target.exists():
            raise StorageError(
                f"{target} exists already and is another file.", "Move it away first."
            )
        with self._storing():
            self.path.rename(target)
            _state_path(self.path).unlink(missing_ok=True)
        self._file.close()

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
            _state_path(self.path).unlink(missing_ok=True)
        self._file.close()

    @contextlib.contextmanager
    def _storing(self) -> Iterator[None]:
        """Raise an OSError as a StorageError with a hint."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                problem = f"The disk is full: {self.path.parent}."
                hint = "Free some space and try again: the download resumes where it stopped."
            else:
                problem = f"{self.path}: {error.strerror or error}."
                hint = "`gistread paths` shows every folder in use."
            raise StorageError(problem, hint) from error


async def sha256_of(path: Path) -> str:
    """The hexadecimal digest of a file. Raises OSError."""
    with path.open("rb") as file:
        digest = await asyncio.to_thread(hashlib.file_digest, file, "sha256")
    return digest.hexdigest()


def check_room(
    folder: Path,
    needed_bytes: int,
    name: str,
    hint: str = "Free some space, or choose a smaller model.",
) -> None:
    """Raises StorageError unless `needed_bytes` for `name` fit on the disk of a folder.

    Some free space is left. The folder need not exist. `hint`: what the user can do.
    """
    free_bytes = free_disk_bytes(folder)
    if free_bytes is None:
        return
    usable_bytes = max(0, free_bytes - _LEAVE_FREE_BYTES)
    if needed_bytes > usable_bytes:
        raise StorageError(
            f"{name} needs {format_size(needed_bytes)} more on disk; {format_size(free_bytes)} "
            f"are free in {folder}.",
            f"{hint} What was fetched before is kept.",
        )


def discard_download(folder: Path, name: str) -> list[Path]:
    """Delete the partial files of a model, and return them.

    Raises FetchError while another process fetches it.
    """
    model = plain_name(name)
    paths = [path for path in folder.glob("*.part") if _model_name(path) == model]
    for path in paths:
        with PartialFile(path) as partial:
            partial.discard()
    return paths


def _model_name(path: Path) -> str:
    """The model of a partial file: `qwen.gguf.0123456789ab.part` belongs to `qwen`.

    So does `qwen.gguf.part`, as 0.2 named it.
    """
    file_name = path.name.rsplit(".", 2)[0]
    return plain_name(file_name)
