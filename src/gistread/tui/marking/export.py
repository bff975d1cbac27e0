"""The export panel: choose a file and format, and write it."""

import asyncio
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from gistread.errors import GistreadError
from gistread.export_files import ExistsError, write_document
from gistread.exporting import Export, ExportFormat, export_file_name, format_for, render_export
from gistread.tui.commands import own_keys
from gistread.tui.screens.listing import Panel
from gistread.tui.text import clean
from gistread.tui.widgets.lines import Actions

_HELP = "Markdown (.md) and JSON (.json) hold marks, notes, questions and gists; .txt is the text of the book."


class ExportScreen(Panel[Path | None]):
    """Dismissed with the file that was written, or with None. `gather` is called in a thread."""

    BINDINGS = own_keys(
        ("escape", "dismiss(None)", "Close"),
        ("tab,down", "form(1)", "Next format"),
        ("shift+tab,up", "form(-1)", "Format before"),
        priority=True,
    )

    AUTO_FOCUS = "Input"

    def __init__(self, title: str, folder: Path, gather: Callable[[], Export]) -> None:
        super().__init__()
        self._folder = folder
        self._book_title = title
        self._gather = gather
        self._replace: Path | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel"):
            yield Static("Export", classes="panel-title", markup=False)
            yield Static(_HELP, classes="panel-note", id="export-note", markup=False)
            yield Input(str(self._free(ExportFormat.MARKDOWN)), compact=True, id="export-path", select_on_focus=False)
            yield Actions(("Enter", "write", "write"), ("Tab", "Markdown, JSON or text", "form(1)"))

    def _free(self, form: ExportFormat) -> Path:
        first = self._folder / export_file_name(self._book_title, form)
        numbered = (first.with_name(f"{first.stem} ({number}).{form}") for number in count(2))
        return next(path for path in chain([first], numbered) if not path.exists())

    def action_form(self, step: int) -> None:
        typed = self.query_one("#export-path", Input)
        forms = list(ExportFormat)
        path = Path(typed.value)
        form = format_for(path)
        wanted = forms[(forms.index(form) + step) % len(forms)] if form else forms[0]
        was_offered = form is not None and path == self._free(form)
        typed.value = str(self._free(wanted) if was_offered else path.with_suffix(f".{wanted}"))
        typed.cursor_position = len(typed.value)

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
        form = format_for(path)
        if not typed or form is None:
            self._say("Name a file that ends with .md, .json or .txt.")
            return
        try:
            replace = self._replace == path
            await asyncio.to_thread(lambda: write_document(path, render_export(self._gather(), form), replace=replace))
        except ExistsError:
            self._replace = path
            self._say(f"{path} is there already: Enter again replaces it.")
        except GistreadError as error:
            self._say(str(error))
        else:
            self.dismiss(path)

    def _say(self, text: str) -> None:
        self.query_one("#export-note", Static).update(clean(text))
