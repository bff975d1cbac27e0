"""Copies position, marks and questions to another version of a book's text.

Their words are found again there. A quotation is found by its letters, without the signs and spaces
between them; one that changed, by unchanged letters near its ends. Copying is safe to repeat.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from gistread.book.cache import file_digest
from gistread.book.model import Book
from gistread.marking import Mark, TextQuote, quote_at
from gistread.store.model import (
    AskingChoice,
    Citation,
    OpenedBook,
    ReadingPlace,
    SavedQuestion,
)
from gistread.store.user_data import MarkStore, UserData
from gistread.units import same_at_start

# Share of the quotes that must be found before a text of the same title counts as the same work
_SAME_WORK = 0.5
_DISTINCTIVE_LETTERS = 24  # A quotation with this many letters hardly recurs by chance
_MIN_AGREED = 0.5  # Share of the letters around a shorter one that must agree
_PIECE = 16  # Unchanged letters that show where a changed quotation begins or ends
_STEP = 8  # Letters from one piece to the next
_MOST_PLACES = 100  # At which a piece is looked for
_PART = 6  # Letters of the quotation that are compared


@dataclass(frozen=True)
class SearchableText:
    """A text whose letters can be searched, without the signs and spaces between them.

    >>> text = SearchableText("It’s — alive!")
    >>> text.letters, text.offsets.tolist()[:3]
    ('itsalive', [0, 1, 3])
    """

    raw: str

    @cached_property
    def letters(self) -> str:
        return "".join(map(self._letters_by_character.__getitem__, self.raw))

    @cached_property
    def offsets(self) -> "array[int]":
        """Where each of the letters is in the text."""
        offsets = (
            offset
            for offset, character in enumerate(self.raw)
            for _ in self._letters_by_character[character]
        )
        return array("I", offsets)

    @cached_property
    def _letters_by_character(self) -> dict[str, str]:
        """The letters for each character: `ﬁ` has two, a comma none."""
        return {character: _letters_of(character) for character in set(self.raw)}


def find_quote(
    place: TextQuote, text: SearchableText, length: int
) -> tuple[int, int] | None:
    """The range of the quotation in `text`, or None.

    `length`: size of the text it came from, to settle ties; 0 if unknown.
    """
    has_letters = any(map(str.isalnum, place.exact))
    if place.exact and not has_letters:
        return _find_signs(place, text.raw)
    expected = place.start
    if length:
        expected = _proportional(place.start, text, length)
    expected_letter = bisect_left(text.offsets, expected)
    quote = _Letters.of(place)
    letters_range: tuple[int, int] | None = None
    if quote.exact:
        letters_range = _occurrence(quote, text.letters, expected_letter)
    # An empty quotation is a place, which the letters around it show.
    if letters_range is None:
        letters_range = _similar(quote, text.letters, expected_letter)
    if letters_range is None:
        return None
    first, last = letters_range
    start = text.offsets[first]
    end = text.offsets[last - 1] + 1
    # The quotation itself, with its signs, if it is there unchanged
    size = len(place.exact)
    at = text.raw.find(place.exact, max(0, start - size), end + size)
    if at >= 0:
        return at, at + size
    return start, end


def _find_signs(place: TextQuote, raw: str) -> tuple[int, int] | None:
    """The range of a quotation without letters, such as `***`."""
    at = raw.find(place.prefix + place.exact + place.suffix)
    if at < 0:
        return None
    start = at + len(place.prefix)
    return start, start + len(place.exact)


@dataclass(frozen=True, slots=True)
class _Letters:
    """The letters of a quotation, and of what stands before and after it."""

    prefix: str
    exact: str
    suffix: str

    @classmethod
    def of(cls, place: TextQuote) -> "_Letters":
        return cls(
            prefix=_letters_of(place.prefix),
            exact=_letters_of(place.exact),
            suffix=_letters_of(place.suffix),
        )


class _Occurrence(NamedTuple):
    """A place with the very letters of a quotation; the best compares greatest."""

    agreed: float  # Share of the letters around it that agree
    nearness: int
    start: int


def _occurrence(
    quote: _Letters, letters: str, expected_letter: int
) -> tuple[int, int] | None:
    """The quotation where most of the letters around it agree; of equal places the nearest."""
    occurrences = (
        _Occurrence(_agreed_around(at, quote, letters), -abs(at - expected_letter), at)
        for at in _places(quote.exact, letters)
    )
    best = max(occurrences, default=None)
    if best is None:
        return None
    is_distinctive = len(quote.exact) >= _DISTINCTIVE_LETTERS
    if best.agreed < _MIN_AGREED and not is_distinctive:
        return None
    return best.start, best.start + len(quote.exact)


def _agreed_around(at: int, quote: _Letters, letters: str) -> float:
    """Share of the letters around a quotation that are also around this place."""
    end = at + len(quote.exact)
    before = letters[max(0, at - len(quote.prefix)) : at]
    after = letters[end : end + len(quote.suffix)]
    agreed_before = same_at_start(before[::-1], quote.prefix[::-1])
    agreed_after = same_at_start(after, quote.suffix)
    letters_around = len(quote.prefix) + len(quote.suffix)
    return (agreed_before + agreed_after) / max(1, letters_around)


class _Edge(NamedTuple):
    """Where a changed quotation begins or ends."""

    offset: int
    distance: int  # Of the unchanged piece that shows it


def _similar(
    quote: _Letters, letters: str, expected_letter: int
) -> tuple[int, int] | None:
    """The letters between the two ends of a changed quotation."""
    sought = quote.prefix + quote.exact + quote.suffix
    first_letter = len(quote.prefix)
    size = len(quote.exact)
    start = _edge_at(sought, first_letter, letters, expected_letter)
    if start is None:
        return None
    end = _edge_at(sought, first_letter + size, letters, expected_letter + size)
    if end is None:
        return None
    first = max(0, start.offset)
    last = min(end.offset, len(letters))
    is_too_long = last - first > 2 * size + _PIECE
    if first >= last or is_too_long:
        return None
    is_between_neighbours = start.distance == end.distance == 0
    if is_between_neighbours or _has_half(letters[first:last], quote.exact):
        return first, last
    return None


def _has_half(letters: str, exact: str) -> bool:
    """Whether at least half of the parts of a quotation are in these letters."""
    parts = [exact[at : at + _PART] for at in range(0, len(exact), _PART)]
    present = sum(part in letters for part in parts)
    return 2 * present >= len(parts)


def _edge_at(
    sought: str, edge: int, letters: str, expected_letter: int
) -> _Edge | None:
    """Where an edge of the quotation is, by the nearest unchanged piece before or after it."""
    last_start = len(sought) - _PIECE
    for distance in range(0, max(edge, len(sought) - edge), _STEP):
        before = edge - distance - _PIECE
        after = edge + distance
        for start in (before, after):
            if not 0 <= start <= last_start:
                continue
            piece = sought[start : start + _PIECE]
            places = list(islice(_places(piece, letters), _MOST_PLACES))
            if places:
                nearest = min(places, key=lambda at: abs(at - expected_letter))
                return _Edge(nearest + edge - start, distance)
    return None


def _places(part: str, letters: str) -> Iterator[int]:
    """Where a part is in the letters, one place after another."""
    at = letters.find(part)
    while at >= 0:
        yield at
        at = letters.find(part, at + 1)


def _letters_of(text: str) -> str:
    """Letters and digits for comparison: "To-day" is "today"."""
    plain = normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, plain))


@dataclass(frozen=True, slots=True)
class MigratedData:
    source: str  # The SHA-256 of the earlier text
    marks: int
    lost: int
    questions: int


def migrate_user_data(
    book: Book, user_data: UserData, store: MarkStore, *, file: str, path: Path | None
) -> MigratedData | None:
    """Copy the data of an earlier version of a book that was not opened before.

    None if there is no earlier version. Raises StorageError.
    """
    for old in earlier_versions(user_data, book, file=file, path=path):
        is_same_file = bool(file) and old.file == file
        migrated = _migrate_from(book, old, user_data, store, certain=is_same_file)
        if migrated is not None:
            return migrated
    return None


def carry_place(
    book: Book,
    old: Book,
    place: ReadingPlace,
    *,
    user_data: UserData,
    store: MarkStore,
    path: Path,
) -> None:
    """Copy marks, questions and the place in `old` to another text of the same file.

    Unlike `migrate_user_data`, also to a text that was opened before. Raises StorageError.
    """
    if book.sha256 == old.sha256:
        return
    migrate_user_data(book, user_data, store, file=file_digest(path), path=path)
    text = SearchableText(book.text)
    length = len(old.text)
    span = find_quote(quote_at(old.text, place.offset), text, length)
    offset = span[0] if span else _proportional(place.offset, text, length)
    read_ranges = [
        (_proportional(start, text, length), _proportional(end, text, length))
        for start, end in place.read
    ]
    user_data.set_position(
        book.sha256, offset, quote_at(book.text, offset), read=read_ranges
    )
    choice = user_data.reading_along(old.sha256)
    if choice is not None:
        user_data.set_reading_along(book.sha256, choice.model, choice.along)


def earlier_versions(
    user_data: UserData, book: Book, *, file: str, path: Path | None
) -> list[OpenedBook]:
    """Other texts of probably the same book: by file, then path, then title and authors."""
    absolute = path.absolute() if path else None

    def similarity(other: OpenedBook) -> int:
        """The greater, the surer; 0 if the texts have nothing in common."""
        if file and other.file == file:
            return 3
        if absolute and other.path == absolute:
            return 2
        if book.authors and _work_of(other) == _work_of(book):
            return 1
        return 0

    others = [other for other in user_data.all_texts() if other.sha256 != book.sha256]
    similar = [other for other in others if similarity(other)]
    return sorted(similar, key=similarity, reverse=True)


def _work_of(book: Book | OpenedBook) -> tuple[str, list[str]]:
    """Title and authors for comparison."""
    return _plain(book.title), sorted(map(_plain, book.authors))


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _migrate_from(
    book: Book, old: OpenedBook, user_data: UserData, store: MarkStore, *, certain: bool
) -> MigratedData | None:
    """Copy the data of another text; None if the texts are not of one work.

    `certain`: they are known to be. Raises StorageError.
    """
    text = SearchableText(book.text)
    marks = [_migrate_mark(mark, text, old.length) for mark in store.marks(old.sha256)]
    quotes_found = [not mark.lost for mark in marks]
    position: int | None = None
    quote = user_data.position_quote(old.sha256)
    if quote:
        span = find_quote(quote, text, old.length)
        position = span[0] if span else None
        quotes_found.append(span is not None)
    if not certain and not _is_same_work(quotes_found):
        return None
    new_marks = store.put_new(book.sha256, marks) if marks else []
    new_questions = _migrate_questions(book, old, user_data, text)
    user_data.correct_names(book.sha256, *user_data.name_corrections(old.sha256))
    _migrate_choice(book, old, user_data)
    if old.position and not user_data.position(book.sha256):
        if position is None:
            proportional = _proportional(old.position, text, old.length)
            position = min(proportional, len(book.text))
        user_data.set_position(book.sha256, position, quote_at(book.text, position))
    lost = sum(mark.lost for mark in new_marks)
    return MigratedData(old.sha256, len(new_marks), lost, new_questions)


def _is_same_work(quotes_found: Sequence[bool]) -> bool:
    """Whether a text is of one work with another one, by whether each quote of that is in it."""
    return sum(quotes_found) >= max(1, _SAME_WORK * len(quotes_found))


def _migrate_mark(mark: Mark, text: SearchableText, length: int) -> Mark:
    """A mark at its place in the text, or as lost; `length`: of the text it came from."""
    span = find_quote(mark.place, text, length)
    if span is None:
        return replace(mark, lost=True)
    return replace(mark, place=quote_at(text.raw, *span), lost=False)


def _migrate_questions(
    book: Book, old: OpenedBook, user_data: UserData, text: SearchableText
) -> int:
    """Copy the questions; returns how many are new."""
    questions = [
        _migrate_question(question, text, old.length)
        for question in user_data.questions(old.sha256)
    ]
    if not questions:
        return 0
    return user_data.add_questions(book.sha256, questions)


def _migrate_question(
    question: SavedQuestion, text: SearchableText, length: int
) -> SavedQuestion:
    """The question with its citations in the new text; `length`: of the text they came from."""
    citations = [
        _migrate_citation(citation, text, length) for citation in question.citations
    ]
    return replace(
        question,
        citations=tuple(citations),
        # Unknown in the new text; a bounded follow-up does not see such an answer.
        upto=None,
        passage=None,
        # Sections of the old text, and the decisions about them
        steps=(),
        steered=None,
    )


def _migrate_citation(
    citation: Citation, text: SearchableText, length: int
) -> Citation:
    """The citation at its place in the text, or about there if its words are not found."""
    place = TextQuote(citation.start, citation.end, citation.quote, "", "")
    span = find_quote(place, text, length)
    if span is None:
        near_offset = _proportional(citation.start, text, length)
        span = (near_offset, near_offset)
    start, end = span
    return replace(citation, start=start, end=end)


def _migrate_choice(book: Book, old: OpenedBook, user_data: UserData) -> None:
    """Copy how questions are answered, unless that is chosen here already."""
    no_choice = AskingChoice()
    choice = user_data.asking_choice(old.sha256)
    if choice == no_choice:
        return
    if user_data.asking_choice(book.sha256) == no_choice:
        user_data.choose_asking(book.sha256, choice)


def _proportional(offset: int, text: SearchableText, length: int) -> int:
    """The offset at the same share of this text; `length`: of the text it came from."""
    if not length:
        return 0
    return round(offset * len(text.raw) / length)
