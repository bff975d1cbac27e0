"""Finds highlights and notes of other programs in a book, by their words and their places."""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gistread.book.model import Book
from gistread.library.entries import words_of
from gistread.library.exported_marks import is_letter_elsewhere, known_mark, placed_mark
from gistread.library.moving import SearchableText, find_quote
from gistread.library.note_files import ForeignNote, joined_notes
from gistread.marking import Mark, MarkKind, TextQuote, new_mark, quote_at, with_changes
from gistread.units import stripped_range

# Letters between a pointer and its words: other programs count some differently
_CLOSE = 200
# A note, and where its pointer leads in the book
_Pointed = tuple[ForeignNote, int | None]


@dataclass(frozen=True, slots=True)
class PlacedNotes:
    marks: tuple[Mark, ...]  # New ones
    annotated: tuple[Mark, ...]  # Known highlights with a note that they did not have
    known: int  # Highlights that the book has already
    lost: tuple[ForeignNote, ...]  # Their words are not in the book
    bookmarks: int  # Left out: they have no words by which their places could be found
    # Letter marks left out: each letter marks another place of the book already
    letters: tuple[Mark, ...] = ()


def notes_of_book(notes: Iterable[ForeignNote], book: Book) -> list[ForeignNote]:
    """Those whose text or title is that of the book, or that have no title.

    One title may have a subtitle or an author beside the other.
    """
    of_book = words_of(book.title)

    def is_of_book(note: ForeignNote) -> bool:
        if note.exported is not None and note.exported.sha256 == book.sha256:
            return True
        title = words_of(note.title)
        shared = min(len(title), len(of_book))
        return not title or title[:shared] == of_book[:shared]

    return [note for note in notes if is_of_book(note)]


def place_notes(
    book: Book,
    notes: Sequence[ForeignNote],
    marks: Sequence[Mark],
    offset_of: Callable[[str], int | None] | None = None,
) -> PlacedNotes:
    """Find notes by their words, nearest to their places.

    `marks`: those that the book has. `offset_of` reads the pointer of a note: an offset in the
    book, or None. Bookmarks are found only with it.
    """
    text = SearchableText(book.text)
    own = _place_exported(book, notes, marks, text)
    pointed = [
        (note, offset_of(note.pointer) if offset_of and note.pointer else None)
        for note in notes
        if note.exported is None
    ]
    bookmarks = [(note, at) for note, at in pointed if note.is_bookmark]
    others = [(note, at) for note, at in pointed if not note.is_bookmark]
    known = [*marks, *own.marks]
    placed = _together(own, _place_bookmarks(book, bookmarks, known))
    return _together(placed, _place_foreign(book, others, known, text))


def _place_bookmarks(
    book: Book, notes: Sequence[_Pointed], marks: Sequence[Mark]
) -> PlacedNotes:
    """Bookmarks at the places of other programs' bookmarks."""
    taken = {
        mark.start for mark in marks if mark.kind is MarkKind.BOOKMARK and not mark.lost
    }
    added: list[Mark] = []
    known = 0
    without_place = 0
    for note, at in notes:
        if at is None:
            without_place += 1
        elif at in taken:
            known += 1
        else:
            taken.add(at)
            added.append(_mark(MarkKind.BOOKMARK, note, quote_at(book.text, at)))
    return PlacedNotes(tuple(added), (), known, (), without_place)


def _place_foreign(
    book: Book, notes: Sequence[_Pointed], marks: Sequence[Mark], text: SearchableText
) -> PlacedNotes:
    """Find notes of other programs by their words."""
    taken = {(mark.start, mark.end): mark for mark in marks if not mark.lost}
    new: list[tuple[int, int]] = []
    changed: set[tuple[int, int]] = set()
    lost = []
    known = 0
    for note, at in notes:
        span = _find(note.words, text, at) if note.words.strip() else None
        if span is None:
            lost.append(note)
        elif span not in taken:
            taken[span] = _mark(MarkKind.HIGHLIGHT, note, quote_at(book.text, *span))
            new.append(span)
        else:
            mark = taken[span]
            note_text = joined_notes(mark.note, note.note.strip())
            if note_text == mark.note:
                known += 1
                continue
            taken[span] = replace(mark, note=note_text, changed_at=time.time())
            changed.add(span)
    of_file = set(new)
    added = tuple(taken[span] for span in new)
    annotated = tuple(mark for span, mark in taken.items() if span in changed - of_file)
    return PlacedNotes(added, annotated, known, tuple(lost), 0)


