"""Adds files, folders and volumes of series to the library, in a thread."""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.book.open import open_book
from gistread.book.series import read_series
from gistread.errors import BookError, UsageError
from gistread.library.calibre import (
    METADATA,
    CalibreMetadata,
    best_format,
    metadata_beside,
    metadata_of_library,
)
from gistread.library.entries import LibraryEntry, absolute, is_folder
from gistread.library.metadata import examine_file, has_book_suffix, read_book_file
from gistread.library.scratch import FOLDERS, is_program, is_scratch
from gistread.store.catalogue import (
    Catalogue,
    CatalogueContents,
    id_of_file,
    id_of_text,
)
from gistread.store.files import write_document
from gistread.store.model import BookFile

_BATCH_SIZE = 50  # Books per write: each write waits for the disk
_MOST_ENTRIES = 500_000  # Files examined in one scan
_MEND_SERIES = "Mend the file, or choose another name."


@dataclass(frozen=True, slots=True)
class Unreadable:
    path: Path
    reason: str


@dataclass(slots=True)
class AddResult:
    new: int = 0  # Books added
    known: int = 0  # Books already in the library, here or elsewhere
    # Books that the user took out of the list earlier: not added again
    left_out: int = 0
    failed: list[Unreadable] = field(default_factory=list)
    folder: Path | None = None  # The folder being scanned
    no_books: int = 0  # Files with a book's suffix that are clearly none
    cut: str = ""  # Why the scan ended early; empty if it did not

    @property
    def books(self) -> int:
        return self.new + self.known + self.left_out


def add(
    catalogue: Catalogue,
    path: Path,
    stopped: Callable[[], bool],
    report: Callable[[AddResult], None],
) -> AddResult:
    """Add a folder or file. Raises BookError, StorageError."""
    if is_folder(absolute(path)):
        return add_folder(catalogue, path, stopped, report)
    contents_before = catalogue.read()
    file = add_file(catalogue, path)
    was_known = (
        file.digest in contents_before.files
        and _id_of(file) not in contents_before.removed
    )
    return AddResult(new=int(not was_known), known=int(was_known))


def add_file(catalogue: Catalogue, path: Path) -> BookFile:
    """Add one book, even if it was removed before. Raises BookError, StorageError."""
    file = read_book_file(absolute(path))
    known_file = catalogue.read().files.get(file.digest)
    catalogue.add([file])
    removed_as = [_id_of(file)]
    if known_file and known_file.sha256:
        removed_as.append(id_of_text(known_file.sha256))
    catalogue.restore(*removed_as)
    return file


def _id_of(file: BookFile) -> str:
    """The catalogue's id of a file that was never opened: by its bytes, not its text."""
    return id_of_file(file.digest)


def add_folder(
    catalogue: Catalogue,
    folder: Path,
    stopped: Callable[[], bool],
    report: Callable[[AddResult], None] = lambda _: None,
) -> AddResult:
    """Add all books below a folder but those removed before; if stopped, those found so far.

    `report` gets the result so far after each book. Raises StorageError.
    """
    folder = absolute(folder)
    calibre = metadata_of_library(folder)
    known = catalogue.read()
    known_files = known.paths
    digests = set(known.files)  # Also of the files added below
    result = AddResult(folder=folder)
    batch: list[BookFile] = []
    try:
        for path in _book_files(folder, result, stopped, calibre):
            result.folder = path.parent
            known_file = known_files.get(path)
            try:
                file = _read_if_changed(path, known_file, stopped, calibre)
            except Exception as error:
                # A file that fails in any way does not stop the others.
                result.failed.append(Unreadable(path, _reason(path, error)))
                continue
            _count(file, known, digests, result)
            digests.add(file.digest)
            has_changed = file is not known_file
            if has_changed and _takes_place(file, known.files.get(file.digest)):
                batch.append(file)
            report(result)
            if len(batch) >= _BATCH_SIZE:
                _store(catalogue, batch, known, calibre)
                batch = []
    finally:
        _store(catalogue, batch, known, calibre)
    catalogue.add_folder(folder)
    return result


def _count(
    file: BookFile, known: CatalogueContents, digests: Set[str], result: AddResult
) -> None:
    """Count a book as new, as known by its digest, or as one that the user took out before."""
    if _id_of(file) in known.removed:
        result.left_out += 1
    elif file.digest in digests:
        result.known += 1
    else:
        result.new += 1


def _read_if_changed(
    path: Path,
    known_file: BookFile | None,
    stopped: Callable[[], bool],
    calibre: Mapping[Path, CalibreMetadata],
) -> BookFile:
    """The file: `known_file` itself if it has not changed.

    A title and authors that Calibre knows come first. Raises BookError, OSError and others.
    """
    status = path.stat()
    state = (status.st_size, status.st_mtime_ns)
    if known_file is not None and state == (known_file.size, known_file.modified_ns):
        return known_file
    file = read_book_file(path, stopped)
    metadata = _metadata_of(path, calibre)
    if metadata is None:
        return file
    authors = metadata.authors or file.authors
    return replace(file, title=metadata.title, authors=authors)


def _metadata_of(
    path: Path, calibre: Mapping[Path, CalibreMetadata]
) -> CalibreMetadata | None:
    """Calibre's metadata of a book: from its database, else from the file beside the book."""
    return calibre.get(path.parent) or metadata_beside(path)


def _takes_place(file: BookFile, known: BookFile | None) -> bool:
    """Whether a file is recorded: a copy does not replace the opened file; a moved file does."""
    return known is None or known.path == file.path or not known.path.exists()


