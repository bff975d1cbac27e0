"""Reads files with highlights and notes of other programs.

Kindle's `My Clippings.txt`, KOReader's `metadata.*.lua` and exported JSON, the highlights and
annotations that Calibre exports, Readwise's CSV; and what gistread itself exported as JSON.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gistread.errors import ExitStatus, GistreadError
from gistread.library.exported_marks import ExportedMark, exported_marks, is_export
from gistread.library.foreign_dates import seconds_of
from gistread.marking import Color

_MOST_BYTES = 50_000_000
_KINDLE_END = "=========="
# `64`, `64-65`
_LOCATION = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+))?")
# "Note" in the languages of Kindle, at the beginning of the second line
_KINDLE_NOTE = re.compile(r"^- .*?\b(note|notiz|nota|notitie)\b", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
# A string, a number or a name, a sign, or a comment, which has no group
_LUA_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:\\.|[^"\\])*")|(?P<word>[\w.+-]+)|(?P<sign>[{}\[\]=,;])|--[^\n]*)',
    re.DOTALL,
)
_HEADING_LINES = 2  # Title and place of an entry; its words follow
# Characters of a highlight by which a note that quotes it is recognised
_RECOGNISED = 20
_DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    StopIteration,
    RecursionError,
)
# Suffixes of Calibre's files, and the types named in them
_CALIBRE = (".calibre_highlights", ".calibre_annotation_collection")
# Of KOReader, Kindle and Readwise
_COLORS = {
    **{color.value: color for color in Color},
    "orange": Color.YELLOW,
    "olive": Color.GREEN,
    "cyan": Color.BLUE,
    "purple": Color.BLUE,
    "pink": Color.RED,
}
# Calibre's own CFI: `epubcfi(/4/2/4/6/1:3)`
_CALIBRE_PLACE = re.compile(r"epubcfi\((?P<file>/\d+)/2(?P<path>/.*)\)", re.DOTALL)
# `\n`, `\"`
_LUA_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LUA_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": "\n"}


class NotesError(GistreadError):
    """A file of notes cannot be read."""

    exit_status = ExitStatus.BOOK


@dataclass(frozen=True, slots=True)
class ForeignNote:
    """A highlight of another program, with its note."""

    # Highlighted words; empty for bookmarks and for notes without a quotation
    words: str
    note: str = ""
    title: str = ""  # Of the book; empty if the file does not say
    made_at: float = 0.0  # Seconds since the epoch; 0 if the file does not say
    color: Color = Color.YELLOW
    pointer: str = ""  # Where it begins: KOReader's XPointer, or an EPUB CFI
    exported: ExportedMark | None = None  # The mark itself, in an export of gistread

    @property
    def is_bookmark(self) -> bool:
        return not self.words.strip() and not self.note.strip()


def read_notes(path: Path) -> list[ForeignNote]:
    """The notes in a file of another program.

    Raises NotesError if it is missing, damaged or of an unknown program.
    """
    try:
        data = path.read_bytes()[: _MOST_BYTES + 1]
    except OSError as error:
        raise NotesError(
            f"{path} cannot be read: {error.strerror or error}."
        ) from error
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
            "Use My Clippings.txt, KOReader's metadata.*.lua or JSON, what Calibre exports, "
            "Readwise's CSV, or gistread's own JSON.",
        )
    return notes


def _damage(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error) or "it ends early"


def _parse(text: str, suffix: str) -> list[ForeignNote] | None:
    """The notes in a file with this suffix; None if its format is unknown.

    Raises one of `_DAMAGED`.
    """
    if suffix == ".lua":
        return list(_koreader(_lua(text)))
    if suffix == ".json" or suffix in _CALIBRE:
        document = json.loads(text)
        read_document = _reader_of(document)
        return list(read_document(document))
    if suffix == ".csv":
        return list(_readwise(text))
    if _KINDLE_END in text:
        return _kindle(text)
    return None


def _reader_of(document: Any) -> Callable[[Any], Iterator[ForeignNote]]:
    """The function that reads a JSON document, by the program that has written it."""
    if is_export(document):
        return _gistread
    kind = document.get("type") if isinstance(document, dict) else None
    if f".{kind}" in _CALIBRE:
        return _calibre
    return _koreader_json


def _kindle(text: str) -> list[ForeignNote]:
    """The highlights and notes of Kindle's clippings.

    A note is an entry of its own, at a location within that of its highlight.
    """
    notes: list[ForeignNote] = []
    locations: list[tuple[int, int]] = []  # Of each note
    for entry in text.split(_KINDLE_END):
        lines = entry.strip().splitlines()
        if len(lines) < _HEADING_LINES:
            continue
        title, place, *words = lines
        content = "\n".join(words).strip()  # A bookmark has none.
        location = _kindle_location(place)
        location_start, _ = location
        made_at = seconds_of(place.rpartition("|")[2])
        is_note = bool(content) and _KINDLE_NOTE.match(place) is not None
        if not is_note:
            notes.append(ForeignNote(content, title=title, made_at=made_at))
            locations.append(location)
            continue
        has_highlight = False
        for index, (start, end) in enumerate(locations):
            known = notes[index]
            is_highlight_of_book = known.words and known.title == title
            if is_highlight_of_book and start <= location_start <= end:
                joined = joined_notes(known.note, content)
                notes[index] = replace(known, note=joined)
                has_highlight = True
        if not has_highlight:
            note = ForeignNote("", note=content, title=title, made_at=made_at)
            notes.append(note)
            locations.append(location)
    return notes


def joined_notes(known: str, note: str) -> str:
    """A note with the paragraphs that another note on the same words adds.

    >>> joined_notes("Who is she?\\n\\nEstella", "she")
    'Who is she?\\n\\nEstella\\n\\nshe'
    """
    known_paragraphs = _paragraphs(known)
    added = [
        paragraph
        for paragraph in _paragraphs(note)
        if paragraph not in known_paragraphs
    ]
    joined = [known, *added] if known else added
    return "\n\n".join(joined)


def _paragraphs(note: str) -> list[str]:
    paragraphs = [paragraph.strip() for paragraph in _BLANK_LINES.split(note)]
    return [paragraph for paragraph in paragraphs if paragraph]


def _kindle_location(place: str) -> tuple[int, int]:
    """`- Your Highlight on page 5 | location 64-65 | Added on …`: 64 and 65.

    (0, 0) without a location, also for a highlight and its note.
    """
    parts = place.split("|")
    parts_before_date = parts[:-1] or parts
    for part in reversed(parts_before_date):
        if location := _LOCATION.search(part):
            first, last = location["first"], location["last"]
            return int(first), int(last or first)
    return (0, 0)


def _koreader(document: dict[str, Any]) -> Iterator[ForeignNote]:
    """`annotations` of KOReader since 2024, `bookmarks` before."""
    properties = document.get("doc_props") or {}
    title = str(properties.get("title") or "")
    annotations = _values(document.get("annotations"))
    for entry in annotations:
        is_highlight = entry.get("drawer") or entry.get("pos1")
        words = _text_of(entry, "text") if is_highlight else ""
        yield _koreader_note(entry, words, _text_of(entry, "note"), title)
    if annotations:
        return
    for entry in _values(document.get("bookmarks")):
        # Here `notes` has the highlighted words, and `text` the note.
        words = _text_of(entry, "notes") if entry.get("highlighted") else ""
        note = _text_of(entry, "text")
        # KOReader fills in "Page 5 words … @ date" where there is no note.
        is_filled_in = words[:_RECOGNISED] in note
        yield _koreader_note(entry, words, "" if is_filled_in else note, title)


def _koreader_note(
    entry: dict[str, Any], words: str, note: str, title: str
) -> ForeignNote:
    """A note with the date, colour and place of KOReader's entry."""
    return ForeignNote(
        words,
        note=note,
        title=title,
        made_at=seconds_of(entry.get("datetime")),
        color=_color(_text_of(entry, "color")),
        pointer=_text_of(entry, "pos0") or _text_of(entry, "page"),
    )


