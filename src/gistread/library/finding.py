"""Finds a moved or renamed book file by its bytes, in likely places."""

from collections.abc import Callable, Iterable
from pathlib import Path

from gistread.book.open import open_book
from gistread.errors import BookError
from gistread.library.catalogue import examine_file
from gistread.library.model import BookFile, LibraryEntry
from gistread.library.scanning import DEEPEST, walk

_BESIDE = 2  # Depth of the search from the file's old folder
_MOST_FILES = 50_000


def find_moved(
    entry: LibraryEntry, folders: Iterable[Path], stopped: Callable[[], bool] = lambda: False
) -> BookFile | None:
    """The book's file in the library's folders or near its old place; None if it is not found."""
    if not entry.digest or entry.path is None:
        return None
    parent = entry.path.parent
    looked: set[Path] = set()
    places = [(parent, _BESIDE), *((folder, DEEPEST) for folder in folders), (parent.parent, 1)]
    steps = (step for root, deepest in places for step in walk(root, stopped, deepest))
    for file in (step for step in steps if isinstance(step, Path)):
        if stopped() or len(looked) >= _MOST_FILES:
            return None
        if file in looked:
            continue
        looked.add(file)
        try:
            if file.stat().st_size == entry.size and (found := examine_file(file)).digest == entry.digest:
                return found
        except OSError:
            continue
    return None


def is_this_book(entry: LibraryEntry, path: Path) -> bool:
    """Whether the file holds the book: the same bytes, or the same text. Raises BookError."""
    try:
        if entry.digest and examine_file(path).digest == entry.digest:
            return True
    except OSError as error:
        raise BookError(f"{path} cannot be read: {error.strerror or error}.") from error
    return bool(entry.sha256) and open_book(path).sha256 == entry.sha256
