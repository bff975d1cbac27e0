"""The books of the library: merged from user data, catalogue and disk, one entry per book, and
found by name.

A name is a number of the list, a path, a title, words of title, authors or file name, or a tag.
"""

import contextlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from gistread.book.series import read_series_file, volume_paths
from gistread.errors import BookError, ExitStatus, StorageError, UsageError
from gistread.store.catalogue import Catalogue, CatalogueContents, assign_numbers
from gistread.store.model import BookFile, OpenedBook, VolumeText
from gistread.store.pace import DEFAULT_WPM
from gistread.store.user_data import UserData
from gistread.units import fields, format_duration

SERIES_FORMAT = "series"
ID_LENGTH = 16  # Characters of a hash
_FINISHED_CHARACTERS = 2_000  # A book with less text left than this, a screenful, is finished
_MOST_LISTED = 10
_LEAST_WORD = 4  # Letters of a word of a title that a misspelt name is compared with
_SIMILAR = 0.75


@dataclass(frozen=True)
class LibraryEntry:
    title: str
    authors: tuple[str, ...]
    path: Path | None  # None for standard input
    sha256: str = ""  # Hash of its text; empty if never opened
    digest: str = ""  # Hash of its file; empty if never examined
    format: str = ""
    words: int = 0
    position: int = 0
    length: int = 0
    opened_at: float = 0.0  # Seconds since the epoch; 0 if never opened
    words_per_minute: float = DEFAULT_WPM  # The user's reading speed in this language
    volumes: tuple[VolumeText, ...] = ()  # The volumes of a series that was opened
    missing: bool = False  # No file exists at `path`
    tags: tuple[str, ...] = ()
    number: int = 0  # From 1, kept for good: what commands may call it

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(
            f"{kind}:{value}"
            for kind, value in (("text", self.sha256), ("file", self.digest))
            if value
        )

    @property
    def id(self) -> str:
        return (self.sha256 or self.digest)[:ID_LENGTH]

    @property
    def label(self) -> str:
        """`Emma · Jane Austen`"""
        return " · ".join((self.title, ", ".join(self.authors) or "unknown author"))

    @property
    def collections(self) -> tuple[str, ...]:
        """Its tags; a series is the collection of its volumes."""
        return (*self.tags, self.title) if self.format == SERIES_FORMAT else self.tags

    @property
    def was_opened(self) -> bool:
        return self.opened_at > 0

    @property
    def was_begun(self) -> bool:
        """Whether it was opened here, or has a place from another device."""
        return self.was_opened or self.position > 0

    @property
    def finished(self) -> bool:
        return (
            0 < self.length - self.position < _FINISHED_CHARACTERS
            and 2 * self.position > self.length
        )

    @property
    def share(self) -> float:
        """Fraction read, from 0 to 1."""
        if self.finished:
            return 1.0
        return min(1.0, self.position / self.length) if self.length else 0.0

    @property
    def words_left(self) -> int:
        return round(self.words * (1 - self.share))

    @property
    def reading_time(self) -> str:
        """Of the whole book, `2 h 10 min`; empty if unknown."""
        seconds = 60 * self.words / self.words_per_minute
        return format_duration(seconds) if seconds else ""

    @property
    def time_left(self) -> str:
        """`2 h 10 min`; empty if unknown or finished."""
        seconds = 60 * self.words_left / self.words_per_minute
        return format_duration(seconds) if seconds else ""

    @cached_property
    def folded(self) -> str:
        """Title, authors and file name, folded for comparison."""
        name = self.path.name if self.path else ""
        return folded(" ".join((self.title, *self.authors, name)))


