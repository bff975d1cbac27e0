"""The SQLite file of the user's data: its schema, transactions, and recovery from damage.

Each use opens a connection of its own. So nothing has to be closed, any thread may call, and with a
write-ahead log a reader never waits for a writer's disk.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gistread.errors import StorageError
from gistread.paths import Paths
from gistread.store.files import make_folder
from gistread.store.importing import has_old_data, import_old_data, import_unread
from gistread.store.journal import open_locked
from gistread.store.rows import Connection, Row, put_row

VERSION = 1  # Of the schema; stored in SQLite's `user_version`
# Seconds to wait for another process's transaction, which takes milliseconds
_WAIT_S = 5.0
_REPAIR_WAIT_S = 60.0
_RETRY_S = 0.02  # Between attempts while another process has the file open
_PAGE_BYTES = 4096  # Of SQLite
_PAGE_COUNT = slice(28, 32)  # Where the first page gives their number
_MOST_PROBED = 20_000  # Rows looked up one by one between two damaged pages

# Tables whose rows refer to one in `texts`
_OF_TEXTS = ("days", "questions", "threads", "names", "marks", "asking")

# Messages about a damaged schema may not be UTF-8.
_READ_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)

_preparing = threading.Lock()
# (device, inode) of files this process found whole
_checked: set[tuple[int, int]] = set()
_notices: dict[Path, str] = {}  # By file


class Database:
    """The file, which may not exist yet. Its blocks raise StorageError."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self.file = paths.store

    @property
    def notice(self) -> str:
        """A message if the file was damaged and repaired, or data of 0.2 cannot be read.

        Empty otherwise.
        """
        return _notices.get(self.file, "")

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view. A file is created only to import data of 0.2."""
        with (
            self._storage_errors(),
            contextlib.closing(self._open_to_read()) as connection,
        ):
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: all of it is on the disk after the block, none after an error in it."""
        with self._storage_errors(), contextlib.closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def rows(self, query: str, *values: object) -> list[Any]:
        """The rows of one query."""
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    def put_row(
        self, table: str, keys: Mapping[str, object], values: Mapping[str, object]
    ) -> None:
        """Write one row, as `put_row` of `rows.py`, in a transaction of its own."""
        with self.writing() as connection:
            put_row(connection, table, keys, values)

    def _open_to_read(self) -> Connection:
        """Open the file, if it exists and may be written; else read it, or an empty database."""
        if not self.file.exists() and not has_old_data(self._paths):
            return _in_memory()
        try:
            return self._open()
        except (sqlite3.OperationalError, OSError):
            if not self.file.exists():  # a read-only folder with data of 0.2
                return _in_memory(self._paths)
            if os.access(self.file.parent, os.W_OK):
                raise
            return self._open_read_only()

    def _open_read_only(self) -> Connection:
        """Open a file that may not be written."""
        # SQLite cannot make the files of its log beside a read-only file; without a log nothing is
        # missed.
        has_log = self.file.with_name(self.file.name + "-wal").exists()
        address = f"{self.file.absolute().as_uri()}?mode=ro"
        if not has_log:
            address += "&immutable=1"
        connection = _connect(address)
        self._check_version(connection)
        return connection

    def _open(self) -> Connection:
        """Open the file for writing, created if missing and repaired if damaged."""
        with _preparing:
            if not self.file.exists():
                make_folder(self.file.parent)
                with contextlib.suppress(FileExistsError):
                    self.file.touch(mode=0o600, exist_ok=False)
            try:
                return self._prepared()
            except _READ_ERRORS as error:
                if not _is_damage(error):
                    raise
                self._repair()
                return self._prepared()

    def _prepared(self) -> Connection:
        """A connection to a whole file of this version. Raises sqlite3.Error and StorageError."""
        connection = _connect(self.file.absolute().as_uri())
        try:
            identity = _identity(self.file)
            version = self._check_version(connection)
            if version == VERSION and identity in _checked:
                return connection
            if version == 0:  # It has just been created.
                # It has no effect where the file system lacks shared memory.
                use_write_ahead_log(connection)
                notice = _create(connection, self._paths)
            else:
                (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if state != "ok":
                    raise sqlite3.DatabaseError(f"malformed: {state}")
                # Some tables may be newer than the file.
                _create_tables(connection)
                notice = import_unread(connection, self._paths)
            if notice:
                _notices[self.file] = notice
            _checked.add(identity)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_version(self, connection: Connection) -> int:
        """The version of the schema; 0 for an empty file. Raises StorageError if it is later."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > VERSION:
            raise StorageError(
                f"{self.file} was written by a later version of gistread and is left unchanged.",
                "Update gistread to see your library, places, marks and questions.",
            )
        return version

    def _repair(self) -> None:
        """Set the damaged file aside, and put a new one with its readable rows in its place."""
        damaged = self.file.with_name(self.file.name + ".damaged")
        new = self.file.with_name(self.file.name + ".new")
        lock = self.file.with_name(self.file.name + ".lock")
        with open_locked(lock, wait_s=_REPAIR_WAIT_S):
            with contextlib.suppress(*_READ_ERRORS):
                # Without an error, another process has repaired it meanwhile.
                self._prepared().close()
                return
            for unfinished in (new, *_log_files(new)):
                unfinished.unlink(missing_ok=True)
            new.touch(mode=0o600)
            saved = _salvage(self.file, new, self._paths)
            originals = (self.file, *_log_files(self.file))
            copies = (damaged, *_log_files(damaged))
            for file, copy in zip(originals, copies, strict=True):
                if file.exists():
                    shutil.copy(file, copy)
            for log in _log_files(self.file):  # SQLite would apply it to the new file
                log.unlink(missing_ok=True)
            new.replace(self.file)
        _notices[self.file] = (
            f"{self.file} was damaged: {saved} of its entries were saved, and it is kept as "
            f"{damaged.name}."
        )

    @contextlib.contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """Raise errors of SQLite and of the system as StorageError with a hint."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            raise self._storage_error(error) from error

    def _storage_error(
        self, error: sqlite3.Error | UnicodeDecodeError | OSError
    ) -> StorageError:
        """What to tell the user about an error of SQLite or of the system."""
        is_damaged = isinstance(error, _READ_ERRORS) and _is_damage(error)
        if is_damaged and self.file.exists():
            _checked.discard(_identity(self.file))
            return StorageError(
                f"{self.file} is damaged.", "Try again: the rest of it is then saved."
            )
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StorageError(
                f"Another gistread is writing {self.file.name}.", "Try again."
            )
        if name == "SQLITE_FULL":
            message = f"{self.file}: the disk is full. What was saved before is kept."
            return StorageError(message, "Free some space, then try again.")
        reason = error.strerror if isinstance(error, OSError) else str(error)
        # SQLite says only that it cannot open the file.
        is_refused = name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if is_refused and not os.access(self.file, os.R_OK | os.W_OK):
            reason = os.strerror(errno.EACCES)
        return StorageError(
            f"{self.file}: {reason}.", "`gistread paths` lists the folders in use."
        )


def _identity(file: Path) -> tuple[int, int]:
    """Device and inode: a file that replaces another has its own."""
    status = file.stat()
    return status.st_dev, status.st_ino


def _connect(uri: str) -> Connection:
    """Open a file, or a database in memory, by its `file:` address."""
    connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    # A damaged byte costs that character alone
    connection.text_factory = lambda data: data.decode(errors="replace")
    connection.execute("PRAGMA foreign_keys = ON")
    # NORMAL loses the last transactions in a power cut
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Let others read while one writes.

    SQLite does not wait here by itself when another process has the file open.
    """
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > until:
                raise
            time.sleep(_RETRY_S)


def _in_memory(paths: Paths | None = None) -> Connection:
    """An empty database, or one with the data of 0.2."""
    connection = _connect("file::memory:")
    _create(connection, paths)
    return connection


def _create(connection: Connection, paths: Paths | None) -> str:
    """Create the tables and import the data of 0.2, all or nothing.

    Returns a notice of what cannot be read.
    """
    notice = ""
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    # Another process may have been faster.
    if version == 0:
        _create_tables(connection)
        if paths is not None:
            notice = import_old_data(connection, paths)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    return notice


def _create_tables(connection: Connection) -> None:
    """Create the tables that are missing."""
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    for statement in schema.split(";"):
        connection.execute(statement)


def _is_damage(error: sqlite3.DatabaseError | UnicodeDecodeError) -> bool:
    """Whether an error shows that the file is damaged."""
    if isinstance(error, UnicodeDecodeError):
        return True
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return True
    # As `_prepared` calls what SQLite's own check finds
    return str(error).startswith("malformed")


def _log_files(file: Path) -> tuple[Path, Path]:
    """The files of SQLite's write-ahead log, which may not exist."""
    return file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")


def _salvage(damaged: Path, file: Path, paths: Paths) -> int:
    """Write the readable rows of a damaged file to `file`, an empty one; returns their number.

    Missing ones are taken from the files of 0.2, if they are still there.
    """
    with contextlib.closing(_connect(file.absolute().as_uri())) as new:
        # The rows of `texts` that others refer to may be missing; they are added in the end.
        new.execute("PRAGMA foreign_keys = OFF")
        _create_tables(new)
        new.execute("BEGIN IMMEDIATE")
        saved = _copy_rows(damaged, new)
        # The first page, without which no table is found, may be all that is damaged.
        if not saved:
            patched = file.with_name(file.name + ".patched")
            _patch_first_page(damaged, file, patched)
            saved = _copy_rows(patched, new)
            patched.unlink()
        import_old_data(new, paths)
        for table in _OF_TEXTS:
            new.execute(
                f"INSERT OR IGNORE INTO texts (sha256) SELECT sha256 FROM {table}"
            )
        new.execute(f"PRAGMA user_version = {VERSION}")
        new.execute("COMMIT")
    return saved


def _patch_first_page(damaged: Path, new: Path, patched: Path) -> None:
    """Write the damaged file with the first page of a new one.

    That page says where the tables begin, which is at the same places in both.
    """
    first_page = bytearray(new.read_bytes()[:_PAGE_BYTES])
    other_pages = damaged.read_bytes()[_PAGE_BYTES:]
    pages = len(other_pages) // _PAGE_BYTES + 1
    first_page[_PAGE_COUNT] = pages.to_bytes(4)
    patched.write_bytes(first_page + other_pages)


def _copy_rows(damaged: Path, new: Connection) -> int:
    """Copy the readable rows of every table; returns how many were new."""
    copied = 0
    rows = new.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = [row["name"] for row in rows]
    with contextlib.closing(sqlite3.connect(damaged)) as old:
        # One bad entry of the schema hides no table.
        old.execute("PRAGMA writable_schema = ON")
        old.row_factory = new.row_factory
        old.text_factory = new.text_factory
        for table in tables:
            for row in _readable_rows(old, table):
                columns = ", ".join(row.keys())
                values = ", ".join("?" * len(row))
                insert = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({values})"
                with contextlib.suppress(sqlite3.IntegrityError):
                    copied += new.execute(insert, tuple(row)).rowcount
    return copied


def _readable_rows(old: Connection, table: str) -> Iterator[Row]:
    """The rows from both ends up to the damage, and those between that their ids can find."""
    last_ids = {"ASC": 0, "DESC": 0}  # The last id that could be read from each end
    for order in last_ids:
        try:
            for row in old.execute(f"SELECT * FROM {table} ORDER BY id {order}"):
                last_ids[order] = row["id"]
                yield row
            return  # No row is damaged.
        except _READ_ERRORS:
            continue  # Here is the damage: go on from the other end, or between.
    before, after = last_ids["ASC"], last_ids["DESC"]
    for identifier in range(before + 1, min(after, before + _MOST_PROBED)):
        with contextlib.suppress(*_READ_ERRORS):
            yield from old.execute(f"SELECT * FROM {table} WHERE id = ?", (identifier,))
