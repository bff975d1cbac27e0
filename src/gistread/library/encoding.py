"""Changes the encoding in which a plain text is read, and forgets its text and index."""

from pathlib import Path

from gistread.book.cache import file_digest, forget_cached
from gistread.book.encodings import choose_encoding
from gistread.book.open import open_file
from gistread.library.index import LibraryIndex
from gistread.paths import Paths


def change_encoding(paths: Paths, source: Path, name: str) -> None:
    """Store an encoding for a file; `auto` returns to the guess.

    Raises UsageError for an unknown one, BookError, StorageError, OSError.
    """
    digest = file_digest(source)
    if not digest:
        open_file(source).close()  # Raises why it cannot be read
    choose_encoding(paths.encodings, source, digest, name)
    forget_cached(digest, paths.texts)
    LibraryIndex(paths).forget(digest)
