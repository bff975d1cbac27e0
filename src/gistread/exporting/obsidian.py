"""A Markdown note for Obsidian: each export appends new items and leaves existing text unchanged.

An Obsidian block id (`^mark-…`) on its own line follows every item. An item whose id is in the note is not exported
again, even if the user edited it.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path

import yaml

from gistread.book.model import Book
from gistread.errors import StorageError
from gistread.exporting.markdown import block, mark_markdown, question_markdown
from gistread.exporting.model import Export, ExportFormat, export_file_name, quoted_marks
from gistread.store.journal import append_whole
from gistread.units import counted

_BLOCK_ID = re.compile(r"^\^([A-Za-z0-9-]+)[ \t\r]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Item:
    id: str
    text: str
    about: str = ""  # Id of the item it annotates


def as_note(export: Export) -> str:
    """The whole note, as in an empty file."""
    return _front_matter(export.book) + _addition(_items(export), set())


def append_to_note(export: Export, path: Path) -> str:
    """Append new items to the note, or to `Author — Title.md` in a folder; returns a message. Raises StorageError."""
    if path.is_dir():
        path /= export_file_name(export.book.title, ExportFormat.OBSIDIAN, export.book.authors)
    try:
        with FileIO(path, "a+b") as file:
            file.seek(0)
            old = file.readall()
            known = set(_BLOCK_ID.findall(old.decode("utf-8", "replace")))
            new = [item for item in _items(export) if item.id not in known]
            if not new and old:
                return f"{path} has everything already."
            head = ("\n" if old.endswith(b"\n") else "\n\n") if old else _front_matter(export.book)
            append_whole(file, (head + _addition(new, known)).encode(), len(old))
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.", "Choose another file.") from error
    return f"{'Added' if old else 'Wrote'} {counted(len(new), 'item')} to {path}."


def _front_matter(book: Book) -> str:
    facts = {
        "title": book.title,
        "author": list(book.authors),
        "language": book.language,
        "identifiers": list(book.identifiers),
        "tags": ["book"],
        "gistread": book.sha256,
    }
    known = {name: fact for name, fact in facts.items() if fact}
    return f"---\n{yaml.safe_dump(known, allow_unicode=True, sort_keys=False)}---\n\n"


def _addition(items: Iterable[_Item], known: Collection[str]) -> str:
    def text(item: _Item) -> str:
        return f"On [[#^{item.about}]]: {item.text}" if item.about in known else item.text

    return "\n".join(f"{text(item)}\n\n^{item.id}\n" for item in items)


def _items(export: Export) -> Iterator[_Item]:
    for mark in quoted_marks(export.marks):
        chapter = "" if mark.lost else export.book.chapter_title(mark.start)
        yield _Item(f"mark-{mark.id}", "\n\n".join(mark_markdown(export.book, replace(mark, note=""), chapter)))
        if mark.note:  # A separate item, so that a note written or changed later is exported too
            yield _Item(f"note-{mark.id}-{_digest(mark.note)}", block(mark.note), f"mark-{mark.id}")
    for asked in export.questions:
        if asked.answer.strip():
            text = "\n\n".join(question_markdown(export.book, asked))
            yield _Item(f"question-{_digest(f'{asked.asked_at} {asked.question}')}", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