def _color(name: str) -> Color:
    """The nearest of gistread's colours, since most programs have more of them."""
    return _COLORS.get(name.strip().lower(), Color.YELLOW)


def _text_of(entry: dict[str, Any], name: str) -> str:
    """A field as text; empty if it is missing or empty."""
    return str(entry.get(name) or "")


def _values(table: Any) -> list[dict[str, Any]]:
    """The tables in a Lua list."""
    values = table.values() if isinstance(table, dict) else table or ()
    return [value for value in values if isinstance(value, dict)]


def _koreader_json(document: Any) -> Iterator[ForeignNote]:
    """The notes of an export of one book, or of several."""
    if isinstance(document, list):
        documents = document
    else:
        documents = document.get("documents", [document])
    for book in documents:
        title = str(book.get("title") or "")
        for entry in book["entries"]:
            yield ForeignNote(
                _text_of(entry, "text"),
                note=_text_of(entry, "note"),
                title=title,
                made_at=seconds_of(entry.get("time") or entry.get("datetime")),
                color=_color(_text_of(entry, "color")),
            )


def _calibre(document: dict[str, Any]) -> Iterator[ForeignNote]:
    """Highlights of Calibre's viewer, and annotations of its library."""
    entries = document.get("highlights") or document.get("annotations") or ()
    for entry in entries:
        kind = entry.get("type")
        if entry.get("removed") or kind not in ("highlight", "bookmark"):
            continue
        is_highlight = kind == "highlight"
        style = entry.get("style") or {}
        yield ForeignNote(
            _text_of(entry, "highlighted_text") if is_highlight else "",
            note=_text_of(entry, "notes") if is_highlight else "",
            made_at=seconds_of(entry.get("timestamp")),
            color=_color(_text_of(style, "which")),
            pointer=_calibre_pointer(entry),
        )


