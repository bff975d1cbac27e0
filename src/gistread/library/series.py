"""Writes series files and adds volumes to them, leaving the rest of the file unchanged."""

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
from gistread.export_files import safe_file_name, write_document


def propose_series_path(volume: Path, named_after: str) -> Path:
    return volume.parent / f"{safe_file_name(named_after)}{SERIES_SUFFIX}"


def write_series(
    path: Path,
    volumes: Sequence[Path],
    texts: Path,
    *,
    title: str | None = None,
    authors: Sequence[str] = (),
    add: bool,
) -> Book:
    """Write and return the series `path`, opening every volume. Raises BookError, UsageError, StorageError."""

    def open_volume(volume: Path) -> Book:
        book = open_cached(volume, texts)
        if book.volumes:
            raise BookError(f"{volume.name} is itself a series.", "List its volumes instead.")
        return book

    text = _text(path, volumes, title, authors, add=add)
    book = read_series(io.BytesIO(text.encode()), path, open_volume)
    write_document(path, text, replace=True)
    return book


def _text(path: Path, volumes: Sequence[Path], title: str | None, authors: Sequence[str], *, add: bool) -> str:
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8-sig")) if add else tomlkit.document()
    except (OSError, ValueError, TOMLKitError) as error:
        raise BookError(f"{path} cannot be added to: {error}.", "Use --force to overwrite it.") from error
    if title is not None or not add:
        document["title"] = title or path.stem
    if authors:
        document["authors"] = list(authors)
    known = document.get("volumes", [])
    if not isinstance(known, list):
        raise BookError(f"{path} has no list of volumes to add to.", "Use --force to overwrite it.")
    named = known if add and known else tomlkit.array().multiline(True)
    for volume in volumes:
        named.append(_reference(path, volume))
    document["volumes"] = named
    return tomlkit.dumps(document)


def _reference(path: Path, book: Path) -> str:
    folder, whole = path.absolute().resolve().parent, book.absolute()
    inside = whole.parent.resolve() / whole.name
    named = inside.relative_to(folder) if inside.is_relative_to(folder) else whole
    try:
        named.as_posix().encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"The name of {book} is not valid text.", "Rename the file.") from error
    return named.as_posix()
