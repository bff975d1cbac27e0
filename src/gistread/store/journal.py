"""Append-only files of JSON records that survive a kill at any byte.

One record a line, preceded by its CRC-32. Damaged lines are removed; anything beyond one torn line
is kept in `NAME.damaged`.
"""

import contextlib
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import orjson

from gistread import system
from gistread.errors import StorageError
from gistread.store.files import make_folder, private_opener, replace_file

Record = dict[str, Any]

_LINE_START = re.compile(rb"[0-9a-f]{8} \{")
# Between attempts to lock; a longer pause hardly ever finds a busy file free.
_RETRY_S = 0.004
_CHECKSUM_DIGITS = 8


def encode_line(record: Record) -> bytes:
    """A line: the checksum in eight hexadecimal digits, a space, the record."""
    body = orjson.dumps(record)
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode_line(line: bytes) -> Record | None:
    """The record of a line; None if the line is damaged or incomplete."""
    checksum, space, body = line.partition(b" ")
    is_whole = space and body.endswith(b"\n") and len(checksum) == _CHECKSUM_DIGITS
    body = body.removesuffix(b"\n")
    if not is_whole or b"%08x" % zlib.crc32(body) != checksum:
        return None
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def read_records(path: Path) -> tuple[list[Record], int]:
    """All intact records, and the length in bytes before the first damage. Raises StorageError."""
    records: list[Record] = []
    length = 0
    whole = True
    with (
        _storage_errors(path),
        contextlib.suppress(FileNotFoundError),
        path.open("rb") as file,
    ):
        for line in file:
            record = decode_line(line)
            if record is not None:
                records.append(record)
                length += len(line) if whole else 0
            else:
                whole = False
                # The damage may be in the line feed before another record.
                for start in _LINE_START.finditer(line, 1):
                    inner = decode_line(line[start.start() :])
                    if inner:
                        records.append(inner)
    return records, length


def list_files(folder: Path, pattern: str) -> list[Path]:
    """The files in a folder that match, sorted; none if the folder is missing.

    Raises StorageError.
    """
    with _storage_errors(folder), contextlib.suppress(FileNotFoundError):
        return sorted(path for path in folder.iterdir() if path.match(pattern))
    return []


def is_damaged(path: Path) -> bool:
    """Whether a complete line is not a valid record; a torn last line does not count.

    Raises StorageError.
    """
    _, length = read_records(path)
    with _storage_errors(path), path.open("rb") as file:
        file.seek(length)
        return b"\n" in file.read()


class InUseError(StorageError):
    """Another process is writing the file."""


class Journal(contextlib.AbstractContextManager["Journal"]):
    """A file open for appending, by one process at a time.

    `records` holds the records found on opening.
    """

    def __init__(self, path: Path, *, wait_s: float = 0.0) -> None:
        """Open or create the file and remove damage; waits `wait_s` for another process.

        Raises StorageError.
        """
        self.path = path
        with _storage_errors(path):
            make_folder(path.parent)
            self._file = open_locked(path, wait_s=wait_s)
            try:
                self.records, self._length = read_records(path)
                self.cut_bytes = path.stat().st_size - self._length
                if self.cut_bytes:
                    self._remove_damage()
            except BaseException:
                self._file.close()
                raise

    def append(self, *records: Record) -> None:
        """Write and sync; after an error the file still ends with a whole record.

        Raises StorageError.
        """
        data = b"".join(map(encode_line, records))
        with _storage_errors(self.path):
            append_whole(self._file, data, self._length)
        self._length += len(data)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace all records atomically.

        Raises StorageError and then leaves the file as it was.
        """
        data = b"".join(map(encode_line, records))
        new = self.path.with_name(self.path.name + ".new")
        with _storage_errors(self.path):
            new.unlink(missing_ok=True)
            file = FileIO(new, "ab", opener=private_opener)
            try:
                # Lock before renaming, so that no other process writes in between.
                try_lock(file)
                write_all(file, data)
                os.fsync(file.fileno())
                new.replace(self.path)
            except OSError:
                file.close()
                with contextlib.suppress(OSError):
                    new.unlink(missing_ok=True)
                raise
        self._file.close()
        self._file = file
        self._length = len(data)

    def close(self) -> None:
        self._file.close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _remove_damage(self) -> None:
        """Remove everything that is not a whole record. Raises OSError or StorageError."""
        with self.path.open("rb") as file:
            file.seek(self._length)
            damaged = b"".join(line for line in file if decode_line(line) is None)
        has_whole_lines = b"\n" in damaged
        if has_whole_lines:
            replace_file(self.path.with_name(self.path.name + ".damaged"), damaged)
            self.rewrite(self.records)
        else:
            os.ftruncate(self._file.fileno(), self._length)


def open_locked(path: Path, *, wait_s: float) -> FileIO:
    """Open a file, created if missing, locked until it is closed.

    Raises OSError; InUseError after `wait_s`.
    """
    until = time.monotonic() + wait_s
    while True:
        # Unbuffered: after a write to a full disk fails, no buffer may write it later.
        file = FileIO(path, "ab", opener=private_opener)
        try:
            locked = try_lock(file)
            # Another process may have replaced the file between opening and locking.
            with contextlib.suppress(FileNotFoundError):
                if locked and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()
        if not locked:
            if time.monotonic() >= until:
                raise InUseError(
                    f"Another gistread is writing {path.name}.",
                    "Close it there, or continue without saving.",
                )
            time.sleep(_RETRY_S)


def try_lock(file: FileIO) -> bool:
    """Try to lock; returns whether this process may write."""
    try:
        return system.try_lock(file.fileno())
    except OSError:
        # Some network file systems have no locks; writers then share the file.
        return True


def append_whole(file: FileIO, data: bytes, length: int) -> None:
    """Append after `length` bytes and sync; on failure restore them. Raises OSError."""
    try:
        write_all(file, data)
        os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file.fileno(), length)
        raise


def write_all(file: FileIO, data: bytes) -> None:
    """Write all of `data`; a single unbuffered write may be partial."""
    unwritten = memoryview(data)
    while unwritten:
        written = file.write(unwritten)
        unwritten = unwritten[written:]


@contextlib.contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """Raise an OSError as StorageError."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path}: {error.strerror or error}.",
            "`gistread paths` lists the folders in use.",
        ) from error
