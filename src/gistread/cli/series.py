"""`gistread series FILE BOOK…`: combines books into a series file, which opens like a book, or shows one."""

import argparse
from pathlib import Path

from gistread.book.cache import open_cached
from gistread.book.model import Book, Volume
from gistread.book.sniff import SERIES_SUFFIX
from gistread.cli.json_output import Json
from gistread.cli.memories import memory_store
from gistread.cli.output import say, write, write_json
from gistread.errors import BookError, ExitStatus, StorageError, UsageError
from gistread.library.adding import add_file
from gistread.library.catalogue import Catalogue
from gistread.library.series import write_series
from gistread.library.text import format_percent
from gistread.paths import default_paths
from gistread.units import counted


def run(arguments: argparse.Namespace) -> ExitStatus:
    path = Path(arguments.file)
    if path.suffix.lower() != SERIES_SUFFIX:
        raise UsageError(
            f"The name of a series file must end in {SERIES_SUFFIX}: {path}",
            "Example: gistread series saga.series one.epub two.epub",
        )
    book = _write(path, arguments) if arguments.books else open_cached(path, default_paths().texts)
    if not book.volumes:
        raise BookError(f"{path} is a book, not a series.", "Choose a new file name for the series.")
    if arguments.json:
        write_json(_document(path, book))
        return ExitStatus.DONE
    words = f"{counted(len(book.volumes), 'volume')}, {book.words:,} words"
    write(" · ".join(filter(None, (book.title, ", ".join(book.authors), words))))
    for number, (volume, volume_book) in enumerate(zip(book.volumes, book.volume_books, strict=True), start=1):
        facts = (volume.title, f"{volume_book.words:,} words", _read_by(volume_book))
        write(f"{number:>3}  " + " · ".join(filter(None, facts)))
    return ExitStatus.DONE


def _write(path: Path, arguments: argparse.Namespace) -> Book:
    if path.exists() and not (arguments.add or arguments.force):
        raise UsageError(f"{path} exists already.", "Use --add to add volumes, or --force to overwrite it.")
    volumes = [Path(book) for book in arguments.books]
    add = arguments.add and path.exists()
    book = write_series(path, volumes, default_paths().texts, title=arguments.title, authors=arguments.author, add=add)
    say(f"Wrote {path}. Open it like any book; edit it to add, move or remove volumes.")
    try:
        add_file(Catalogue(default_paths().library), path)
    except StorageError as error:
        say(f"Note: not added to the library: {error.message}")
    return book


def _read_by(volume: Book) -> str:
    headers = [header for header in memory_store().find(volume) if header.pages]
    if not headers:
        return ""
    share = headers[0].read_until / len(volume.text)
    return f"{headers[0].model_name} has read {'all of it' if headers[0].complete else format_percent(share)}"


def _document(path: Path, book: Book) -> Json:
    return {
        "path": str(path),
        "title": book.title,
        "authors": list(book.authors),
        "sha256": book.sha256,
        "words": book.words,
        "volumes": [_volume_document(*volume) for volume in zip(book.volumes, book.volume_books, strict=True)],
    }


def _volume_document(volume: Volume, book: Book) -> Json:
    return {
        "title": volume.title,
        "sha256": book.sha256,
        "words": book.words,
        "heading": volume.heading,
        "start": volume.start,
        "end": volume.end,
    }
