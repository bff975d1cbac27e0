"""Imports the user's data of gistread 0.2: journals of books, marks, library and reading speed.

Its files are only read. Everything happens in the transaction that creates the database, so a kill
leaves nothing half done. What the database has already is kept. Files that cannot be read are tried
again at each start.
"""

import contextlib
import sqlite3
from datetime import date
from pathlib import Path

from gistread.errors import StorageError
from gistread.marking import Mark
from gistread.paths import Paths
from gistread.store.journal import Record, list_files, read_records
from gistread.store.model import BookFile, NameCorrection
from gistread.store.rows import (
    Connection,
    decode_path,
    decoded,
    mark_row,
    put_correction,
    put_file,
    put_mark,
    put_question,
    put_row,
    question_of,
    to_json,
)

_HEADERS = ("shelf", "marks", "library", "pace")  # Kinds of the first records
_VERSION = 1


def has_old_data(paths: Paths) -> bool:
    """Whether there are files of 0.2."""
    names = ("library.jsonl", "books", "marks")
    return any((paths.data / name).exists() for name in names)


def import_old_data(connection: Connection, paths: Paths) -> str:
    """Import all of it, in the caller's transaction.

    Returns a notice of files that cannot be read.
    """
    return _import(connection, paths, ["library.jsonl", "pace.jsonl", *_FOLDERS])


def import_unread(connection: Connection, paths: Paths) -> str:
    """Try what could not be read before, and nothing else: it may have been deleted meanwhile."""
    names = [row["file"] for row in connection.execute("SELECT file FROM unread")]
    if not names:
        return ""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM unread")
    notice = _import(connection, paths, names)
    connection.execute("COMMIT")
    return notice


def _import(connection: Connection, paths: Paths, names: list[str]) -> str:
    """Import files and folders within the data directory; returns a notice of problems."""
    problems: list[str] = []
    waiting = names[::-1]  # The next one last; the files of a folder are added to it
    while waiting:
        name = waiting.pop()
        file = paths.data / name
        try:
            if name in _FOLDERS:
                files = list_files(file, "*.jsonl")
                waiting += [f"{name}/{inner.name}" for inner in files]
                continue
            records = _checked_records(file)
        except StorageError as error:
            problems.append(error.message)
            connection.execute(
                "INSERT OR IGNORE INTO unread (file) VALUES (?)", (name,)
            )
            continue
        folder = name.partition("/")[0]
        import_records = _FOLDERS.get(folder, _import_shared)
        import_records(connection, file.stem, records)
    return " ".join(problems)


def _checked_records(file: Path) -> list[Record]:
    """The records of a file. Raises StorageError if it cannot be read, or is not of 0.2."""
    every_record, _ = read_records(file)
    records = [record for record in every_record if isinstance(record.get("kind"), str)]
    headers = [record for record in records if record["kind"] in _HEADERS]
    if any(header.get("version") != _VERSION for header in headers):
        raise StorageError(f"{file} is not of gistread 0.2 and was not imported.")
    return records


# A record that is not what 0.2 wrote is left out, as 0.2 did.
_malformed_skipped = contextlib.suppress(
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.IntegrityError,
)


def _import_book(connection: Connection, sha256: str, records: list[Record]) -> None:
    """Import a book's place, reading days, threads, questions and corrections of names."""
    known = "SELECT 1 FROM texts WHERE sha256 = ? AND (opened_at > 0 OR position > 0)"
    is_new = connection.execute(known, (sha256,)).fetchone() is None
    # The last record of each counts.
    corrections: dict[float, Record] = {}
    questions: dict[tuple[float, str], Record] = {}
    for record in records:
        with _malformed_skipped:
            match record["kind"]:
                case "question":
                    key = (float(record["asked_at"]), str(record["question"]))
                    questions[key] = record
                case "name":
                    corrections[float(record["id"])] = record
                case "thread":
                    _put_thread(connection, sha256, record)
                case "day":
                    _put_day(connection, sha256, record)
                case _ if is_new:
                    # Of the text itself. A later record of a kind replaces its columns.
                    put_row(connection, "texts", {"sha256": sha256}, _columns(record))
    for record in questions.values():
        with _malformed_skipped:
            question = question_of(record)
            if question is not None:
                put_question(connection, sha256, question, answer_again=False)
    for record in corrections.values():
        with _malformed_skipped:
            _put_correction(connection, sha256, record)


