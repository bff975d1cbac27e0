"""`gistread get`: finds a book in a catalogue, downloads it and adds it to the library."""

import argparse
import asyncio
import getpass
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from gistread.acquisition.download import (
    BookProgress,
    CatalogueClient,
    Login,
    open_catalogue,
)
from gistread.acquisition.finding import file_of, open_page, search
from gistread.acquisition.opds import Acquisition, OfferedBook
from gistread.acquisition.sources import check_address, find_source, named_book
from gistread.cli.interrupt import InterruptError, run_until_interrupted
from gistread.cli.output import Json, one_line, say, write, write_json
from gistread.cli.progress import ProgressLine
from gistread.engine.fetching.network import Network
from gistread.errors import ExitStatus, UsageError
from gistread.library.adding import add_file
from gistread.library.metadata import has_book_suffix, read_book_file
from gistread.paths import default_paths
from gistread.store.catalogue import Catalogue
from gistread.store.model import BookFile
from gistread.units import capitalised, format_size, progress_bar

_PASSWORD = "GISTREAD_CATALOGUE_PASSWORD"
_BAR_COLUMNS = 20
_MOST_SHOWN = 25


def run(arguments: argparse.Namespace) -> ExitStatus:
    name = " ".join(arguments.words).strip()
    if not name and not arguments.catalogue:
        raise UsageError("Nothing to get.", "Example: gistread get frankenstein")
    check_address(name)
    return run_until_interrupted(_get(name, arguments))


async def _get(name: str, arguments: argparse.Namespace) -> ExitStatus:
    """Find the book, download it and add it; show what was found if that is several."""
    async with open_catalogue(Network(), _login(name, arguments)) as catalogue:
        book = None if arguments.catalogue else _book_by_name(name)
        if book is None:
            offered = await _offered(catalogue, name, arguments.catalogue)
            if not offered:
                say(f"Nothing was found for {name!r}.")
                return ExitStatus.FAILED
            book = _choose(offered, arguments)
            if book is None:
                _show(offered, arguments)
                return ExitStatus.DONE
        file = await file_of(book, catalogue)
        folder = (arguments.folder or default_paths().books).expanduser().absolute()
        path = await _download(catalogue, file, folder)
    added = add_file(Catalogue(default_paths()), path)
    _report(added, file, arguments)
    return ExitStatus.DONE


def _login(name: str, arguments: argparse.Namespace) -> Login | None:
    """The login for the catalogue that was named. Raises UsageError."""
    if not arguments.user:
        return None
    # The name of a book may be its address in the catalogue.
    url = arguments.catalogue or name
    if "://" not in url:
        if not arguments.catalogue:
            hint = "Name it with --from ADDRESS."
            raise UsageError("--user needs a catalogue.", hint)
        url = find_source(url).url
    return Login(arguments.user, _password(arguments.user), url)


def _password(user: str) -> str:
    """The password in the environment, or else the one typed on the terminal.

    Raises UsageError.
    """
    password = os.environ.get(_PASSWORD, "")
    if not password and sys.stdin.isatty():
        password = getpass.getpass(f"Password of {user}: ")
    if not password:
        raise UsageError(
            "Cannot ask for the password: standard input is no terminal.",
            f"Set {_PASSWORD}.",
        )
    return password


def _book_by_name(name: str) -> OfferedBook | None:
    """The book of a number, a known page or the address of a file; None for other names."""
    book = named_book(name)
    if book is not None:
        return book
    path, _, _ = name.partition("?")
    if "://" in name and has_book_suffix(path):
        return OfferedBook(name, files=(Acquisition(name, ""),))
    return None


async def _offered(
    catalogue: CatalogueClient, words: str, source_name: str | None
) -> tuple[OfferedBook, ...]:
    """The books that a search finds, or those of a catalogue's page. Raises FetchError."""
    if "://" in words:
        page = await open_page(catalogue, words)
    else:
        page = await search(catalogue, find_source(source_name or "gutenberg"), words)
    return page.entries


def _choose(
    offered: Sequence[OfferedBook], arguments: argparse.Namespace
) -> OfferedBook | None:
    """The book of `--pick`, the only one, or the one the user names; None: only show them.

    Raises UsageError, InterruptError.
    """
    number: int | None = arguments.pick
    if number is None:
        if len(offered) == 1:
            return offered[0]
        if arguments.json or not sys.stdin.isatty():
            return None
        _show(offered, arguments)
        number = _ask_number()
    if not 1 <= number <= len(offered):
        raise UsageError(
            f"{number} is not in the list.",
            f"Choose a number from 1 to {len(offered)}.",
        )
    return offered[number - 1]


def _ask_number() -> int:
    """The number that the user types; 1 for an empty line. Raises InterruptError."""
    sys.stderr.write("Which? [1] ")
    sys.stderr.flush()
    typed = sys.stdin.readline()
    number = typed.strip() or "1"
    if not typed or not number.isdecimal():
        raise InterruptError("Nothing was downloaded.")
    return int(number)


def _show(offered: Sequence[OfferedBook], arguments: argparse.Namespace) -> None:
    if arguments.json:
        write_json({"found": [_document(book) for book in offered]})
        return
    for number, book in enumerate(offered[:_MOST_SHOWN], start=1):
        write(f"{number:>3}  {one_line(book.label)}")
    if len(offered) > _MOST_SHOWN:
        say(f"and {len(offered) - _MOST_SHOWN} more; more words find fewer.")
    if not sys.stdin.isatty():
        say("Get one of them with --pick NUMBER.")


def _document(book: OfferedBook) -> Json:
    return {
        "title": book.title,
        "authors": list(book.authors),
        "language": book.language or None,
        "files": [{"url": file.url, "type": file.media_type} for file in book.files],
        "feed": book.feed or None,
    }


async def _download(
    catalogue: CatalogueClient, file: Acquisition, folder: Path
) -> Path:
    """Download with progress; return the path of the book. Raises GistreadError."""
    with ProgressLine() as line:

        def show(progress: BookProgress) -> None:
            done = format_size(progress.done_bytes)
            if progress.notice:
                line.say(f"{capitalised(progress.notice)}.")
            elif progress.total_bytes:
                share = progress.done_bytes / progress.total_bytes
                bar = progress_bar(share, _BAR_COLUMNS)
                line.show(f"{bar}  {done} of {format_size(progress.total_bytes)}")
            else:
                line.show(done)

        try:
            return await catalogue.download(
                file.url, file.media_type, folder, _check_book, show
            )
        except asyncio.CancelledError:
            line.clear()
            raise InterruptError(
                "Stopped; what was fetched is kept.",
                "Run the same command again to resume.",
            ) from None


def _check_book(path: Path) -> None:
    """Raises BookError if the file is not a book that gistread reads."""
    read_book_file(path)


def _report(
    book: BookFile, acquisition: Acquisition, arguments: argparse.Namespace
) -> None:
    if arguments.json:
        document = {
            "title": book.title,
            "authors": list(book.authors),
            "path": str(book.path),
            "from": acquisition.url,
        }
        write_json(document)
        return
    author = f" by {', '.join(book.authors)}" if book.authors else ""
    say(f"{book.title}{author} is in your library: {one_line(book.path)}")
    say(f"To read it: gistread {shlex.quote(book.title.lower())}")
