"""Marks, questions and gists as JSON, with offsets."""

from dataclasses import asdict
from typing import Any

from gistread.book.model import Book
from gistread.exporting.model import Export, percent
from gistread.marking.model import Mark
from gistread.store.model import SavedQuestion
from gistread.units import iso_time

Json = dict[str, Any]
JSON_VERSION = 1


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
        "marks": [asdict(mark) for mark in asked.marks],
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