def _put_thread(connection: Connection, sha256: str, record: Record) -> None:
    keys = {"sha256": sha256, "thread": float(record["id"])}
    put_row(connection, "threads", keys, {"name": str(record["name"])})


def _put_day(connection: Connection, sha256: str, record: Record) -> None:
    """Save the words and seconds that were read on a day."""
    day = date.fromisoformat(record["id"]).isoformat()
    amount = {"words": float(record["words"]), "seconds": float(record["seconds"])}
    put_row(connection, "days", {"sha256": sha256, "day": day}, amount)


def _put_correction(connection: Connection, sha256: str, record: Record) -> None:
    correction = NameCorrection(
        verb=record["verb"],
        forms=tuple(record["forms"]),
        other=record["other"],
        made_at=float(record["id"]),
    )
    undone = bool(record.get("undone"))
    put_correction(connection, sha256, correction, undone=undone)


def _columns(record: Record) -> dict[str, object]:
    """Columns of a book's text that a record sets. Raises ValueError for an unknown kind."""
    match record["kind"]:
        case "opened":
            return {
                "title": str(record["title"]),
                "authors": to_json(list(record["authors"])),
                "path": str(record["path"]),
                "length": int(record["length"]),
                "file": str(record.get("file", "")),
                "opened_at": float(record["at"]),
            }
        case "position":
            place = {
                name: record[name]
                for name in ("words", "read", "behind")
                if record.get(name)
            }
            return {"position": int(record["offset"]), "place": to_json(place)}
        case "bound":
            return {"bound": to_json({"whole": bool(record["whole"])})}
        case "reading":
            # Which model was chosen for the book, and whether it reads along
            choice = {"model": str(record["model"]), "along": bool(record["along"])}
            return {"along": to_json(choice)}
    raise ValueError(f"Unknown kind of record: {record['kind']}")


def _import_marks(connection: Connection, sha256: str, records: list[Record]) -> None:
    """Import the last version of each mark; of a removed one (`gone`), that it was removed."""
    latest: dict[str, Record] = {}
    for record in records:
        with _malformed_skipped:
            is_mark = record["kind"] == "gone" or decoded(Mark, record) is not None
            known = latest.get(record["id"], record)  # Itself, if it is the first
            is_later = float(record["changed_at"]) >= known["changed_at"]
            if is_mark and is_later:
                latest[str(record["id"])] = record
    for identifier, record in latest.items():
        if mark_row(connection, sha256, identifier) is None:
            changed_at = float(record["changed_at"])
            put_mark(connection, sha256, identifier, changed_at, decoded(Mark, record))


def _import_shared(connection: Connection, _: str, records: list[Record]) -> None:
    """Import the library or the reading speed, whose files have the same kinds of records.

    Facts that the database has already are kept. `_`: the file's name, which says nothing more.
    """
    rows = connection.execute("SELECT digest FROM files")
    known_files = {row["digest"] for row in rows}
    rows = connection.execute("SELECT DISTINCT language FROM reading_speed")
    measured_languages = {row["language"] for row in rows}
    removed: dict[str, float] = {}  # 0 for a book that was restored
    for record in records:
        with _malformed_skipped:
            match record["kind"]:
                case "file" if record["digest"] not in known_files:
                    file = decoded(BookFile, record)
                    if file is not None:
                        put_file(connection, file)
                case "folder":
                    _put_folder(connection, record)
                case "removed":
                    removed_at = float(record["at"])
                    for book in record["ids"]:
                        removed[str(book)] = removed_at
                case "pace" if record["language"] not in measured_languages:
                    _put_pace(connection, record)
    still_removed = [(book, at) for book, at in removed.items() if at]
    connection.executemany(
        "INSERT OR IGNORE INTO removed (book, removed_at) VALUES (?, ?)", still_removed
    )


def _put_folder(connection: Connection, record: Record) -> None:
    """Save a folder of the library."""
    path = record["path"]
    decode_path(path)  # Raises an error if it is malformed.
    connection.execute("INSERT OR IGNORE INTO folders (path) VALUES (?)", (path,))


def _put_pace(connection: Connection, record: Record) -> None:
    """Save a sample of the user's reading speed."""
    statement = "INSERT INTO reading_speed (language, words, seconds) VALUES (?, ?, ?)"
    language = str(record["language"])
    sample = (language, float(record["words"]), float(record["seconds"]))
    connection.execute(statement, sample)


_FOLDERS = {"books": _import_book, "marks": _import_marks}
