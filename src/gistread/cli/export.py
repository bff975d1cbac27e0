"""`gistread export BOOK`: exports marks, notes, questions and gists, or the book's text."""

import argparse

from gistread.cli.export_all import export_all
from gistread.cli.export_data import (
    carry_over,
    choice_of,
    format_of,
    gather,
    output_of,
    print_document,
)
from gistread.cli.opening import STANDARD_INPUT, book_path, open_named
from gistread.cli.output import say, write_json
from gistread.errors import ExitStatus, UsageError
from gistread.exporting.documents import as_json, render_export, write_export
from gistread.exporting.model import export_file_name
from gistread.exporting.names import ExportFormat
from gistread.library.entries import is_folder
from gistread.units import counted


def run(arguments: argparse.Namespace) -> ExitStatus:
    has_book = bool(arguments.book)
    if has_book == arguments.all:
        example = "Example: gistread export frankenstein.epub"
        raise UsageError("Name one book, or --all.", example)
    if arguments.all:
        return export_all(arguments)
    output = output_of(arguments)
    form = format_of(arguments, output)
    book = open_named(arguments.book)
    path = book_path(arguments.book) if arguments.book != STANDARD_INPUT else None
    # An Obsidian note in a folder is named when it is written.
    names_its_notes = form is ExportFormat.OBSIDIAN
    if output is not None and is_folder(output) and not names_its_notes:
        output /= export_file_name(book.title, form, book.authors)
    carry_over(book, path)
    export = gather(book, path, choice_of(arguments, form))
    if export.ahead:
        sections = counted(export.ahead, "section")
        say(f"Without the gists of {sections} ahead; `--upto all` exports all.")
    if output is not None:
        say(write_export(export, form, output, force=arguments.force))
    elif arguments.json:
        write_json(as_json(export))
    else:
        print_document(render_export(export, form))
    return ExitStatus.DONE