def _reason(path: Path, error: Exception) -> str:
    if isinstance(error, BookError):
        return error.message
    problem = str(error) or type(error).__name__
    return f"{path.name} cannot be read: {problem}."


def _store(
    catalogue: Catalogue,
    files: Sequence[BookFile],
    known: CatalogueContents,
    calibre: Mapping[Path, CalibreMetadata],
) -> None:
    """Add files, and to new ones the series and tags that Calibre knows. Raises StorageError."""
    catalogue.add(files)
    for file in files:
        if file.digest in known.files:
            continue
        metadata = _metadata_of(file.path, calibre)
        if metadata is None:
            continue
        for tag in metadata.tags:
            catalogue.tag((_id_of(file),), tag)


def _why_cut(examined: int, stopped: Callable[[], bool]) -> str:
    """Why a search ends before the next file; empty if it goes on."""
    if examined > _MOST_ENTRIES:
        return f"There are more than {_MOST_ENTRIES:,} files; the rest was skipped."
    if stopped():
        return "The search was stopped."
    return ""


def _book_files(
    top: Path,
    result: AddResult,
    stopped: Callable[[], bool],
    calibre: Mapping[Path, CalibreMetadata],
) -> Iterator[Path]:
    """Every file below `top` with a book's suffix, without following links out of it.

    Failures and an early end are noted in `result`.
    """

    def note(error: OSError) -> None:
        reason = f"{error.filename} cannot be listed: {error.strerror}."
        result.failed.append(Unreadable(Path(error.filename), reason))

    examined = 0
    programs: set[Path] = set()  # Folders of programs, and all below
    for name_of_folder, subfolders, files in os.walk(top, onerror=note):
        folder = Path(name_of_folder)
        of_program = is_program(files) or folder.parent in programs
        if of_program:
            programs.add(folder)
        subfolders[:] = sorted(filter(_may_have_books, subfolders))
        names = _names_of_books(files)
        if METADATA in files or folder in calibre:
            names = best_format(names)
        examined += len(files) - len(names)  # Other files; the books are counted below.
        for name in names:
            examined += 1
            why_cut = _why_cut(examined, stopped)
            if why_cut:
                result.cut = why_cut
                return
            path = folder / name
            if _leads_out(path, top):
                reason = f"{name} is a link out of the folder."
                result.failed.append(Unreadable(path, reason))
            elif _is_no_book(path, of_program):
                result.no_books += 1
            else:
                yield path


def _may_have_books(folder: str) -> bool:
    return not folder.startswith(".") and folder not in FOLDERS


def _leads_out(path: Path, top: Path) -> bool:
    """Whether a file is a link to a file that is not below `top`."""
    if not path.is_symlink():
        return False
    target = Path(os.path.realpath(path))
    return not target.is_relative_to(os.path.realpath(top))


def _names_of_books(files: Sequence[str]) -> list[str]:
    """The names with a book's suffix, except hidden ones."""
    visible = [name for name in files if not name.startswith(".")]
    return sorted(filter(has_book_suffix, visible))


def _is_no_book(path: Path, of_program: bool) -> bool:
    try:
        return is_scratch(path, of_program=of_program)
    except OSError:
        return False  # Reading it will report the problem.


def is_this_book(entry: LibraryEntry, path: Path) -> bool:
    """Whether the file has the book's bytes or text. Raises BookError."""
    if entry.digest and examine_file(path).digest == entry.digest:
        return True
    return bool(entry.sha256) and open_book(path).sha256 == entry.sha256


def add_volumes(
    path: Path, volumes: Sequence[Path], texts: Path, encodings: Path | None = None
) -> Book:
    """Add volumes to the series file `path`, new or not; returns the series as a book.

    The rest of the file stays as it is. Raises BookError, UsageError, StorageError.
    """

    def open_volume(volume: Path) -> Book:
        """Raises BookError, also for a series."""
        book = open_cached(volume, texts, encodings=encodings)
        if book.volumes:
            raise BookError(
                f"{volume.name} is itself a series.", "List its volumes instead."
            )
        return book

    document = _series_document(path)
    known = document.get("volumes", [])
    if not isinstance(known, list):
        raise BookError(f"{path} has no list of volumes to add to.", _MEND_SERIES)
    listed = known or tomlkit.array().multiline(True)
    for volume in volumes:
        listed.append(_relative_name(volume, path))
    document["volumes"] = listed
    text = tomlkit.dumps(document)
    book = read_series(io.BytesIO(text.encode()), path, open_volume)
    write_document(path, text, replace=True)
    return book


def _series_document(path: Path) -> tomlkit.TOMLDocument:
    """The series file, or a new one with its name as title. Raises BookError."""
    if not path.exists():
        document = tomlkit.document()
        document["title"] = path.stem
        return document
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, TOMLKitError) as error:
        raise BookError(f"{path} cannot be added to: {error}.", _MEND_SERIES) from error


def _relative_name(volume: Path, series: Path) -> str:
    """A volume as its series file lists it. Raises UsageError."""
    folder = series.absolute().resolve().parent
    inside = volume.absolute().parent.resolve() / volume.name
    if not inside.is_relative_to(folder):
        message = f"{volume} is not beside or below {series.name}."
        raise UsageError(
            message, "Write the series file into a folder above all its volumes."
        )
    try:
        inside.as_posix().encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The name of {volume} is not valid text.", "Rename the file."
        ) from error
    return inside.relative_to(folder).as_posix()
