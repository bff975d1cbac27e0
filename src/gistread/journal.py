"""Append-only files that survive a kill at any byte.

One JSON record a line, with the CRC-32 of the record before it. A record is known once its whole line is on
disk. On opening, every record up to the first damaged line is taken and the rest is cut off: never trusted,
never fatal. A cut tail is kept beside the file (`NAME.damaged`) when it is more than a line torn by a kill.

What the records mean is the affair of those who use this: a gist memory (`memory/store.py`), what a person
keeps of a book (`shelf.py`).
"""

import contextlib
import os
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import orjson

from gistread.errors import StorageError

try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind; there two writers are not kept apart.
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]


def encode(record: Record) -> bytes:
    """One line: eight hexadecimal digits of the checksum, a space, the record, a line feed."""
    body = orjson.dumps(record)
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode(line: bytes) -> Record | None:
    """The record of a line, or None when the line is not exactly what `encode` wrote."""
    if len(line) < 11 or not line.endswith(b"\n") or line[8:9] != b" ":
        return None
    body = line[9:-1]
    if b"%08x" % zlib.crc32(body) != line[:8]:
        return None
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def read(path: Path) -> tuple[list[Record], int]:
    """All whole records from the beginning, and the length in bytes that they take.

    A file that does not exist has none. Raises StorageError when it cannot be read.
    """
    records: list[Record] = []
    length = 0
    try:
        with path.open("rb") as file:
            for line in file:
                record = decode(line)
                if record is None:
                    break
                records.append(record)
                length += len(line)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _storage_error(path, error) from error
    return records, length


class Journal:
    """A file open for appending, by one process at a time.

    The first record is the header; the caller checks it. `records` are those found on opening, the header
    included; they are not kept up to date.
    """

    def __init__(self, path: Path) -> None:
        """Open, creating the file and its folder; cut a damaged tail.

        Raises StorageError when it cannot be opened for writing or another process is writing to it.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("ab")
        except OSError as error:
            raise _storage_error(path, error) from error
        try:
            self._lock()
            self.records, self._length = read(path)
            self.cut_bytes = self._cut_tail()
        except BaseException:
            self._file.close()
            raise

    def append(self, *records: Record) -> None:
        """Write and sync. Whatever fails, the file ends with a whole record. Raises StorageError."""
        data = b"".join(map(encode, records))
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), self._length)
            raise _storage_error(self.path, error) from error
        self._length += len(data)

    def clear(self) -> None:
        """Forget every record. Raises StorageError."""
        try:
            os.ftruncate(self._file.fileno(), 0)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _storage_error(self.path, error) from error
        self.records = []
        self._length = 0

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StorageError(
                f"Another gistread is writing {self.path.name}.", "Close it there, or go on reading without."
            ) from None
        except OSError:
            # Some network file systems know no locks; then nothing keeps two writers apart.
            return

    def _cut_tail(self) -> int:
        """Remove what follows the last whole record; return how many bytes that was."""
        size = self.path.stat().st_size
        tail = size - self._length
        if not tail:
            return 0
        try:
            with self.path.open("rb") as file:
                file.seek(self._length)
                damaged = file.read()
            if b"\n" in damaged:
                self.path.with_name(self.path.name + ".damaged").write_bytes(damaged)
            os.ftruncate(self._file.fileno(), self._length)
        except OSError as error:
            raise _storage_error(self.path, error) from error
        return tail


def _storage_error(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: {error.strerror or error}.", "`gistread paths` shows every folder that is used.")
