"""What an export holds, where it goes and in which format."""

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from gistread.book.cache import file_digest
from gistread.book.model import Book
from gistread.cli.arguments import EXPORT_PARTS
from gistread.cli.memory import memory_store, saved_memories
from gistread.cli.opening import STANDARD_INPUT, story_bound
from gistread.cli.output import say, write, write_bytes
from gistread.errors import GistreadError, StorageError, UsageError
from gistread.exporting.anki import doubted_notice
from gistread.exporting.formats import format_named
from gistread.exporting.fragments import cfis_of
from gistread.exporting.model import Export, Form, OtherFormat, format_for, with_gists
from gistread.exporting.names import ExportFormat
from gistread.library.entries import ID_LENGTH, absolute, is_folder
from gistread.library.moving import migrate_user_data
from gistread.memory.model import GistMemory
from gistread.paths import default_paths
from gistread.readers.introductions import names_to_learn
from gistread.store.user_data import MarkStore, UserData

_STANDARD_OUTPUT = Path("-")


def print_document(text: str) -> None:
    if sys.stdout.isatty():
        write(text, end="" if text.endswith("\n") else "\n")
    else:  # A pipe or a file gets the exact bytes.
        write_bytes(text.encode("utf-8"))


def output_of(arguments: argparse.Namespace) -> Path | None:
    """The file or folder to write to; None for standard output."""
    output: Path | None = arguments.output
    if output == _STANDARD_OUTPUT:
        return None
    return output


def format_of(arguments: argparse.Namespace, output: Path | None) -> Form:
    """The chosen format or template, else that of the output file's suffix, else Markdown.

    Raises UsageError.
    """
    if arguments.template is not None:
        # Jinja takes a while to import
        from gistread.exporting.templates import template_format

        return template_format(arguments.template)
    chosen = ExportFormat.JSON if arguments.json else arguments.format
    if chosen or output is None or is_folder(output):
        return format_named(chosen or ExportFormat.MARKDOWN)
    form = format_for(output)
    if form is None:
        raise UsageError(
            f"{output} is no folder, and its name does not say the format.",
            f"Use --format {', '.join(ExportFormat)}.",
        )
    return form


def carry_over(book: Book, path: Path | None) -> None:
    """Carry over the data of an earlier version of the file."""
    user_data = UserData(default_paths())
    if user_data.opened_at(book.sha256):
        return
    try:
        store = MarkStore(default_paths())
        file = file_digest(path) if path else ""
        migrate_user_data(book, user_data, store, file=file, path=path)
    except StorageError as error:
        say(
            "Note: data of an earlier version of this book is left out: "
            f"{error.message}"
        )


@dataclass(frozen=True, slots=True)
class ExportChoice:
    """What is to be exported."""

    form: Form
    only: frozenset[str] | None = None  # The parts of the data; None: all
    doubted: bool = False  # Whether doubted answers become cards
    upto: str | None = None  # The place of `--upto`, up to which gists are exported


def choice_of(arguments: argparse.Namespace, form: Form) -> ExportChoice:
    """What the command line chooses."""
    return ExportChoice(
        form, only=arguments.only, doubted=arguments.doubted, upto=arguments.upto
    )


def gather(book: Book, path: Path | None, choice: ExportChoice) -> Export:
    """The chosen part of the user's data about a book. `path`: the book's file.

    Raises StorageError, UsageError.
    """
    form = choice.form
    if form in (ExportFormat.TEXT, ExportFormat.BIBTEX, ExportFormat.CSL):
        return Export(book)
    paths = default_paths()
    user_data = UserData(paths)
    marks = MarkStore(paths).marks(book.sha256)
    questions = user_data.questions(book.sha256)
    memory = _memory(book, path) if _has_gists(form) else None
    export = Export(book, marks, questions, doubted=choice.doubted)
    if memory is not None:
        export = with_gists(export, memory, story_bound(choice.upto, memory))
    if choice.only:
        export = _only(export, choice.only)
    elif form is ExportFormat.ANKI:
        # Names are none of the parts that `--only` chooses.
        export = replace(export, names=names_to_learn(book, user_data))
    notice = doubted_notice(export) if form is ExportFormat.ANKI else ""
    if notice:
        say(f"{notice} `--doubted` exports them, too.")
    if isinstance(form, OtherFormat):
        export = replace(export, command_name=_command_name(book, path))
    if path is not None and _wants_cfis(form):
        export = replace(export, cfis=cfis_of(book, export.marks, path))
    return export


def _has_gists(form: Form) -> bool:
    if isinstance(form, OtherFormat):
        return True
    return form in (ExportFormat.MARKDOWN, ExportFormat.JSON)


def _wants_cfis(form: Form) -> bool:
    if isinstance(form, OtherFormat):
        return form.wants_cfis
    return form is ExportFormat.ANNOTATIONS


def _command_name(book: Book, path: Path | None) -> str:
    """A name that every command takes for this book alone: its path, or else its id.

    Titles may be shared.
    """
    if path is None:
        return book.sha256[:ID_LENGTH]
    return str(absolute(path))


def _only(export: Export, parts: frozenset[str]) -> Export:
    """The parts that the user wants. A mark with a note belongs to `marks` and to `notes`."""
    export = replace(export, parts=[part for part in EXPORT_PARTS if part in parts])
    if "marks" not in parts:
        notes = [mark for mark in export.marks if mark.note]
        export = replace(export, marks=notes if "notes" in parts else [])
    if "questions" not in parts:
        export = replace(export, questions=())
    if "gists" not in parts:
        export = replace(export, memory=None, ahead=0)
    return export


def _memory(book: Book, path: Path | None) -> GistMemory | None:
    """The furthest memory of the book. Says why the gists are left out if it cannot be read."""
    try:
        headers = saved_memories(book, str(path or STANDARD_INPUT))
        for header in headers:  # The furthest first
            if header.pages:
                return memory_store().load(book, header)
        return None
    except GistreadError as error:
        say(f"Note: the gists are left out: {error.message}")
        return None
