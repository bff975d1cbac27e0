"""Opens a book, and finds its model, in a thread."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gistread.book.cache import cached_text, file_digest, open_cached
from gistread.book.model import Book
from gistread.engine import model_search, models
from gistread.errors import EngineError, StorageError
from gistread.library.moving import migrate_user_data
from gistread.memory.store import MemoryStore
from gistread.store.model import ReadingPlace
from gistread.store.user_data import MarkStore
from gistread.tui.services import AppServices


@dataclass(frozen=True, slots=True)
class OpenedBook:
    """A book that has been read from its file, and the user's saved place in it."""

    book: Book
    place: ReadingPlace
    notice: str  # What the user should know about the saved data; empty: nothing


def read_book(
    source: Book | Path, services: AppServices, cancelled: Callable[[], bool]
) -> OpenedBook:
    """Read the book and its saved place.

    Migrates data of an earlier version of the text. Raises BookError.
    """
    user_data = services.user_data
    if isinstance(source, Book):
        path = None
        book = source
    else:
        path = source
        paths = services.paths
        book = open_cached(path, paths.texts, cancelled, encodings=paths.encodings)
    _ = book.words  # Counted here, in the thread
    notice = ""
    try:
        if not user_data.opened_at(book.sha256):
            notice = _migrate(book, path, services)
        place = user_data.reading_place(book.sha256)
    except StorageError as error:
        notice = f"Your place and marks in this book cannot be read: {error}"
        return OpenedBook(book, ReadingPlace(), notice)
    return OpenedBook(book, place, notice or user_data.notice)


def _migrate(book: Book, path: Path | None, services: AppServices) -> str:
    """Migrate data of an earlier version of this text; returns a notice. Raises StorageError."""
    file = file_digest(path) if path else ""
    migrated = migrate_user_data(
        book, services.user_data, MarkStore(services.paths), file=file, path=path
    )
    if migrated is None or not migrated.lost:
        return ""
    lost = f"{migrated.lost} of {migrated.marks} marks"
    return f"The text of this book has changed: {lost} have lost their place."


@dataclass(frozen=True, slots=True)
class BookModel:
    """The model for a book, and whether it reads along at once."""

    name: str = ""  # Empty: none
    along: bool = False
    paused: bool = False  # Whether the user turned reading along off for this book


def is_new(source: Path, services: AppServices) -> bool:
    """Whether this file has never been opened, told without reading it as a book."""
    digest = file_digest(source)
    text = cached_text(digest, services.paths.texts)
    if text is None:
        return bool(digest)  # A folder has no digest.
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    with suppress(StorageError):
        return not services.user_data.opened_at(sha256)
    return False


def model_of_new_book(services: AppServices) -> str:
    """The model that reads a book along from its first opening on; empty if none does."""
    if services.named_model:
        return services.named_model
    config = services.config
    if config.model:
        return config.model if config.read_along else ""
    if model_search.starter_path() is not None:
        return models.STARTER
    return ""


def model_of(book: Book, services: AppServices) -> BookModel:
    """The model for this book: the named one, the one chosen for the book, or the usual one.

    Without any of these, the model that has read furthest in it, or else the installed starter.
    A model that has begun the book goes on until the user turns it off.
    """
    choice = None
    with suppress(StorageError):
        choice = services.user_data.reading_along(book.sha256)
    turned_off = ""  # The model whose reading along the user turned off
    if choice is not None and not choice.along:
        turned_off = choice.model
    if named := services.named_model:
        is_paused = named == turned_off
        return BookModel(named, along=not is_paused, paused=is_paused)
    if choice is not None:
        is_paused = bool(turned_off)
        return BookModel(choice.model, along=choice.along, paused=is_paused)
    memories = services.paths.memories
    if model := services.config.model or model_that_read(book, memories):
        along = services.config.read_along or has_begun(model, book, memories)
        return BookModel(model, along)
    if model_search.starter_path() is not None:
        return BookModel(models.STARTER, along=True)
    return BookModel()


def model_that_read(book: Book, memories: Path) -> str:
    """The model on this machine that has read furthest in the book; empty if there is none."""
    headers = MemoryStore(memories).find(book)  # Those that cover most come first.
    for header in headers:
        if _fingerprint(header.model_name) == header.fingerprint:
            return header.model_name
    return ""


def has_begun(model: str, book: Book, memories: Path) -> bool:
    """Whether this model has read a part of the book, but not all; it is on this machine."""
    fingerprint = _fingerprint(model)
    is_begun = False
    for header in MemoryStore(memories).find(book):
        if header.fingerprint == fingerprint and header.pages:
            if header.complete:
                return False
            is_begun = True
    return is_begun


def _fingerprint(model: str) -> str | None:
    """Identifies the model's file; None if the model is not on this machine."""
    with suppress(EngineError):
        return models.fingerprint_of(models.find_source(model)) or None
    return None
