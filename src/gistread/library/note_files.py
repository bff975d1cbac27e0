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
_LOCATION = re.compile(r"(\d+)(?:-(\d+))?")
# "Note" in the languages of Kindle, at the beginning of the second line
_KINDLE_NOTE = re.compile(r"^- .*?\b(note|notiz|nota|notitie)\b", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_LUA_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:\\.|[^"\\])*")|(?P<word>[\w.+-]+)|(?P<sign>[{}\[\]=,;])|--[^\n]*)',
    re.DOTALL,
)
_HEADING_LINES = 2  # Title and place of an entry; its words follow
_RECOGNISED = 20  # Characters of a highlight by which the note that quotes it is known
_DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    StopIteration,
    RecursionError,
)
# Endings, and types within
_CALIBRE = (".calibre_highlights", ".calibre_annotation_collection")
_COLORS = {  # Of KOReader, Kindle and Readwise
    **{color.value: color for color in Color},
    **{
        "orange": Color.YELLOW,
        "olive": Color.GREEN,
        "cyan": Color.BLUE,
        "purple": Color.BLUE,
    },
    **{"pink": Color.RED},
}
_CALIBRE_PLACE = re.compile(r"epubcfi\((/\d+)/2(/.*)\)", re.DOTALL)
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
    if suffix == ".lua":
        return list(_koreader(_lua(text)))
    if suffix == ".json" or suffix in _CALIBRE:
        document = json.loads(text)
        return list(_reader_of(document)(document))
    if suffix == ".csv":
        return list(_readwise(text))
    return _kindle(text) if _KINDLE_END in text else None


def _reader_of(document: Any) -> Callable[[Any], Iterator[ForeignNote]]:
    """The function that reads a JSON document, by the program that has written it."""
    if is_export(document):
        return _gistread
    kind = document.get("type") if isinstance(document, dict) else None
    if f".{kind}" in _CALIBRE:
        return _calibre
    return _koreader_json


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
            if (
                notes[index].words
                and start <= first <= end
                and notes[index].title == title
            ):
                joined = joined_notes(notes[index].note, content)
                notes[index] = replace(notes[index], note=joined)
                is_placed = True
        if not is_placed:
            notes.append(ForeignNote("", content, title, made_at))
            locations.append((first, last))
    return notes


def joined_notes(known: str, note: str) -> str:
    """A note with the paragraphs that another note on the same words adds.

    >>> joined_notes("Who is she?\\n\\nEstella", "she")
    'Who is she?\\n\\nEstella\\n\\nshe'
    """
    paragraphs = _paragraphs(known)
    added = [
        paragraph for paragraph in _paragraphs(note) if paragraph not in paragraphs
    ]
    return "\n\n".join((known, *added) if known else added)


def _paragraphs(note: str) -> list[str]:
    return [
        paragraph.strip() for paragraph in _BLANK_LINES.split(note) if paragraph.strip()
    ]


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
            yield ForeignNote(
                words,
                _text_of(entry, "note"),
                title,
                seconds_of(entry.get("datetime")),
                _color(entry),
                _text_of(entry, "pos0") or _text_of(entry, "page"),
            )
        return
    for entry in _values(document.get("bookmarks")):
        words = _text_of(entry, "notes") if entry.get("highlighted") else ""
        note = _text_of(entry, "text")
        # KOReader fills in "Page 5 words … @ date" where there is no note.
        is_filled_in = words[:_RECOGNISED] in note
        yield ForeignNote(
            words,
            "" if is_filled_in else note,
            title,
            seconds_of(entry.get("datetime")),
            _color(entry),
            _text_of(entry, "pos0") or _text_of(entry, "page"),
        )


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
    if isinstance(document, list):
        documents = document
    else:
        documents = document.get("documents", [document])
    for book in documents:
        title = str(book.get("title") or "")
        for entry in book["entries"]:
            made_at = seconds_of(entry.get("time") or entry.get("datetime"))
            words = _text_of(entry, "text")
            yield ForeignNote(
                words, _text_of(entry, "note"), title, made_at, _color(entry)
            )


def _calibre(document: dict[str, Any]) -> Iterator[ForeignNote]:
    """Highlights of Calibre's viewer, and annotations of its library."""
    entries = document.get("highlights") or document.get("annotations") or ()
    for entry in entries:
        kind = entry.get("type")
        if entry.get("removed") or kind not in ("highlight", "bookmark"):
            continue
        is_highlight = kind == "highlight"
        yield ForeignNote(
            _text_of(entry, "highlighted_text") if is_highlight else "",
            _text_of(entry, "notes") if is_highlight else "",
            made_at=seconds_of(entry.get("timestamp")),
            color=_color({"color": (entry.get("style") or {}).get("which")}),
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
        step = 2 * (int(entry.get("spine_index", 0)) + 1)
        return f"epubcfi(/6/{step}!{_text_of(entry, 'start_cfi').removeprefix('/2')})"
    place = _CALIBRE_PLACE.fullmatch(_text_of(entry, "pos"))
    return f"epubcfi(/6{place[1]}!{place[2]})" if place else ""


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
        yield ForeignNote(
            row["Highlight"] or "", row.get("Note") or "", title, made_at, color
        )


def _lua(text: str) -> dict[str, Any]:
    """The table that a Lua file returns. Nothing is run."""
    start = text.index("return") + len("return")
    tokens = iter(
        [token for token in _LUA_TOKEN.finditer(text, start) if token.lastgroup]
    )
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
