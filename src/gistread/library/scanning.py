"""Searches a folder for books, one file after the other, so that it can be watched and stopped.

Folders whose names begin with a dot are passed over, links are followed, no folder is searched twice. Files that are
known already, by name, size and time, are not read again. What cannot be read is told, and the search goes on.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gistread.errors import BookError, GistreadError
from gistread.library.metadata import describe, is_called_like_a_book
from gistread.library.model import BookFile, absolute, is_folder

MOST_BOOKS = 20_000
DEEPEST = 40
_MOST_ENTRIES = 500_000
"""Files and folders that are looked at, so that a search of everything there is comes to an end."""
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """The search is here."""

    folder: Path
    files: int
    """Files with the name of a book that were looked at so far."""


@dataclass(frozen=True, slots=True)
class BookFound:
    """A file that holds a book."""

    file: BookFile
    is_new: bool
    """False: it was known, as it is."""


@dataclass(frozen=True, slots=True)
class ScanFailure:
    """A file or folder that cannot be read."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class ScanCutShort:
    """The search has ended before everything was looked at."""

    reason: str


ScanEvent = ScanProgress | BookFound | ScanFailure | ScanCutShort


class FolderError(GistreadError):
    """The folder that was to be searched is none."""


def scan(folder: Path, known: Mapping[Path, BookFile], stopped: Callable[[], bool]) -> Iterator[ScanEvent]:
    """Search this folder and those in it, in the order of their names. Raises FolderError.

    `known`: files by their paths, as they were when they were looked at before. `stopped` is asked at every file.
    """
    folder = absolute(folder)
    if not is_folder(folder):
        raise FolderError(f"{folder} is no folder.", "Name one that exists; a single book is opened by its path.")
    found = files = 0
    for step in _walk(folder, stopped):
        if not isinstance(step, Path):
            yield step
            continue
        files += 1
        if found >= MOST_BOOKS:
            yield ScanCutShort(f"There are more than {MOST_BOOKS:,} books; the rest was left out.")
            return
        yield ScanProgress(step.parent, files)
        try:
            file = _unchanged(step, known.get(step))
            yield BookFound(file or describe(step, stopped), is_new=file is None)
            found += 1
        except BookError as error:
            yield ScanFailure(step, error.message)
        except (OSError, ValueError) as error:
            yield ScanFailure(step, f"{step.name} cannot be read: {error}.")


def _walk(folder: Path, stopped: Callable[[], bool]) -> Iterator[Path | ScanFailure | ScanCutShort]:
    """Every file that is called like a book, below this folder."""
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
                elif is_called_like_a_book(entry.name) and entry.is_file():
                    yield Path(entry.path)
            except OSError as error:
                yield ScanFailure(Path(entry.path), f"{entry.name} cannot be looked at: {error.strerror or error}.")
        if depth + 1 > DEEPEST and folders:
            yield ScanFailure(here, f"{here} lies {DEEPEST} folders deep; those inside it were left out.")
        else:
            waiting += reversed(folders)
        if entries > _MOST_ENTRIES:
            yield ScanCutShort(f"There are more than {_MOST_ENTRIES:,} files; the rest was left out.")
            return


def _unchanged(path: Path, known: BookFile | None) -> BookFile | None:
    if known is None:
        return None
    status = path.stat()
    return known if (status.st_size, status.st_mtime_ns) == (known.size, known.modified_ns) else None


def _natural(name: str) -> list[tuple[int, int | str]]:
    """So that volume 2 comes before volume 10."""
    parts = _NUMBERS.split(name.casefold())
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
