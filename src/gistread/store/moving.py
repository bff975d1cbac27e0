"""Copies position, marks and questions to another version of a book's text. Safe to repeat."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from gistread.marking.anchors import SearchableText, find_quote
from gistread.marking.model import Mark, TextQuote, quote_at
from gistread.store.evidence import Citation
from gistread.store.marks import MarkStore
from gistread.store.model import OpenedBook
from gistread.store.user_data import UserData

_SAME_WORK = 0.5  # Share of the quotes that must be found before a text of the same title counts as the same work


class BookText(Protocol):
    """What is needed of a `Book`."""

    @property
    def text(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def authors(self) -> tuple[str, ...]: ...
    @property
    def sha256(self) -> str: ...


@dataclass(frozen=True, slots=True)
class MigratedData:
    title: str
    marks: int
    lost: int
    questions: int


def migrate_user_data(
    book: BookText, user_data: UserData, marks: MarkStore, *, file: str, path: Path | None
) -> MigratedData | None:
    """Copy the data of an earlier version, before storing this one; None if there is none. Raises StorageError."""
    for old in earlier_versions(user_data, book, file=file, path=path):
        if (carried := _migrate_from(book, old, user_data, marks, certain=bool(file) and old.file == file)) is not None:
            return carried
    return None


def earlier_versions(user_data: UserData, book: BookText, *, file: str, path: Path | None) -> list[OpenedBook]:
    """Other texts of probably the same book: by file, then path, then title and authors."""
    absolute = path.absolute() if path else None
    name = (_plain(book.title), sorted(map(_plain, book.authors)))

    def similarity(other: OpenedBook) -> int:
        if file and other.file == file:
            return 3
        if absolute and other.path == absolute:
            return 2
        return int(bool(book.authors) and (_plain(other.title), sorted(map(_plain, other.authors))) == name)

    others = [other for other in user_data.all_texts() if other.sha256 != book.sha256 and similarity(other)]
    return sorted(others, key=similarity, reverse=True)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _migrate_from(
    book: BookText, old: OpenedBook, user_data: UserData, store: MarkStore, *, certain: bool
) -> MigratedData | None:
    """None if the texts are not of one work, or nothing is stored. Raises StorageError."""
    text = SearchableText(book.text)
    marks = [_migrate_mark(mark, text, old.length) for mark in store.marks(old.sha256)]
    place = user_data.position_quote(old.sha256)
    here = find_quote(place, text, old.length) if place else None
    found = sum(not mark.lost for mark in marks) + (here is not None)
    sought = len(marks) + (place is not None)
    if not certain and found < max(1, _SAME_WORK * sought):
        return None
    questions = [
        replace(
            question,
            citations=tuple(_migrate_citation(one, text, old.length) for one in question.citations),
            upto=None,  # unknown in the new text; a bounded follow-up does not see such an answer
            passage=None,
        )
        for question in user_data.questions(old.sha256)
    ]
    new = store.put_new(book.sha256, marks) if marks else []
    asked = user_data.add_questions(book.sha256, questions) if questions else 0
    user_data.add_name_corrections(book.sha256, user_data.name_corrections(old.sha256))
    if old.position and not user_data.position(book.sha256):
        offset = here[0] if here else min(_proportional(old.position, text, old.length), len(book.text))
        user_data.set_position(book.sha256, offset, quote_at(book.text, offset))
    return MigratedData(old.title, len(new), sum(mark.lost for mark in new), asked)


def _migrate_mark(mark: Mark, text: SearchableText, length: int) -> Mark:
    found = find_quote(mark.place, text, length)
    if found is None:
        return replace(mark, lost=True)
    return replace(mark, place=quote_at(text.raw, *found), lost=False)


def _migrate_citation(citation: Citation, text: SearchableText, length: int) -> Citation:
    found = find_quote(TextQuote(citation.start, citation.end, citation.quote, "", ""), text, length)
    if found is None:
        near = _proportional(citation.start, text, length)
        found = near, near
    return replace(citation, start=found[0], end=found[1])


def _proportional(offset: int, text: SearchableText, length: int) -> int:
    return round(offset * len(text.raw) / length) if length else 0
