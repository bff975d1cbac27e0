"""Renders an export in each format, and writes it."""

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from gistread.book.model import Book
from gistread.errors import UsageError
from gistread.exporting.anki import as_cards
from gistread.exporting.citing import as_bibtex, as_csl
from gistread.exporting.markdown import append_to_note, as_markdown, as_note
from gistread.exporting.model import (
    Export,
    Form,
    OtherFormat,
    chapter_of,
    percent,
    quoted_marks,
)
from gistread.exporting.names import ExportFormat
from gistread.exporting.web_annotations import as_web_annotations
from gistread.marking import Mark
from gistread.memory.model import MemoryEntry
from gistread.store.files import write_document
from gistread.store.model import Citation, SavedQuestion
from gistread.units import fields, iso_time

_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def render_export(export: Export, form: Form) -> str:
    """The exported document.

    As text it is exactly the book's text, with the same SHA-256. Raises UsageError.
    """
    if isinstance(form, OtherFormat):
        return form.render(export)
    if form not in _RENDERERS:
        raise UsageError(f"Unknown format {form!r}.", f"Use {', '.join(ExportFormat)}.")
    return _RENDERERS[form](export)


def write_export(export: Export, form: Form, path: Path, *, force: bool = False) -> str:
    """Write the document, or append to an Obsidian note; returns a message.

    Raises UsageError, ExistsError, StorageError.
    """
    if form is ExportFormat.OBSIDIAN:
        return append_to_note(export, path)
    write_document(path, render_export(export, form), replace=force)
    return f"Wrote {path}."


def check_together(form: Form) -> None:
    """Raises UsageError for a format in which a document holds one book."""
    if form in _TOGETHER:
        return
    known_names = ", ".join(map(str, _TOGETHER))
    subject = f"An export by {form}"  # A template, or another package
    if isinstance(form, ExportFormat):
        subject = f"The format {form}"
    raise UsageError(
        f"{subject} has a file for each book: name a folder with --output.",
        f"In one file for all books: --format {known_names}.",
    )


def render_together(exports: Iterable[Export], form: Form) -> str:
    """One document of several books. Raises UsageError, as `check_together` does."""
    check_together(form)
    return _TOGETHER[form](exports)


def write_together(
    exports: Iterable[Export], form: Form, path: Path, *, force: bool = False
) -> None:
    """Write one document of several books. Raises UsageError, ExistsError, StorageError."""
    write_document(path, render_together(exports, form), replace=force)


def as_readwise(exports: Iterable[Export]) -> str:
    """Highlights and notes as the CSV that Readwise imports; `Location` is the offset."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("Highlight", "Title", "Author", "URL", "Note", "Location", "Date"))
    for export in exports:
        title = export.book.title
        authors = ", ".join(export.book.authors)
        for mark in quoted_marks(export.marks):
            words = mark.place.exact
            place = "" if mark.lost else mark.start
            date = iso_time(mark.made_at)
            writer.writerow((words, title, authors, "", mark.note, place, date))
    return text.getvalue()


def all_as_json(exports: Iterable[Export]) -> dict[str, Any]:
    """`as_json` of each book."""
    return {"version": 1, "books": [as_json(export) for export in exports]}


def as_json(export: Export) -> dict[str, Any]:
    """Everything with offsets; the structure is stable within a `version`."""
    book = export.book
    return {
        "version": 1,
        "book": _book_json(book),
        "marks": [_mark_json(book, mark) for mark in export.marks],
        "questions": [_question_json(book, question) for question in export.questions],
        "gists": [_gist_json(book, entry) for entry in export.gists],
        "gists_ahead": export.ahead,
    }


def _annotations_document(export: Export) -> str:
    return orjson.dumps(as_web_annotations(export), option=_JSON).decode()


def _csl_document(export: Export) -> str:
    return orjson.dumps(as_csl(export.book), option=_JSON).decode()


def _json_document(export: Export) -> str:
    return _json_text(as_json(export))


def _json_text(document: dict[str, Any]) -> str:
    return orjson.dumps({"schema": 1, **document}, option=_JSON).decode()


def _book_json(book: Book) -> dict[str, Any]:
    return {
        **fields(book, "sha256", "title", "authors", "language", "identifiers"),
        "characters": len(book.text),
        "words": book.words,
    }


def _gist_json(book: Book, entry: MemoryEntry) -> dict[str, Any]:
    page = entry.page
    return {
        "page": page.number,
        "start": page.start,
        "end": page.end,
        "chapter": book.chapter_title(page.start),
        "gist": entry.gist.text,
        "source": entry.gist.source,
    }


def _mark_json(book: Book, mark: Mark) -> dict[str, Any]:
    return {
        **fields(mark, "id", "kind", "start", "end"),
        "percent": percent(book, mark.start),
        "chapter": chapter_of(book, mark),
        "text": mark.place.exact,
        "before": mark.place.prefix,
        "behind": mark.place.suffix,
        **fields(mark, "color", "letter", "note", "lost"),
        "made": iso_time(mark.made_at),
        "changed": iso_time(mark.changed_at),
    }


def _question_json(book: Book, saved: SavedQuestion) -> dict[str, Any]:
    return {
        **fields(saved, "question", "answer", "begun", "found"),
        "marks": [asdict(mark) for mark in saved.marks],
        "citations": [_citation_json(book, citation) for citation in saved.citations],
        **fields(saved, "lookups", "reader", "model", "memory"),
        "asked": iso_time(saved.asked_at),
        # When the first question of its thread was asked
        "thread": iso_time(saved.thread_id),
    }


def _citation_json(book: Book, citation: Citation) -> dict[str, Any]:
    return {
        **fields(citation, "page", "start", "end"),
        "percent": percent(book, citation.start),
        "chapter": book.chapter_title(citation.start),
        **fields(citation, "quote", "tells"),
    }


_RENDERERS: dict[str, Callable[[Export], str]] = {
    ExportFormat.TEXT: lambda export: export.book.text,
    ExportFormat.JSON: _json_document,
    ExportFormat.MARKDOWN: as_markdown,
    ExportFormat.OBSIDIAN: as_note,
    ExportFormat.ANKI: lambda export: as_cards([export]),
    ExportFormat.READWISE: lambda export: as_readwise([export]),
    ExportFormat.ANNOTATIONS: _annotations_document,
    ExportFormat.BIBTEX: lambda export: as_bibtex(export.book),
    ExportFormat.CSL: _csl_document,
}
# Formats in which one document may hold several books
_TOGETHER: dict[Form, Callable[[Iterable[Export]], str]] = {
    ExportFormat.JSON: lambda exports: _json_text(all_as_json(exports)),
    ExportFormat.ANKI: as_cards,
    ExportFormat.READWISE: as_readwise,
}
