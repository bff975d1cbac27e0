"""Adds files and folders to the library, in a thread. Adding a folder does not restore removed books."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gistread.library.metadata import read_book_file
from gistread.library.model import absolute, is_folder
from gistread.library.scanning import BookFound, ScanCutShort, ScanFailure, ScanProgress, scan
from gistread.store.catalogue import Catalogue
from gistread.store.model import BookFile

_BATCH_SIZE = 50  # Books per write: each write waits for the disk


@dataclass(slots=True)
class AddResult:
    new: int = 0  # Books added
    known: int = 0  # Books already in the library, here or elsewhere
    removed: int = 0  # Books removed from the list earlier, not added again
    failed: list[ScanFailure] = field(default_factory=list)
    files: int = 0  # Files examined
    folder: Path | None = None  # The folder being scanned
    cut: str = ""  # Why the scan ended early; empty if it did not


def add_file(catalogue: Catalogue, path: Path) -> BookFile:
    """Add one book, even if it was removed before. Raises BookError, StorageError."""
    file = read_book_file(absolute(path))
    before = catalogue.read().files.get(file.digest)
    ids = [f"file:{file.digest}", *([f"text:{before.sha256}"] if before and before.sha256 else [])]
    catalogue.add([file])
    catalogue.restore(*ids)
    return file


def add_folder(
    catalogue: Catalogue,
    folder: Path,
    stopped: Callable[[], bool],
    report: Callable[[AddResult], None] = lambda _: None,
) -> AddResult:
    """Add all books below a folder; if stopped, those found so far. Raises FolderError, StorageError."""
    folder = absolute(folder)
    known = catalogue.read()
    here = dict(known.paths)
    digests = set(known.files)
    added = AddResult(folder=folder)
    found: list[BookFile] = []
    try:
        for step in scan(folder, here, stopped):
            match step:
                case ScanProgress(folder=at, files=files):
                    added.folder, added.files = at, files
                case BookFound(file=file, is_new=is_new):
                    _count(added, file, digests, known.removed)
                    before = known.files.get(file.digest)
                    # A copy does not replace the opened file; a moved file does.
                    if is_new and (before is None or before.path == file.path or not before.path.exists()):
                        found.append(file)
                case ScanFailure():
                    added.failed.append(step)
                case ScanCutShort(reason=reason):
                    added.cut = reason
            report(added)
            if len(found) >= _BATCH_SIZE:
                catalogue.add(found)
                found = []
    finally:
        catalogue.add(found)
    catalogue.add_folder(folder)
    return added


def _count(added: AddResult, file: BookFile, digests: set[str], removed: Mapping[str, float]) -> None:
    if f"file:{file.digest}" in removed:
        added.removed += 1
    elif file.digest in digests:
        added.known += 1
    else:
        added.new += 1
    digests.add(file.digest)


def add(
    catalogue: Catalogue, path: Path, stopped: Callable[[], bool], report: Callable[[AddResult], None]
) -> AddResult:
    """Add a folder or file. Raises FolderError, BookError, StorageError."""
    if is_folder(absolute(path)):
        return add_folder(catalogue, path, stopped, report)
    known = catalogue.read()
    file = add_file(catalogue, path)
    is_known = file.digest in known.files and f"file:{file.digest}" not in known.removed
    return AddResult(new=int(not is_known), known=int(is_known), files=1)
