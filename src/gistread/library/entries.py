"""The books of the library: merged from user data, catalogue and disk, one entry per book.

They are found by name: a number of the list, a path, a title, words of title, authors or file name,
or a tag.
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
from gistread.store.catalogue import (
    Catalogue,
    CatalogueContents,
    assign_numbers,
    id_of_file,
    id_of_text,
)
from gistread.store.model import BookFile, OpenedBook, VolumeText
from gistread.store.pace import DEFAULT_WPM
from gistread.store.user_data import UserData
from gistread.units import format_duration

SERIES_FORMAT = "series"
ID_LENGTH = 16  # Characters of a hash
# A book with less text left than this, a screenful, is finished
_FINISHED_CHARACTERS = 2_000
_MOST_LISTED = 10
_LEAST_WORD = 4  # Letters of a word of a title that a misspelt name is compared with
_SIMILAR = 0.75
_MOST_SIMILAR = 3


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
    chapter: str = ""  # Title of the chapter at the position; empty if unknown
    length: int = 0
    opened_at: float = 0.0  # Seconds since the epoch; 0 if never opened
    words_per_minute: float = DEFAULT_WPM  # The user's reading speed in this language
    volumes: tuple[VolumeText, ...] = ()  # The volumes of a series that was opened
    missing: bool = False  # No file exists at `path`
    tags: tuple[str, ...] = ()
    number: int = 0  # From 1, never changed; commands may use it as a name

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids in the catalogue: of the text, and of the file."""
        ids = []
        if self.sha256:
            ids.append(id_of_text(self.sha256))
        if self.digest:
            ids.append(id_of_file(self.digest))
        return tuple(ids)

    @property
    def id(self) -> str:
        return (self.sha256 or self.digest)[:ID_LENGTH]

    @property
    def label(self) -> str:
        """`Emma · Jane Austen`"""
        authors = ", ".join(self.authors) or "unknown author"
        return f"{self.title} · {authors}"

    @property
    def collections(self) -> tuple[str, ...]:
        """Its tags; a series is the collection of its volumes."""
        if self.format == SERIES_FORMAT:
            return (*self.tags, self.title)
        return self.tags

    @property
    def was_opened(self) -> bool:
        return self.opened_at > 0

    @property
    def was_begun(self) -> bool:
        """Whether it was opened here, or has a place from another device."""
        return self.was_opened or self.position > 0

    @property
    def finished(self) -> bool:
        """Whether less than a screenful is left, and the place is past the middle."""
        characters_left = self.length - self.position
        # Not above 0 if the length is unknown
        is_at_end = 0 < characters_left < _FINISHED_CHARACTERS
        is_past_middle = 2 * self.position > self.length
        return is_at_end and is_past_middle

    @property
    def share(self) -> float:
        """Fraction read, from 0 to 1."""
        if self.finished:
            return 1.0
        if not self.length:
            return 0.0
        return min(1.0, self.position / self.length)

    @property
    def words_left(self) -> int:
        return round(self.words * (1 - self.share))

    @property
    def reading_time(self) -> str:
        """Of the whole book, `2 h 10 min`; empty if unknown."""
        return self._time_for(self.words)

    @property
    def time_left(self) -> str:
        """`2 h 10 min`; empty if unknown or finished."""
        return self._time_for(self.words_left)

    def _time_for(self, words: int) -> str:
        """The time to read so many words; empty for none."""
        seconds = 60 * words / self.words_per_minute
        if not seconds:
            return ""
        return format_duration(seconds)

    @cached_property
    def folded(self) -> str:
        """Title, authors and file name, folded for comparison."""
        name = self.path.name if self.path else ""
        return folded(" ".join((self.title, *self.authors, name)))


def folded(text: str) -> str:
    """The text without case and accents: `emile` matches `Émile`."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(
        character for character in decomposed if not unicodedata.combining(character)
    )


def absolute(path: Path) -> Path:
    """The absolute path without `~` and `..`; symbolic links stay."""
    # `~name` of an unknown user is a plain file name
    with contextlib.suppress(RuntimeError):
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

    `words_per_minute`: the user's reading speed in a language. `with_removed`: also those that the
    user took out of the list. Checks files; call it in a thread.
    """
    problem = ""
    try:
        known = catalogue.read()
    except StorageError as error:
        known = CatalogueContents()
        problem = str(error)
    entries = list(_entries(user_data, known, cache(words_per_minute)))
    if not with_removed:
        entries = [entry for entry in entries if not _is_removed(entry, known)]
    entries = sort_entries(entries, Order.LAST_READ)
    numbers = _numbers(entries, catalogue, known)
    numbered = [
        replace(entry, number=number, tags=_tags_of(entry, known))
        for number, entry in zip(numbers, entries, strict=True)
    ]
    return numbered, problem or user_data.problem