def _place_exported(
    book: Book,
    notes: Sequence[ForeignNote],
    marks: Sequence[Mark],
    text: SearchableText,
) -> PlacedNotes:
    """Find the places of marks that gistread exported; they keep kind, colour and dates."""
    new: list[Mark] = []
    annotated: list[Mark] = []
    lost: list[ForeignNote] = []
    letters: list[Mark] = []
    known = 0
    for note in notes:
        if note.exported is None:
            continue
        mark = placed_mark(note.exported, book, text)
        if mark is None:
            lost.append(note)
            continue
        before = known_mark(mark, [*marks, *new])
        if before is None:
            new.append(mark)
            continue
        if is_letter_elsewhere(mark, before):
            letters.append(mark)
            continue
        note_text = joined_notes(before.note, mark.note)
        if note_text == before.note:
            known += 1
        else:
            annotated.append(with_changes(before, note=note_text))
    return PlacedNotes(
        tuple(new), tuple(annotated), known, tuple(lost), 0, tuple(letters)
    )


def _together(first: PlacedNotes, second: PlacedNotes) -> PlacedNotes:
    return PlacedNotes(
        first.marks + second.marks,
        first.annotated + second.annotated,
        first.known + second.known,
        first.lost + second.lost,
        first.bookmarks + second.bookmarks,
        first.letters + second.letters,
    )


def _mark(kind: MarkKind, note: ForeignNote, place: TextQuote) -> Mark:
    """The mark of a note, with the colour and the date that it had."""
    mark = new_mark(kind, place, color=note.color, note=note.note.strip())
    if not note.made_at:
        return mark
    return replace(mark, made_at=note.made_at, changed_at=note.made_at)


def _find(words: str, text: SearchableText, at: int | None) -> tuple[int, int] | None:
    """Where the words are; a few of them only at their place, or if they are in one place.

    `at`: where they should begin, if that is known.
    """
    quote = " ".join(words.split())
    letters = SearchableText(quote).letters
    if at is not None and letters:
        nearest = _nearest(letters, text, at)
        if nearest is not None:
            return nearest
    place = TextQuote(at or 0, (at or 0) + len(quote), quote, "", "")
    span = find_quote(place, text, 0)
    if span is not None:
        return _whole_words(text.raw, *span)
    if not letters or text.letters.count(letters) != 1:
        return None
    return _span(text, text.letters.index(letters), len(letters))


def _nearest(letters: str, text: SearchableText, at: int) -> tuple[int, int] | None:
    """The very letters close to a place; of several the nearest ones."""
    expected = bisect_left(text.offsets, at)
    first = max(0, expected - _CLOSE)
    window = text.letters[first : expected + _CLOSE + len(letters)]
    starts: list[int] = []
    start = window.find(letters)
    while start >= 0:
        starts.append(first + start)
        start = window.find(letters, start + 1)
    nearest = min(starts, key=lambda start: abs(start - expected), default=None)
    return None if nearest is None else _span(text, nearest, len(letters))


def _span(text: SearchableText, first: int, count: int) -> tuple[int, int]:
    """The range of some letters in the text."""
    return text.offsets[first], text.offsets[first + count - 1] + 1


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The place without the words that it covers only in part, as a search by likeness may."""
    while start < end and text[start - 1 : start].isalnum() and text[start].isalnum():
        start += 1
    while end > start and text[end - 1].isalnum() and text[end : end + 1].isalnum():
        end -= 1
    return stripped_range(text, start, end)
