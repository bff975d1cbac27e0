"""Adds files, folders and volumes of series to the library, in a thread."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.book.series import read_series
from gistread.errors import BookError, UsageError
from gistread.library.calibre import METADATA, best_format, metadata_beside
from gistread.library.entries import LibraryEntry, absolute, is_folder
from gistread.library.metadata import examine_file, has_book_suffix, read_book_file
from gistread.library.scratch import FOLDERS, is_scratch
from gistread.store.catalogue import Catalogue, CatalogueContents
from gistread.store.files import write_document
from gistread.store.model import BookFile

_BATCH_SIZE = 50  # Books per write: each write waits for the disk
_MOST_ENTRIES = 500_000  # Files examined at most


@dataclass(frozen=True, slots=True)
class Unreadable:
    path: Path
    reason: str


@dataclass(slots=True)
class AddResult:
    new: int = 0  # Books added
    known: int = 0  # Books already in the library, here or elsewhere
    removed: int = 0  # Books removed from the list earlier, not added again
    failed: list[Unreadable] = field(default_factory=list)
    folder: Path | None = None  # The folder being scanned
    scratch: int = 0  # Files that are clearly no books, left out
    cut: str = ""  # Why the scan ended early; empty if it did not

    @property
    def found(self) -> int:
        return self.new + self.known + self.removed


def add(
    catalogue: Catalogue,
    path: Path,
    stopped: Callable[[], bool],
    report: Callable[[AddResult], None],
) -> AddResult:
    """Add a folder or file. Raises BookError, StorageError."""
    if is_folder(absolute(path)):
        return add_folder(catalogue, path, stopped, report)
    known = catalogue.read()
    file = add_file(catalogue, path)
    is_known = file.digest in known.files and f"file:{file.digest}" not in known.removed
    return AddResult(new=int(not is_known), known=int(is_known))


def add_file(catalogue: Catalogue, path: Path) -> BookFile:
    """Add one book, even if it was removed before. Raises BookError, StorageError."""
    file = read_book_file(absolute(path))
    before = catalogue.read().files.get(file.digest)
    catalogue.add([file])
    catalogue.restore(
        f"file:{file.digest}", *([f"text:{before.sha256}"] if before and before.sha256 else [])
    )
    return file


def add_folder(
    catalogue: Catalogue,
    folder: Path,
    stopped: Callable[[], bool],
    report: Callable[[AddResult], None] = lambda _: None,
) -> AddResult:
    """Add all books below a folder but those removed before; if stopped, those found so far.

    Raises StorageError.
    """
    known = catalogue.read()
    here, digests = known.paths, set(known.files)
    added = AddResult(folder=absolute(folder))
    found: list[BookFile] = []
    try:
        for path in _book_files(absolute(folder), added, stopped):
            added.folder = path.parent
            try:
                file, is_new = _read_if_new(path, here.get(path), stopped)
            except Exception as error:  # Whatever is wrong with one file, the others are added.
                added.failed.append(Unreadable(path, _reason(path, error)))
                continue
            is_removed = f"file:{file.digest}" in known.removed
            added.removed += is_removed
            added.known += not is_removed and file.digest in digests
            added.new += not is_removed and file.digest not in digests
            digests.add(file.digest)
            before = known.files.get(file.digest)
            # A copy does not replace the opened file; a moved file does.
            if is_new and (before is None or before.path == file.path or not before.path.exists()):
                found.append(file)
            report(added)
            if len(found) >= _BATCH_SIZE:
                _store(catalogue, found, known)
                found = []
    finally:
        _store(catalogue, found, known)
    catalogue.add_folder(absolute(folder))
    return added


def _read_if_new(
    path: Path, known: BookFile | None, stopped: Callable[[], bool]
) -> tuple[BookFile, bool]:
    """The file, and whether it was read: it is new, or has changed. Raises what reading does."""
    status = path.stat()
    now = (status.st_size, status.st_mtime_ns)
    if known is not None and now == (known.size, known.modified_ns):
        return known, False
    return _with_metadata(read_book_file(path, stopped)), True


def _reason(path: Path, error: Exception) -> str:
    if isinstance(error, BookError):
        return error.message
    problem = str(error) or type(error).__name__
    return f"{path.name} cannot be read: {problem}."


def _with_metadata(file: BookFile) -> BookFile:
    """The file with the title and the authors that Calibre knows, if it does."""
    metadata = metadata_beside(file.path)
    if metadata is None:
        return file
    return replace(file, title=metadata.title, authors=metadata.authors or file.authors)


def _store(catalogue: Catalogue, files: Sequence[BookFile], known: CatalogueContents) -> None:
    """Add files, and to new ones the series and tags that Calibre knows. Raises StorageError."""
    catalogue.add(files)
    for file in files:
        metadata = metadata_beside(file.path)
        if metadata is not None and file.digest not in known.files:
            for tag in metadata.tags:
                catalogue.tag((f"file:{file.digest}",), tag)


def _book_files(top: Path, added: AddResult, stopped: Callable[[], bool]) -> Iterator[Path]:
    """Every file below `top` with a book's suffix, without following links to folders or out of
    `top`.

    Failures and an early end are noted in `added`.
    """

    def note(error: OSError) -> None:
        added.failed.append(
            Unreadable(
                Path(error.filename), f"{error.filename} cannot be listed: {error.strerror}."
            )
        )

    examined = 0
    for folder, folders, files in os.walk(top, onerror=note):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in FOLDERS
        )
        names = _names_of_books(files)
        examined += len(files) - len(names)
        for name in names:
            examined += 1
            if stopped() or examined > _MOST_ENTRIES:
                too_many = f"There are more than {_MOST_ENTRIES:,} files; the rest was skipped."
                added.cut = too_many if examined > _MOST_ENTRIES else "The search was stopped."
                return
            path = Path(folder, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(
                os.path.realpath(top)
            ):
                added.failed.append(Unreadable(path, f"{name} is a link out of the folder."))
            elif _is_no_book(path):
                added.scratch += 1
            else:
                yield path


def _names_of_books(files: Sequence[str]) -> list[str]:
    """Those with a book's suffix; in a folder of Calibre one."""
    names = sorted(name for name in files if has_book_suffix(name) and not name.startswith("."))
    return best_format(names) if METADATA in files else names


