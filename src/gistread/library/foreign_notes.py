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
from gistread.memory.passages import Span
from gistread.units import stripped_range

# Letters between a pointer and its words: other programs count some differently
_CLOSE = 200
# A note, and the offset to which its pointer leads in the book
_Pointed = tuple[ForeignNote, int | None]


@dataclass(frozen=True, slots=True)
class PlacedNotes:
    marks: tuple[Mark, ...]  # New ones
    annotated: tuple[Mark, ...]  # Known highlights with a note that they did not have
    known: int  # Highlights that the book has already
    lost: tuple[ForeignNote, ...]  # Their words are not in the book
    bookmarks: int  # Left out: nothing shows their places
    # Letter marks left out: each letter marks another place of the book already
    letters: tuple[Mark, ...] = ()


def notes_of_book(notes: Iterable[ForeignNote], book: Book) -> list[ForeignNote]:
    """The notes with the text or title of the book, or without a title.

    One title may be longer, by a subtitle or an author.
    """
    book_title = words_of(book.title)

    def is_of_book(note: ForeignNote) -> bool:
        if note.exported is not None and note.exported.sha256 == book.sha256:
            return True
        title = words_of(note.title)
        if not title:
            return True
        length = min(len(title), len(book_title))
        return title[:length] == book_title[:length]

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
    bookmarks: list[_Pointed] = []
    highlights: list[_Pointed] = []
    for note in notes:
        if note.exported is not None:
            continue
        at = offset_of(note.pointer) if offset_of and note.pointer else None
        if note.is_bookmark:
            bookmarks.append((note, at))
        else:
            highlights.append((note, at))
    known = [*marks, *own.marks]
    placed = _together(own, _place_bookmarks(book, bookmarks, known))
    return _together(placed, _place_highlights(book, highlights, known, text))


def _place_bookmarks(
    book: Book, notes: Sequence[_Pointed], marks: Sequence[Mark]
) -> PlacedNotes:
    """Bookmarks at the places of other programs' bookmarks."""
    present = [mark for mark in marks if not mark.lost]
    marked_offsets = {mark.start for mark in present if mark.kind is MarkKind.BOOKMARK}
    new_marks: list[Mark] = []
    known = 0
    without_place = 0
    for note, at in notes:
        if at is None:
            without_place += 1
        elif at in marked_offsets:
            known += 1
        else:
            marked_offsets.add(at)
            new_marks.append(_mark(MarkKind.BOOKMARK, note, quote_at(book.text, at)))
    return PlacedNotes(
        marks=tuple(new_marks),
        annotated=(),
        known=known,
        lost=(),
        bookmarks=without_place,
    )


def _place_highlights(
    book: Book, notes: Sequence[_Pointed], marks: Sequence[Mark], text: SearchableText
) -> PlacedNotes:
    """Find highlights of other programs by their words."""
    mark_at = {(mark.start, mark.end): mark for mark in marks if not mark.lost}
    new_spans: list[Span] = []
    changed_spans: set[Span] = set()
    lost: list[ForeignNote] = []
    known = 0
    for note, at in notes:
        span = _find(note.words, text, at) if note.words.strip() else None
        if span is None:
            lost.append(note)
        elif span not in mark_at:
            mark_at[span] = _mark(MarkKind.HIGHLIGHT, note, quote_at(book.text, *span))
            new_spans.append(span)
        else:
            mark = mark_at[span]
            note_text = joined_notes(mark.note, note.note.strip())
            if note_text == mark.note:
                known += 1
                continue
            mark_at[span] = replace(mark, note=note_text, changed_at=time.time())
            changed_spans.add(span)
    new_marks = tuple(mark_at[span] for span in new_spans)
    # A new mark stays new when a later note adds to it.
    changed_spans -= set(new_spans)
    annotated = tuple(mark for span, mark in mark_at.items() if span in changed_spans)
    return PlacedNotes(
        marks=new_marks,
        annotated=annotated,
        known=known,
        lost=tuple(lost),
        bookmarks=0,
    )


def _place_exported(
    book: Book,
    notes: Sequence[ForeignNote],
    marks: Sequence[Mark],
    text: SearchableText,
) -> PlacedNotes:
    """Find the places of marks that gistread exported; they keep kind, colour and dates."""
    new_marks: list[Mark] = []
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
        same_mark = known_mark(mark, [*marks, *new_marks])
        if same_mark is None:
            new_marks.append(mark)
            continue
        if is_letter_elsewhere(mark, same_mark):
            letters.append(mark)
            continue
        note_text = joined_notes(same_mark.note, mark.note)
        if note_text == same_mark.note:
            known += 1
        else:
            annotated.append(with_changes(same_mark, note=note_text))
    return PlacedNotes(
        marks=tuple(new_marks),
        annotated=tuple(annotated),
        known=known,
        lost=tuple(lost),
        bookmarks=0,
        letters=tuple(letters),
    )


def _together(first: PlacedNotes, second: PlacedNotes) -> PlacedNotes:
    return PlacedNotes(
        marks=first.marks + second.marks,
        annotated=first.annotated + second.annotated,
        known=first.known + second.known,
        lost=first.lost + second.lost,
        bookmarks=first.bookmarks + second.bookmarks,
        letters=first.letters + second.letters,
    )


def _mark(kind: MarkKind, note: ForeignNote, place: TextQuote) -> Mark:
    """The mark of a note, with the colour and the date that it had."""
    mark = new_mark(kind, place, color=note.color, note=note.note.strip())
    if not note.made_at:
        return mark
    return replace(mark, made_at=note.made_at, changed_at=note.made_at)


def _find(words: str, text: SearchableText, at: int | None) -> Span | None:
    """Where the words are in the text; None if they are not found, or few and in many places.

    `at`: where they should begin, if that is known.
    """
    quote = " ".join(words.split())
    letters = SearchableText(quote).letters
    if at is not None and letters:
        nearest = _nearest(letters, text, at)
        if nearest is not None:
            return nearest
    # Elsewhere, perhaps with some other letters
    start = at or 0
    place = TextQuote(start, start + len(quote), quote, "", "")
    span = find_quote(place, text, length=0)
    if span is not None:
        return _whole_words(text.raw, *span)
    # `find_quote` needs the words around a short quotation, which a note does not have.
    is_unique = bool(letters) and text.letters.count(letters) == 1
    if not is_unique:
        return None
    return _span(text, text.letters.index(letters), len(letters))


def _nearest(letters: str, text: SearchableText, at: int) -> Span | None:
    """Where exactly these letters are close to a place; of several places the nearest."""
    expected = bisect_left(text.offsets, at)
    first = max(0, expected - _CLOSE)
    window = text.letters[first : expected + _CLOSE + len(letters)]
    starts: list[int] = []
    start = window.find(letters)
    while start >= 0:
        starts.append(first + start)
        start = window.find(letters, start + 1)
    if not starts:
        return None
    nearest = min(starts, key=lambda start: abs(start - expected))
    return _span(text, nearest, len(letters))


def _span(text: SearchableText, first: int, count: int) -> Span:
    """The range in the text of `count` letters from the letter `first` on."""
    last = first + count - 1
    return text.offsets[first], text.offsets[last] + 1


def _whole_words(text: str, start: int, end: int) -> Span:
    """The range without words that it covers only in part: a search by likeness may split them."""
    while start < end and text[start - 1 : start].isalnum() and text[start].isalnum():
        start += 1
    while end > start and text[end - 1].isalnum() and text[end : end + 1].isalnum():
        end -= 1
    return stripped_range(text, start, end)
