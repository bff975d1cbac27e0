"""What the user did with each book.

Where they are, when they read, what they asked, marked and corrected.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from gistread.errors import StorageError
from gistread.marking import Mark, TextQuote, merge_marks, sorted_marks
from gistread.paths import Paths
from gistread.store.database import Database
from gistread.store.model import (
    AskingChoice,
    BoundChoice,
    NameCorrection,
    OpenedBook,
    ReadAlongChoice,
    ReadingDay,
    ReadingPlace,
    SavedQuestion,
    SavedThread,
    merge_places,
)
from gistread.store.rows import (
    Connection,
    book_of,
    decoded,
    encode_path,
    from_json,
    mark_of,
    mark_row,
    place_of,
    put_correction,
    put_mark,
    put_question,
    put_row,
    question_of,
    to_json,
)

_MOMENT_S = 1e-3  # Minimum between versions of a mark
# The row of a text that has none yet
_NEW_TEXT = {
    "position": 0,
    "place": "{}",
    "bound": "{}",
    "along": "{}",
    "opened_at": 0.0,
}

# (marks, removed ones included; sum of the times of their last changes)
Stamp = tuple[int, float]


class UserData(Database):
    """Data of each book, by the SHA-256 of its text. The methods raise StorageError."""

    def __init__(self, paths: Paths) -> None:
        super().__init__(paths)
        self.problem = ""  # Why the last listing may miss books; empty if it does not

    def record_opening(
        self,
        sha256: str,
        *,
        title: str,
        authors: Sequence[str],
        length: int,
        path: Path | None,
        file: str = "",
    ) -> None:
        """Record that a book of `length` characters was opened.

        `file` is the SHA-256 of its bytes.
        """
        encoded = encode_path(path.absolute()) if path else ""
        columns = {
            "title": title,
            "authors": to_json(list(authors)),
            "path": encoded,
            "length": length,
            "file": file,
        }
        self._set(sha256, **columns, opened_at=time.time())

    def position(self, sha256: str) -> int:
        return self.reading_place(sha256).offset

    def reading_place(self, sha256: str) -> ReadingPlace:
        """The last position and the parts read."""
        return place_of(self._text(sha256))

    def set_position(
        self,
        sha256: str,
        offset: int,
        words: TextQuote | None = None,
        *,
        read: Iterable[tuple[int, int]] = (),
        behind: Iterable[int] = (),
        end: int = 0,
        base: ReadingPlace | None = None,
        chapter: str = "",
    ) -> None:
        """Record a `ReadingPlace`.

        `words` quotes the text there, to find it in another version; `chapter` is the title of its
        chapter. `base`: the place that was known before, to merge it with one that another process
        has stored since.
        """
        mine = ReadingPlace(offset, tuple(read), tuple(behind), end)
        about = {"words": words, "chapter": chapter}
        # Most calls change nothing, and need no transaction.
        known = self._text(sha256)
        merged = _merged_row(known, mine, about, base)
        if all(known[column] == value for column, value in merged.items()):
            return
        query = "SELECT * FROM texts WHERE sha256 = ?"
        with self.writing() as connection:
            # Once more: another process may have written since.
            row = connection.execute(query, (sha256,)).fetchone() or _NEW_TEXT
            columns = _merged_row(row, mine, about, base)
            put_row(connection, "texts", {"sha256": sha256}, columns)

    def position_quote(self, sha256: str) -> TextQuote | None:
        """The quote at the last position; None if unknown."""
        place = from_json(self._text(sha256)["place"])
        return decoded(TextQuote, place.get("words"))

    def bound_choice(self, sha256: str) -> BoundChoice | None:
        """Where answers about a book stop; None if never chosen."""
        return _bound_of(self._text(sha256))

    def bounds(self) -> dict[str, tuple[int, BoundChoice | None]]:
        """How far each text was read, and where its answers stop; None if never chosen."""
        return {
            row["sha256"]: (place_of(row).furthest, _bound_of(row))
            for row in self.rows("SELECT * FROM texts")
        }

    def choose_bound(self, sha256: str, choice: BoundChoice) -> None:
        self._set(sha256, bound=to_json(choice))

    def asking_choice(self, sha256: str) -> AskingChoice:
        """How questions about this book are answered; empty fields follow the settings."""
        rows = self.rows("SELECT choice FROM asking WHERE sha256 = ?", sha256)
        if not rows:
            return AskingChoice()
        choice = decoded(AskingChoice, from_json(rows[0]["choice"]))
        return choice or AskingChoice()

    def choose_asking(self, sha256: str, choice: AskingChoice) -> None:
        self.put_row("asking", {"sha256": sha256}, {"choice": to_json(choice)})

    def reading_along(self, sha256: str) -> ReadAlongChoice | None:
        """The last choice for this book; None if never chosen."""
        return decoded(ReadAlongChoice, from_json(self._text(sha256)["along"]))

    def set_reading_along(self, sha256: str, model: str, along: bool) -> None:
        self._set(sha256, along=to_json({"model": model, "along": along}))

    def reading_days(self) -> dict[str, list[ReadingDay]]:
        """The days on which each book was read, in order, by the SHA-256 of its text."""
        days: dict[str, list[ReadingDay]] = {}
        for row in self.rows("SELECT * FROM days ORDER BY day"):
            day = ReadingDay(row["day"], row["words"], row["seconds"])
            days.setdefault(row["sha256"], []).append(day)
        return days

    def add_reading(self, sha256: str, words: float, seconds: float) -> None:
        """Add to today's reading."""
        today = date.today().isoformat()
        keys = {"sha256": sha256, "day": today}
        nothing = {"words": 0.0, "seconds": 0.0}
        add = (
            "UPDATE days SET words = words + ?, seconds = seconds + ?"
            " WHERE sha256 = ? AND day = ?"
        )
        with self.writing() as connection:
            put_row(connection, "days", keys, nothing, again=False)
            connection.execute(add, (words, seconds, sha256, today))

    def opened_at(self, sha256: str) -> float:
        """When the book was opened last, in seconds since the epoch; 0 if never."""
        return float(self._text(sha256)["opened_at"])

    def add_question(self, sha256: str, question: SavedQuestion) -> None:
        """Record a question, or its answer: the time and words of a question identify it."""
        question = replace(question, asked_at=question.asked_at or time.time())
        with self.writing() as connection:
            put_question(connection, sha256, question)

    def add_questions(self, sha256: str, questions: Iterable[SavedQuestion]) -> int:
        """Record the questions that are not stored yet; returns their number."""
        with self.writing() as connection:
            return sum(
                put_question(connection, sha256, question, answer_again=False)
                for question in questions
            )

    def questions(self, sha256: str) -> list[SavedQuestion]:
        """In the order of asking."""
        query = (
            "SELECT details, question, answer, asked_at FROM questions"
            " WHERE sha256 = ? ORDER BY id"
        )
        questions: list[SavedQuestion] = []
        for row in self.rows(query, sha256):
            facts = from_json(row["details"]) | dict(row)
            question = question_of(facts)
            if question is not None:
                questions.append(question)
        return questions

    def last_asked(self) -> str:
        """The SHA-256 of the text of the last question; empty if there is none."""
        query = "SELECT sha256 FROM questions ORDER BY asked_at DESC LIMIT 1"
        rows = self.rows(query)
        return str(rows[0]["sha256"]) if rows else ""

    def threads(self, sha256: str) -> list[SavedThread]:
        """The questions by thread; the thread continued last comes last."""
        threads: dict[float, list[SavedQuestion]] = {}
        for question in self.questions(sha256):
            # Taken out and put back, a thread moves to the end of the dictionary.
            earlier = threads.pop(question.thread_id, [])
            threads[question.thread_id] = [*earlier, question]
        rows = self.rows("SELECT thread, name FROM threads WHERE sha256 = ?", sha256)
        names = {row["thread"]: row["name"] for row in rows}
        saved: list[SavedThread] = []
        for thread_id, questions in threads.items():
            first_question = " ".join(questions[0].question.split())
            name = names.get(thread_id) or first_question
            saved.append(SavedThread(thread_id, tuple(questions), name))
        return saved

    def rename_thread(self, sha256: str, thread: float, name: str) -> None:
        """Name a thread; with an empty name it is shown by its first question."""
        keys = {"sha256": sha256, "thread": thread}
        self.put_row("threads", keys, {"name": " ".join(name.split())})

    def delete_thread(self, sha256: str, thread: float) -> None:
        with self.writing() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            for table in ("questions", "threads"):
                delete = f"DELETE FROM {table} WHERE sha256 = ? AND thread = ?"
                connection.execute(delete, (sha256, thread))

    def name_corrections(self, sha256: str) -> tuple[NameCorrection, ...]:
        """The corrections in the order made, without undone ones."""
        query = "SELECT * FROM names WHERE sha256 = ? AND NOT undone ORDER BY id"
        corrections: list[NameCorrection] = []
        for row in self.rows(query, sha256):
            facts = from_json(row["correction"]) | {"made_at": row["made_at"]}
            correction = decoded(NameCorrection, facts)
            # 0.2 had other verbs, which are left out.
            if correction is not None:
                corrections.append(correction)
        return tuple(corrections)

    def correct_names(self, sha256: str, *corrections: NameCorrection) -> None:
        """Record corrections; skips those recorded before, even if undone."""
        with self.writing() as connection:
            for correction in corrections:
                put_correction(connection, sha256, correction)

    def undo_name_correction(self, sha256: str) -> NameCorrection | None:
        """Undo the last correction and return it; None if there is none."""
        corrections = self.name_corrections(sha256)
        if not corrections:
            return None
        last = corrections[-1]
        undo = "UPDATE names SET undone = 1 WHERE sha256 = ? AND made_at = ?"
        with self.writing() as connection:
            connection.execute(undo, (sha256, last.made_at))
        return last

    def positions(self) -> dict[str, int]:
        """The position in each text that has one; empty if they cannot be read."""
        try:
            rows = self.rows("SELECT sha256, position FROM texts WHERE position > 0")
        except StorageError:
            return {}
        return {row["sha256"]: row["position"] for row in rows}

    def recent(self) -> list[OpenedBook]:
        """Opened books, the last opened first; for each file only the latest text."""
        latest: dict[str, OpenedBook] = {}
        for book in self.all_texts():
            latest.setdefault(book.file or book.sha256, book)
        return list(latest.values())

    def all_texts(self) -> list[OpenedBook]:
        """Opened books, the last opened first, with every text of each file.

        `problem` says why there are none, or why some may be missing.
        """
        query = "SELECT * FROM texts WHERE opened_at > 0 ORDER BY opened_at DESC"
        try:
            rows = self.rows(query)
        except StorageError as error:
            self.problem = str(error)
            return []
        # Of a file that was damaged and repaired, some rows may be lost.
        self.problem = self.notice
        return list(filter(None, map(book_of, rows)))

    def _text(self, sha256: str) -> Mapping[str, Any]:
        """The row of a book's text; that of a new one if there is none."""
        rows = self.rows("SELECT * FROM texts WHERE sha256 = ?", sha256)
        return rows[0] if rows else _NEW_TEXT

    def _set(self, sha256: str, **columns: object) -> None:
        """Write these columns of the row of a book's text."""
        self.put_row("texts", {"sha256": sha256}, columns)