def _calibre_pointer(entry: dict[str, Any]) -> str:
    """The EPUB CFI of a highlight or bookmark; Calibre begins its own at the file's document.

    >>> _calibre_pointer({"spine_index": 1, "start_cfi": "/2/4/6/1:3"})
    'epubcfi(/6/4!/4/6/1:3)'
    >>> _calibre_pointer({"pos": "epubcfi(/4/2/4/6/1:3)", "pos_type": "epubcfi"})
    'epubcfi(/6/4!/4/6/1:3)'
    """
    if "start_cfi" in entry:
        # A CFI numbers elements by 2, 4, 6 …
        step = 2 * (int(entry.get("spine_index", 0)) + 1)
        path = _text_of(entry, "start_cfi").removeprefix("/2")
        return f"epubcfi(/6/{step}!{path})"
    place = _CALIBRE_PLACE.fullmatch(_text_of(entry, "pos"))
    if place is None:
        return ""
    return f"epubcfi(/6{place['file']}!{place['path']})"


def _gistread(document: dict[str, Any]) -> Iterator[ForeignNote]:
    """The marks of an export of gistread."""
    for title, exported in exported_marks(document):
        mark = exported.mark
        words = mark.place.exact if exported.is_quotation else ""
        yield ForeignNote(
            words, note=mark.note, title=title, made_at=mark.made_at, exported=exported
        )


def _readwise(text: str) -> Iterator[ForeignNote]:
    """The highlights in Readwise's CSV. Raises ValueError for another table."""
    rows = csv.DictReader(io.StringIO(text))
    if "Highlight" not in (rows.fieldnames or ()):
        raise ValueError("the column Highlight is missing")
    for row in rows:
        yield ForeignNote(
            _text_of(row, "Highlight"),
            note=_text_of(row, "Note"),
            title=_text_of(row, "Title") or _text_of(row, "Book Title"),
            made_at=seconds_of(row.get("Highlighted at") or row.get("Date")),
            color=_color(_text_of(row, "Color")),
        )


def _lua(text: str) -> dict[str, Any]:
    """The table that a Lua file returns. Nothing is run."""
    start = text.index("return") + len("return")
    matches = _LUA_TOKEN.finditer(text, start)
    tokens = iter([token for token in matches if token.lastgroup])
    value = _lua_value(next(tokens), tokens)
    if not isinstance(value, dict):
        raise ValueError("no table")
    return value


def _lua_value(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> Any:
    """The value that begins with a token; takes the rest of it from `tokens`."""
    if token["string"]:
        return _LUA_ESCAPE.sub(_unescaped, token["string"][1:-1])
    if token["word"]:
        return token["word"]
    return _lua_table(tokens)


def _lua_table(tokens: Iterator[re.Match[str]]) -> dict[str, Any]:
    """A table such as `["title"] = "Emma", 7 }`, from after its opening brace."""
    table: dict[str, Any] = {}
    for token in tokens:
        if token["sign"] == "}":
            return table
        if token["sign"] == "[":
            key = _lua_value(next(tokens), tokens)
            next(tokens)  # ]
            next(tokens)  # =
            table[str(key)] = _lua_value(next(tokens), tokens)
        elif token["sign"] not in (",", ";"):
            table[str(len(table) + 1)] = _lua_value(token, tokens)
    raise ValueError("the table has no end")


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape in a Lua string stands for."""
    return _LUA_ESCAPES.get(escape[1], escape[1])
