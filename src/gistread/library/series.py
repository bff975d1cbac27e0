"""Series files: collections with an order, which open as one book. Adding volumes keeps the rest of a file."""

import io
from collections.abc import Sequence
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gistread.book.cache import open_cached
from gistread.book.model import Book
from gistread.book.series import read_series
from gistread.book.sniff import SERIES_SUFFIX
from gistread.errors import BookError, UsageError
from gistread.store.files import safe_file_name, write_document


def propose_series_path(volume: Path, named_after: str) -> Path:
    return volume.parent / f"{safe_file_name(named_after)}{SERIES_SUFFIX}"


def add_volumes(path: Path, volumes: Sequence[Path], texts: Path) -> Book:
    """Add volumes to the series `path`, new or not, and return it. Raises BookError, UsageError, StorageError."""

    def open_volume(volume: Path) -> Book:
        book = open_cached(volume, texts)
        if book.volumes:
            raise BookError(f"{volume.name} is itself a series.", "List its volumes instead.")
        return book

    is_new = not path.exists()
    try:
        document = tomlkit.document() if is_new else tomlkit.parse(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, TOMLKitError) as error:
        raise BookError(f"{path} cannot be added to: {error}.", "Mend the file, or choose another name.") from error
    if is_new:
        document["title"] = path.stem
    known = document.get("volumes", [])
    if not isinstance(known, list):
        raise BookError(f"{path} has no list of volumes to add to.", "Mend the file, or choose another name.")
    listed = known or tomlkit.array().multiline(True)
    for volume in volumes:
        listed.append(_reference(path, volume))
    document["volumes"] = listed
    text = tomlkit.dumps(document)
    book = read_series(io.BytesIO(text.encode()), path, open_volume)
    write_document(path, text, replace=True)
    return book


def _reference(path: Path, book: Path) -> str:
    folder, whole = path.absolute().resolve().parent, book.absolute()
    inside = whole.parent.resolve() / whole.name
    if not inside.is_relative_to(folder):
        message = f"{book} is not beside or below {path.name}."
        raise UsageError(message, "Write the series file into a folder above all its volumes.")
    named = inside.relative_to(folder)
    try:
        named.as_posix().encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"The name of {book} is not valid text.", "Rename the file.") from error
    return named.as_posix()
