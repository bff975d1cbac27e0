"""The export panel: choose a file and format, and write it."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import chain, count
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from gistread.errors import GistreadError
from gistread.export_files import ExistsError
from gistread.exporting.documents import write_export
from gistread.exporting.model import Export, ExportFormat, export_file_name, format_for
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import Panel
from gistread.tui.text import clean
from gistread.tui.widgets.lines import Actions

_ALL = "marks, notes, questions and gists"
_SUMMARIES = {
    ExportFormat.MARKDOWN: "Markdown: {}.",
    ExportFormat.JSON: "JSON: {} for programs.",
    ExportFormat.TEXT: "Text: the book itself.",
    ExportFormat.OBSIDIAN: "A note for Obsidian. If the file is there, what is new is added at its end.",
    ExportFormat.ANKI: "Cards for Anki: highlights, answers with sources, names.",
    ExportFormat.READWISE: "CSV for Readwise: highlights and notes.",
}


class ExportScreen(Panel[str | None]):
    """Dismissed with a message about the written file, or with None. `gather` is called in a thread."""

    BINDINGS = own_keys(
        ("escape", "dismiss(None)", "Close"),
        ("tab,down", "form(1)", "Next format"),
        ("shift+tab,up", "form(-1)", "Format before"),
        priority=True,
    )

    AUTO_FOCUS = "Input"

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
        super().__init__()
        self._what = what
        self._forms = forms
        self._folder = folder
        self._book_names = (title, authors)
        self._form = forms[0]
        self._gather = gather
        self._replace: Path | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static("Export", classes="panel-title", markup=False)
            yield Static(self._summary, classes="panel-note", id="export-note", markup=False)
            yield Input(str(self._free(self._form)), compact=True, id="export-path", select_on_focus=False)
            yield Actions(("Enter", "write", "write"), ("Tab", "another format", "form(1)"))

    @property
    def _summary(self) -> str:
        return _SUMMARIES[self._form].format(self._what)

    def _free(self, form: ExportFormat) -> Path:
        """A path to offer, of a new file; for Obsidian also of an existing note, which is extended."""
        title, authors = self._book_names
        first = self._folder / export_file_name(title, form, authors)
        numbered = (first.with_name(f"{first.stem} ({number}){form.suffix}") for number in count(2))
        paths = [first] if form is ExportFormat.OBSIDIAN else chain([first], numbered)
        return next((path for path in paths if not path.exists()), first)

    def action_form(self, step: int) -> None:
        typed = self.query_one("#export-path", Input)
        path, was_offered = Path(typed.value), typed.value == str(self._free(self._form))
        self._form = self._forms[(self._forms.index(self._form) + step) % len(self._forms)]
        typed.value = str(self._free(self._form) if was_offered else path.with_suffix(self._form.suffix))
        typed.cursor_position = len(typed.value)
        self._say(self._summary)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._replace = None

    @on(Input.Submitted)
    async def _submitted(self) -> None:
        await self.action_write()

    async def action_write(self) -> None:
        """Write the file; an existing one only after a second Enter."""
        typed = self.query_one("#export-path", Input).value.strip()
        path = self._folder / Path(typed).expanduser()
        form = self._form if path.suffix.lower() == self._form.suffix or path.is_dir() else format_for(path)
        if not typed or form is None or form not in self._forms:
            self._say(f"Name a file that ends with {self._form.suffix}.")
            return
        try:
            force = self._replace == path
            said = await asyncio.to_thread(lambda: write_export(self._gather(form), form, path, force=force))
        except ExistsError:
            self._replace = path
            self._say(f"{path} exists already. Press Enter again to replace it.")
        except GistreadError as error:
            self._say(str(error))
        else:
            self.dismiss(said)

    def _say(self, text: str) -> None:
        self.query_one("#export-note", Static).update(clean(text))
