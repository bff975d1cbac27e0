"""`gistread export BOOK`: exports marks, notes, questions and gists, or the book's text."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from gistread.book.cache import file_digest
from gistread.book.model import Book
from gistread.cli.memory import memory_store, saved_memories
from gistread.cli.opening import STANDARD_INPUT, book_path, open_named
from gistread.cli.output import say, write, write_bytes, write_json
from gistread.errors import GistreadError, StorageError, UsageError
from gistread.exporting.documents import as_json, render_export, write_export
from gistread.exporting.fragments import cfis_of
from gistread.exporting.model import Export, ExportFormat, export_file_name, format_for
from gistread.library.entries import is_folder
from gistread.library.moving import migrate_user_data
from gistread.memory.model import GistMemory
from gistread.memory.spoilers import usual_bound
from gistread.paths import default_paths
from gistread.readers.introductions import names_to_learn
from gistread.store.user_data import MarkStore, UserData

_STANDARD_OUTPUT = Path("-")


def run(arguments: argparse.Namespace) -> None:
    output = None if arguments.output == _STANDARD_OUTPUT else arguments.output
    form = _format(ExportFormat.JSON if arguments.json else arguments.format, output)
    book = open_named(arguments.book)
    if output is not None and is_folder(output) and form is not ExportFormat.OBSIDIAN:
        output /= export_file_name(book.title, form, book.authors)
    export = _gathered(book, form, arguments)
    if output is not None:
        say(write_export(export, form, output, force=arguments.force))
    elif arguments.json:
        write_json(as_json(export))
    elif sys.stdout.isatty():
        text = render_export(export, form)
        write(text, end="" if text.endswith("\n") else "\n")
    else:  # A pipe or a file gets the exact bytes.
        write_bytes(render_export(export, form).encode("utf-8"))


def _format(chosen: str | None, output: Path | None) -> ExportFormat:
    """The chosen format, else the format of the output file's suffix, else Markdown.

    Raises UsageError.
    """
    if chosen or output is None or is_folder(output):
        return ExportFormat(chosen or ExportFormat.MARKDOWN)
    if (form := format_for(output)) is None:
        raise UsageError(f"Unknown format: {output}", f"Use --format {', '.join(ExportFormat)}.")
    return form


def _gathered(book: Book, form: ExportFormat, arguments: argparse.Namespace) -> Export:
    """Those parts of the book's data that were asked for. Raises StorageError."""
    if form in (ExportFormat.TEXT, ExportFormat.BIBTEX, ExportFormat.CSL):
        return Export(book)
    export = _user_data(book, arguments.book)
    if arguments.only:
        export = _only(export, arguments.only)
    if form is ExportFormat.ANNOTATIONS and arguments.book != STANDARD_INPUT:
        export = replace(export, cfis=cfis_of(book, export.marks, book_path(arguments.book)))
    if arguments.only:
        return export
    if form is ExportFormat.ANKI:
        return replace(export, names=names_to_learn(book, UserData(default_paths())))
    return export


def _only(export: Export, parts: frozenset[str]) -> Export:
    """The parts that the user wants."""
    marks = [mark for mark in export.marks if "marks" in parts or ("notes" in parts and mark.note)]
    return replace(
        export,
        marks=marks,
        questions=export.questions if "questions" in parts else (),
        memory=export.memory if "gists" in parts else None,
    )


def _user_data(book: Book, name: str) -> Export:
    """Marks, questions and gists, including those of an earlier version of the file.

    Raises StorageError.
    """
    paths = default_paths()
    user_data, store = UserData(paths), MarkStore(paths)
    path = book_path(name) if name != STANDARD_INPUT else None
    if not user_data.opened_at(book.sha256):
        try:
            migrate_user_data(
                book, user_data, store, file=file_digest(path) if path else "", path=path
            )
        except StorageError as error:
            say(f"Note: data of an earlier version of this book is left out: {error.message}")
    return Export(
        book, store.marks(book.sha256), user_data.questions(book.sha256), _memory(book, name)
    )


def _memory(book: Book, name: str) -> GistMemory | None:
    try:
        headers = [header for header in saved_memories(book, name) if header.pages]
        if not headers:
            return None
        memory = memory_store().load(book, headers[0])
        user_data = UserData(default_paths())
        place = user_data.reading_place(book.sha256)
        bound = usual_bound(book, place.furthest, user_data.bound_choice(book.sha256))
        return memory if bound is None else memory.upto(bound)
    except GistreadError as error:
        say(f"Note: the gists are left out: {error.message}")
        return None
