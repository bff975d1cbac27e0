"""Imports the user's data of gistread 0.2: journals of books, marks, library and reading speed.

Its files are only read. Everything happens in the transaction that creates the database, so a kill
leaves nothing half done. What the database has already is kept. Files that cannot be read are tried
again at each start.
"""

import contextlib
import sqlite3
from datetime import date

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
    return any(
        path.exists()
        for path in (
            paths.data / "library.jsonl",
            paths.data / "books",
            paths.data / "marks",
        )
    )


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
    """Import files and folders within the data directory."""
    problems = []
    waiting = names[::-1]
    while waiting:
        name = waiting.pop()
        file = paths.data / name
        try:
            if name in _FOLDERS:
                waiting += [
                    f"{name}/{each.name}" for each in list_files(file, "*.jsonl")
                ]
                continue
            records = [
                record
                for record in read_records(file)[0]
                if isinstance(record.get("kind"), str)
            ]
            if any(
                record["kind"] in _HEADERS and record.get("version") != _VERSION
                for record in records
            ):
                raise StorageError(
                    f"{file} is not of gistread 0.2 and was not imported."
                )
        except StorageError as error:
            problems.append(error.message)
            connection.execute(
                "INSERT OR IGNORE INTO unread (file) VALUES (?)", (name,)
            )
            continue
        _FOLDERS.get(name.partition("/")[0], _import_shared)(
            connection, file.stem, records
        )
    return " ".join(problems)


# A record that is not what 0.2 wrote is left out, as 0.2 did.
_malformed_skipped = contextlib.suppress(
    *(AttributeError, KeyError, TypeError, ValueError, OverflowError),
    *(sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.IntegrityError),
)


def _import_book(connection: Connection, sha256: str, records: list[Record]) -> None:
    known = "SELECT 1 FROM texts WHERE sha256 = ? AND (opened_at > 0 OR position > 0)"
    is_new = connection.execute(known, (sha256,)).fetchone() is None
    corrections: dict[float, Record] = {}
    questions: dict[tuple[float, str], Record] = {}
    for record in records:
        with _malformed_skipped:
            match record["kind"]:
                case "question":
                    questions[float(record["asked_at"]), str(record["question"])] = (
                        record
                    )
                case "name":
                    corrections[float(record["id"])] = record
                case "thread":
                    keys = {"sha256": sha256, "thread": float(record["id"])}
                    put_row(connection, "threads", keys, {"name": str(record["name"])})
                case "day":
                    keys = {
                        "sha256": sha256,
                        "day": date.fromisoformat(record["id"]).isoformat(),
                    }
                    read = {
                        "words": float(record["words"]),
                        "seconds": float(record["seconds"]),
                    }
                    put_row(connection, "days", keys, read)
                case _ if is_new:
                    put_row(connection, "texts", {"sha256": sha256}, _columns(record))
    for record in questions.values():
        with _malformed_skipped:
            if (question := question_of(record)) is not None:
                put_question(connection, sha256, question, answer_again=False)
    for record in corrections.values():
        with _malformed_skipped:
            correction = NameCorrection(
                record["verb"],
                tuple(record["forms"]),
                record["other"],
                float(record["id"]),
            )
            put_correction(
                connection, sha256, correction, undone=bool(record.get("undone"))
            )


def _columns(record: Record) -> dict[str, object]:
    """What a record says of the book; the last of a kind counts."""
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
            return {
                "along": to_json(
                    {"model": str(record["model"]), "along": bool(record["along"])}
                )
            }
    raise ValueError(f"Unknown kind of record: {record['kind']}")


def _import_marks(connection: Connection, sha256: str, records: list[Record]) -> None:
    latest: dict[str, Record] = {}
    for record in records:
        with _malformed_skipped:
            is_mark = record["kind"] == "gone" or decoded(Mark, record) is not None
            if (
                is_mark
                and float(record["changed_at"])
                >= latest.get(record["id"], record)["changed_at"]
            ):
                latest[str(record["id"])] = record
    for identifier, record in latest.items():
        if mark_row(connection, sha256, identifier) is None:
            put_mark(
                connection,
                sha256,
                identifier,
                float(record["changed_at"]),
                decoded(Mark, record),
            )


def _import_shared(connection: Connection, _: str, records: list[Record]) -> None:
    """Import the library and the reading speed."""
    known = {row["digest"] for row in connection.execute("SELECT digest FROM files")}
    removed: dict[str, float] = {}  # 0 for a book that was restored
    measured = {
        row["language"]
        for row in connection.execute("SELECT DISTINCT language FROM reading_speed")
    }
    for record in records:
        with _malformed_skipped:
            match record["kind"]:
                case "file" if record["digest"] not in known and (
                    file := decoded(BookFile, record)
                ):
                    put_file(connection, file)
                case "folder":
                    decode_path(record["path"])
                    connection.execute(
                        "INSERT OR IGNORE INTO folders (path) VALUES (?)",
                        (record["path"],),
                    )
                case "removed":
                    removed |= dict.fromkeys(
                        map(str, record["ids"]), float(record["at"])
                    )
                case "pace" if record["language"] not in measured:
                    connection.execute(
                        "INSERT INTO reading_speed (language, words, seconds) VALUES (?, ?, ?)",
                        (
                            str(record["language"]),
                            float(record["words"]),
                            float(record["seconds"]),
                        ),
                    )
    rows = [(book, at) for book, at in removed.items() if at]
    connection.executemany(
        "INSERT OR IGNORE INTO removed (book, removed_at) VALUES (?, ?)", rows
    )


_FOLDERS = {"books": _import_book, "marks": _import_marks}
