"""Reads highlights and notes of other programs, and finds them in a book by their words.

Kindle's `My Clippings.txt`, KOReader's `metadata.*.lua` and exported JSON, Readwise's CSV; and what
gistread itself exported as JSON.
"""

import csv
import io
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gistread.book.model import Book
from gistread.errors import ExitStatus, GistreadError
from gistread.library.entries import words_of
from gistread.library.exported_marks import (
    ExportedMark,
    exported_marks,
    is_export,
    known_mark,
    placed_mark,
)
from gistread.library.foreign_dates import seconds_of
from gistread.library.moving import SearchableText, find_quote
from gistread.marking import Color, Mark, MarkKind, TextQuote, new_mark, quote_at, with_changes

_MOST_BYTES = 50_000_000
_KINDLE_END = "=========="
_LOCATION = re.compile(r"(\d+)(?:-(\d+))?")
# "Note" in the languages of Kindle, at the beginning of the second line
_KINDLE_NOTE = re.compile(r"^- .*?\b(note|notiz|nota|notitie)\b", re.IGNORECASE)
_LUA_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:\\.|[^"\\])*")|(?P<word>[\w.+-]+)|(?P<sign>[{}\[\]=,;])|--[^\n]*)',
    re.DOTALL,
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_HEADING_LINES = 2  # Title and place of an entry; its words follow
_RECOGNISED = 20  # Characters of a highlight by which the note that quotes it is known
_DAMAGED = (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError)
_COLORS = {  # Of KOReader, Kindle and Readwise
    **{color.value: color for color in Color},
    **{"orange": Color.YELLOW, "olive": Color.GREEN, "cyan": Color.BLUE, "purple": Color.BLUE},
    **{"pink": Color.RED},
}
_LUA_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LUA_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": "\n"}


class NotesError(GistreadError):
    """A file of notes cannot be read."""

    exit_status = ExitStatus.BOOK


@dataclass(frozen=True, slots=True)
class ForeignNote:
    """A highlight of another program, with its note."""

    words: str  # Highlighted words; empty for bookmarks and for notes without a quotation
    note: str = ""
    title: str = ""  # Of the book; empty if the file does not say
    made_at: float = 0.0  # Seconds since the epoch; 0 if the file does not say
    color: Color = Color.YELLOW
    exported: ExportedMark | None = None  # The mark itself, in an export of gistread

    @property
    def is_bookmark(self) -> bool:
        return not self.words.strip() and not self.note.strip()


@dataclass(frozen=True, slots=True)
class PlacedNotes:
    marks: tuple[Mark, ...]  # New ones
    annotated: tuple[Mark, ...]  # Known highlights with a note that they did not have
    known: int  # Highlights that the book has already
    lost: tuple[ForeignNote, ...]  # Their words are not in the book
    bookmarks: int  # Left out: they have no words by which their places could be found