def folded(text: str) -> str:
    """The text without case and accents: `emile` matches `Émile`."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def absolute(path: Path) -> Path:
    """The absolute path without `~` and `..`; symbolic links stay."""
    with contextlib.suppress(RuntimeError):  # `~name` of an unknown user is a plain file name
        path = path.expanduser()
    return Path(os.path.normpath(path.absolute()))


def is_file(path: Path) -> bool:
    """False for impossible names, too."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """False for impossible names, too."""
    return os.path.isdir(path)  # noqa: PTH112


class Order(StrEnum):
    """Sort order; the value is its label."""

    LAST_READ = "last read"
    TITLE = "title"
    AUTHOR = "author"
    PROGRESS = "progress"
    LENGTH = "length"


def list_entries(
    user_data: UserData,
    catalogue: Catalogue,
    words_per_minute: Callable[[str], float] = lambda language: DEFAULT_WPM,
    *,
    with_removed: bool = False,
) -> tuple[list[LibraryEntry], str]:
    """All books, the last read first, and a message if some cannot be read.

    `with_removed`: also those that the user took out of the list.
    Checks files; call it in a thread.
    """
    problem = ""
    try:
        known = catalogue.read()
    except StorageError as error:
        known, problem = CatalogueContents(), str(error)
    every = _entries(user_data, known, cache(words_per_minute))
    listed = [entry for entry in every if with_removed or not _is_removed(entry, known)]
    entries = sort_entries(listed, Order.LAST_READ)
    numbers = _numbers(entries, catalogue, known)
    return [
        replace(
            entry,
            number=number,
            tags=tuple(dict.fromkeys(tag for one in entry.ids for tag in known.tags.get(one, ()))),
        )
        for number, entry in zip(numbers, entries, strict=True)
    ], problem or user_data.problem


def _numbers(
    entries: Sequence[LibraryEntry], catalogue: Catalogue, known: CatalogueContents
) -> list[int]:
    """The number of each book, which it keeps; a file that cannot be written loses new ones."""
    books = [entry.ids for entry in entries]
    if all(book in known.numbers for ids in books for book in ids):
        return assign_numbers(books, known.numbers)
    try:
        return catalogue.number(books)
    except StorageError:
        return assign_numbers(books, known.numbers)


def sort_entries(entries: Iterable[LibraryEntry], order: Order) -> list[LibraryEntry]:
    """Sort entries; unopened books come last in orders about reading."""
    keys: dict[Order, Callable[[LibraryEntry], Any]] = {
        Order.LAST_READ: lambda entry: (-entry.opened_at, _title(entry)),
        Order.TITLE: _title,
        Order.AUTHOR: lambda entry: (not entry.authors, _surname(entry), _title(entry)),
        Order.PROGRESS: lambda entry: (not entry.was_begun, -entry.share, _title(entry)),
        Order.LENGTH: lambda entry: (not entry.words, entry.words, _title(entry)),
    }
    return sorted(entries, key=keys[order])


class Group(StrEnum):
    """How far a book has been read; the value is the heading."""

    READING = "Reading"
    UNREAD = "Unread"
    FINISHED = "Finished"


def group_of(entry: LibraryEntry) -> Group:
    if not entry.was_begun:
        return Group.UNREAD
    return Group.FINISHED if entry.finished else Group.READING


def to_continue(entries: Iterable[LibraryEntry]) -> LibraryEntry | None:
    """The book that was read last, unless it is finished or its file is missing."""
    begun = [entry for entry in entries if group_of(entry) is Group.READING and not entry.missing]
    return max(begun, key=lambda entry: entry.opened_at, default=None)


def filter_entries(entries: Iterable[LibraryEntry], typed: str) -> list[LibraryEntry]:
    """Entries whose title, authors or file name contain every word of `typed`."""
    words = folded(typed).split()
    return [entry for entry in entries if all(word in entry.folded for word in words)]


def _entries(
    user_data: UserData, known: CatalogueContents, words_per_minute: Callable[[str], float]
) -> Iterable[LibraryEntry]:
    by_text = {
        file.sha256: file
        for file in sorted(known.files.values(), key=lambda file: file.at)
        if file.sha256
    }
    taken: set[Path] = set()
    listed: set[str] = set()
    for book in user_data.recent():
        entry = _opened(book, by_text.get(book.sha256), words_per_minute)
        if entry.path in taken:
            continue  # the file now holds another text, which was opened later
        if entry.path is not None:
            taken.add(entry.path)
        listed.update(entry.ids)
        yield entry
    positions = user_data.positions()
    for path, file in known.paths.items():
        entry = LibraryEntry(
            **fields(file, "title", "authors", "sha256", "digest", "format", "words", "length"),
            path=path,
            position=positions.get(file.sha256, 0),
            words_per_minute=words_per_minute(file.language),
        )
        if path not in taken and listed.isdisjoint(entry.ids):
            yield replace(entry, missing=not is_file(path))


def _is_removed(entry: LibraryEntry, known: CatalogueContents) -> bool:
    """Whether the user took the book out of the list, and has not opened it since."""
    times = (known.removed[book] for book in entry.ids if book in known.removed)
    return any(removed_at >= entry.opened_at for removed_at in times)


def _opened(
    book: OpenedBook, file: BookFile | None, words_per_minute: Callable[[str], float]
) -> LibraryEntry:
    # The catalogue records a moved file after the last opening.
    path = (
        file.path
        if file is not None and (book.path is None or file.at > book.opened_at)
        else book.path
    )
    path = absolute(path) if path else None
    file = file or BookFile(Path(), book.file, 0, 0, book.title)
    return LibraryEntry(
        **fields(book, "title", "authors", "sha256", "position", "length", "opened_at"),
        **fields(file, "digest", "format", "words", "volumes"),
        path=path,
        words_per_minute=words_per_minute(file.language),
        missing=path is not None and not is_file(path),
    )


def _title(entry: LibraryEntry) -> str:
    """The title for sorting, without its article."""
    return re.sub(r"^[^\w]*(?:(?:the|an?)\s+(?=\S))?", "", folded(entry.title))


def _surname(entry: LibraryEntry) -> str:
    name = folded(entry.authors[0]) if entry.authors else ""
    return name if "," in name else " ".join(name.split()[-1:] + name.split()[:-1])


class UnknownBookError(UsageError):
    """No book of the library has this name."""

    exit_status = ExitStatus.BOOK


def find_book(entries: Sequence[LibraryEntry], name: str) -> LibraryEntry:
    """The book with this path, else title, else number or id, else words.

    Raises UsageError unless it is one.
    """
    wanted, path = words_of(name), absolute(Path(name))
    found = (
        [entry for entry in entries if entry.path == path]
        or [entry for entry in entries if wanted and words_of(entry.title) == wanted]
        or [entry for entry in entries if name in (str(entry.number), entry.id)]
        or (filter_entries(entries, " ".join(wanted)) if wanted else [])
    )
    if not found:
        near = _similar(entries, name)
        raise UnknownBookError(
            f"No book is called {name!r}.",
            f"Did you mean {' or '.join(near)}?" if near else "`gistread books` lists the library.",
        )
    if len(found) > 1:
        lines = [f"{entry.number:>4}  {entry.label}" for entry in found[:_MOST_LISTED]]
        lines += [f"      and {len(found) - _MOST_LISTED} more"] * (len(found) > _MOST_LISTED)
        raise UsageError(
            f"{len(found)} books match {name!r}. Name one by its number:", "\n".join(lines)
        )
    return found[0]


def words_of(name: str) -> list[str]:
    """`the-great-gatsby` and `The Great Gatsby!` have the same."""
    return re.findall(r"[^\W_]+", folded(name))


def path_of(entry: LibraryEntry) -> Path:
    """The book's file. Raises BookError if it is gone."""
    if entry.path is None:
        raise BookError(f"{entry.title} was read from standard input.", "Give the text again.")
    if entry.missing:
        raise BookError(
            f"{entry.title} is no longer at {entry.path}.",
            "Open it at its new path to keep its position and marks.",
        )
    return entry.path


