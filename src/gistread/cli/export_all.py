"""`gistread export --all`: the user's data about every book, a file for each or one for all."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gistread.cli.export_data import (
    ExportChoice,
    choice_of,
    format_of,
    gather,
    output_of,
    print_document,
)
from gistread.cli.opening import library_entries
from gistread.cli.output import fail, say, write_json
from gistread.cli.progress import ProgressLine
from gistread.errors import BookError, ExitStatus, GistreadError, StorageError
from gistread.exporting.documents import (
    all_as_json,
    check_together,
    render_together,
    write_export,
    write_together,
)
from gistread.exporting.model import Export, separate_file_names
from gistread.exporting.names import ExportFormat
from gistread.library.entries import LibraryEntry, is_folder
from gistread.library.texts import text_of_entry
from gistread.paths import default_paths
from gistread.store.files import ExistsError
from gistread.store.user_data import MarkStore, UserData
from gistread.units import agreeing, counted


def export_all(arguments: argparse.Namespace) -> ExitStatus:
    """Export each book that has marks, notes or questions; one that fails stops no other."""
    output = output_of(arguments)
    is_separate = output is not None and _is_for_folder(output)
    form = format_of(arguments, None if is_separate else output)
    if not is_separate:
        check_together(form)
    entries = list(_with_data(library_entries(with_removed=True)))
    with ProgressLine() as line:
        run = _Run(entries, choice_of(arguments, form), line)
        if output is not None and is_separate:
            run.write_separately(output, force=arguments.force)
        elif output is not None:
            write_together(run.exports(), form, output, force=arguments.force)
        elif arguments.json:
            write_json(all_as_json(run.exports()))
        else:
            print_document(render_together(run.exports(), form))
    run.tell(output)
    return ExitStatus.FAILED if run.failed or run.existing else ExitStatus.DONE


def _is_for_folder(output: Path) -> bool:
    return is_folder(output) or not output.suffix


def _with_data(entries: Iterable[LibraryEntry]) -> Iterator[LibraryEntry]:
    """The books with marks, notes or questions. Raises StorageError."""
    paths = default_paths()
    user_data = UserData(paths)
    store = MarkStore(paths)
    for entry in entries:
        sha256 = entry.sha256
        if sha256 and (store.marks(sha256) or user_data.questions(sha256)):
            yield entry


@dataclass(slots=True)
class _Run:
    """Exports books one by one, with only one of their texts in memory."""

    entries: Sequence[LibraryEntry]
    choice: ExportChoice
    line: ProgressLine
    done: int = 0
    failed: int = 0
    existing: int = 0  # Files that were not overwritten
    bounded: int = 0  # Books whose gists ahead of the bound were left out

    def exports(self) -> Iterator[Export]:
        """The export of each book that has one; failures are reported and counted."""
        for number in range(len(self.entries)):
            export = self._export(number)
            if export is not None:
                self.done += 1
                yield export

    def write_separately(self, folder: Path, *, force: bool) -> None:
        """Write a file for each book. Raises StorageError if the folder cannot be made."""
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            message = f"{folder} cannot be made: {error.strerror or error}."
            raise StorageError(message, "Choose another.") from error
        names = separate_file_names(self.entries, self.choice.form)
        for number, name in enumerate(names):
            export = self._export(number)
            if export is None:
                continue
            try:
                write_export(export, self.choice.form, folder / name, force=force)
                self.done += 1
            except ExistsError:
                self.existing += 1
            except GistreadError as error:
                self._fail(str(error))

    def _export(self, number: int) -> Export | None:
        """The export of a book; None if it failed, or has none of the chosen parts."""
        entry = self.entries[number]
        self.line.show(f"{number + 1} of {len(self.entries)}: {entry.title}")
        try:
            export = self._gathered(entry)
        except GistreadError as error:
            self._fail(f"{entry.title}: {error}")
            return None
        if export.ahead:
            self.bounded += 1
        is_empty = not (export.marks or export.questions or export.memory)
        if self.choice.only and is_empty:
            return None
        return export

    def _gathered(self, entry: LibraryEntry) -> Export:
        """Raises BookError if the text is to be exported and missing, StorageError."""
        text = text_of_entry(entry, default_paths())
        if text.notice:
            self.line.say(f"Note: {text.notice}")
        if self.choice.form is ExportFormat.TEXT and not text.has_text:
            raise BookError("Its text is gone.")
        return gather(text.book, text.path, self.choice)

    def _fail(self, reason: str) -> None:
        self.failed += 1
        self.line.clear()
        fail(reason)

    def tell(self, output: Path | None) -> None:
        """Say how many books were exported."""
        if self.existing:
            exist = agreeing(self.existing, "exists", "exist")
            files = counted(self.existing, "file")
            fail(
                f"{files} {exist} already: use another folder, or --force to overwrite."
            )
        if self.done or self.failed:
            exported = f"Exported {counted(self.done, 'book')}"
            if output is not None:
                exported += f" to {output}"
            if self.failed:
                exported += f"; {self.failed} failed"
            say(f"{exported}.")
            if self.bounded:
                books = counted(self.bounded, "book")
                say(f"Without gists ahead in {books}; `--upto all` exports all.")
        elif not self.existing:
            say("No book of your library has what you want to export.")
