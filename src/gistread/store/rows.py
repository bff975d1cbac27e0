"""Rows of the database, and what they hold. Reading a damaged row gives None or what is left of it."""

import os
import sqlite3
import time
from contextlib import suppress
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, unquote_to_bytes

import orjson

from gistread.marking.model import Color, Mark, MarkKind, TextQuote
from gistread.store.evidence import AnswerMark, AnswerMarkKind, Citation
from gistread.store.model import (
    BookFile,
    NameCorrection,
    NameVerb,
    OpenedBook,
    ReadingPlace,
    SavedQuestion,
    VolumeText,
)

Connection = sqlite3.Connection
Row = sqlite3.Row


def add_text(connection: Connection, sha256: str) -> None:
    """Have a row of the book's text for others to refer to."""
    connection.execute("INSERT OR IGNORE INTO texts (sha256) VALUES (?)", (sha256,))


def to_json(value: object) -> str:
    return orjson.dumps(value).decode()


def from_json(text: str) -> dict[str, Any]:
    """An object; an empty one if the text is damaged."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def from_json_list(text: str) -> list[str]:
    """A list of strings; an empty one if the text is damaged."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    return [str(one) for one in value] if isinstance(value, list) else []


def encode_path(path: Path) -> str:
    """A path as text, percent-encoded, since file names may hold bytes that are not text."""
    return quote(os.fsencode(path))


def decode_path(text: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(text)))


def put_question(connection: Connection, sha256: str, one: SavedQuestion, *, answer_again: bool = True) -> None:
    """Write a question. One asked at the same time gets this answer, unless not `answer_again`."""
    details = {name: value for name, value in asdict(one).items() if name not in ("question", "answer", "asked_at")}
    answered = "UPDATE SET answer = excluded.answer, details = excluded.details" if answer_again else "NOTHING"
    connection.execute(
        "INSERT INTO questions (sha256, asked_at, question, thread, answer, details) VALUES (?, ?, ?, ?, ?, ?)"
        f" ON CONFLICT (sha256, asked_at, question) DO {answered}",
        (sha256, one.asked_at, one.question, one.thread or one.asked_at, one.answer, to_json(details)),
    )


def put_correction(connection: Connection, sha256: str, one: NameCorrection, *, undone: bool = False) -> None:
    """Write a correction, unless it is known."""
    facts = to_json({"verb": one.verb, "forms": one.forms, "other": one.other})
    connection.execute(
        "INSERT OR IGNORE INTO names (sha256, made_at, correction, undone) VALUES (?, ?, ?, ?)",
        (sha256, one.made_at or time.time(), facts, undone),
    )


def place_of(row: Row) -> ReadingPlace:
    offset, place = row["position"], from_json(row["place"])
    with suppress(TypeError, ValueError):
        read = tuple((int(start), int(end)) for start, end in place.get("read", [(0, offset)] if offset else []))
        return ReadingPlace(offset, read, tuple(map(int, place.get("behind", ()))))
    return ReadingPlace(offset)


def book_of(row: Row) -> OpenedBook:
    return OpenedBook(
        sha256=row["sha256"],
        title=row["title"],
        authors=tuple(from_json_list(row["authors"])),
        path=decode_path(row["path"]) if row["path"] else None,
        position=row["position"],
        length=row["length"],
        opened_at=row["opened_at"],
        file=row["file"],
    )


def question_of(row: Row) -> SavedQuestion | None:
    """None if the row is damaged."""
    with suppress(KeyError, TypeError, ValueError):
        named = {name: row[name] for name in ("question", "answer", "asked_at")}
        return question_from(from_json(row["details"]) | named)
    return None


def question_from(facts: dict[str, Any]) -> SavedQuestion:
    """The question with these fields; later ones may be missing. Raises KeyError, TypeError and ValueError."""
    passage = facts.get("passage")
    return SavedQuestion(
        question=str(facts["question"]),
        answer=str(facts["answer"]),
        found=bool(facts["found"]),
        citations=tuple(Citation(**one) for one in facts["citations"]),
        lookups=tuple(facts["lookups"]),
        reader=str(facts["reader"]),
        model=str(facts["model"]),
        memory=str(facts.get("memory", "")),
        asked_at=float(facts["asked_at"]),
        marks=tuple(
            AnswerMark(**{**one, "kind": AnswerMarkKind(one["kind"])})
            for one in facts.get("marks") or map(_mark_of_old, facts.get("unsupported", ()))
        ),
        scope=str(facts.get("scope", "")),
        upto=facts.get("upto"),
        thread=float(facts.get("thread", 0)),
        pinned=tuple(facts.get("pinned", ())),
        passage=(passage[0], passage[1]) if passage else None,
    )


