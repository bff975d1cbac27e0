"""The settings and the book of a command, and how far it may read."""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gistread.book.cache import open_cached
from gistread.book.encodings import DETECTED
from gistread.book.model import Book
from gistread.book.open import open_bytes, read_limited
from gistread.cli.output import say
from gistread.config import Config, load_config
from gistread.errors import StorageError, UsageError
from gistread.library.encoding import change_encoding
from gistread.library.entries import (
    LibraryEntry,
    UnknownBookError,
    find_book,
    is_folder,
    list_entries,
    path_of,
)
from gistread.library.metadata import has_book_suffix
from gistread.memory.spoilers import has_plot, usual_bound
from gistread.paths import default_paths
from gistread.readers.bound import offset_of
from gistread.sample import story_path
from gistread.store.catalogue import Catalogue
from gistread.store.pace import ReadingSpeed
from gistread.store.user_data import UserData

if TYPE_CHECKING:
    from gistread.memory.model import GistMemory

STANDARD_INPUT = "-"
SAMPLE = "sample"


def book_path(name: str) -> Path:
    """The file of a book: a path, `sample`, or a number or title of the library.

    Raises UsageError, BookError.
    """
    is_file = os.path.lexists(name) and not is_folder(Path(name))
    if is_file or os.sep in name or name in (".", ".."):
        return Path(name)
    if name == SAMPLE:
        return story_path()
    try:
        return path_of(find_book(library_entries(), name))
    except UnknownBookError:
        if has_book_suffix(name) or is_folder(Path(name)):
            return Path(name)  # Opening it says what is wrong.
        raise


def library_entries(*, with_removed: bool = False) -> list[LibraryEntry]:
    """All books of the library, the last read first; a message if some cannot be read.

    `with_removed`: also those that the user took out of the list.
    """
    paths = default_paths()
    entries, problem = list_entries(
        UserData(paths),
        Catalogue(paths),
        ReadingSpeed(paths).words_per_minute,
        with_removed=with_removed,
    )
    if problem:
        say(problem)
    return entries


def open_named(name: str) -> Book:
    """Open a book by path or name; `-` is standard input. Raises UsageError, BookError."""
    if name == STANDARD_INPUT:
        what = "standard input"
        book = open_bytes(read_limited(sys.stdin.buffer, what), what)
    else:
        paths = default_paths()
        book = open_cached(book_path(name), paths.texts, encodings=paths.encodings)
    for notice in book.notices:
        say(f"Note: {notice}")
    return book


def keep_encoding(arguments: argparse.Namespace) -> None:
    """Keep the encoding that `--encoding` names for the book. Raises UsageError, BookError."""
    if not arguments.book or arguments.book == STANDARD_INPUT:
        raise UsageError("--encoding needs the file of a book.")
    change_encoding(default_paths(), book_path(arguments.book), arguments.encoding)
    if arguments.encoding != DETECTED:
        say(f"Kept for this book; `--encoding {DETECTED}` goes back to the guess.")


def load_settings(arguments: argparse.Namespace) -> Config:
    """The settings, overridden by the command line. Raises UsageError."""
    config = load_config(default_paths().config_file)
    if getattr(arguments, "model", None):
        # A model that is named also answers, unless another one is named for that.
        config = replace(config, asking_model="")
    options = (
        "asking_model",
        "context_tokens",
        "reading",
        "preset",
        "min_words",
        "max_words",
        "max_pages",
    )
    values = {name: getattr(arguments, name, None) for name in options}
    typed = {name: value for name, value in values.items() if value is not None}
    return replace(config, **typed)


def check_models(arguments: argparse.Namespace) -> None:
    """Raises EngineError if a model of the command line does not exist.

    Servers are not contacted.
    """
    from gistread.engine.models import find_source

    for name in (arguments.model, getattr(arguments, "asking_model", None)):
        if name:
            find_source(name)


def story_bound(
    chosen: str | None, memory: "GistMemory", whole: str = ""
) -> int | None:
    """Offset up to which a command tells the story; None: to the end, 0: nothing of it.

    `chosen`: the place of `--upto`. `whole`: what `--upto all` does, such as "shows all sections";
    it stands in a note if the user chose no place. Empty: print no note. Raises UsageError.
    """
    if chosen is None and _is_unread_novel(memory.book):
        if whole:
            say(f"You have not begun this book; `--upto all` {whole}.")
        return 0
    note = f"Up to your place; `--upto all` {whole}." if whole else ""
    return resolve_bound(chosen, memory, note)


def _is_unread_novel(book: Book) -> bool:
    """Whether the user has not begun a novel, and has not chosen where answers stop in it."""
    user_data = UserData(default_paths())
    try:
        is_unread = user_data.reading_place(book.sha256).furthest == 0
        has_chosen = user_data.bound_choice(book.sha256) is not None
    except StorageError:  # `resolve_bound` reports it.
        return False
    return is_unread and not has_chosen and has_plot(book)


def resolve_bound(chosen: str | None, memory: "GistMemory", note: str) -> int | None:
    """Offset of the bound; None: the whole book.

    Prints `note`, unless it is empty, if the user did not choose it. Raises UsageError.
    """
    book = memory.book
    user_data = UserData(default_paths())
    try:
        here = user_data.reading_place(book.sha256).furthest
        choice = user_data.bound_choice(book.sha256)
    except StorageError as error:
        here = 0
        choice = None
        say(f"Note: {error.message}")
    if chosen is not None:
        return offset_of(chosen, memory, here)
    bound = usual_bound(book, here, choice)
    if bound is not None and note:
        say(note)
    return bound
