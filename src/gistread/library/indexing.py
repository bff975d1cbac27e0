"""Brings the index of the library up to date, book by book.

Runs in a process of its own with the lowest priority:

    python -m gistread.library.indexing CONFIG DATA CACHE STATE

A second process waits for the first for some seconds, then ends. If a process is killed, the books
indexed so far stay.
"""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.child_process import python_command
from gistread.errors import BookError
from gistread.library.entries import LibraryEntry, list_entries
from gistread.library.index import LibraryIndex
from gistread.library.shelf import open_shelf, searchable
from gistread.paths import Paths
from gistread.store.catalogue import Catalogue
from gistread.store.files import make_folder
from gistread.store.journal import InUseError, open_locked
from gistread.store.user_data import UserData
from gistread.system import lower_priority

_NICENESS = 19
# For another process. A search waits as long, then searches the books indexed so far
_WAIT_S = 3.0


def start_indexing(
    paths: Paths, *, outlives_parent: bool = True
) -> "subprocess.Popen[bytes]":
    """Index new books in the background; without `outlives_parent` until this process ends.

    Raises OSError.
    """
    folders = map(str, (paths.config, paths.data, paths.cache, paths.state))
    command = python_command(
        "gistread.library.indexing", *folders, outlives_parent=outlives_parent
    )
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )


def index_new_books(paths: Paths) -> "subprocess.Popen[bytes] | None":
    """Index new books while this process runs, if there are any. Raises OSError, StorageError."""
    if not open_shelf(paths).pending:
        return None
    process = start_indexing(paths, outlives_parent=False)
    threading.Thread(target=process.wait, daemon=True).start()  # or it stays a zombie
    return process


def update_index(paths: Paths) -> None:
    """Index all new books and drop those that were removed.

    Does nothing if another process is still indexing after `_WAIT_S`. Raises OSError, StorageError.
    """
    index = LibraryIndex(paths)
    make_folder(index.folder)
    with (
        contextlib.suppress(InUseError),
        open_locked(index.folder / "indexing.lock", wait_s=_WAIT_S),
    ):
        while _index_new(paths, index):
            pass  # Books may have been added meanwhile.


def _index_new(paths: Paths, index: LibraryIndex) -> int:
    """Index the books that are new now; returns their number."""
    entries, problem = list_entries(UserData(paths), Catalogue(paths))
    if problem:
        # Some books may be missing from the list only because it cannot be read.
        return 0
    index.keep({entry.digest for entry in entries})
    known = index.books().keys()
    new = [entry for entry in searchable(entries) if entry.digest not in known]
    for entry in new:
        index.add(entry.digest, _open(entry, paths))
    return len(new)


def _open(entry: LibraryEntry, paths: Paths) -> Book | None:
    """The book; None if its file cannot be read."""
    if entry.path is None:
        return None
    try:
        return open_cached(entry.path, paths.texts, encodings=paths.encodings)
    except (BookError, MemoryError):
        return None


if __name__ == "__main__":
    lower_priority(_NICENESS)
    config, data, cache, state = map(Path, sys.argv[1:5])
    update_index(Paths(config, data, cache, state))