def _merged_row(
    row: Mapping[str, Any],
    mine: ReadingPlace,
    about: Mapping[str, object],
    base: ReadingPlace | None,
) -> dict[str, Any]:
    """The columns of a place, merged with those of a row; see `UserData.set_position`.

    `about`: the words at the place, and its chapter.
    """
    place = mine
    if base is not None:
        place = merge_places(mine, place_of(row), base)
        if place.offset != mine.offset:  # The stored place won.
            stored = from_json(row["place"])
            about = {name: stored.get(name) for name in about}
    fields = {
        **about,
        "read": list(place.read),
        "behind": list(place.behind),
        "end": place.end,
    }
    encoded = to_json({name: value for name, value in fields.items() if value})
    return {"position": place.offset, "place": encoded}


def _bound_of(row: Mapping[str, Any]) -> BoundChoice | None:
    """The choice in a row of `texts`; None if there is none."""
    facts = from_json(row["bound"])
    if not facts:
        return None
    return decoded(BoundChoice, facts)


class MarkStore(Database):
    """The marks of each book, by the SHA-256 of its text.

    Changes of two processes are merged. Its methods raise StorageError.
    """

    def marks(self, sha256: str) -> list[Mark]:
        """Marks of a book, by position."""
        query = "SELECT * FROM marks WHERE sha256 = ? AND details IS NOT NULL"
        marks = [mark_of(row) for row in self.rows(query, sha256)]
        return sorted_marks([mark for mark in marks if mark is not None])

    def stamp(self, sha256: str) -> Stamp:
        """A value that changes with the marks of a book."""
        query = "SELECT count(*), total(changed_at) FROM marks WHERE sha256 = ?"
        [(count, total)] = self.rows(query, sha256)
        return count, total

    def put(self, sha256: str, mark: Mark, base: Mark | None = None) -> Mark:
        """Store a mark, merged with changes made since `base`, and return the result."""
        with self.writing() as connection:
            return _put_merged(connection, sha256, mark, base)

    def put_all(self, sha256: str, marks: Iterable[Mark]) -> None:
        """Store the marks, as `put` does, in one transaction."""
        with self.writing() as connection:
            for mark in marks:
                _put_merged(connection, sha256, mark, base=None)

    def put_new(self, sha256: str, marks: Iterable[Mark]) -> list[Mark]:
        """Store the marks with new ids and return them."""
        with self.writing() as connection:
            new_marks = [
                mark for mark in marks if mark_row(connection, sha256, mark.id) is None
            ]
            for mark in new_marks:
                put_mark(connection, sha256, mark.id, mark.changed_at, mark)
        return new_marks

    def remove(self, sha256: str, mark: Mark) -> Mark:
        """Remove a mark and return its last version; `put` restores it."""
        with self.writing() as connection:
            last = mark_of(mark_row(connection, sha256, mark.id)) or mark
            removed_at = max(time.time(), last.changed_at + _MOMENT_S)
            put_mark(connection, sha256, mark.id, removed_at, None)
        return last


def _put_merged(
    connection: Connection, sha256: str, mark: Mark, base: Mark | None
) -> Mark:
    """Write a mark, merged with changes made since `base`, and return the result."""
    known = mark_row(connection, sha256, mark.id)
    mark = merge_marks(mark, mark_of(known), base)
    if known and known["changed_at"] >= mark.changed_at:
        mark = replace(mark, changed_at=known["changed_at"] + _MOMENT_S)
    put_mark(connection, sha256, mark.id, mark.changed_at, mark)
    return mark