def _mark_of_old(span: tuple[int, int]) -> dict[str, Any]:
    """The mark for an unsupported statement of 0.2."""
    return {"start": span[0], "end": span[1], "kind": "statement", "message": "not supported by the text"}


def correction_of(row: Row) -> NameCorrection | None:
    """None if the row is damaged, or of a kind that 0.2 alone had."""
    known = from_json(row["correction"])
    with suppress(KeyError, TypeError):
        if known["verb"] not in get_args(NameVerb):
            return None
        return NameCorrection(known["verb"], tuple(known["forms"]), known["other"], row["made_at"])
    return None


def put_file(connection: Connection, file: BookFile) -> None:
    """Write a file; what is known of its text stays if the file was not opened again."""
    file = replace(file, at=file.at or time.time())
    before = connection.execute("SELECT * FROM files WHERE digest = ?", (file.digest,)).fetchone()
    known = file_of(before) if before else None
    if known is not None and known.sha256:
        if file.sha256:
            file = replace(file, language=file.language or known.language)
        else:
            file = replace(known, path=file.path, size=file.size, modified_ns=file.modified_ns, at=file.at)
    details = asdict(file) | {"path": encode_path(file.path), "volumes": list(map(astuple, file.volumes))}
    connection.execute(
        "INSERT INTO files (digest, sha256, recorded_at, path, details) VALUES (?, ?, ?, ?, ?) ON CONFLICT (digest)"
        " DO UPDATE SET sha256 = excluded.sha256, recorded_at = excluded.recorded_at, path = excluded.path,"
        " details = excluded.details",
        (file.digest, file.sha256, file.at, encode_path(file.path), to_json(details)),
    )


def file_of(row: Row) -> BookFile | None:
    """None if the row is damaged."""
    with suppress(KeyError, TypeError, ValueError):
        return file_from(from_json(row["details"]))
    return None


def file_from(facts: dict[str, Any]) -> BookFile:
    """The file with these fields. Raises KeyError, TypeError and ValueError."""
    known: dict[str, Any] = {name: str(facts[name]) for name in ("digest", "title", "format", "language", "sha256")}
    known |= {name: int(facts[name]) for name in ("size", "modified_ns", "words", "length")}
    volumes = tuple(VolumeText(str(sha), int(start), int(end)) for sha, start, end in facts.get("volumes", ()))
    authors = tuple(map(str, facts["authors"]))
    return BookFile(decode_path(facts["path"]), authors=authors, volumes=volumes, at=float(facts["at"]), **known)


def has_mark(connection: Connection, sha256: str, identifier: str) -> bool:
    """Whether there is or was such a mark."""
    return mark_row(connection, sha256, identifier) is not None


def put_mark(connection: Connection, sha256: str, mark: Mark) -> None:
    """Write a mark in place of its earlier version."""
    _put_mark(connection, sha256, mark.id, mark.changed_at, to_json(asdict(mark)))


def remove_mark(connection: Connection, sha256: str, identifier: str, at: float) -> None:
    """Write that a mark was removed, which no import may undo."""
    _put_mark(connection, sha256, identifier, at, None)


def _put_mark(connection: Connection, sha256: str, identifier: str, changed_at: float, details: str | None) -> None:
    add_text(connection, sha256)
    connection.execute(
        "INSERT INTO marks (sha256, mark, changed_at, details) VALUES (?, ?, ?, ?) ON CONFLICT (sha256, mark)"
        " DO UPDATE SET changed_at = excluded.changed_at, details = excluded.details",
        (sha256, identifier, changed_at, details),
    )


def mark_row(connection: Connection, sha256: str, identifier: str) -> Row | None:
    query = "SELECT * FROM marks WHERE sha256 = ? AND mark = ?"
    row: Row | None = connection.execute(query, (sha256, identifier)).fetchone()
    return row


def mark_of_row(row: Row) -> Mark | None:
    """None if the mark was removed, or its row is damaged."""
    return mark_of(from_json(row["details"])) if row["details"] is not None else None


def mark_of(facts: dict[str, Any]) -> Mark | None:
    """The mark with these fields; None if one is missing or impossible."""
    try:
        return Mark(
            id=str(facts["id"]),
            kind=MarkKind(facts["kind"]),
            place=TextQuote(**facts["place"]),
            color=Color(facts["color"]) if facts["color"] else None,
            **{name: facts[name] for name in ("note", "letter", "made_at", "changed_at", "lost")},
        )
    except (KeyError, TypeError, ValueError):
        return None
