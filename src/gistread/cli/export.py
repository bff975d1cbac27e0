"""`gistread export BOOK`: marks, notes, questions and gists as Markdown or JSON, or the book's text. Needs no model."""

import argparse
import sys
from pathlib import Path

from gistread.book.cache import file_digest
from gistread.book.model import Book
from gistread.cli.loading import memory_store
from gistread.cli.opening import STANDARD_INPUT, open_named
from gistread.cli.output import harmless, say, write_json
from gistread.errors import ExitStatus, GistreadError, StorageError, UsageError
from gistread.export_files import ExistsError, write_document
from gistread.exporting import Export, ExportFormat, as_json, format_for, render_export
from gistread.marking.store import MarkStore
from gistread.memory.model import GistMemory
from gistread.migration import migrate_user_data
from gistread.paths import default_paths
from gistread.user_data import UserData


def run(arguments: argparse.Namespace) -> ExitStatus:
    form = _form(arguments)
    book = open_named(arguments.book)
    export = Export(book) if form is ExportFormat.TEXT else _kept(book, arguments.book)
    if arguments.output is not None:
        try:
            write_document(arguments.output, render_export(export, form), replace=arguments.force)
        except ExistsError as error:
            raise ExistsError(error.message, "Give another name, or --force to replace it.") from None
        say(f"Written: {arguments.output}")
    elif arguments.json:
        write_json(as_json(export))
    else:
        _print(render_export(export, form))
    return ExitStatus.DONE


def _form(arguments: argparse.Namespace) -> ExportFormat:
    """What was asked for, else what the name of the file says, else Markdown. Raises UsageError."""
    if arguments.json:
        return ExportFormat.JSON
    if arguments.format:
        return ExportFormat(arguments.format)
    if arguments.output is None:
        return ExportFormat.MARKDOWN
    form = format_for(arguments.output)
    if form is None:
        raise UsageError(f"{arguments.output} does not say a format.", "Give --format md, json or txt.")
    return form


def _kept(book: Book, name: str) -> Export:
    """Everything that is kept of the book, also under an earlier version of its text. Raises StorageError."""
    paths = default_paths()
    user_data, store = UserData(paths.books), MarkStore(paths.marks)
    path = Path(name) if name != STANDARD_INPUT else None
    if not user_data.knows(book.sha256):
        try:
            migrate_user_data(book, user_data, store, file=file_digest(path) if path else "", path=path)
        except StorageError as error:
            say(f"Note: what is kept of an earlier version of this text is left out: {error.message}")
    return Export(book, store.marks(book.sha256), user_data.questions(book.sha256), _memory(book))


def _memory(book: Book) -> GistMemory | None:
    """The memory that got furthest, if the book was read at all."""
    store = memory_store()
    try:
        headers = [header for header in store.find(book) if header.pages]
        return store.load(book, headers[0]) if headers else None
    except GistreadError as error:
        say(f"Note: the gists are left out: {error.message}")
        return None


def _print(text: str) -> None:
    """To a terminal without what it would obey; to a pipe or a file exactly, as UTF-8."""
    if sys.stdout.isatty():
        print(harmless(text), end="" if text.endswith("\n") else "\n", flush=True)
    else:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
