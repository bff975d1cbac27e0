"""Exports a book's marks, questions and gists as Markdown or JSON and for other programs, or the book's text."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from gistread.book.model import Book
from gistread.export_files import safe_file_name, write_document
from gistread.marking.model import Mark, MarkKind
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.people.joining import Entity
from gistread.units import iso_time
from gistread.user_data import SavedQuestion, mark_unsupported

Json = dict[str, Any]
JSON_VERSION = 1


class ExportFormat(StrEnum):
    """A format by its name on the command line."""

    MARKDOWN = "md"
    JSON = "json"
    TEXT = "txt"
    OBSIDIAN = "obsidian"  # A note with front matter, to which later exports append
    ANKI = "anki"
    READWISE = "readwise"

    @property
    def suffix(self) -> str:
        return _SUFFIXES.get(self, f".{self}")


_SUFFIXES = {ExportFormat.OBSIDIAN: ".md", ExportFormat.ANKI: ".tsv", ExportFormat.READWISE: ".csv"}


@dataclass(frozen=True, slots=True)
class Export:
    book: Book
    marks: Sequence[Mark] = ()
    questions: Sequence[SavedQuestion] = ()
    memory: GistMemory | None = None
    names: Sequence[tuple[Entity, Passage]] = ()  # Who and what to make cards of, with the sentence that introduces it


def render_export(export: Export, form: ExportFormat) -> str:
    """The exported document. As text it is exactly the book's text, with the same SHA-256."""
    match form:
        case ExportFormat.TEXT:
            return export.book.text
        case ExportFormat.JSON:
            import orjson

            return orjson.dumps(as_json(export), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
        case ExportFormat.MARKDOWN:
            return as_markdown(export)
        case ExportFormat.OBSIDIAN:
            from gistread.exporting.obsidian import as_note

            return as_note(export)
        case ExportFormat.ANKI:
            from gistread.exporting.anki import as_cards

            return as_cards(export)
        case ExportFormat.READWISE:
            return as_readwise(export)


def write_export(export: Export, form: ExportFormat, path: Path, *, force: bool = False) -> str:
    """Write the document, and say what was done; an Obsidian note is appended to. Raises ExistsError, StorageError."""
    if form is ExportFormat.OBSIDIAN:
        from gistread.exporting.obsidian import append_to_note

        return append_to_note(export, path)
    write_document(path, render_export(export, form), replace=force)
    return f"Wrote {path}."


def export_file_name(title: str, form: ExportFormat, authors: Sequence[str] = ()) -> str:
    """`Title – notes.md`; of a note for Obsidian `Author — Title.md`."""
    name = safe_file_name(title)
    if form is ExportFormat.OBSIDIAN:
        return " — ".join((*map(safe_file_name, authors[:1]), f"{name}{form.suffix}"))
    return f"{name}{'' if form is ExportFormat.TEXT else ' – notes'}{form.suffix}"


def format_for(path: Path) -> ExportFormat | None:
    """The format of a file name; `.md` is Markdown."""
    return next((form for form in ExportFormat if path.suffix.lower() == form.suffix), None)


_READWISE_COLUMNS = ("Highlight", "Title", "Author", "URL", "Note", "Location", "Date")


def as_readwise(export: Export) -> str:
    """Highlights and notes as the CSV that Readwise imports. `Location` is the offset, which orders them."""
    text, book = io.StringIO(), export.book
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_READWISE_COLUMNS)
    for mark in quoted_marks(export.marks):
        place = "" if mark.lost else mark.start
        writer.writerow(
            (mark.place.exact, book.title, ", ".join(book.authors), "", mark.note, place, iso_time(mark.made_at))
        )
    return text.getvalue()


def quoted_marks(marks: Iterable[Mark]) -> list[Mark]:
    """Highlights and notes: the marks that quote words."""
    return [mark for mark in marks if mark.kind in (MarkKind.HIGHLIGHT, MarkKind.NOTE)]


def as_json(export: Export) -> Json:
    """Everything with offsets; the structure is stable within a `version`."""
    book = export.book
    return {
        "version": JSON_VERSION,
        "book": {
            "sha256": book.sha256,
            "title": book.title,
            "authors": list(book.authors),
            "language": book.language,
            "identifiers": list(book.identifiers),
            "characters": len(book.text),
            "words": book.words,
        },
        "marks": [_mark_json(book, mark) for mark in export.marks],
        "questions": [_question_json(book, question) for question in export.questions],
        "gists": [
            {
                "page": entry.page.number,
                "start": entry.page.start,
                "end": entry.page.end,
                "chapter": book.chapter_title(entry.page.start),
                "gist": entry.gist.text,
                "source": entry.gist.source,
            }
            for entry in (export.memory.entries if export.memory else ())
        ],
    }


def _mark_json(book: Book, mark: Mark) -> Json:
    return {
        "id": mark.id,
        "kind": mark.kind,
        "start": mark.start,
        "end": mark.end,
        "percent": percent(book, mark.start),
        "chapter": "" if mark.lost else book.chapter_title(mark.start),
        "text": mark.place.exact,
        "before": mark.place.prefix,
        "behind": mark.place.suffix,
        "color": mark.color,
        "letter": mark.letter,
        "note": mark.note,
        "lost": mark.lost,
        "made": iso_time(mark.made_at),
        "changed": iso_time(mark.changed_at),
    }


