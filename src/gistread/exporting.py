"""Exports a book's marks, questions and gists as Markdown or JSON, or the book's text."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from gistread.book.model import Book
from gistread.export_files import safe_file_name
from gistread.marking.model import Mark, MarkKind
from gistread.memory.model import GistMemory
from gistread.user_data import SavedQuestion, mark_unsupported

Json = dict[str, Any]
JSON_VERSION = 1


class ExportFormat(StrEnum):
    MARKDOWN = "md"
    JSON = "json"
    TEXT = "txt"


@dataclass(frozen=True, slots=True)
class Export:
    book: Book
    marks: Sequence[Mark] = ()
    questions: Sequence[SavedQuestion] = ()
    memory: GistMemory | None = None


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


def export_file_name(title: str, form: ExportFormat) -> str:
    return f"{safe_file_name(title)}{'' if form is ExportFormat.TEXT else ' – notes'}.{form}"


def format_for(path: Path) -> ExportFormat | None:
    return next((form for form in ExportFormat if path.suffix.lower() == f".{form}"), None)


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
        "made": _iso(mark.made_at),
        "changed": _iso(mark.changed_at),
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
        "asked": _iso(asked.asked_at),
        "thread": _iso(asked.thread or asked.asked_at),  # When its first question was asked
    }


def percent(book: Book, offset: int) -> float:
    return round(100 * offset / max(1, len(book.text)), 1)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds") if seconds else ""


def as_markdown(export: Export) -> str:
    """Marks by chapter, then questions, then gists."""
    book = export.book
    parts = [f"# {_inline(book.title)}"]
    if book.authors:
        parts.append(_inline(", ".join(book.authors)))
    if placed := [mark for mark in export.marks if not mark.lost]:
        parts.append("## Marks")
        parts += _by_chapter(book, [(mark.start, _mark_markdown(book, mark)) for mark in placed])
    if lost := [mark for mark in export.marks if mark.lost]:
        parts.append("## Marks that lost their place")
        parts.append("Their words are not in this version of the text.")
        parts += [part for mark in lost for part in _mark_markdown(book, mark)]
    if export.questions:
        parts.append("## Questions")
        parts += [part for asked in export.questions for part in _question_markdown(book, asked)]
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


def _mark_markdown(book: Book, mark: Mark) -> Iterator[str]:
    yield _quoted(mark.place.exact + (" …" if mark.kind in (MarkKind.BOOKMARK, MarkKind.LETTER) else ""))
    if mark.note:
        yield _block(mark.note)
    name = {MarkKind.HIGHLIGHT: f"{mark.color or 'yellow'} highlight", MarkKind.LETTER: f"mark {mark.letter}"}.get(
        mark.kind, mark.kind.value
    )
    where = "" if mark.lost else f" · {_place(book, mark.start)}"
    day = f" · {_iso(mark.made_at)[:10]}" if mark.made_at else ""
    yield f"— *{name}{where}{day}*"


def _question_markdown(book: Book, asked: SavedQuestion) -> Iterator[str]:
    yield f"### {_inline(asked.question)}"
    yield (
        _block(mark_unsupported(asked.answer, asked.unsupported)[0]) if asked.answer.strip() else "No answer was given."
    )
    for one in asked.citations:
        page = f"page {one.page} · " if one.page else ""
        yield f"{_quoted(one.quote)}\n>\n> — *{page}{_place(book, one.start)}*"
    over = f", over the memory of {asked.memory}" if asked.memory not in ("", asked.model) else ""
    said = [f"{asked.reader} with {asked.model}{over}" if asked.model else asked.reader, _iso(asked.asked_at)[:10]]
    if said := [part for part in said if part]:
        yield f"*{_inline(' · '.join(said))}*"


def _place(book: Book, offset: int) -> str:
    place = (_inline(book.volume_title(offset)), f"{percent(book, offset):g}%", f"offset {offset}")
    return " · ".join(filter(None, place))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _block(text).split("\n"))


def _block(text: str) -> str:
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
