"""Opens a book, and finds its model, in a thread."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gistread.book.cache import file_digest, open_cached
from gistread.book.model import Book
from gistread.engine import model_search, models
from gistread.errors import EngineError, StorageError
from gistread.library.moving import migrate_user_data
from gistread.memory.store import MemoryStore
from gistread.store.model import ReadingPlace
from gistread.store.user_data import MarkStore
from gistread.tui.services import AppServices


def read_book(
    wanted: Book | Path, services: AppServices, cancelled: Callable[[], bool]
) -> tuple[Book, ReadingPlace, str]:
    """The book, its saved place and a notice.

    Migrates data of an earlier version of the text. Raises BookError.
    """
    user_data = services.user_data
    book = (
        wanted if isinstance(wanted, Book) else open_cached(wanted, services.paths.texts, cancelled)
    )
    _ = book.words
    try:
        notice = "" if user_data.opened_at(book.sha256) else _migrate(book, wanted, services)
        return book, user_data.reading_place(book.sha256), notice or user_data.notice
    except StorageError as error:
        return book, ReadingPlace(), f"Your place and marks in this book cannot be read: {error}"


def _migrate(book: Book, wanted: Book | Path, services: AppServices) -> str:
    """Migrate data of an earlier version of this text; returns a notice. Raises StorageError."""
    path = wanted if isinstance(wanted, Path) else None
    file = file_digest(path) if path else ""
    migrated = migrate_user_data(
        book, services.user_data, MarkStore(services.paths), file=file, path=path
    )
    if migrated is None or not migrated.lost:
        return ""
    return (
        f"The text of this book has changed: {migrated.lost} of {migrated.marks} marks have lost "
        "their place."
    )


def model_of(book: Book, services: AppServices) -> tuple[str, bool]:
    """The model for this book, and whether it reads along at once: only if the user chose that.

    Without any choice the installed starter reads along, as with `gistread sample`.
    """
    chosen = None
    with suppress(StorageError):
        chosen = services.user_data.reading_along(book.sha256)
    if services.named_model:
        paused = chosen is not None and chosen.model == services.named_model and not chosen.along
        return services.named_model, not paused
    if chosen is None:
        if model := services.config.model or model_that_read(book, services.paths.memories):
            return model, services.config.read_along
        return (models.STARTER, True) if model_search.starter_path() is not None else ("", False)
    return chosen.model, chosen.along


def model_that_read(book: Book, memories: Path) -> str:
    """The model on this machine that has read furthest in the book; empty if there is none."""
    for header in MemoryStore(memories).find(book)[:1]:
        with suppress(EngineError):  # it is not here
            if models.fingerprint_of(models.find_source(header.model_name)) == header.fingerprint:
                return header.model_name
    return ""