def _question_json(book: Book, asked: SavedQuestion) -> Json:
    return {
        "question": asked.question,
        "answer": asked.answer,
        "found": asked.found,
        "unsupported": [list(place) for place in asked.unsupported],
        "citations": [
            {
                "page": one.page,
                "start": one.start,
                "end": one.end,
                "percent": percent(book, one.start),
                "chapter": book.chapter_title(one.start),
                "quote": one.quote,
            }
            for one in asked.citations
        ],
        "lookups": list(asked.lookups),
        "reader": asked.reader,
        "model": asked.model,
        "memory": asked.memory,
        "asked": iso_time(asked.asked_at),
        "thread": iso_time(asked.thread or asked.asked_at),  # When its first question was asked
    }


def percent(book: Book, offset: int) -> float:
    return round(100 * offset / max(1, len(book.text)), 1)


def as_markdown(export: Export) -> str:
    """Marks by chapter, then questions, then gists."""
    book = export.book
    parts = [f"# {_inline(book.title)}"]
    if book.authors:
        parts.append(_inline(", ".join(book.authors)))
    if placed := [mark for mark in export.marks if not mark.lost]:
        parts.append("## Marks")
        parts += _by_chapter(book, [(mark.start, mark_markdown(book, mark)) for mark in placed])
    if lost := [mark for mark in export.marks if mark.lost]:
        parts.append("## Marks that lost their place")
        parts.append("Their words are not in this version of the text.")
        parts += [part for mark in lost for part in mark_markdown(book, mark)]
    if export.questions:
        parts.append("## Questions")
        parts += [part for asked in export.questions for part in question_markdown(book, asked)]
    if export.memory is not None and export.memory.entries:
        parts.append("## Gists")
        parts.append(_inline(f"Read by {export.memory.model_name}."))
        gists = (
            (entry.page.start, [f"**{entry.page.number}** {_inline(' '.join(entry.gist.text.split()))}"])
            for entry in export.memory.entries
        )
        parts += _by_chapter(book, gists)
    if len(parts) <= 2:
        parts.append("No marks, questions or gists yet.")
    return "\n\n".join(parts) + "\n"


def _by_chapter(book: Book, parts: Iterable[tuple[int, Iterable[str]]]) -> Iterator[str]:
    chapter = -1
    for offset, part in parts:
        index = book.chapter_index(offset)
        if index != chapter and len(book.chapters) > 1:
            chapter = index
            yield f"### {_inline(book.chapter_title(offset))}"
        yield from part


def mark_markdown(book: Book, mark: Mark, chapter: str = "") -> Iterator[str]:
    """The blocks of a mark: its words, its note, what and where it is."""
    yield _quoted(mark.place.exact + (" …" if mark.kind in (MarkKind.BOOKMARK, MarkKind.LETTER) else ""))
    if mark.note:
        yield block(mark.note)
    name = {MarkKind.HIGHLIGHT: f"{mark.color or 'yellow'} highlight", MarkKind.LETTER: f"mark {mark.letter}"}.get(
        mark.kind, mark.kind.value
    )
    place = (_inline(chapter), "" if mark.lost else _place(book, mark.start))
    where = "".join(f" · {part}" for part in place if part)
    day = f" · {iso_time(mark.made_at)[:10]}" if mark.made_at else ""
    yield f"— *{name}{where}{day}*"


def question_markdown(book: Book, asked: SavedQuestion) -> Iterator[str]:
    """The blocks of a question: a heading, the answer, its sources."""
    yield f"### {_inline(asked.question)}"
    yield (
        block(mark_unsupported(asked.answer, asked.unsupported)[0]) if asked.answer.strip() else "No answer was given."
    )
    for one in asked.citations:
        page = f"page {one.page} · " if one.page else ""
        yield f"{_quoted(one.quote)}\n>\n> — *{page}{_place(book, one.start)}*"
    over = f", over the memory of {asked.memory}" if asked.memory not in ("", asked.model) else ""
    said = [f"{asked.reader} with {asked.model}{over}" if asked.model else asked.reader, iso_time(asked.asked_at)[:10]]
    if said := [part for part in said if part]:
        yield f"*{_inline(' · '.join(said))}*"


def _place(book: Book, offset: int) -> str:
    place = (_inline(book.volume_title(offset)), f"{percent(book, offset):g}%", f"offset {offset}")
    return " · ".join(filter(None, place))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in block(text).split("\n"))


def block(text: str) -> str:
    """Lines of text as Markdown."""
    lines = [_inline(line.strip()) for line in text.strip().split("\n")]
    ends = ["\\" if line and number + 1 < len(lines) and lines[number + 1] else "" for number, line in enumerate(lines)]
    return "\n".join(line + end for line, end in zip(lines, ends, strict=True))


_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&])")
_SIGN_AT_START = re.compile(r"^(\s*)(?=[-+=:])")
_NUMBER_AT_START = re.compile(r"^(\s*\d+)(?=[.)])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _inline(text: str) -> str:
    text = _SPECIAL.sub(r"\\\1", _CONTROL.sub("\ufffd", text))
    return _NUMBER_AT_START.sub(r"\1\\", _SIGN_AT_START.sub(r"\1\\", text))