def _tags_of(entry: LibraryEntry, known: CatalogueContents) -> tuple[str, ...]:
    """The tags of the text and of the file, each once."""
    tags = [tag for book_id in entry.ids for tag in known.tags.get(book_id, ())]
    return tuple(dict.fromkeys(tags))


def _numbers(
    entries: Sequence[LibraryEntry], catalogue: Catalogue, known: CatalogueContents
) -> list[int]:
    """The permanent number of each book. New numbers are lost if they cannot be stored."""
    books = [entry.ids for entry in entries]
    every_id = [book_id for ids in books for book_id in ids]
    if all(book_id in known.numbers for book_id in every_id):
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
        Order.PROGRESS: lambda entry: (
            not entry.was_begun,
            -entry.share,
            _title(entry),
        ),
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
    if entry.finished:
        return Group.FINISHED
    return Group.READING


def to_continue(entries: Iterable[LibraryEntry]) -> LibraryEntry | None:
    """The book that was read last, unless it is finished or its file is missing."""
    present = [entry for entry in entries if not entry.missing]
    reading = [entry for entry in present if group_of(entry) is Group.READING]
    return max(reading, key=lambda entry: entry.opened_at, default=None)


def filter_entries(entries: Iterable[LibraryEntry], typed: str) -> list[LibraryEntry]:
    """Entries whose title, authors or file name contain every word of `typed`."""
    words = folded(typed).split()
    return [entry for entry in entries if all(word in entry.folded for word in words)]


def _entries(
    user_data: UserData,
    known: CatalogueContents,
    words_per_minute: Callable[[str], float],
) -> Iterable[LibraryEntry]:
    """The books that were opened, then the other files of the catalogue."""
    files = sorted(known.files.values(), key=lambda file: file.at)
    file_of = {file.sha256: file for file in files if file.sha256}  # The latest of each
    listed_paths: set[Path] = set()
    listed_ids: set[str] = set()
    for book in user_data.recent():
        entry = _opened(book, file_of.get(book.sha256), words_per_minute)
        if entry.path in listed_paths:
            continue  # the file now holds another text, which was opened later
        if entry.path is not None:
            listed_paths.add(entry.path)
        listed_ids.update(entry.ids)
        yield entry
    positions = user_data.positions()
    for path, file in known.paths.items():
        entry = LibraryEntry(
            title=file.title,
            authors=file.authors,
            path=path,
            sha256=file.sha256,
            digest=file.digest,
            format=file.format,
            words=file.words,
            length=file.length,
            position=positions.get(file.sha256, 0),
            words_per_minute=words_per_minute(file.language),
        )
        if path not in listed_paths and listed_ids.isdisjoint(entry.ids):
            yield replace(entry, missing=not is_file(path))


def _is_removed(entry: LibraryEntry, known: CatalogueContents) -> bool:
    """Whether the user took the book out of the list, and has not opened it since."""
    times = [known.removed[book] for book in entry.ids if book in known.removed]
    return any(removed_at >= entry.opened_at for removed_at in times)


def _opened(
    book: OpenedBook, file: BookFile | None, words_per_minute: Callable[[str], float]
) -> LibraryEntry:
    """The entry of a book that was opened; `file`: its file in the catalogue, if known."""
    path = book.path
    # The catalogue records a moved file after the last opening.
    if file is not None and (path is None or file.at > book.opened_at):
        path = file.path
    path = absolute(path) if path else None
    if file is None:
        # Only its digest is known.
        file = BookFile(
            path=Path(), digest=book.file, size=0, modified_ns=0, title=book.title
        )
    return LibraryEntry(
        title=book.title,
        authors=book.authors,
        path=path,
        sha256=book.sha256,
        digest=file.digest,
        format=file.format,
        words=file.words,
        position=book.position,
        chapter=book.chapter,
        length=book.length,
        opened_at=book.opened_at,
        words_per_minute=words_per_minute(file.language),
        volumes=file.volumes,
        missing=path is not None and not is_file(path),
    )


# Signs and an article at the beginning: `The ` of `The Castle`, but not all of `The`
_BEFORE_TITLE = re.compile(r"^[^\w]*(?:(?:the|an?)\s+(?=\S))?")


