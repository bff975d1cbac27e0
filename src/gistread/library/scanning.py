"""Scans a folder for books step by step, visiting linked folders once, and finds a moved book by its bytes."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gistread.book.open import open_book
from gistread.errors import BookError, GistreadError
from gistread.library.catalogue import examine_file
from gistread.library.metadata import has_book_suffix, read_book_file
from gistread.library.model import BookFile, LibraryEntry, absolute, is_folder

MOST_BOOKS = 20_000
DEEPEST = 40
_MOST_ENTRIES = 500_000  # Files and folders examined at most
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class ScanProgress:
    folder: Path
    files: int  # Files named like books so far


@dataclass(frozen=True, slots=True)
class BookFound:
    file: BookFile
    is_new: bool  # False if it was known and unchanged


@dataclass(frozen=True, slots=True)
class ScanFailure:
    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class ScanCutShort:
    """The scan ended early."""

    reason: str


ScanEvent = ScanProgress | BookFound | ScanFailure | ScanCutShort


class FolderError(GistreadError):
    """The path to scan is not a folder."""


def scan(folder: Path, known: Mapping[Path, BookFile], stopped: Callable[[], bool]) -> Iterator[ScanEvent]:
    """Scan a folder recursively, in order of names. `known`: files as last examined. Raises FolderError."""
    folder = absolute(folder)
    if not is_folder(folder):
        raise FolderError(f"{folder} is not a folder.", "Choose an existing folder, or open a single book by its path.")
    found = files = 0
    for step in walk(folder, stopped):
        if not isinstance(step, Path):
            yield step
            continue
        files += 1
        if found >= MOST_BOOKS:
            yield ScanCutShort(f"There are more than {MOST_BOOKS:,} books; the rest was skipped.")
            return
        yield ScanProgress(step.parent, files)
        try:
            file = _unchanged(step, known.get(step))
            yield BookFound(file or read_book_file(step, stopped), is_new=file is None)
            found += 1
        except BookError as error:
            yield ScanFailure(step, error.message)
        except (OSError, ValueError) as error:
            yield ScanFailure(step, f"{step.name} cannot be read: {error}.")


def walk(
    folder: Path, stopped: Callable[[], bool], deepest: int = DEEPEST
) -> Iterator[Path | ScanFailure | ScanCutShort]:
    """Yield every file below the folder with a book's suffix, and any failures."""
    visited: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    entries = 0
    while waiting:
        here, depth = waiting.pop()
        try:
            status = here.stat()
            if (status.st_dev, status.st_ino) in visited:
                continue  # a link led here before
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(here) as listing:
                inside = sorted(listing, key=lambda entry: _natural(entry.name))
        except OSError as error:
            yield ScanFailure(here, f"{here} cannot be listed: {error.strerror or error}.")
            continue
        entries += len(inside)
        folders = []
        for entry in inside:
            if stopped():
                yield ScanCutShort("The search was stopped.")
                return
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir():
                    folders.append((Path(entry.path), depth + 1))
                elif has_book_suffix(entry.name) and entry.is_file():
                    yield Path(entry.path)
            except OSError as error:
                yield ScanFailure(Path(entry.path), f"{entry.name} cannot be accessed: {error.strerror or error}.")
        if depth + 1 > deepest and folders:
            yield ScanFailure(here, f"{here} is {deepest} folders deep; folders inside it were skipped.")
        else:
            waiting += reversed(folders)
        if entries > _MOST_ENTRIES:
            yield ScanCutShort(f"There are more than {_MOST_ENTRIES:,} files; the rest was skipped.")
            return


def _unchanged(path: Path, known: BookFile | None) -> BookFile | None:
    if known is None:
        return None
    status = path.stat()
    return known if (status.st_size, status.st_mtime_ns) == (known.size, known.modified_ns) else None


def _natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key that puts volume 2 before volume 10."""
    parts = _NUMBERS.split(name.casefold())
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]


_BESIDE = 2  # Depth of the search from the file's old folder
_MOST_FILES = 50_000


def find_moved(entry: LibraryEntry, folders: Iterable[Path]) -> BookFile | None:
    """The book's file in the library's folders or near its old path; None if it is not found."""
    if not entry.digest or entry.path is None:
        return None
    parent = entry.path.parent
    looked: set[Path] = set()
    places = [(parent, _BESIDE), *((folder, DEEPEST) for folder in folders), (parent.parent, 1)]
    steps = (step for root, deepest in places for step in walk(root, lambda: False, deepest))
    for file in (step for step in steps if isinstance(step, Path) and step not in looked):
        if len(looked) >= _MOST_FILES:
            return None
        looked.add(file)
        try:
            if file.stat().st_size == entry.size and (found := examine_file(file)).digest == entry.digest:
                return found
        except OSError:
            continue
    return None


def is_this_book(entry: LibraryEntry, path: Path) -> bool:
    """Whether the file has the book's bytes or text. Raises BookError."""
    try:
        if entry.digest and examine_file(path).digest == entry.digest:
            return True
    except OSError as error:
        raise BookError(f"{path} cannot be read: {error.strerror or error}.") from error
    return bool(entry.sha256) and open_book(path).sha256 == entry.sha256
