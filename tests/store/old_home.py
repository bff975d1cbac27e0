"""A home as gistread 0.2.0 wrote it, byte by byte the same kinds of files."""

import hashlib
from pathlib import Path

from gistread.paths import Paths
from gistread.store.journal import Record, encode_line
from gistread.store.rows import encode_path

TEXT, OTHER = "a" * 64, "b" * 64  # SHA-256 of two texts


def write_old_home(paths: Paths, books: int = 2) -> None:
    """The data of a user with this many books, the first of them read, marked and asked about."""
    write_journal(
        paths.data / "books" / f"{TEXT}.jsonl",
        {"kind": "shelf", "version": 1},
        *_book_records(),
    )
    write_journal(
        paths.data / "marks" / f"{TEXT}.jsonl",
        {"kind": "marks", "version": 1},
        *_mark_records(),
    )
    files: list[Record] = [{"kind": "library", "version": 1}]
    for number in range(books):
        if number < 2:
            sha256 = (TEXT, OTHER)[number]
        else:
            sha256 = hashlib.sha256(b"%d" % number).hexdigest()
        files.append(_file_record(number, sha256))
        if number:
            opened = _opened(
                f"Book {number}", f"/books/{number}.txt", 1_700_000_000.0 + number
            )
            write_journal(
                paths.data / "books" / f"{sha256}.jsonl",
                {"kind": "shelf", "version": 1},
                opened,
            )
    files += [
        {"kind": "folder", "path": "/books"},
        {"kind": "removed", "ids": ["text:c", "file:c"], "at": 1_700_000_000.0},
        {"kind": "removed", "ids": ["text:d"], "at": 1_700_000_000.0},
        {"kind": "removed", "ids": ["text:d"], "at": 0.0},
    ]
    write_journal(paths.data / "library.jsonl", *files)
    pace: Record = {
        "kind": "pace",
        "version": 1,
        "language": "en",
        "words": 200.0,
        "seconds": 40.0,
    }
    write_journal(
        paths.data / "pace.jsonl",
        *[pace] * 10,
        pace | {"language": "de", "seconds": 60.0},
    )


def write_journal(path: Path, *records: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(encode_line, records)))


def _opened(title: str, path: str, at: float) -> Record:
    return {
        "kind": "opened",
        "title": title,
        "authors": ["A. Author", "雪"],
        "path": encode_path(Path(path)),
        "length": 5000,
        "file": "f" * 64,
        "at": at,
    }


def _book_records() -> list[Record]:
    words = {
        "start": 1234,
        "end": 1250,
        "exact": "the lamp went ou",
        "prefix": "that night ",
        "suffix": "t again",
    }
    question: Record = {
        "kind": "question",
        "question": "Who fell?",
        "answer": "",
        "found": False,
        "citations": [],
        "lookups": [],
        "reader": "readagent-s",
        "model": "starter",
        "memory": "starter",
        "asked_at": 1_700_000_100.5,
        "unsupported": [],
        "scope": "",
        "upto": 1300,
        "thread": 0.0,
        "pinned": [],
        "passage": None,
    }
    citation = {"page": 3, "start": 1200, "end": 1215, "quote": "Ada fell on the"}
    answered = question | {
        "answer": "Ada.",
        "found": True,
        "citations": [citation],
        "lookups": [3, 7],
    }
    first_version = {  # Records of 0.1 lack the later fields.
        "kind": "question",
        "question": "When?",
        "answer": "At night.",
        "found": True,
        "citations": [],
        "lookups": [],
        "reader": "gists",
        "model": "m",
        "asked_at": 1_600_000_000.0,
    }
    follow_up = answered | {
        "question": "And why?",
        "asked_at": 1_700_000_200.0,
        "thread": 1_700_000_100.5,
        "passage": [3, 9],
        "unsupported": [[0, 3]],
        "pinned": [2],
    }
    correction = {
        "kind": "name",
        "verb": "merge",
        "forms": ["Ada"],
        "other": "Miss Brennan",
    }
    return [
        _opened("The Lamp", "/books/caf\udce9.txt", 1_700_000_000.0),
        {"kind": "position", "offset": 800},
        first_version,
        question,
        {"kind": "zoom", "level": "chapters"},
        {"kind": "bound", "whole": True},
        {"kind": "reading", "model": "starter", "along": True},
        answered,
        follow_up,
        {"kind": "thread", "id": 1_700_000_100.5, "name": "The fall"},
        {"kind": "day", "id": "2026-11-21", "words": 300.0, "seconds": 60.0},
        {"kind": "day", "id": "2026-11-22", "words": 100.0, "seconds": 20.0},
        {"kind": "day", "id": "2026-11-22", "words": 500.0, "seconds": 100.0},
        {**correction, "id": 5.0},
        {**correction, "id": 6.0, "other": "Arthur"},
        {**correction, "id": 6.0, "other": "Arthur", "undone": True},
        {
            "kind": "position",
            "offset": 1234,
            "words": words,
            "read": [[0, 900], [1100, 1300]],
            "behind": [40],
        },
    ]


def _mark_records() -> list[Record]:
    place = {
        "start": 12,
        "end": 21,
        "exact": "the stair",
        "prefix": "fell on ",
        "suffix": " and broke",
    }
    mark: Record = {
        "id": "1",
        "kind": "highlight",
        "place": place,
        "color": "green",
        "note": "",
        "letter": "",
        "made_at": 1.0,
        "changed_at": 1.0,
        "lost": False,
    }
    return [
        mark,
        mark | {"id": "letter-a", "kind": "letter", "color": None, "letter": "a"},
        mark | {"id": "2", "kind": "bookmark", "color": None},
        mark | {"note": "Why?\n“quoted”", "changed_at": 2.0},
        {"kind": "gone", "id": "2", "changed_at": 3.0},
        mark | {"id": "3", "kind": "note", "color": None, "note": "lost", "lost": True},
    ]


def _file_record(number: int, sha256: str) -> Record:
    record: Record = {
        "kind": "file",
        "path": encode_path(Path(f"/books/{number}.txt")),
        "digest": f"{number:064x}",
        "size": 9,
        "modified_ns": 5,
        "title": f"Book {number}",
        "authors": [],
        "format": "text",
        "language": "en",
        "sha256": sha256,
        "words": 900,
        "length": 5000,
        "at": 1_700_000_000.0,
    }
    return record | ({"volumes": [["d" * 64, 10, 900]]} if number == 1 else {})