def read_notes(path: Path) -> list[ForeignNote]:
    """Raises NotesError for a missing or damaged file, or one of an unknown program."""
    try:
        data = path.read_bytes()[: _MOST_BYTES + 1]
    except OSError as error:
        raise NotesError(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(data) > _MOST_BYTES:
        raise NotesError(f"{path} is too large for notes.")
    text = data.decode("utf-8-sig", "replace")
    try:
        notes = _parse(text, path.suffix.lower())
    except _DAMAGED as error:
        raise NotesError(
            f"{path.name} is damaged: {_damage(error)}.", "Export it again."
        ) from error
    if notes is None:
        raise NotesError(
            f"{path.name} has no notes that gistread can read.",
            "Use My Clippings.txt, KOReader's metadata.*.lua or JSON, Readwise's CSV, or "
            "gistread's own JSON.",
        )
    return notes


def _damage(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) or "it ends early"


def _parse(text: str, suffix: str) -> list[ForeignNote] | None:
    if suffix == ".lua":
        return list(_koreader(_lua(text)))
    if suffix == ".json":
        document = json.loads(text)
        read = _gistread if is_export(document) else _koreader_json
        return list(read(document))
    if suffix == ".csv":
        return list(_readwise(text))
    return _kindle(text) if _KINDLE_END in text else None


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


def place_notes(book: Book, notes: Sequence[ForeignNote], marks: Sequence[Mark]) -> PlacedNotes:
    """Find notes by their words. `marks`: those that the book has."""
    text = SearchableText(book.text)
    own = _place_exported(book, notes, marks, text)
    others = [note for note in notes if note.exported is None]
    return _together(own, _place_foreign(book, others, [*marks, *own.marks], text))


def _place_foreign(
    book: Book, notes: Sequence[ForeignNote], marks: Sequence[Mark], text: SearchableText
) -> PlacedNotes:
    """Find notes of other programs by their words."""
    taken = {(mark.start, mark.end): mark for mark in marks if not mark.lost}
    new: list[tuple[int, int]] = []
    changed: set[tuple[int, int]] = set()
    lost = []
    known = 0
    placed = [note for note in notes if not note.is_bookmark]
    for note in placed:
        span = _find(note.words, text) if note.words.strip() else None
        if span is None:
            lost.append(note)
        elif span not in taken:
            taken[span] = _highlight(note, quote_at(book.text, *span))
            new.append(span)
        else:
            mark = taken[span]
            note_text = _joined(mark.note, note.note.strip())
            if note_text == mark.note:
                known += 1
                continue
            taken[span] = replace(mark, note=note_text, changed_at=time.time())
            changed.add(span)
    bookmarks = len(notes) - len(placed)
    of_file = set(new)
    added = tuple(taken[span] for span in new)
    annotated = tuple(mark for span, mark in taken.items() if span in changed - of_file)
    return PlacedNotes(added, annotated, known, tuple(lost), bookmarks)


def _place_exported(
    book: Book, notes: Sequence[ForeignNote], marks: Sequence[Mark], text: SearchableText
) -> PlacedNotes:
    """Find the places of marks that gistread exported; they keep kind, colour and dates."""
    new: list[Mark] = []
    annotated: list[Mark] = []
    lost: list[ForeignNote] = []
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
        note_text = _joined(before.note, mark.note)
        if note_text == before.note:
            known += 1
        else:
            annotated.append(with_changes(before, note=note_text))
    return PlacedNotes(tuple(new), tuple(annotated), known, tuple(lost), 0)


def _together(first: PlacedNotes, second: PlacedNotes) -> PlacedNotes:
    return PlacedNotes(
        first.marks + second.marks,
        first.annotated + second.annotated,
        first.known + second.known,
        first.lost + second.lost,
        first.bookmarks + second.bookmarks,
    )


def _joined(known: str, note: str) -> str:
    """A note with the paragraphs that another note on the same words adds.

    >>> _joined("Who is she?\\n\\nEstella", "she")
    'Who is she?\\n\\nEstella\\n\\nshe'
    """
    paragraphs = _paragraphs(known)
    added = [paragraph for paragraph in _paragraphs(note) if paragraph not in paragraphs]
    return "\n\n".join((known, *added) if known else added)


def _paragraphs(note: str) -> list[str]:
    return [paragraph.strip() for paragraph in _BLANK_LINES.split(note) if paragraph.strip()]


def _highlight(note: ForeignNote, place: TextQuote) -> Mark:
    """The mark of a note, with the colour and the date that it had."""
    mark = new_mark(MarkKind.HIGHLIGHT, place, color=note.color, note=note.note.strip())
    if not note.made_at:
        return mark
    return replace(mark, made_at=note.made_at, changed_at=note.made_at)


def _find(words: str, text: SearchableText) -> tuple[int, int] | None:
    """Where the words are; a few of them only if they are in one place."""
    quote = " ".join(words.split())
    span = find_quote(TextQuote(0, len(quote), quote, "", ""), text, 0)
    if span is not None:
        return _whole_words(text.raw, *span)
    letters = SearchableText(quote).letters
    if not letters or text.letters.count(letters) != 1:
        return None
    at = text.letters.index(letters)
    return text.offsets[at], text.offsets[at + len(letters) - 1] + 1


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The place without the words that it covers only in part, as a search by likeness may."""
    while start < end and text[start - 1 : start].isalnum() and text[start].isalnum():
        start += 1
    while end > start and text[end - 1].isalnum() and text[end : end + 1].isalnum():
        end -= 1
    return start + len(text[start:end]) - len(text[start:end].lstrip()), end


def _kindle(text: str) -> list[ForeignNote]:
    """A note is an entry of its own, at a location within that of its highlight."""
    notes: list[ForeignNote] = []
    locations: list[tuple[int, int]] = []
    for entry in text.split(_KINDLE_END):
        lines = entry.strip().splitlines()
        if len(lines) < _HEADING_LINES:
            continue
        title, place, *words = lines
        content = "\n".join(words).strip()  # A bookmark has none.
        first, last = _kindle_location(place)
        made_at = seconds_of(place.rpartition("|")[2])
        if not content or not _KINDLE_NOTE.match(place):
            notes.append(ForeignNote(content, "", title, made_at))
            locations.append((first, last))
            continue
        is_placed = False
        for index, (start, end) in enumerate(locations):
            if notes[index].words and start <= first <= end and notes[index].title == title:
                joined = _joined(notes[index].note, content)
                notes[index] = replace(notes[index], note=joined)
                is_placed = True
        if not is_placed:
            notes.append(ForeignNote("", content, title, made_at))
            locations.append((first, last))
    return notes


def _kindle_location(place: str) -> tuple[int, int]:
    """`- Your Highlight on page 5 | location 64-65 | Added on …`: 64 and 65."""
    parts = place.split("|")
    numbers = [_LOCATION.search(part) for part in parts[:-1] or parts]
    ranges = [number for number in numbers if number]
    if not ranges:
        return (0, 0)
    last = ranges[-1]
    return int(last[1]), int(last[2] or last[1])


def _koreader(document: dict[str, Any]) -> Iterator[ForeignNote]:
    """`annotations` of KOReader since 2024, `bookmarks` before."""
    properties = document.get("doc_props") or {}
    title = str(properties.get("title") or "")
    annotations = _values(document.get("annotations"))
    if annotations:
        for entry in annotations:
            is_highlight = entry.get("drawer") or entry.get("pos1")
            words = _text_of(entry, "text") if is_highlight else ""
            note = _text_of(entry, "note")
            yield ForeignNote(words, note, title, seconds_of(entry.get("datetime")), _color(entry))
        return
    for entry in _values(document.get("bookmarks")):
        words = _text_of(entry, "notes") if entry.get("highlighted") else ""
        note = _text_of(entry, "text")
        # KOReader fills in "Page 5 words … @ date" where there is no note.
        is_filled_in = words[:_RECOGNISED] in note
        made_at = seconds_of(entry.get("datetime"))
        yield ForeignNote(words, "" if is_filled_in else note, title, made_at, _color(entry))


def _color(entry: dict[str, Any]) -> Color:
    """The nearest of the colours here; most programs have more of them."""
    name = _text_of(entry, "color").strip().lower()
    return _COLORS.get(name, Color.YELLOW)


def _text_of(entry: dict[str, Any], name: str) -> str:
    return str(entry.get(name) or "")


def _values(table: Any) -> list[dict[str, Any]]:
    """The tables in a Lua list."""
    values = table.values() if isinstance(table, dict) else table or ()
    return [value for value in values if isinstance(value, dict)]


def _koreader_json(document: Any) -> Iterator[ForeignNote]:
    documents = document if isinstance(document, list) else document.get("documents", [document])
    for book in documents:
        title = str(book.get("title") or "")
        for entry in book["entries"]:
            made_at = seconds_of(entry.get("time") or entry.get("datetime"))
            words = _text_of(entry, "text")
            yield ForeignNote(words, _text_of(entry, "note"), title, made_at, _color(entry))


def _gistread(document: dict[str, Any]) -> Iterator[ForeignNote]:
    for title, exported in exported_marks(document):
        mark = exported.mark
        words = mark.place.exact if exported.is_quotation else ""
        yield ForeignNote(words, mark.note, title, mark.made_at, exported=exported)


def _readwise(text: str) -> Iterator[ForeignNote]:
    rows = csv.DictReader(io.StringIO(text))
    if "Highlight" not in (rows.fieldnames or ()):
        raise ValueError("the column Highlight is missing")
    for row in rows:
        title = row.get("Title") or row.get("Book Title") or ""
        made_at = seconds_of(row.get("Highlighted at") or row.get("Date"))
        color = _color({"color": row.get("Color")})
        yield ForeignNote(row["Highlight"] or "", row.get("Note") or "", title, made_at, color)


def _lua(text: str) -> dict[str, Any]:
    """The table that a Lua file returns. Nothing is run."""
    start = text.index("return") + len("return")
    tokens = iter([token for token in _LUA_TOKEN.finditer(text, start) if token.lastgroup])
    value = _lua_value(next(tokens), tokens)
    if not isinstance(value, dict):
        raise ValueError("no table")
    return value


def _lua_value(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> Any:
    if token["string"]:
        return _LUA_ESCAPE.sub(_unescaped, token["string"][1:-1])
    if token["word"]:
        return token["word"]
    table: dict[str, Any] = {}
    for each in tokens:
        if each["sign"] == "}":
            return table
        if each["sign"] == "[":
            key = _lua_value(next(tokens), tokens)
            next(tokens)  # ]
            next(tokens)  # =
            table[str(key)] = _lua_value(next(tokens), tokens)
        elif each["sign"] not in (",", ";"):
            table[str(len(table) + 1)] = _lua_value(each, tokens)
    raise ValueError("the table has no end")


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape in a Lua string stands for."""
    return _LUA_ESCAPES.get(escape[1], escape[1])
