"""User data (position, questions, name corrections …): one journal per book, named by the SHA-256 of its text."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from gistread.errors import StorageError
from gistread.journal import Journal, Record, check_version, decode_path, encode_path, list_files, read_records
from gistread.marking.model import TextQuote

_VERSION = 1
_WAIT_S = 2.0  # Seconds to wait for another process's write, which takes milliseconds
_SUPERSEDED = 50  # Number of replaced records that triggers a rewrite


@dataclass(frozen=True, slots=True)
class OpenedBook:
    sha256: str
    title: str
    authors: tuple[str, ...]
    path: Path | None  # Last known path; None for standard input
    position: int  # Offset into the book's text
    length: int  # Characters in the book's text
    opened_at: float  # Seconds since the epoch
    file: str = ""  # SHA-256 of the file's bytes; empty if unknown


@dataclass(frozen=True, slots=True)
class ReadingPlace:
    """The user's position in a book, and the parts they have read."""

    offset: int = 0
    read: tuple[tuple[int, int], ...] = ()  # (start, end) of each part that was read, sorted
    behind: tuple[int, ...] = ()  # Positions before the last jumps, to go back to

    @property
    def furthest(self) -> int:
        """End of the last part that was read, the position included."""
        return max([self.offset, *(end for _, end in self.read)])


@dataclass(frozen=True, slots=True)
class ReadAlongChoice:
    """Which model was chosen for a book, and whether it reads along."""

    model: str  # Path, name or address; empty for none
    along: bool


@dataclass(frozen=True, slots=True)
class ReadingDay:
    """What was read of a book on one day, by the calendar of this machine."""

    day: str  # ISO 8601, such as 2026-11-22
    words: float
    seconds: float


@dataclass(frozen=True, slots=True)
class SavedCitation:
    """A quote at `[start, end)` of the book's text; empty if another version of the text lacks it."""

    page: int
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    question: str
    answer: str  # Empty if it was interrupted
    found: bool  # False if the book does not say
    citations: tuple[SavedCitation, ...] = ()
    lookups: tuple[int, ...] = ()  # Page numbers the agent asked for, in that order
    reader: str = ""
    model: str = ""  # The model that answered
    memory: str = ""  # The model that had read the book; empty if none or unknown
    asked_at: float = 0.0  # Seconds since the epoch
    unsupported: tuple[tuple[int, int], ...] = ()  # (start, end) in the answer of unsupported statements
    scope: str = ""  # The part of the book that was searched, in words; empty for all of it
    upto: int | None = None  # The spoiler bound of the answer; None for the whole book
    thread: float = 0.0  # When the first question of its thread was asked; 0 for that question itself
    pinned: tuple[int, ...] = ()  # Pages pinned or looked up, to open again after an interruption
    passage: tuple[int, int] | None = None  # (start, end) of the selected text it is about


@dataclass(frozen=True, slots=True)
class SavedThread:
    """A question and its follow-ups."""

    id: float  # When its first question was asked
    questions: tuple[SavedQuestion, ...]
    name: str  # As given, or the first question


NameVerb = Literal["merge", "split", "rename", "hide"]


@dataclass(frozen=True, slots=True)
class NameCorrection:
    """A correction of the names of one person or place."""

    verb: NameVerb
    forms: tuple[str, ...]  # Its names in the book, the corrected one first
    other: str = ""  # For `merge` a name of the same person, for `rename` the new name
    made_at: float = 0.0  # Seconds since the epoch


NOT_SUPPORTED = "[Not supported by the text]"


