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
        value = orjson.loads(text)
        if isinstance(value, dict):
            return value
    return {}


def encode_path(path: Path) -> str:
    """A path as text, percent-encoded, since file names may hold bytes that are not text."""
    return quote(os.fsencode(path))


def decode_path(text: str) -> Path:
    """The path that `encode_path` made text of."""
    return Path(os.fsdecode(unquote_to_bytes(text)))


def decoded(kind: type[T], facts: object) -> T | None:
    """An instance of a data class from decoded JSON; None if that is damaged.

    Unknown fields are ignored.
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
    arguments = get_args(kind)
    if origin is tuple:
        return _decoded_tuple(arguments, value)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(value)
        return value
    if origin is UnionType:  # `X | None`
        # A path that is None is stored as an empty text.
        if value in (None, ""):
            return None
        return _decoded(arguments[0], value)
    if kind is Path:
        return decode_path(value)
    return kind(value)


def _decoded_dataclass(kind: type, value: Any) -> Any:
    """`value`: the fields by name, or all of them in order."""
    hints = _hints(kind)
    facts = value if isinstance(value, dict) else dict(zip(hints, value, strict=True))
    fields = {
        name: _decoded(hint, facts[name])
        for name, hint in hints.items()
        if name in facts
    }
    return kind(**fields)


def _decoded_tuple(kinds: tuple[Any, ...], values: Any) -> tuple[Any, ...]:
    """`kinds`: the type of each value, or `(X, ...)` for any number of one type."""
    if kinds[-1] is Ellipsis:
        return tuple(_decoded(kinds[0], value) for value in values)
    pairs = zip(kinds, values, strict=True)
    return tuple(_decoded(kind, value) for kind, value in pairs)


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
    keys refers to a row in `texts`, which is added if it is missing.
    """
    if "sha256" in keys:
        connection.execute(
            "INSERT OR IGNORE INTO texts (sha256) VALUES (?)", (keys["sha256"],)
        )
    columns = {**keys, **values}
    names = ", ".join(columns)
    placeholders = ", ".join("?" * len(columns))
    action = "NOTHING"
    if again and values:
        update = ", ".join(f"{name} = excluded.{name}" for name in values)
        action = f"UPDATE SET {update}"
    cursor = connection.execute(
        f"INSERT INTO {table} ({names}) VALUES ({placeholders})"
        f" ON CONFLICT ({', '.join(keys)}) DO {action}",
        tuple(columns.values()),
    )
    return cursor.rowcount


def place_of(row: Mapping[str, Any]) -> ReadingPlace:
    """The place in a row of `texts`; only its offset if the rest is damaged."""
    offset = row["position"]
    # Without ranges, all text before the place counts as read.
    facts = {"offset": offset, "read": [(0, offset)] if offset else []}
    facts |= from_json(row["place"])
    return decoded(ReadingPlace, facts) or ReadingPlace(offset)


def book_of(row: Row) -> OpenedBook | None:
    """The book in a row of `texts`; None if the row is damaged."""
    facts = dict(row)
    facts["chapter"] = from_json(row["place"]).get("chapter", "")
    facts["authors"] = []
    with suppress(orjson.JSONDecodeError):
        facts["authors"] = orjson.loads(row["authors"])
    return decoded(OpenedBook, facts)


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
    details = asdict(question)
    for column in ("question", "answer", "asked_at"):
        del details[column]
    keys = {
        "sha256": sha256,
        "asked_at": question.asked_at,
        "question": question.question,
    }
    values = {
        "thread": question.thread_id,
        "answer": question.answer,
        "details": to_json(details),
    }
    return put_row(connection, "questions", keys, values, again=answer_again)


def question_of(facts: Mapping[str, Any]) -> SavedQuestion | None:
    """The question with these fields; None if they are damaged.

    The unsupported statements of 0.2 become marks.
    """
    doubt = {"kind": "statement", "message": "not supported by the text"}
    with suppress(TypeError, ValueError):
        old_marks = [
            {"start": start, "end": end, **doubt}
            for start, end in facts.get("unsupported", ())
        ]
        return decoded(SavedQuestion, {"marks": old_marks, **facts})
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
    facts = {
        "verb": correction.verb,
        "forms": correction.forms,
        "other": correction.other,
    }
    values = {"correction": to_json(facts), "undone": undone}
    put_row(connection, "names", keys, values, again=False)


def put_file(connection: Connection, file: BookFile) -> None:
    """Write a file; the known facts of its text stay if the file was not opened again."""
    file = replace(file, at=file.at or time.time())
    query = "SELECT details FROM files WHERE digest = ?"
    row = connection.execute(query, (file.digest,)).fetchone()
    known = decoded(BookFile, from_json(row["details"])) if row else None
    if known is not None and known.sha256:
        file = _with_known_text(file, known)
    path = encode_path(file.path)
    # `decoded` also takes the fields of a data class in order.
    volumes = [astuple(volume) for volume in file.volumes]
    details = {**asdict(file), "path": path, "volumes": volumes}
    values = {
        "sha256": file.sha256,
        "recorded_at": file.at,
        "path": path,
        "details": to_json(details),
    }
    put_row(connection, "files", {"digest": file.digest}, values)


def _with_known_text(file: BookFile, known: BookFile) -> BookFile:
    """A file with the facts of its text that are known, unless it was opened again."""
    if file.sha256:
        return replace(file, language=file.language or known.language)
    return replace(
        known,
        path=file.path,
        size=file.size,
        modified_ns=file.modified_ns,
        at=file.at,
    )


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
    """The row of a mark, also of a removed one; None if there is none."""
    query = "SELECT * FROM marks WHERE sha256 = ? AND mark = ?"
    row: Row | None = connection.execute(query, (sha256, identifier)).fetchone()
    return row


def mark_of(row: Row | None) -> Mark | None:
    """None if there is no row, the mark was removed, or its row is damaged."""
    if not row:
        return None
    return decoded(Mark, from_json(row["details"] or ""))
