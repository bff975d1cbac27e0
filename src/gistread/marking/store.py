"""Stores marks in one journal per book, where the latest record of an id counts. Processes share it by locking."""

import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

from gistread.journal import Journal, Record, check_version, read_records
from gistread.marking.model import Color, Mark, MarkKind, TextQuote, merge_marks, sorted_marks

_VERSION = 1
_WAIT_S = 2.0  # Seconds to wait for another process's write, which takes milliseconds
_SUPERSEDED = 200  # Number of replaced versions that triggers a rewrite
_MOMENT_S = 1e-3  # Minimum between versions of a mark
_FIELDS = {"id", "kind", "place", "color", "note", "letter", "made_at", "changed_at", "lost"}

Stamp = tuple[int, int, int]  # (inode, modification time, size)


class MarkStore:
    """Marks of all books, in a directory that may not exist yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def marks(self, sha256: str) -> list[Mark]:
        """Marks of a book, by position. Raises StorageError."""
        versions = _versions(self._read(sha256))
        return sorted_marks([mark for mark in map(_mark, versions.values()) if mark is not None])

    def ids(self, sha256: str) -> set[str]:
        """Ids of all marks, removed ones included. Raises StorageError."""
        return set(_versions(self._read(sha256)))

    def stamp(self, sha256: str) -> Stamp | None:
        """A value that changes with the file; None if it does not exist."""
        try:
            status = self._file(sha256).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def put(self, sha256: str, mark: Mark, base: Mark | None = None) -> Mark:
        """Store a mark, merged with changes made since `base`, and return the result. Raises StorageError."""
        with self._open(sha256) as journal:
            known = _versions(_valid_records(journal.records, journal.path)).get(mark.id)
            mark = merge_marks(mark, _mark(known) if known else None, base)
            if known and known["changed_at"] >= mark.changed_at:
                mark = replace(mark, changed_at=known["changed_at"] + _MOMENT_S)
            self._append(journal, [asdict(mark)])
        return mark

    def put_new(self, sha256: str, marks: Iterable[Mark]) -> list[Mark]:
        """Store the marks with new ids and return them. Raises StorageError."""
        with self._open(sha256) as journal:
            known = _versions(_valid_records(journal.records, journal.path))
            new = [mark for mark in marks if mark.id not in known]
            if new:
                self._append(journal, list(map(asdict, new)))
        return new

    def remove(self, sha256: str, mark: Mark) -> Mark:
        """Remove a mark and return its last version; `put` restores it. Raises StorageError."""
        with self._open(sha256) as journal:
            known = _versions(_valid_records(journal.records, journal.path)).get(mark.id)
            last = (_mark(known) if known else None) or mark
            at = max(time.time(), last.changed_at + _MOMENT_S)
            self._append(journal, [{"kind": "gone", "id": mark.id, "changed_at": at}])
        return last

    def _file(self, sha256: str) -> Path:
        return self._directory / f"{sha256}.jsonl"

    def _read(self, sha256: str) -> list[Record]:
        file = self._file(sha256)
        return _valid_records(read_records(file)[0], file)

    def _open(self, sha256: str) -> Journal:
        return Journal(self._file(sha256), wait_s=_WAIT_S)

    def _append(self, journal: Journal, records: list[Record]) -> None:
        header: Record = {"kind": "marks", "version": _VERSION}
        known = _valid_records(journal.records, journal.path)
        latest = _versions([*known, *records])
        if not any(record.get("kind") == "marks" for record in journal.records):
            journal.append(header, *records)
        elif len(latest) + _SUPERSEDED <= len(known):
            journal.rewrite([header, *latest.values()])
        else:
            journal.append(*records)


def _valid_records(records: Iterable[Record], file: Path) -> list[Record]:
    records = list(records)
    check_version(records, "marks", _VERSION, file, "have this book's marks")
    kinds = {"marks": None, "gone": {"id", "changed_at"}}
    return [
        record
        for record in records
        if (fields := kinds.get(str(record.get("kind")), _FIELDS)) and fields <= record.keys()
    ]


def _versions(records: Iterable[Record]) -> dict[str, Record]:
    latest: dict[str, Record] = {}
    for record in records:
        before = latest.get(record["id"])
        if before is None or record["changed_at"] >= before["changed_at"]:
            latest[record["id"]] = record
    return latest


def _mark(record: Record) -> Mark | None:
    if record["kind"] == "gone":
        return None
    try:
        return Mark(
            **{
                **{name: record[name] for name in _FIELDS},
                "kind": MarkKind(record["kind"]),
                "color": Color(record["color"]) if record["color"] else None,
                "place": TextQuote(**record["place"]),
            }
        )
    except (TypeError, ValueError):
        return None
