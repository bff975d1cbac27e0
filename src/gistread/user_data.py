"""What the person keeps of each book: where they are in it, when they opened it, what they asked.

One journal a book in the data directory, never in the cache: clearing the cache loses work of the machine only.
The file is open for no longer than one write, so two gistreads may have the same book open; the later write
holds. Its records stand for themselves, and a damaged line costs that line alone.

A book is known here by the SHA-256 of its text and by plain values; what a book is, this does not know.
Failing to write is a StorageError, to be shown once and never to stop the reading.
"""

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from gistread.errors import StorageError
from gistread.journal import Journal, Record, read
from gistread.marking.text_quote import TextQuote

_VERSION = 1
_WAIT_S = 2.0
"""How long a write waits for another gistread's; each takes a few milliseconds."""
_SUPERSEDED = 50
"""Positions that were replaced by later ones, before the file is written anew without them."""


@dataclass(frozen=True, slots=True)
class OpenedBook:
    """A book that was opened before."""

    sha256: str
    title: str
    authors: tuple[str, ...]
    path: Path | None
    """Where its file lay then; None for standard input."""
    position: int
    """Offset into the book's text."""
    length: int
    """Characters in the book's text."""
    opened_at: float
    """Seconds since the epoch."""
    file: str = ""
    """SHA-256 of the file's bytes; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class SavedCitation:
    """A quote at `[start, end)` of the book's text. Where another version of the text lacks it, `start == end`."""

    page: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question and what came of it."""

    question: str
    answer: str
    found: bool
    """False: the book did not say."""
    citations: tuple[SavedCitation, ...] = ()
    lookups: tuple[int, ...] = ()
    """Pages that the agent asked for, in that order."""
    reader: str = ""
    model: str = ""
    """Who answered."""
    memory: str = ""
    """Who had read the book for it; empty: nobody, or that is not known."""
    asked_at: float = 0.0
    """Seconds since the epoch."""


class UserData:
    """The person's books, in a directory that may not exist yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def opened(
        self, sha256: str, *, title: str, authors: Sequence[str], length: int, path: Path | None, file: str = ""
    ) -> None:
        """The person opens a book of `length` characters, from a file with this SHA-256. Raises StorageError."""
        # Quoted, since the name of a file may hold bytes that are no text.
        where = quote(os.fsencode(path.absolute())) if path else ""
        facts = {"title": title, "authors": list(authors), "path": where, "length": length, "file": file}
        self._append(sha256, {"kind": "opened", **facts, "at": time.time()})

    def position(self, sha256: str) -> int:
        """Offset where the person was, 0 for a book they never opened. Raises StorageError."""
        return _position(self._read(sha256))

    def set_position(self, sha256: str, offset: int, words: TextQuote | None = None) -> None:
        """`words` are those that stand there, to find them in another version of the text. Raises StorageError."""
        place = {"words": asdict(words)} if words else {}
        self._append(sha256, {"kind": "position", "offset": offset, **place})

    def place(self, sha256: str) -> TextQuote | None:
        """The position with the words that stand there; None where these are not known. Raises StorageError."""
        records = [record for record in self._read(sha256) if record["kind"] == "position"]
        words = records[-1].get("words") if records else None
        return TextQuote(**words) if words else None

    def zoom(self, sha256: str) -> str:
        """From how far away they looked at the book's memory; empty where they never chose. Raises StorageError."""
        levels = [str(record["level"]) for record in self._read(sha256) if record["kind"] == "zoom"]
        return levels[-1] if levels else ""

    def set_zoom(self, sha256: str, level: str) -> None:
        """Raises StorageError."""
        self._append(sha256, {"kind": "zoom", "level": level})

    def knows(self, sha256: str) -> bool:
        """Whether the book was opened before. Raises StorageError."""
        return any(record["kind"] == "opened" for record in self._read(sha256))

    def add_question(self, sha256: str, question: SavedQuestion) -> None:
        """Raises StorageError. An `asked_at` of 0 becomes now."""
        record = asdict(question)
        record["asked_at"] = question.asked_at or time.time()
        self._append(sha256, {"kind": "question", **record})

    def add_questions(self, sha256: str, questions: Iterable[SavedQuestion]) -> int:
        """Those of them that are not there yet, by when they were asked; how many. Raises StorageError."""
        known = {(one.asked_at, one.question) for one in self.questions(sha256)}
        new = [one for one in questions if (one.asked_at, one.question) not in known]
        for one in new:
            self.add_question(sha256, one)
        return len(new)

    def questions(self, sha256: str) -> list[SavedQuestion]:
        """In the order in which they were asked. Raises StorageError."""
        asked = (_question(record) for record in self._read(sha256) if record["kind"] == "question")
        # Two gistreads may have carried them over from another text at once.
        return list({(one.asked_at, one.question): one for one in asked}.values())

    def recent(self) -> list[OpenedBook]:
        """The books that were opened, the last first. A file that cannot be read is passed over.

        Of two texts that were taken from the same file, by other versions of gistread, the later one.
        """
        seen: set[str] = set()
        books = []
        for book in self.every():
            if not book.file or book.file not in seen:
                books.append(book)
            seen.add(book.file)
        return books

    def every(self) -> list[OpenedBook]:
        """As `recent`, with every text that was ever taken from a file."""
        books = []
        try:
            files = sorted(self._directory.glob("*.jsonl"))
        except OSError:
            return []
        for file in files:
            try:
                book = _book(file.stem, self._read(file.stem))
            except StorageError:
                continue
            if book is not None:
                books.append(book)
        return sorted(books, key=lambda book: book.opened_at, reverse=True)

    def _file(self, sha256: str) -> Path:
        return self._directory / f"{sha256}.jsonl"

    def _read(self, sha256: str) -> list[Record]:
        file = self._file(sha256)
        records, _ = read(file, independent=True)
        return _checked(records, file)

    def _append(self, sha256: str, record: Record) -> None:
        file = self._file(sha256)
        with Journal(file, independent=True, wait_s=_WAIT_S) as journal:
            known = _checked(journal.records, file)
            if record["kind"] == "position" and _position(known) == record["offset"]:
                return
            if not any(one["kind"] == "shelf" for one in journal.records):
                journal.append({"kind": "shelf", "version": _VERSION}, record)
            elif len(compact := _compact([*known, record])) + _SUPERSEDED <= len(known):
                journal.rewrite([{"kind": "shelf", "version": _VERSION}, *compact])
            else:
                journal.append(record)