def mark_unsupported(answer: str, places: Sequence[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The answer with `NOT_SUPPORTED` after each of these places, and (start, end) of each insertion."""
    text, last = "", 0
    marks: list[tuple[int, int]] = []
    for _, end in places:
        text += f"{answer[last:end]} {NOT_SUPPORTED}"
        marks.append((len(text) - len(NOT_SUPPORTED), len(text)))
        last = end
    return text + answer[last:], tuple(marks)


class UserData:
    """User data of all books, in a directory that may not exist yet. Raises StorageError."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.problem = ""  # Why the last listing left out some books; empty if it did not

    def record_opening(
        self, sha256: str, *, title: str, authors: Sequence[str], length: int, path: Path | None, file: str = ""
    ) -> None:
        """Record that a book of `length` characters was opened; `file` is the SHA-256 of its bytes."""
        encoded = encode_path(path.absolute()) if path else ""
        facts = {"title": title, "authors": list(authors), "path": encoded, "length": length, "file": file}
        self._append(sha256, {"kind": "opened", **facts, "at": time.time()})

    def position(self, sha256: str) -> int:
        return self.reading_place(sha256).offset

    def reading_place(self, sha256: str) -> ReadingPlace:
        """The last position and the parts read; for old records, everything before the position."""
        last = _last(self._read(sha256), "position")
        offset = int(last.get("offset", 0))
        read = tuple((start, end) for start, end in last.get("read", [(0, offset)] if offset else []))
        return ReadingPlace(offset, read, tuple(last.get("behind", ())))

    def set_position(
        self,
        sha256: str,
        offset: int,
        words: TextQuote | None = None,
        *,
        read: Iterable[tuple[int, int]] = (),
        behind: Iterable[int] = (),
    ) -> None:
        """Record a `ReadingPlace`; `words` quotes the text there, to find it in another version."""
        facts = {"words": asdict(words) if words else None, "read": [list(one) for one in read], "behind": list(behind)}
        known = {name: fact for name, fact in facts.items() if fact}
        self._append(sha256, {"kind": "position", "offset": offset, **known})

    def position_quote(self, sha256: str) -> TextQuote | None:
        """The quote at the last position; None if unknown."""
        words = _last(self._read(sha256), "position").get("words")
        return TextQuote(**words) if words else None

    def zoom(self, sha256: str) -> str:
        """The last zoom level of the memory; empty if never chosen."""
        return str(_last(self._read(sha256), "zoom").get("level", ""))

    def set_zoom(self, sha256: str, level: str) -> None:
        self._append(sha256, {"kind": "zoom", "level": level})

    def whole_book(self, sha256: str) -> bool | None:
        """Whether questions may draw on the whole book; None if never chosen."""
        return _last(self._read(sha256), "bound").get("whole")

    def set_whole_book(self, sha256: str, whole: bool) -> None:
        self._append(sha256, {"kind": "bound", "whole": whole})

    def reading_along(self, sha256: str) -> ReadAlongChoice | None:
        """The last choice for this book; None if never chosen."""
        last = _last(self._read(sha256), "reading")
        return ReadAlongChoice(str(last["model"]), bool(last["along"])) if last else None

    def set_reading_along(self, sha256: str, model: str, along: bool) -> None:
        self._append(sha256, {"kind": "reading", "model": model, "along": along})

    def reading_days(self, sha256: str) -> list[ReadingDay]:
        """The days on which the book was read, in order."""
        last = {record["id"]: record for record in self._read(sha256) if record["kind"] == "day"}
        return [ReadingDay(day, last[day]["words"], last[day]["seconds"]) for day in sorted(last)]

    def add_reading(self, sha256: str, words: float, seconds: float) -> None:
        """Add to today's reading."""
        today = f"{date.today():%Y-%m-%d}"

        def added(known: Sequence[Record]) -> Record:
            so_far = _last((record for record in known if record.get("id") == today), "day")
            total = {"words": so_far.get("words", 0) + words, "seconds": so_far.get("seconds", 0) + seconds}
            return {"kind": "day", "id": today, **total}

        self._append(sha256, added)

    def opened_at(self, sha256: str) -> float:
        """When the book was opened last, in seconds since the epoch; 0 if never."""
        return float(_last(self._read(sha256), "opened").get("at", 0))

    def add_question(self, sha256: str, question: SavedQuestion) -> None:
        record = asdict(question)
        record["asked_at"] = question.asked_at or time.time()
        self._append(sha256, {"kind": "question", **record})

    def add_questions(self, sha256: str, questions: Iterable[SavedQuestion]) -> int:
        """Record the questions that are not stored yet; returns their number."""
        known = {(one.asked_at, one.question) for one in self.questions(sha256)}
        new = [one for one in questions if (one.asked_at, one.question) not in known]
        for one in new:
            self.add_question(sha256, one)
        return len(new)

    def questions(self, sha256: str) -> list[SavedQuestion]:
        """In the order of asking."""
        asked = (_question(record) for record in self._read(sha256) if record["kind"] == "question")
        # The last record counts: it is written when a question is asked, and again with its answer.
        return list({(one.asked_at, one.question): one for one in asked}.values())

    def threads(self, sha256: str) -> list[SavedThread]:
        """The questions by thread; the thread continued last comes last."""
        threads: dict[float, list[SavedQuestion]] = {}
        for one in self.questions(sha256):
            key = one.thread or one.asked_at
            threads[key] = [*threads.pop(key, []), one]
        names = {record["id"]: str(record["name"]) for record in self._read(sha256) if record["kind"] == "thread"}
        return [SavedThread(key, tuple(found), names.get(key) or found[0].question) for key, found in threads.items()]

    def rename_thread(self, sha256: str, thread: float, name: str) -> None:
        """Name a thread; an empty name restores its first question."""
        self._append(sha256, {"kind": "thread", "id": thread, "name": " ".join(name.split())})

    def delete_thread(self, sha256: str, thread: float) -> None:
        file = self._file(sha256)
        with Journal(file, wait_s=_WAIT_S) as journal:
            journal.rewrite(record for record in journal.records if not _belongs_to(record, thread))

    def name_corrections(self, sha256: str) -> tuple[NameCorrection, ...]:
        """The corrections in the order made, without undone ones."""
        latest = {record["id"]: record for record in self._read(sha256) if record["kind"] == "name"}
        return tuple(
            NameCorrection(record["verb"], tuple(record["forms"]), record["other"], record["id"])
            for record in latest.values()
            if not record.get("undone")
        )

    def correct_name(self, sha256: str, one: NameCorrection, *, undone: bool = False) -> None:
        facts = {"verb": one.verb, "forms": list(one.forms), "other": one.other}
        record = {"kind": "name", "id": one.made_at or time.time(), **facts}
        self._append(sha256, record | ({"undone": True} if undone else {}))

    def add_name_corrections(self, sha256: str, corrections: Iterable[NameCorrection]) -> None:
        """Record new corrections; skips those recorded before, even if undone."""
        known = {record["id"] for record in self._read(sha256) if record["kind"] == "name"}
        for one in corrections:
            if one.made_at not in known:
                self.correct_name(sha256, one)

    def undo_name_correction(self, sha256: str) -> NameCorrection | None:
        """Take the last correction back and return it; None if there is none."""
        last = next(iter(self.name_corrections(sha256)[::-1]), None)
        if last is not None:
            self.correct_name(sha256, last, undone=True)
        return last

    def recent(self) -> list[OpenedBook]:
        """Readable opened books, the last opened first; for each file only the latest text."""
        seen: set[str] = set()
        books = []
        for book in self.all_texts():
            if not book.file or book.file not in seen:
                books.append(book)
            seen.add(book.file)
        return books

    def all_texts(self) -> list[OpenedBook]:
        """As `recent`, with every text of each file."""
        books: list[OpenedBook] = []
        self.problem = ""
        try:
            files = list_files(self._directory, "*.jsonl")
        except StorageError as error:
            files, self.problem = [], str(error)
        for file in files:
            try:
                book = _book(file.stem, self._read(file.stem))
            except StorageError as error:
                self.problem = str(error)
                continue
            if book is not None:
                books.append(book)
        return sorted(books, key=lambda book: book.opened_at, reverse=True)

    def _file(self, sha256: str) -> Path:
        return self._directory / f"{sha256}.jsonl"

    def _read(self, sha256: str) -> list[Record]:
        file = self._file(sha256)
        records, _ = read_records(file)
        return _valid_records(records, file)

    def _append(self, sha256: str, new: Record | Callable[[Sequence[Record]], Record]) -> None:
        """Append a record, or one computed from the known records."""
        file = self._file(sha256)
        with Journal(file, wait_s=_WAIT_S) as journal:
            known = _valid_records(journal.records, file)
            record = new if isinstance(new, dict) else new(known)
            if record == (_last(known, record["kind"]) or {"kind": "position", "offset": 0}):
                return
            if not any(one["kind"] == "shelf" for one in journal.records):
                journal.append({"kind": "shelf", "version": _VERSION}, record)
            elif len(compact := _compact([*known, record])) + _SUPERSEDED <= len(known):
                journal.rewrite([{"kind": "shelf", "version": _VERSION}, *compact])
            else:
                journal.append(record)


def _valid_records(records: Iterable[Record], file: Path) -> list[Record]:
    records = list(records)
    check_version(records, "shelf", _VERSION, file, "have this book's position and questions")
    return [record for record in records if record.get("kind") in _FIELDS and _FIELDS[record["kind"]] <= record.keys()]


# Required fields by kind of record.
_FIELDS = {
    "opened": {"title", "authors", "path", "length", "at"},
    "position": {"offset"},
    "zoom": {"level"},
    "bound": {"whole"},
    "reading": {"model", "along"},
    "thread": {"id", "name"},
    "day": {"id", "words", "seconds"},
    "name": {"id", "verb", "forms", "other"},
    "question": {"question", "answer", "found", "citations", "lookups", "reader", "model", "asked_at"},
}


def _compact(records: list[Record]) -> list[Record]:
    def key(record: Record) -> tuple[object, ...]:
        """The subject of a record; a later record with the same key replaces it."""
        return record["kind"], record.get("id"), record.get("asked_at"), record.get("question")

    last = {key(record): record for record in records}
    return [record for record in records if record is last[key(record)]]


def _belongs_to(record: Record, thread: float) -> bool:
    """Whether a record is a question of this thread, or its name."""
    if record.get("kind") == "question":
        return thread == (record.get("thread") or record.get("asked_at"))
    return record.get("kind") == "thread" and thread == record.get("id")


def _last(records: Iterable[Record], kind: str) -> Record:
    return next((record for record in reversed(list(records)) if record["kind"] == kind), {})


def _book(sha256: str, records: list[Record]) -> OpenedBook | None:
    opened = _last(records, "opened")
    if not opened:
        return None
    return OpenedBook(
        sha256=sha256,
        title=opened["title"],
        authors=tuple(opened["authors"]),
        path=decode_path(opened["path"]) if opened["path"] else None,
        position=int(_last(records, "position").get("offset", 0)),
        length=opened["length"],
        opened_at=opened["at"],
        file=opened.get("file", ""),
    )


def _question(record: Record) -> SavedQuestion:
    fields = {name: record[name] for name in _FIELDS["question"]}
    fields["citations"] = tuple(SavedCitation(**citation) for citation in record["citations"])
    fields["lookups"] = tuple(record["lookups"])
    fields["memory"] = record.get("memory", "")
    fields["unsupported"] = tuple((start, end) for start, end in record.get("unsupported", ()))
    fields["scope"] = str(record.get("scope", ""))
    fields["pinned"] = tuple(record.get("pinned", ()))
    fields["passage"] = tuple(record["passage"]) if record.get("passage") else None
    fields["upto"], fields["thread"] = record.get("upto"), float(record.get("thread", 0))
    return SavedQuestion(**fields)
