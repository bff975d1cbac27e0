"""Scans a folder for books step by step."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gistread.book.open import open_book
from gistread.errors import BookError, GistreadError
from gistread.library.metadata import examine_file, has_book_suffix, read_book_file
from gistread.library.model import LibraryEntry, absolute, is_folder
from gistread.store.model import BookFile

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
    for step in _walk(folder, stopped):
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
        except Exception as error:  # whatever is wrong with one file, the others are added
            yield ScanFailure(step, f"{step.name} cannot be read: {str(error) or type(error).__name__}.")


def _walk(folder: Path, stopped: Callable[[], bool]) -> Iterator[Path | ScanFailure | ScanCutShort]:
    """Yield every file below the folder with a book's suffix, and any failures."""
    visited: set[tuple[int, int]] = set()
    top = folder.resolve()
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
                if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(top):
                    if entry.is_dir() or has_book_suffix(entry.name):
                        yield ScanFailure(Path(entry.path), f"{entry.name} is a link out of the folder.")
                elif entry.is_dir():
                    folders.append((Path(entry.path), depth + 1))
                elif has_book_suffix(entry.name) and entry.is_file():
                    yield Path(entry.path)
            except (OSError, RuntimeError) as error:
                yield ScanFailure(Path(entry.path), f"{entry.name} cannot be accessed: {error}.")
        if depth + 1 > DEEPEST and folders:
            yield ScanFailure(here, f"{here} is {DEEPEST} folders deep; folders inside it were skipped.")
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


def is_this_book(entry: LibraryEntry, path: Path) -> bool:
    """Whether the file has the book's bytes or text. Raises BookError."""
    try:
        if entry.digest and examine_file(path).digest == entry.digest:
            return True
    except OSError as error:
        raise BookError(f"{path} cannot be read: {error.strerror or error}.") from error
    return bool(entry.sha256) and open_book(path).sha256 == entry.sha256
