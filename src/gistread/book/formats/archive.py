"""Reads untrusted zip archives in memory, within limits on entries, sizes and paths."""

import os
import posixpath
import unicodedata
import zipfile
import zlib
from typing import BinaryIO
from urllib.parse import unquote

# One unpacked file. War and Peace as one XHTML file has 4 MB.
ENTRY_LIMIT_BYTES = 32 * 1024 * 1024
# Everything read from one archive: text, never pictures or fonts.
TOTAL_LIMIT_BYTES = 64 * 1024 * 1024
ENTRIES_LIMIT = 20_000
# Python allocates half a kilobyte for each directory entry before they can be counted.
_DIRECTORY_LIMIT_BYTES = 16 * 1024 * 1024

_END_RECORD = b"PK\x05\x06"
_END_RECORD_BYTES = 22
_DIRECTORY_SIZE = slice(12, 16)  # In the end record
_COMMENT_BYTES = 65_535
_ENCRYPTED = 0x1

# EPUB and Office allow no others. Python unpacks bzip2 and LZMA without an output limit.
_METHODS = frozenset((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))

_DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
)


class ArchiveError(Exception):
    """The archive or an entry cannot be read; the message completes a sentence."""


class Archive:
    """An open zip archive; its stream belongs to the caller."""

    def __init__(self, stream: BinaryIO) -> None:
        """Raises ArchiveError if the archive is damaged or larger than any book."""
        try:
            if _directory_bytes(stream) > _DIRECTORY_LIMIT_BYTES:
                raise ArchiveError("its archive has a directory larger than any book's")
            self._zip = zipfile.ZipFile(stream)
        except _DAMAGE_ERRORS as error:
            raise ArchiveError("its zip archive is damaged or cut short") from error
        infos = self._zip.infolist()
        entries = [info for info in infos if info.filename and not info.is_dir()]
        if len(entries) > ENTRIES_LIMIT:
            raise ArchiveError(
                f"its archive holds {len(entries):,} files, more than any book"
            )
        self.names = tuple(info.filename for info in entries)
        self._entries = {info.filename: info for info in entries}
        # Reversed: the first of several entries with the same folded path counts.
        self._by_folded_path = {_fold_path(name): name for name in reversed(self.names)}
        self._bytes_read = 0

    def find(self, path: str) -> str | None:
        """Name of the entry for a reference: exact, or up to case, escapes and Unicode form."""
        for name in (path, unquote(path)):
            normal = normalise_path(name)
            if normal in self._entries:
                return normal
            similar = self._by_folded_path.get(_fold_path(normal))
            if similar is not None:
                return similar
        return None

    def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Bytes of an entry.

        Raises ArchiveError if it is missing, damaged or larger than `limit`.
        """
        name = self.find(path)
        if name is None:
            raise ArchiveError("is missing")
        info = self._entries[name]
        if info.flag_bits & _ENCRYPTED:
            raise ArchiveError("is locked with a password")
        if info.compress_type not in _METHODS:
            raise ArchiveError("uses a compression method that books do not use")
        entry_limit = ENTRY_LIMIT_BYTES
        if limit is not None:
            entry_limit = min(limit, ENTRY_LIMIT_BYTES)
        remaining_bytes = TOTAL_LIMIT_BYTES - self._bytes_read
        most_bytes = min(entry_limit, remaining_bytes)
        try:
            with self._zip.open(info) as entry:
                # Sizes in the directory are unreliable; only the output counts.
                data = entry.read(most_bytes + 1)
        except _DAMAGE_ERRORS as error:
            raise ArchiveError("is damaged") from error
        self._bytes_read += min(len(data), most_bytes)
        if len(data) <= most_bytes:
            return data
        if remaining_bytes < entry_limit:
            limit_mb = TOTAL_LIMIT_BYTES // 1024 // 1024
            raise ArchiveError(f"exceeds the limit of {limit_mb} MB per book")
        raise ArchiveError(f"unpacks to more than {most_bytes // 1024 // 1024} MB")


def _directory_bytes(stream: BinaryIO) -> int:
    """The size of the directory, which the end record states. Raises BadZipFile, OSError."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _END_RECORD_BYTES - _COMMENT_BYTES))
    tail = stream.read()
    stream.seek(0)
    start = tail.rfind(_END_RECORD)
    record = tail[start:]
    if start < 0 or len(record) < _END_RECORD_BYTES:
        raise zipfile.BadZipFile("no end record")
    return int.from_bytes(record[_DIRECTORY_SIZE], "little")


def normalise_path(path: str) -> str:
    """A path inside the archive without ".", ".." or a leading slash.

    It never leaves the archive.

    >>> normalise_path("OEBPS/../../images/map.png")
    'images/map.png'
    """
    with_slashes = path.replace("\\", "/")
    return posixpath.normpath(f"/{with_slashes}").lstrip("/")


def _fold_path(name: str) -> str:
    return unicodedata.normalize("NFC", normalise_path(name)).casefold()