def _title(entry: LibraryEntry) -> str:
    """The title for sorting, without its article."""
    return _BEFORE_TITLE.sub("", folded(entry.title))


def _surname(entry: LibraryEntry) -> str:
    """The first author for sorting: `austen jane`."""
    name = folded(entry.authors[0]) if entry.authors else ""
    if "," in name:
        return name
    *first_names, surname = name.split() or [""]
    return " ".join((surname, *first_names))


class UnknownBookError(UsageError):
    """No book of the library has this name."""

    exit_status = ExitStatus.BOOK


def find_book(entries: Sequence[LibraryEntry], name: str) -> LibraryEntry:
    """The book with this path, else title, else number or id, else words.

    Raises UsageError unless exactly one book matches.
    """
    matches = _entries_named(entries, name)
    if not matches:
        titles = _similar(entries, name)
        hint = "`gistread books` lists the library."
        if titles:
            hint = f"Did you mean {' or '.join(titles)}?"
        raise UnknownBookError(f"No book is called {name!r}.", hint)
    if len(matches) > 1:
        lines = [
            f"{entry.number:>4}  {entry.label}" for entry in matches[:_MOST_LISTED]
        ]
        if len(matches) > _MOST_LISTED:
            lines.append(f"      and {len(matches) - _MOST_LISTED} more")
        raise UsageError(
            f"{len(matches)} books match {name!r}. Name one by its number:",
            "\n".join(lines),
        )
    return matches[0]


def _entries_named(entries: Sequence[LibraryEntry], name: str) -> list[LibraryEntry]:
    """The books with this path; if there are none, with this title, number or id, or words."""
    path = absolute(Path(name))
    by_path = [entry for entry in entries if entry.path == path]
    if by_path:
        return by_path
    words = words_of(name)
    if words:
        by_title = [entry for entry in entries if words_of(entry.title) == words]
        if by_title:
            return by_title
    by_id = [entry for entry in entries if name in (str(entry.number), entry.id)]
    if by_id or not words:
        return by_id
    return filter_entries(entries, " ".join(words))


def words_of(name: str) -> list[str]:
    """Words for comparing names: `the-great-gatsby` and `The Great Gatsby!` have the same."""
    return re.findall(r"[^\W_]+", folded(name))


def path_of(entry: LibraryEntry) -> Path:
    """The book's file. Raises BookError if it is missing."""
    if entry.path is None:
        raise BookError(
            f"{entry.title} was read from standard input.", "Give the text again."
        )
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
    entries = list(entries)
    sought = folded(tag)
    known = {folded(name): name for entry in entries for name in entry.collections}
    if sought not in known:
        similar = get_close_matches(sought, known, n=1)
        hint = "`gistread books tag BOOK TAG` makes one."
        if similar:
            hint = f"Did you mean {known[similar[0]]!r}?"
        raise UsageError(f"No book has the tag {tag!r}.", hint)
    members = [entry for entry in entries if sought in map(folded, entry.collections)]
    volumes: set[Path | None] = set()
    for entry in members:
        if folded(entry.title) == sought:
            volumes.update(_volumes(entry))
    if volumes:
        members += [entry for entry in entries if _file_of(entry) in volumes]
    # Each once, in the order of the list
    return [entry for entry in entries if entry in members]


def _file_of(entry: LibraryEntry) -> Path | None:
    """The file behind symbolic links; None for standard input."""
    if not entry.path:
        return None
    return entry.path.resolve()


def _volumes(entry: LibraryEntry) -> list[Path]:
    """The files of a series; none for another book, or if they cannot be read."""
    if entry.format != SERIES_FORMAT or entry.path is None:
        return []
    try:
        with entry.path.open("rb") as stream:
            series = read_series_file(stream, entry.path.name)
        return [path.resolve() for path in volume_paths(series, entry.path)]
    except (BookError, OSError):
        return []


def _similar(entries: Iterable[LibraryEntry], name: str) -> list[str]:
    """Up to three titles that may be meant by a misspelt title, a word of it, or an author."""
    title_of: dict[str, str] = {}  # By each spelling that is compared
    for entry in entries:
        words = words_of(" ".join((entry.title, *entry.authors)))
        long_words = [word for word in words if len(word) >= _LEAST_WORD]
        for spelling in (folded(entry.title), *long_words):
            title_of.setdefault(spelling, f"“{entry.title}”")
    similar = get_close_matches(folded(name), title_of, _MOST_SIMILAR, _SIMILAR)
    titles = [title_of[spelling] for spelling in similar]
    return list(dict.fromkeys(titles))
