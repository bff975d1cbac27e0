"""The library's journal, shared between processes: known book files, added folders, removed books."""

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gistread.journal import Journal, Record, check_version, decode_path, encode_path, read_records
from gistread.library.model import BookFile, VolumeText, absolute

_VERSION = 1
_WAIT_S = 2.0
_SUPERSEDED = 500  # Number of outdated records that triggers a rewrite


@dataclass(frozen=True, slots=True)
class CatalogueContents:
    files: Mapping[str, BookFile] = field(default_factory=dict)  # By the file's digest
    folders: tuple[Path, ...] = ()  # In the order of adding
    removed: Mapping[str, float] = field(default_factory=dict)  # Ids of removed books, with the time of removal

    @property
    def paths(self) -> dict[Path, BookFile]:
        return {file.path: file for file in sorted(self.files.values(), key=lambda file: file.at)}


class Catalogue:
    """The catalogue, in a file that may not exist yet. Methods that write raise StorageError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> CatalogueContents:
        """Raises StorageError if the file is unreadable or from a later version."""
        records, _ = read_records(self._path)
        return _contents(records, self._path)

    def add(self, files: Iterable[BookFile]) -> None:
        self._append([_file_record(file) for file in files])

    def add_folder(self, folder: Path) -> None:
        if folder not in self.read().folders:
            self._append([{"kind": "folder", "path": encode_path(folder)}])

    def remove(self, ids: Iterable[str]) -> None:
        self._append([{"kind": "removed", "ids": list(ids), "at": time.time()}])

    def restore_removed(self, *ids: str) -> None:
        """Restore a book if it was removed under one of these ids."""
        if not self.read().removed.keys().isdisjoint(ids):
            self.restore(ids)

    def restore(self, ids: Iterable[str]) -> None:
        self._append([{"kind": "removed", "ids": list(ids), "at": 0.0}])

    def _append(self, records: list[Record]) -> None:
        if not records:
            return
        with Journal(self._path, wait_s=_WAIT_S) as journal:
            before = journal.records
            known = _contents([*before, *records], self._path)  # refuses a later version's file
            if not any(record.get("kind") == "library" for record in before):
                records = [{"kind": "library", "version": _VERSION}, *records]
            whole = [
                {"kind": "library", "version": _VERSION},
                *map(_file_record, known.files.values()),
                *({"kind": "folder", "path": encode_path(folder)} for folder in known.folders),
                *({"kind": "removed", "ids": [one], "at": at} for one, at in known.removed.items()),
            ]
            if len(whole) + _SUPERSEDED <= len(before) + len(records):
                journal.rewrite(whole)
            else:
                journal.append(*records)


def examine_file(path: Path) -> BookFile:
    """Digest and size of a file, without parsing the book. Raises OSError."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return BookFile(absolute(path), digest, status.st_size, status.st_mtime_ns, path.stem)


def _contents(records: Iterable[Record], path: Path) -> CatalogueContents:
    files: dict[str, BookFile] = {}
    folders: dict[Path, None] = {}
    removed: dict[str, float] = {}
    records = list(records)
    check_version(records, "library", _VERSION, path, "see all books of the library")
    for record in records:
        with suppress(KeyError, TypeError, ValueError, AttributeError):  # ignore malformed records
            match record["kind"]:
                case "file":
                    facts: dict[str, Any] = {
                        name: str(record[name]) for name in ("digest", "title", "format", "language", "sha256")
                    }
                    facts |= {name: int(record[name]) for name in ("size", "modified_ns", "words", "length")}
                    file = BookFile(
                        **facts,
                        path=decode_path(record["path"]),
                        authors=tuple(map(str, record["authors"])),
                        volumes=tuple(
                            VolumeText(str(sha), int(start), int(end)) for sha, start, end in record.get("volumes", ())
                        ),
                        at=float(record["at"]),
                    )
                    files[file.digest] = _merge(files.get(file.digest), file)
                case "folder":
                    folders[decode_path(record["path"])] = None
                case "removed":
                    removed |= dict.fromkeys(map(str, record["ids"]), float(record["at"]))
    return CatalogueContents(files, tuple(folders), {one: at for one, at in removed.items() if at})


def _merge(before: BookFile | None, now: BookFile) -> BookFile:
    if before is None or not before.sha256:
        return now
    if now.sha256:
        return replace(now, language=now.language or before.language)
    return replace(before, path=now.path, size=now.size, modified_ns=now.modified_ns, at=now.at)


def _file_record(file: BookFile) -> Record:
    texts = [[one.sha256, one.start, one.end] for one in file.volumes]
    record = {"kind": "file", **asdict(file), "path": encode_path(file.path), "at": file.at or time.time()}
    return {name: value for name, value in record.items() if name != "volumes"} | ({"volumes": texts} if texts else {})
