"""`gistread import`: takes over highlights and notes of other programs, and exported marks."""

import argparse
from contextlib import suppress
from pathlib import Path

from gistread.book.model import Book
from gistread.cli.opening import STANDARD_INPUT, book_path, open_named
from gistread.cli.output import Json, one_line, report, say
from gistread.errors import ExitStatus, GistreadError, NotFoundError
from gistread.library.foreign_notes import PlacedNotes, notes_of_book, place_notes
from gistread.library.metadata import record_text
from gistread.library.note_files import ForeignNote, read_notes
from gistread.marking import Mark, MarkKind
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.user_data import MarkStore
from gistread.syncing.pointers import Pointers
from gistread.units import agreeing, counted, short

_MOST_LISTED = 10
_WORDS_SHOWN = 60


def run(arguments: argparse.Namespace) -> ExitStatus:
    book = open_named(arguments.book)
    notes = [note for path in arguments.files for note in read_notes(path)]
    of_book = notes_of_book(notes, book)
    if not of_book:
        raise _no_notes_error(notes, book)
    path = None if arguments.book == STANDARD_INPUT else book_path(arguments.book)
    placed = _store(book, path, of_book)
    if path is not None:
        with suppress(GistreadError):  # The notes are stored even without it.
            record_text(Catalogue(default_paths()), path, book)
    document = {**_document(placed), "other_books": len(notes) - len(of_book)}
    lines = [*map(_lost_line, placed.lost), *map(_letter_line, placed.letters)]
    report(arguments, document, lines)
    say(f"{book.title}: {_summary(placed)}.")
    has_place = placed.marks or placed.annotated or placed.known
    return ExitStatus.DONE if has_place else ExitStatus.FAILED


def _no_notes_error(notes: list[ForeignNote], book: Book) -> NotFoundError:
    """The error if none of the notes is about the book: it names their books."""
    message = f"None of {counted(len(notes), 'note')} is about {book.title}."
    titles = sorted({one_line(note.title) for note in notes if note.title})
    if not titles:
        return NotFoundError(message, "Check the file.")
    listed = "; ".join(titles[:_MOST_LISTED])
    return NotFoundError(message, f"They are about: {listed}.")


def _document(placed: PlacedNotes) -> Json:
    """What `import --json` prints of the notes about the book."""
    lost = [{"text": note.words, "note": note.note} for note in placed.lost]
    # Marks left out, since the book has other marks with their letters
    letters = [
        {"letter": mark.letter, "text": mark.place.exact} for mark in placed.letters
    ]
    return {
        "added": len(placed.marks),
        "annotated": len(placed.annotated),
        "known": placed.known,
        "lost": lost,
        "bookmarks": placed.bookmarks,
        "letters": letters,
    }


def _store(book: Book, path: Path | None, notes: list[ForeignNote]) -> PlacedNotes:
    """Store the notes as marks. Returns what became of each note. Raises StorageError."""
    store = MarkStore(default_paths())
    offset_of = Pointers(book, path).offset_of if path is not None else None
    placed = place_notes(book, notes, store.marks(book.sha256), offset_of)
    store.put_all(book.sha256, placed.marks + placed.annotated)
    return placed


def _summary(placed: PlacedNotes) -> str:
    """`2 highlights added, 1 known already, 1 not found in this text`."""
    are_highlights = all(mark.kind is MarkKind.HIGHLIGHT for mark in placed.marks)
    what = "highlight" if are_highlights else "mark"
    parts = [f"{counted(len(placed.marks), what)} added"]
    if placed.annotated:
        parts.append(f"{counted(len(placed.annotated), 'note')} added to known ones")
    if placed.known:
        parts.append(f"{placed.known} known already")
    if placed.lost:
        parts.append(f"{len(placed.lost)} not found in this text")
    if placed.bookmarks:
        parts.append(f"{counted(placed.bookmarks, 'bookmark')} without words left out")
    if placed.letters:
        count = len(placed.letters)
        letters = agreeing(count, "letter", "letters")
        parts.append(f"{counted(count, 'letter mark')} left out ({letters} in use)")
    return ", ".join(parts)


def _lost_line(note: ForeignNote) -> str:
    return f"not found: {_shown(note.words or note.note)}"


def _letter_line(mark: Mark) -> str:
    return f"left out: mark {mark.letter} at {_shown(mark.place.exact)}"


def _shown(text: str) -> str:
    """The first words of a text on one line."""
    return one_line(short(text, _WORDS_SHOWN))
