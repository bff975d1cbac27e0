"""Append-only files that survive a kill at any byte.

One JSON record a line, with the CRC-32 of the record before it. A record is known once its whole line is on
disk. On opening, every record up to the first damaged line is taken and the rest is cut off: never trusted,
never fatal. Where records do not build on one another only the damaged lines are taken out. What is removed is
kept beside the file (`NAME.damaged`) when it is more than a line torn by a kill.

What the records mean is the affair of those who use this: a gist memory (`memory/store.py`), what a person
keeps of a book (`user_data.py`).
"""

import contextlib
import os
import time
import zlib
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from gistread.errors import StorageError

try:
    import fcntl
except ImportError:  # Windows has no advisory locks of this kind; there two writers are not kept apart.
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]

_AGAIN_S = 0.004
"""Between two tries to be the one who writes: awake more seldom, one hardly ever finds a busy file free."""


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


def read(path: Path, *, independent: bool = False) -> tuple[list[Record], int]:
    """All whole records from the beginning, and the length in bytes that they take.

    Of `independent` records also those behind damaged lines; the length still ends before the first damage.
    A file that does not exist has none. Raises StorageError when it cannot be read.
    """
    records: list[Record] = []
    length = 0
    whole = True
    try:
        with path.open("rb") as file:
            for line in file:
                record = decode(line)
                if record is not None:
                    records.append(record)
                    length += len(line) if whole else 0
                elif independent:
                    whole = False
                else:
                    break
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _storage_error(path, error) from error
    return records, length


def append_independent(path: Path, record: Record, *, wait_s: float) -> None:
    """Add one record to a file of independent ones, whatever their number, creating the file and its folder.

    Nothing of the file is read but its last byte: a line that a kill has torn is ended there, and found damaged by
    those who read. Another process that is writing is waited for up to `wait_s`. Raises StorageError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _open_locked(path, time.monotonic() + wait_s) as file:
            length = os.fstat(file.fileno()).st_size
            add_whole(file, b"\n" * _is_torn(path, length) + encode(record), length)
    except OSError as error:
        raise _storage_error(path, error) from error


def _is_torn(path: Path, length: int) -> bool:
    if not length:
        return False
    with path.open("rb") as file:
        file.seek(length - 1)
        return file.read(1) != b"\n"


class Journal:
    """A file open for appending, by one process at a time.

    The first record is the header; the caller checks it. `records` are those found on opening, the header
    included; they are not kept up to date.
    """

    def __init__(self, path: Path, *, independent: bool = False, wait_s: float = 0.0) -> None:
        """Open, creating the file and its folder; remove what is damaged.

        `independent` records stand for themselves: those after a damaged line are kept. Another process that
        is writing is waited for up to `wait_s`. Raises StorageError when it still is, or when the file cannot be
        opened for writing.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _open_locked(path, time.monotonic() + wait_s)
        except OSError as error:
            raise _storage_error(path, error) from error
        try:
            self.records, self._length = read(path, independent=independent)
            self.cut_bytes = path.stat().st_size - self._length
            if self.cut_bytes:
                self._remove_damage(independent)
        except OSError as error:
            self._file.close()
            raise _storage_error(path, error) from error
        except BaseException:
            self._file.close()
            raise

    def append(self, *records: Record) -> None:
        """Write and sync. Whatever fails, the file ends with a whole record. Raises StorageError."""
        data = b"".join(map(encode, records))
        try:
            add_whole(self._file, data, self._length)
        except OSError as error:
            raise _storage_error(self.path, error) from error
        self._length += len(data)

    def rewrite(self, records: Iterable[Record]) -> None:
        """Hold these records and no others, in one step: killed at any moment, the file is the old or the new.

        Raises StorageError; the file is then as it was.
        """
        data = b"".join(map(encode, records))
        new = self.path.with_name(self.path.name + ".new")
        file: FileIO | None = None
        try:
            new.unlink(missing_ok=True)
            file = FileIO(new, "ab")
            lock(file)  # before it has the name, so that nobody writes in between
            write_all(file, data)
            os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as error:
            if file is not None:
                file.close()
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise _storage_error(self.path, error) from error
        self._file.close()
        self._file = file
        self._length = len(data)

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

    def _remove_damage(self, independent: bool) -> None:
        """Take out what is no whole record. Raises OSError or StorageError."""
        with self.path.open("rb") as file:
            file.seek(self._length)
            tail = file.readlines()
        damaged = b"".join(line for line in tail if not independent or decode(line) is None)
        if b"\n" in damaged:
            self.path.with_name(self.path.name + ".damaged").write_bytes(damaged)
        if len(damaged) < sum(map(len, tail)):
            self.rewrite(self.records)
        else:
            os.ftruncate(self._file.fileno(), self._length)


def _open_locked(path: Path, until: float) -> FileIO:
    """Open and lock; `until` is a time of `time.monotonic`. Raises OSError, and StorageError while others have it."""
    while True:
        # Unbuffered: what a full disk refuses must not lie in a buffer and be written after all, later.
        file = FileIO(path, "ab")
        try:
            locked = lock(file)
            # Between opening and locking another process may have put a new file in place of this one.
            if locked and _still_named(path, file):
                return file
        except BaseException:
            file.close()
            raise
        file.close()
        if not locked:
            if time.monotonic() >= until:
                raise StorageError(
                    f"Another gistread is writing {path.name}.",
                    "Close it there, or go on reading without.",
                )
            time.sleep(_AGAIN_S)


def _still_named(path: Path, file: FileIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def lock(file: FileIO) -> bool:
    """Whether this process is now the one that writes."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Some network file systems know no locks; then nothing keeps two writers apart.
        return True
    return True


def add_whole(file: FileIO, data: bytes, length: int) -> None:
    """Write behind the `length` bytes of the file, and sync. What fails leaves these alone. Raises OSError."""
    try:
        write_all(file, data)
        os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file.fileno(), length)
        raise


def write_all(file: FileIO, data: bytes) -> None:
    """An unbuffered write may take less than it was given."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _storage_error(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: {error.strerror or error}.", "`gistread paths` shows every folder that is used.")
