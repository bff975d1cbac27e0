"""`gistread series FILE BOOK…`: several books as one, in a small file that opens like a book; or what is in it."""

import argparse
from pathlib import Path

from gistread.book.cache import open_cached
from gistread.book.model import Book, Volume
from gistread.book.sniff import SERIES_SUFFIX
from gistread.cli.json_output import Json
from gistread.cli.loading import memory_store
from gistread.cli.output import say, write, write_json
from gistread.errors import BookError, ExitStatus, StorageError, UsageError
from gistread.library.adding import add_file
from gistread.library.catalogue import Catalogue
from gistread.library.series import write_series
from gistread.library.text import percent
from gistread.paths import default_paths


def run(arguments: argparse.Namespace) -> ExitStatus:
    path = Path(arguments.file)
    if path.suffix.lower() != SERIES_SUFFIX:
        raise UsageError(
            f"{path} is no name for a series: it is to end with {SERIES_SUFFIX}.",
            "As in: gistread series saga.series one.epub two.epub",
        )
    book = _write(path, arguments) if arguments.books else open_cached(path, default_paths().texts)
    if not book.volumes:
        raise BookError(f"{path} is a book, not a series.", "Give the name of a new file for the series.")
    if arguments.json:
        write_json(_document(path, book))
        return ExitStatus.DONE
    volumes = f"{len(book.volumes)} volume{'' if len(book.volumes) == 1 else 's'}"
    words = f"{volumes}, {book.words:,} words"
    write(" · ".join(filter(None, (book.title, ", ".join(book.authors), words))))
    for number, volume in enumerate(book.volumes, start=1):
        write(_line(book, number, volume))
    return ExitStatus.DONE


def _write(path: Path, arguments: argparse.Namespace) -> Book:
    """Write the file, once every volume could be opened; the series. Raises GistreadError."""
    if path.exists() and not (arguments.add or arguments.force):
        raise UsageError(f"There is a file {path} already.", "--add adds volumes to it, --force writes it anew.")
    volumes = [Path(book) for book in arguments.books]
    texts, title, authors = default_paths().texts, arguments.title, arguments.author
    book = write_series(path, volumes, texts, title=title, authors=authors, add=arguments.add and path.exists())
    say(f"Written: {path}. It opens like any book, and volumes can be added, moved and taken out in it.")
    try:
        add_file(Catalogue(default_paths().library), path)
    except StorageError as error:
        say(f"Note: it is not in the library: {error.message}")
    return book


def _line(book: Book, number: int, volume: Volume) -> str:
    words = f"{book.volume_books[number - 1].words:,} words"
    read = _read_by(book.volume_books[number - 1])
    return f"{number:>3}  " + " · ".join(filter(None, (volume.title, words, read)))


def _read_by(volume: Book) -> str:
    headers = [header for header in memory_store().find(volume) if header.pages]
    if not headers:
        return ""
    share = headers[0].read_until / len(volume.text)
    return f"{headers[0].model_name} read {'all' if headers[0].complete else percent(share)}"


def _document(path: Path, book: Book) -> Json:
    return {
        "path": str(path),
        "title": book.title,
        "authors": list(book.authors),
        "sha256": book.sha256,
        "words": book.words,
        "volumes": [
            {
                "title": volume.title,
                "sha256": alone.sha256,
                "words": alone.words,
                "heading": volume.heading,
                "start": volume.start,
                "end": volume.end,
            }
            for volume, alone in zip(book.volumes, book.volume_books, strict=True)
        ],
    }