def tagged(entries: Iterable[LibraryEntry], tag: str) -> list[LibraryEntry]:
    """The books of a collection: those with this tag, or a series and its volumes.

    Raises UsageError if none.
    """
    entries, wanted = list(entries), folded(tag)
    known = {folded(name): name for entry in entries for name in entry.collections}
    if wanted not in known:
        near = get_close_matches(wanted, known, n=1)
        hint = (
            f"Did you mean {known[near[0]]!r}?"
            if near
            else "`gistread books tag BOOK TAG` makes one."
        )
        raise UsageError(f"No book has the tag {tag!r}.", hint)
    found = [entry for entry in entries if wanted in map(folded, entry.collections)]
    volumes = {path for entry in found if folded(entry.title) == wanted for path in _volumes(entry)}
    return [
        entry
        for entry in entries
        if entry in found or (entry.path and entry.path.resolve() in volumes)
    ]


def _volumes(entry: LibraryEntry) -> list[Path]:
    """The files of a series; none for another book, or if they cannot be read."""
    if entry.format != SERIES_FORMAT or entry.path is None:
        return []
    try:
        with entry.path.open("rb") as stream:
            return [
                path.resolve()
                for path in volume_paths(read_series_file(stream, entry.path.name), entry.path)
            ]
    except (BookError, OSError):
        return []


def _similar(entries: Iterable[LibraryEntry], name: str) -> list[str]:
    """Up to three titles that may be meant by a misspelt title, a word of it, or an author."""
    titles: dict[str, str] = {}
    for entry in entries:
        words = words_of(" ".join((entry.title, *entry.authors)))
        for text in (folded(entry.title), *(word for word in words if len(word) >= _LEAST_WORD)):
            titles.setdefault(text, f"“{entry.title}”")
    return list(
        dict.fromkeys(titles[near] for near in get_close_matches(folded(name), titles, 3, _SIMILAR))
    )
