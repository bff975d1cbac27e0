"""Lists the library, merged from user data, catalogue and disk: one entry per book, with its latest text."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from gistread.errors import StorageError
from gistread.library.model import LibraryEntry, absolute, folded, is_file
from gistread.store.catalogue import Catalogue, CatalogueContents
from gistread.store.model import BookFile, OpenedBook
from gistread.store.pace import DEFAULT_WPM
from gistread.store.user_data import UserData

_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")
_NOT_SORTED = re.compile(r"^[^\w]+")


class Order(StrEnum):
    """Sort order; the value is its label."""

    LAST_READ = "last read"
    TITLE = "title"
    AUTHOR = "author"
    PROGRESS = "progress"


def list_entries(
    user_data: UserData, catalogue: Catalogue, words_per_minute: Callable[[str], float] = lambda language: DEFAULT_WPM
) -> tuple[list[LibraryEntry], str]:
    """All books, the last read first, and a message if some cannot be read. Checks files; call it in a thread."""
    problem = ""
    try:
        known = catalogue.read()
    except StorageError as error:
        known, problem = CatalogueContents(), str(error)
    entries = sort_entries(_entries(user_data.recent(), known, cache(words_per_minute)), Order.LAST_READ)
    return [
        replace(
            entry, number=number, tags=tuple(dict.fromkeys(tag for one in entry.ids for tag in known.tags.get(one, ())))
        )
        for number, entry in enumerate(entries, start=1)
    ], problem or user_data.problem


def sort_entries(entries: Iterable[LibraryEntry], order: Order) -> list[LibraryEntry]:
    """Sort entries; unopened books come last in orders about reading."""
    keys: dict[Order, Callable[[LibraryEntry], Any]] = {
        Order.LAST_READ: lambda entry: (-entry.opened_at, _title(entry)),
        Order.TITLE: _title,
        Order.AUTHOR: lambda entry: (not entry.authors, _surname(entry), _title(entry)),
        Order.PROGRESS: lambda entry: (not entry.was_opened, -entry.share, _title(entry)),
    }
    return sorted(entries, key=keys[order])


def filter_entries(entries: Iterable[LibraryEntry], typed: str) -> list[LibraryEntry]:
    """Entries whose title, authors or file name contain every word of `typed`."""
    words = folded(typed).split()
    return [entry for entry in entries if all(word in entry.folded for word in words)]


def _entries(
    opened: Sequence[OpenedBook], known: CatalogueContents, words_per_minute: Callable[[str], float]
) -> Iterable[LibraryEntry]:
    by_text = {file.sha256: file for file in sorted(known.files.values(), key=lambda file: file.at) if file.sha256}
    taken: set[Path] = set()
    listed: set[str] = set()
    for book in opened:
        entry = _opened(book, by_text.get(book.sha256), words_per_minute)
        if entry.path in taken:
            continue  # the file now holds another text, which was opened later
        if entry.path is not None:
            taken.add(entry.path)
        listed.update(entry.ids)
        if not any(known.removed[one] >= book.opened_at for one in entry.ids if one in known.removed):
            yield entry
    for path, file in known.paths.items():
        entry = LibraryEntry(file.title, file.authors, path, file.sha256, file.digest, file.size, file.format)
        if path not in taken and listed.isdisjoint(entry.ids) and known.removed.keys().isdisjoint(entry.ids):
            yield _on_disk(entry)


def _opened(book: OpenedBook, file: BookFile | None, words_per_minute: Callable[[str], float]) -> LibraryEntry:
    # The catalogue records a moved file after the last opening.
    path = file.path if file is not None and (book.path is None or file.at > book.opened_at) else book.path
    path = absolute(path) if path else None
    return _on_disk(
        LibraryEntry(
            title=book.title,
            authors=book.authors,
            path=path,
            sha256=book.sha256,
            digest=file.digest if file else book.file,
            size=file.size if file else 0,
            format=file.format if file else "",
            words=file.words if file else 0,
            position=book.position,
            length=book.length,
            opened_at=book.opened_at,
            words_per_minute=words_per_minute(file.language if file else ""),
            volumes=file.volumes if file else (),
        )
    )


def _on_disk(entry: LibraryEntry) -> LibraryEntry:
    exists = entry.path is None or is_file(entry.path)
    return entry if exists else replace(entry, missing=True)


def _title(entry: LibraryEntry) -> str:
    return _ARTICLE.sub("", _NOT_SORTED.sub("", folded(entry.title)))


def _surname(entry: LibraryEntry) -> str:
    name = folded(entry.authors[0]) if entry.authors else ""
    return name if "," in name else " ".join(name.split()[-1:] + name.split()[:-1])
