"""Copies position, marks and questions to another version of a book's text, in which their words
are found again.

A quotation is found by its letters, whatever stands between them; one that changed, by unchanged
letters near its ends. Copying is safe to repeat.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from unicodedata import normalize

from gistread.book.cache import file_digest
from gistread.book.model import Book
from gistread.marking import TextQuote, quote_at
from gistread.store.model import AskingChoice, Citation, OpenedBook, ReadingPlace
from gistread.store.user_data import MarkStore, UserData

# Share of the quotes that must be found before a text of the same title counts as the same work
_SAME_WORK = 0.5
_DISTINCTIVE_LETTERS = 24  # A quotation with this many letters hardly recurs by chance
_MIN_AGREED = 0.5  # Share of the letters around a shorter one that must agree
_PIECE = 16  # Unchanged letters that show where a changed quotation begins or ends
_STEP = 8
_MOST_PLACES = 100
_WORD = 6  # Letters of the quotation that are compared


@dataclass(frozen=True)
class SearchableText:
    raw: str

    @cached_property
    def letters(self) -> str:
        return "".join(map(self._plain.__getitem__, self.raw))

    @cached_property
    def offsets(self) -> "array[int]":
        """Where each of the letters stands in the text."""
        return array(
            "I", (at for at, character in enumerate(self.raw) for _ in self._plain[character])
        )

    @cached_property
    def _plain(self) -> dict[str, str]:
        return {character: _letters_of(character) for character in set(self.raw)}


def find_quote(place: TextQuote, text: SearchableText, length: int) -> tuple[int, int] | None:
    """The range of the quotation in `text`, or None.

    `length`: size of the text it came from, to settle ties.
    """
    if place.exact and not any(map(str.isalnum, place.exact)):  # "***"
        at = text.raw.find(place.prefix + place.exact + place.suffix)
        if at >= 0:
            return (at + len(place.prefix), at + len(place.prefix) + len(place.exact))
        return None
    near = bisect_left(
        text.offsets, round(place.start * len(text.raw) / length) if length else place.start
    )
    prefix, exact, suffix = map(_letters_of, (place.prefix, place.exact, place.suffix))
    found = _occurrence(prefix, exact, suffix, text.letters, near) if exact else None
    found = found or _similar(prefix, exact, suffix, text.letters, near)
    if found is None:
        return None
    start, end = text.offsets[found[0]], text.offsets[found[1] - 1] + 1
    at = text.raw.find(place.exact, max(0, start - len(place.exact)), end + len(place.exact))
    return (at, at + len(place.exact)) if at >= 0 else (start, end)


def _occurrence(
    prefix: str, exact: str, suffix: str, letters: str, near: int
) -> tuple[int, int] | None:
    """The quotation where most of the letters around it agree; of equal places the nearest."""
    best = (-1.0, 0, 0)
    for at in _places(exact, letters):
        end = at + len(exact)
        agreed = _agreement(letters[max(0, at - len(prefix)) : at][::-1], prefix[::-1])
        agreed += _agreement(letters[end : end + len(suffix)], suffix)
        best = max(best, (agreed / max(1, len(prefix) + len(suffix)), -abs(at - near), at))
    is_sure = best[0] >= _MIN_AGREED or (best[0] >= 0 and len(exact) >= _DISTINCTIVE_LETTERS)
    return (best[2], best[2] + len(exact)) if is_sure else None


def _similar(
    prefix: str, exact: str, suffix: str, letters: str, near: int
) -> tuple[int, int] | None:
    """The letters between the two ends of a changed quotation."""
    sought, edge = prefix + exact + suffix, len(prefix)
    start = _end_at(sought, edge, letters, near)
    end = _end_at(sought, edge + len(exact), letters, near + len(exact)) if start else None
    if not (start and end):
        return None
    first, last = max(0, start[0]), min(end[0], len(letters))
    if not 0 < last - first <= 2 * len(exact) + _PIECE:
        return None
    found, words = (
        letters[first:last],
        [exact[at : at + _WORD] for at in range(0, len(exact), _WORD)],
    )
    is_sure = start[1] == end[1] == 0 or 2 * sum(word in found for word in words) >= len(words)
    return (first, last) if is_sure else None


def _end_at(sought: str, edge: int, letters: str, near: int) -> tuple[int, int] | None:
    """Where an edge of the quotation is, by the unchanged piece next to it, and the distance of
    that piece from it.
    """
    for distance in range(0, max(edge, len(sought) - edge), _STEP):
        for first in (edge - distance - _PIECE, edge + distance):
            if 0 <= first <= len(sought) - _PIECE:
                places = list(
                    islice(_places(sought[first : first + _PIECE], letters), _MOST_PLACES)
                )
                if places:
                    return min(places, key=lambda at: abs(at - near)) + edge - first, distance
    return None


def _places(part: str, letters: str) -> Iterator[int]:
    at = letters.find(part)
    while at >= 0:
        yield at
        at = letters.find(part, at + 1)


def _agreement(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _letters_of(text: str) -> str:
    """Letters and digits for comparison: "To-day" is "today"."""
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))


@dataclass(frozen=True, slots=True)
class MigratedData:
    source: str  # The SHA-256 of the earlier text
    marks: int
    lost: int
    questions: int


def migrate_user_data(
    book: Book, user_data: UserData, marks: MarkStore, *, file: str, path: Path | None
) -> MigratedData | None:
    """Copy the data of an earlier version, before storing this one; None if there is none.

    Raises StorageError.
    """
    earlier = earlier_versions(user_data, book, file=file, path=path)
    carried = (
        _migrate_from(book, old, user_data, marks, certain=bool(file) and old.file == file)
        for old in earlier
    )
    return next(filter(None, carried), None)


def carry_place(
    book: Book, old: Book, place: ReadingPlace, user_data: UserData, store: MarkStore, path: Path
) -> None:
    """Take marks, questions and the place in `old` along to another text of the same file.

    Unlike `migrate_user_data` also to a text that was read before. Raises StorageError.
    """
    if book.sha256 == old.sha256:
        return
    migrate_user_data(book, user_data, store, file=file_digest(path), path=path)
    text = SearchableText(book.text)
    length = len(old.text)
    span = find_quote(quote_at(old.text, place.offset), text, length)
    offset = span[0] if span else _proportional(place.offset, text, length)
    read = [
        (_proportional(start, text, length), _proportional(end, text, length))
        for start, end in place.read
    ]
    user_data.set_position(book.sha256, offset, quote_at(book.text, offset), read=read)
    along = user_data.reading_along(old.sha256)
    if along is not None:
        user_data.set_reading_along(book.sha256, along.model, along.along)


def earlier_versions(
    user_data: UserData, book: Book, *, file: str, path: Path | None
) -> list[OpenedBook]:
    """Other texts of probably the same book: by file, then path, then title and authors."""
    absolute = path.absolute() if path else None
    name = (_plain(book.title), sorted(map(_plain, book.authors)))

    def similarity(other: OpenedBook) -> int:
        if file and other.file == file:
            return 3
        if absolute and other.path == absolute:
            return 2
        return int(
            bool(book.authors) and (_plain(other.title), sorted(map(_plain, other.authors))) == name
        )

    others = [
        other
        for other in user_data.all_texts()
        if other.sha256 != book.sha256 and similarity(other)
    ]
    return sorted(others, key=similarity, reverse=True)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _migrate_from(
    book: Book, old: OpenedBook, user_data: UserData, store: MarkStore, *, certain: bool
) -> MigratedData | None:
    """None if the texts are not of one work, or nothing is stored. Raises StorageError."""
    text = SearchableText(book.text)
    marks = []
    for mark in store.marks(old.sha256):
        span = find_quote(mark.place, text, old.length)
        marks.append(
            replace(
                mark, place=quote_at(text.raw, *span) if span else mark.place, lost=span is None
            )
        )
    place = user_data.position_quote(old.sha256)
    here = find_quote(place, text, old.length) if place else None
    found = sum(not mark.lost for mark in marks) + (here is not None)
    sought = len(marks) + (place is not None)
    if not certain and found < max(1, _SAME_WORK * sought):
        return None
    questions = [
        replace(
            question,
            citations=tuple(
                _migrate_citation(citation, text, old.length) for citation in question.citations
            ),
            upto=None,  # unknown in the new text; a bounded follow-up does not see such an answer
            passage=None,
        )
        for question in user_data.questions(old.sha256)
    ]
    new = store.put_new(book.sha256, marks) if marks else []
    asked = user_data.add_questions(book.sha256, questions) if questions else 0
    user_data.correct_names(book.sha256, *user_data.name_corrections(old.sha256))
    nothing_chosen = AskingChoice()
    if user_data.asking_choice(book.sha256) == nothing_chosen:
        choice = user_data.asking_choice(old.sha256)
        if choice != nothing_chosen:
            user_data.choose_asking(book.sha256, choice)
    if old.position and not user_data.position(book.sha256):
        if here:
            offset = here[0]
        else:
            offset = min(_proportional(old.position, text, old.length), len(book.text))
        user_data.set_position(book.sha256, offset, quote_at(book.text, offset))
    return MigratedData(old.sha256, len(new), sum(mark.lost for mark in new), asked)


def _migrate_citation(citation: Citation, text: SearchableText, length: int) -> Citation:
    found = find_quote(
        TextQuote(citation.start, citation.end, citation.quote, "", ""), text, length
    )
    if found is None:
        near = _proportional(citation.start, text, length)
        found = near, near
    return replace(citation, start=found[0], end=found[1])


def _proportional(offset: int, text: SearchableText, length: int) -> int:
    return round(offset * len(text.raw) / length) if length else 0