def _is_no_book(path: Path) -> bool:
    try:
        return is_scratch(path)
    except OSError:
        return False  # Reading it says what is wrong.


def is_this_book(entry: LibraryEntry, path: Path) -> bool:
    """Whether the file has the book's bytes or text. Raises BookError."""
    same_bytes = bool(entry.digest) and examine_file(path).digest == entry.digest
    return same_bytes or (bool(entry.sha256) and open_book(path).sha256 == entry.sha256)


def add_volumes(
    path: Path, volumes: Sequence[Path], texts: Path, encodings: Path | None = None
) -> Book:
    """Add volumes to the series file `path`, new or not, keeping the rest of it; returns the series
    as a book.

    Raises BookError, UsageError, StorageError.
    """

    def open_volume(volume: Path) -> Book:
        book = open_cached(volume, texts, encodings=encodings)
        if book.volumes:
            raise BookError(f"{volume.name} is itself a series.", "List its volumes instead.")
        return book

    hint = "Mend the file, or choose another name."
    is_new = not path.exists()
    try:
        if is_new:
            document = tomlkit.document()
        else:
            document = tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, TOMLKitError) as error:
        raise BookError(f"{path} cannot be added to: {error}.", hint) from error
    if is_new:
        document["title"] = path.stem
    known = document.get("volumes", [])
    if not isinstance(known, list):
        raise BookError(f"{path} has no list of volumes to add to.", hint)
    listed = known or tomlkit.array().multiline(True)
    folder = path.absolute().resolve().parent
    for volume in volumes:
        inside = volume.absolute().parent.resolve() / volume.name
        if not inside.is_relative_to(folder):
            message = f"{volume} is not beside or below {path.name}."
            raise UsageError(message, "Write the series file into a folder above all its volumes.")
        try:
            inside.as_posix().encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"The name of {volume} is not valid text.", "Rename the file."
            ) from error
        listed.append(inside.relative_to(folder).as_posix())
    document["volumes"] = listed
    text = tomlkit.dumps(document)
    book = read_series(io.BytesIO(text.encode()), path, open_volume)
    write_document(path, text, replace=True)
    return book
