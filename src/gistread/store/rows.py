"""Rows of the database, and what they hold.

Reading a damaged row gives None or what is left of it.
"""

import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, astuple, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote_to_bytes

import orjson

from gistread.marking import Mark
from gistread.store.model import (
    BookFile,
    NameCorrection,
    OpenedBook,
    ReadingPlace,
    SavedQuestion,
)

Connection = sqlite3.Connection
Row = sqlite3.Row
T = TypeVar("T")
_hints = cache(get_type_hints)


def to_json(value: object) -> str:
    return orjson.dumps(value).decode()


def from_json(text: str) -> dict[str, Any]:
    """An object; an empty one if the text is damaged."""
    with suppress(orjson.JSONDecodeError):
        if isinstance(value := orjson.loads(text), dict):
            return value
    return {}


def encode_path(path: Path) -> str:
    """A path as text, percent-encoded, since file names may hold bytes that are not text."""
    return quote(os.fsencode(path))


def decode_path(text: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(text)))


def decoded(kind: type[T], facts: object) -> T | None:
    """The value of a data class with these fields in JSON, others are ignored.

    None if they are damaged.
    """
    with suppress(TypeError, ValueError):
        value: T = _decoded(kind, facts)
        return value
    return None


def _decoded(kind: Any, value: Any) -> Any:
    """JSON as a value of this type. Raises TypeError and ValueError."""
    if isinstance(kind, type) and is_dataclass(kind):
        return _decoded_dataclass(kind, value)
    origin = get_origin(kind)
    inside = get_args(kind)
    if origin is tuple:
        return _decoded_tuple(inside, value)
    if origin is Literal:
        if value not in inside:
            raise ValueError(value)
        return value
    if origin is UnionType:  # `X | None`
        if value in (None, ""):
            return None
        return _decoded(inside[0], value)
    if kind is Path:
        return decode_path(value)
    return kind(value)


def _decoded_dataclass(kind: type, value: Any) -> Any:
    """`value`: the fields by name, or all of them in order."""
    hints = _hints(kind)
    facts = value if isinstance(value, dict) else dict(zip(hints, value, strict=True))
    known = {
        name: _decoded(hint, facts[name])
        for name, hint in hints.items()
        if name in facts
    }
    return kind(**known)


def _decoded_tuple(kinds: tuple[Any, ...], values: Any) -> tuple[Any, ...]:
    """`kinds`: of each value, or one and an ellipsis."""
    if kinds[-1] is Ellipsis:
        return tuple(_decoded(kinds[0], value) for value in values)
    return tuple(_decoded(*pair) for pair in zip(kinds, values, strict=True))


def put_row(
    connection: Connection,
    table: str,
    keys: Mapping[str, object],
    values: Mapping[str, object],
    *,
    again: bool = True,
) -> int:
    """Write a row; returns the number of rows written, 0 or 1.

    `again`: whether the values replace those of a row with the same keys. A `sha256` among the
    keys is that of a book's text, which gets a row to refer to.
    """
    if "sha256" in keys:
        connection.execute(
            "INSERT OR IGNORE INTO texts (sha256) VALUES (?)", (keys["sha256"],)
        )
    columns = {**keys, **values}
    action = "NOTHING"
    if again and values:
        update = ", ".join(f"{name} = excluded.{name}" for name in values)
        action = f"UPDATE SET {update}"
    placeholders = ", ".join("?" * len(columns))
    written = connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({placeholders})"
        f" ON CONFLICT ({', '.join(keys)}) DO {action}",
        tuple(columns.values()),
    )
    return written.rowcount


def place_of(row: Mapping[str, Any]) -> ReadingPlace:
    offset = row["position"]
    usual = {"offset": offset, "read": [(0, offset)] if offset else []}
    return decoded(ReadingPlace, usual | from_json(row["place"])) or ReadingPlace(
        offset
    )


def book_of(row: Row) -> OpenedBook | None:
    facts = dict(row) | {"chapter": from_json(row["place"]).get("chapter", "")}
    with suppress(orjson.JSONDecodeError):
        return decoded(OpenedBook, facts | {"authors": orjson.loads(row["authors"])})
    return decoded(OpenedBook, facts | {"authors": []})


def put_question(
    connection: Connection,
    sha256: str,
    question: SavedQuestion,
    *,
    answer_again: bool = True,
) -> int:
    """Write a question; returns the number of rows written, 0 or 1.

    `answer_again`: whether the answer replaces that of the same question, asked at the same time.
    """
    details = {
        name: value
        for name, value in asdict(question).items()
        if name not in ("question", "answer", "asked_at")
    }
    keys = {
        "sha256": sha256,
        "asked_at": question.asked_at,
        "question": question.question,
    }
    values = {
        "thread": question.thread or question.asked_at,
        "answer": question.answer,
        "details": to_json(details),
    }
    return put_row(connection, "questions", keys, values, again=answer_again)


def question_of(facts: Mapping[str, Any]) -> SavedQuestion | None:
    """The question with these fields. The unsupported statements of 0.2 become marks."""
    doubt = {"kind": "statement", "message": "not supported by the text"}
    with suppress(TypeError, ValueError):
        old = [
            {"start": start, "end": end, **doubt}
            for start, end in facts.get("unsupported", ())
        ]
        return decoded(SavedQuestion, {"marks": old, **facts})
    return None


def put_correction(
    connection: Connection,
    sha256: str,
    correction: NameCorrection,
    *,
    undone: bool = False,
) -> None:
    """Write a correction, unless it is known."""
    keys = {"sha256": sha256, "made_at": correction.made_at or time.time()}
    facts = to_json(
        {"verb": correction.verb, "forms": correction.forms, "other": correction.other}
    )
    put_row(
        connection, "names", keys, {"correction": facts, "undone": undone}, again=False
    )


def put_file(connection: Connection, file: BookFile) -> None:
    """Write a file; what is known of its text stays if the file was not opened again."""
    file = replace(file, at=file.at or time.time())
    before = connection.execute(
        "SELECT * FROM files WHERE digest = ?", (file.digest,)
    ).fetchone()
    known = decoded(BookFile, from_json(before["details"])) if before else None
    if known is not None and known.sha256:
        if file.sha256:
            file = replace(file, language=file.language or known.language)
        else:
            file = replace(
                known,
                path=file.path,
                size=file.size,
                modified_ns=file.modified_ns,
                at=file.at,
            )
    path = encode_path(file.path)
    details = to_json(
        asdict(file) | {"path": path, "volumes": list(map(astuple, file.volumes))}
    )
    values = {
        "sha256": file.sha256,
        "recorded_at": file.at,
        "path": path,
        "details": details,
    }
    put_row(connection, "files", {"digest": file.digest}, values)


def put_mark(
    connection: Connection,
    sha256: str,
    identifier: str,
    changed_at: float,
    mark: Mark | None,
) -> None:
    """Write a mark in place of its earlier version.

    None records that it was removed, which no import may undo.
    """
    values = {"changed_at": changed_at, "details": to_json(mark) if mark else None}
    put_row(connection, "marks", {"sha256": sha256, "mark": identifier}, values)


def mark_row(connection: Connection, sha256: str, identifier: str) -> Row | None:
    """The row of a mark that there is or was."""
    query = "SELECT * FROM marks WHERE sha256 = ? AND mark = ?"
    row: Row | None = connection.execute(query, (sha256, identifier)).fetchone()
    return row


def mark_of(row: Row | None) -> Mark | None:
    """None if there is no row, the mark was removed, or its row is damaged."""
    if not row:
        return None
    return decoded(Mark, from_json(row["details"] or ""))
