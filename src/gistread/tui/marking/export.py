"""The export panel: choose a file and format, and write it."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import chain, count
from pathlib import Path

from textual import on
from textual.widgets import Input

from gistread.errors import GistreadError
from gistread.exporting.documents import write_export
from gistread.exporting.model import Export, ExportFormat, export_file_name, format_for
from gistread.store.files import ExistsError
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.widgets.row_list import RowList

_ALL = "marks, notes, questions and gists"
_FORMS = {
    ExportFormat.MARKDOWN: ("Markdown", "{}"),
    ExportFormat.JSON: ("JSON", "{} for programs"),
    ExportFormat.TEXT: ("Text", "the book itself"),
    ExportFormat.OBSIDIAN: ("Obsidian", "a note; if the file is there, what is new is added at its end"),
    ExportFormat.ANKI: ("Anki", "cards: highlights, answers with sources, names"),
}


class ExportScreen(ListScreen[ExportFormat]):
    """The formats, with the path in the line above them. `gather` is called in a thread."""

    ENTER = "write"

    def __init__(
        self,
        title: str,
        folder: Path,
        gather: Callable[[ExportFormat], Export],
        authors: Sequence[str] = (),
        *,
        what: str = _ALL,
        forms: Sequence[ExportFormat] = tuple(ExportFormat),
    ) -> None:
        """`what`: what is exported, in words. `forms`: formats on offer, the first one chosen."""
        self._folder = folder
        self._book_names = (title, authors)
        self._form = forms[0]
        self._gather = gather
        self._replace: Path | None = None
        rows = [Row(form, name, about.format(what)) for form, (name, about) in _FORMS.items() if form in forms]
        super().__init__("Export", rows=rows, placeholder="a file", typed=str(self._free(self._form)))

    def _free(self, form: ExportFormat) -> Path:
        """A path to offer, of a new file; for Obsidian also of an existing note, which is extended."""
        title, authors = self._book_names
        first = self._folder / export_file_name(title, form, authors)
        numbered = (first.with_name(f"{first.stem} ({number}){form.suffix}") for number in count(2))
        paths = [first] if form is ExportFormat.OBSIDIAN else chain([first], numbered)
        return next((path for path in paths if not path.exists()), first)

    def rows_for(self, typed: str) -> Sequence[Row[ExportFormat]]:
        return self.rows

    def filtered(self) -> None:
        self._replace = None

    @on(RowList.Moved)
    def _form_chosen(self) -> None:
        """Offer a path of this format, or give the typed one its ending."""
        line, form = self.query_one(Input), self.chosen
        if form is None or form is self._form:
            return
        was_offered = line.value == str(self._free(self._form))
        self._form = form
        line.value = str(self._free(form) if was_offered else Path(line.value).with_suffix(form.suffix))
        line.cursor_position = len(line.value)

    def choose(self, key: ExportFormat) -> None:
        self.run_worker(self._write(key), exclusive=True)

    async def _write(self, form: ExportFormat) -> None:
        """Write the file; an existing one only after a second Enter."""
        path = self._folder / Path(self.typed).expanduser()
        own = form if path.suffix.lower() == form.suffix or path.is_dir() else format_for(path)
        if not self.typed or own not in {row.key for row in self.rows}:
            self.say(f"Name a file that ends with {form.suffix}.")
            return
        assert own is not None
        try:
            force = self._replace == path
            said = await asyncio.to_thread(lambda: write_export(self._gather(own), own, path, force=force))
        except ExistsError:
            self._replace = path
            self.say(f"{path} exists already. Press Enter again to replace it.")
        except GistreadError as error:
            self.say(str(error))
        else:
            self.dismiss()
            self.notify(said)