def _checked(records: Iterable[Record], file: Path) -> list[Record]:
    """The records of this version. Raises StorageError where a later gistread wrote the file."""
    known = []
    for record in records:
        if record.get("kind") == "shelf":
            if record.get("version") != _VERSION:
                raise StorageError(
                    f"{file.name} was written by a later gistread and is left as it is.",
                    "Update gistread to have this book's position and questions.",
                )
        elif _FIELDS.get(record.get("kind", ""), {""}) <= record.keys():
            known.append(record)
    return known


_FIELDS = {
    "opened": {"title", "authors", "path", "length", "at"},
    "position": {"offset"},
    "zoom": {"level"},
    "question": {"question", "answer", "found", "citations", "lookups", "reader", "model", "asked_at"},
}
"""What each kind of record holds."""


def _compact(records: list[Record]) -> list[Record]:
    """Without what a later record replaced: the last opening, the last position, every question."""
    last = {record["kind"]: record for record in records if record["kind"] != "question"}
    return [record for record in records if record["kind"] == "question" or record is last[record["kind"]]]


def _position(records: Iterable[Record]) -> int:
    offset = 0
    for record in records:
        if record["kind"] == "position":
            offset = record["offset"]
    return offset


def _book(sha256: str, records: list[Record]) -> OpenedBook | None:
    opened: dict[str, Any] | None = None
    for record in records:
        if record["kind"] == "opened":
            opened = record
    if opened is None:
        return None
    return OpenedBook(
        sha256=sha256,
        title=opened["title"],
        authors=tuple(opened["authors"]),
        path=Path(os.fsdecode(unquote_to_bytes(opened["path"]))) if opened["path"] else None,
        position=_position(records),
        length=opened["length"],
        opened_at=opened["at"],
        file=opened.get("file", ""),
    )


def _question(record: Record) -> SavedQuestion:
    fields = {name: record[name] for name in _FIELDS["question"]}
    fields["citations"] = tuple(SavedCitation(**citation) for citation in record["citations"])
    fields["lookups"] = tuple(record["lookups"])
    fields["memory"] = record.get("memory", "")
    return SavedQuestion(**fields)
