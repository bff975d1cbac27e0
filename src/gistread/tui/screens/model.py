"""Chooses a model for reading or answering.

It is on this machine, to be downloaded, or named by a path or an address.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input, Static

from gistread.config import Config
from gistread.engine.catalogue import free_for_models
from gistread.engine.fetching.hub import is_on_the_hub
from gistread.engine.llama.machine import available_bytes
from gistread.engine.model_files import check_writes_text
from gistread.engine.model_search import SUFFIX, ModelFile, starter_path
from gistread.engine.models import (
    each_model,
    find_source,
    header_of,
    models_by_path,
)
from gistread.errors import EngineError
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.tui.commands import own_keys
from gistread.tui.jobs import run_job
from gistread.tui.model_downloads import ModelDownloads
from gistread.tui.model_rows import Chooser, Entry, Fetch, ModelKey, ModelRow, Role
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.text import clean
from gistread.tui.widgets.row_list import RowList
from gistread.units import format_size

_REDRAW_S = 0.1  # Between two looks at what has changed, such as a download
_TITLES = {
    Role.READING: "Choose the model that reads",
    Role.ASKING: "Choose the model that answers",
}


class ModelScreen(ListScreen[ModelKey]):
    """Dismissed with a path, name or address, or with `Entry.NONE`, for the chosen `role`."""

    KEYS = (("tab", "next_role", "reads or answers"),)
    BINDINGS = own_keys(*KEYS, priority=True)
    ENTER = "use"
    TALL = True

    def __init__(
        self,
        config: Config,
        downloads: ModelDownloads,
        results: CheckResults | None = None,
        loaded: str = "",
        words: int = 0,
    ) -> None:
        """`results`: earlier model checks; `loaded`: where the loaded model is in memory, in words.

        `words`: length of the open book, for estimates of time; 0 without one.
        """
        placeholder = "filter, or a path or address"
        super().__init__(_TITLES[Role.READING], placeholder=placeholder)
        # The model in use for each role
        self._in_use = {role: str(getattr(config, role)) for role in Role}
        self._downloads = downloads
        self.role = Role.READING
        self._models: list[ModelFile] = []
        self._starter: Path | None = None
        self._free_bytes = 0
        self._whole = False  # Whether every model is listed
        self._searching = True  # Whether models are still being looked for
        # Whether the user moved the cursor; until then, it stays on the current model
        self._moved = False
        self._results = results
        self._loaded = loaded
        self._words = words
        self._checked: dict[Path, CheckResult] = {}

    def compose_panel(self) -> ComposeResult:
        yield from super().compose_panel()
        yield Static("", id="model-detail", markup=False)

    def on_mount(self) -> None:
        self._downloads.on_downloaded = self._on_downloaded
        super().on_mount()
        self.set_interval(_REDRAW_S, self._draw)
        self.run_worker(self._find(), group="find")

    def on_unmount(self) -> None:
        self._downloads.on_downloaded = None

    def _on_downloaded(self, path: Path) -> None:
        """List the models again, with the cursor on this one."""
        self.at, self._moved = str(path), False
        run_job(self, self._find, group="find")

    async def _find(self) -> None:
        """Find all models and what is known of them. On a slow disk, this takes seconds."""
        self._searching = True
        try:
            self._starter = starter_path()
            self._free_bytes = available_bytes()
            self._models, self._checked = await asyncio.to_thread(self._read_models)
            self._draw()
            # Asking a graphics card takes a second.
            self._free_bytes = await asyncio.to_thread(free_for_models)
            await self._downloads.prepare()
        finally:
            self._searching = False
        self._draw()

    def _read_models(self) -> tuple[list[ModelFile], dict[Path, CheckResult]]:
        """Read the headers of all models, and the results of their checks."""
        models = list(each_model())
        models += models_by_path(self._in_use.values(), models)
        checked: dict[Path, CheckResult] = {}
        if self._results is not None:
            result_of = self._results.by_file()
            for model in models:
                result = result_of(model.path)
                if result is not None:
                    checked[model.path] = result
        return models, checked

    def rows_for(self, typed: str) -> Sequence[Row[ModelKey]]:
        chooser = Chooser(
            self.role,
            current=self._in_use[self.role],
            free_bytes=self._free_bytes,
            starter=self._starter,
            checked=self._checked,
        )
        downloads = self._downloads.rows(self._words)
        # What is typed is looked for in every model.
        whole = self._whole or bool(typed)
        self.rows = chooser.rows(self._models, downloads, whole=whole)
        self.note = self._summary()
        return super().rows_for(typed)

    def _summary(self) -> str:
        """How many models are on this machine, or what to do without any."""
        usable = sum(model.usable for model in self._models)
        if self._searching:
            return f"Looking for models on this machine … {usable or ''}".rstrip()
        if usable:
            memory = f"{format_size(self._free_bytes)} of memory free"
            return f"{usable} on this machine · {memory} · larger ones understand more"
        return (
            "No model on this machine yet. Choose one to download; you confirm it.\n"
            "Or get the small starter: gistread models get starter"
        )

    @property
    def nothing(self) -> str:
        if is_fetched(self.typed):
            use = "download it"
        else:
            use = "use it if it is a path or an address"
        return f"No model with this name. Press Enter to {use}: {self.typed}"

    def _draw(self) -> None:
        """Draw what has changed: more models, or the progress of a download."""
        if not self.is_mounted:
            return
        note_before = self.note
        rows = self.rows_for(self.typed)  # This changes the note too.
        if rows != self.shown or self.note != note_before:
            self.show_rows(self.chosen if self._moved else self.at)

    def show_rows(self, at: ModelKey | None) -> None:
        """Put the cursor on this row, or else on the current model."""
        if at is None:
            for row in self.rows_for(self.typed):
                if isinstance(row, ModelRow) and row.is_current:
                    at = row.key
                    break
        super().show_rows(at)
        self._show_detail()

    @on(RowList.Moved)
    def _show_detail(self) -> None:
        """Show the details of the model under the cursor."""
        row = None
        row_number = self.list.cursor_key
        if isinstance(row_number, int) and row_number < len(self.shown):
            row = self.shown[row_number]
        detail = ""
        if isinstance(row, ModelRow):
            detail = row.detail
            is_reading = row.is_current and self.role is Role.READING
            if is_reading and self._loaded:
                detail = f"Loaded: {self._loaded}\n{detail}"
        lines = [clean(line) for line in detail.splitlines()]
        self.query_one("#model-detail", Static).update("\n".join(lines))

    def action_move(self, action: str, *arguments: int) -> None:
        self._moved = True
        super().action_move(action, *arguments)

    def action_next_role(self) -> None:
        """Choose the model for the other role."""
        self.role = Role.ASKING if self.role is Role.READING else Role.READING
        self._moved, self.at = False, None
        self.query_one(".panel").border_title = _TITLES[self.role]
        self.show_rows(None)

    def action_choose(self) -> None:
        """Use what is typed if it names a model, or else the chosen row."""
        typed = self.typed
        is_path = typed.startswith(("/", "~", ".")) or typed.casefold().endswith(SUFFIX)
        is_address = "://" in typed
        # No row has these words: they may name a model all the same.
        matches_nothing = bool(typed) and self.chosen is None
        if is_fetched(typed):
            self.choose(Fetch(typed))
        elif is_path or is_address or matches_nothing:
            run_job(self, partial(self._use_typed, typed), group="typed")
        else:
            super().action_choose()

    async def _use_typed(self, spec: str) -> None:
        """Choose the typed path, name or address if there is such a model.

        A server is not asked whether it has the model.
        """
        try:
            source = await asyncio.to_thread(find_source, spec)
            if source.path is not None:
                await asyncio.to_thread(lambda: check_writes_text(header_of(source)))
        except EngineError as error:
            self.notify(str(error), severity="error", timeout=10)
        else:
            self.dismiss(spec)

    def choose(self, key: ModelKey) -> None:
        """Use the model of this row, ask to download it, or show the other rows."""
        refusal = self._refusal_of(key)
        if refusal:
            self.notify(refusal, severity="warning")
        elif key is Entry.OTHERS:
            row_number = self.list.cursor_key
            self._whole = True
            # Redrawing must not move the cursor to the current model.
            self._moved = True
            self.show_rows(None)
            self.list.set_cursor(row_number)  # Now the first of the other models
        elif isinstance(key, Fetch):
            run_job(self, partial(self._fetch, key), group="fetch")
        else:
            self.dismiss(key)

    def _refusal_of(self, key: ModelKey) -> str:
        """Why this row cannot be chosen; empty if it can."""
        for row in self.shown:
            if isinstance(row, ModelRow) and row.key == key:
                return row.refusal
        return ""

    async def _fetch(self, key: Fetch) -> None:
        """Ask the user about a download; if it runs then, show its row."""
        await self._downloads.choose(key.spec)
        if self.is_mounted and self._downloads.running:
            self.at, self._moved = key, False
            self.query_one("#typed", Input).value = ""
            self.show_rows(key)


def is_fetched(typed: str) -> bool:
    """Whether this names a model to download.

    That is a repository of the hub, or the address of a GGUF file.
    """
    if is_on_the_hub(typed) and not Path(typed).exists():
        return True
    address, _, _ = typed.partition("?")
    address = address.casefold()
    return address.startswith(("https://", "http://")) and address.endswith(SUFFIX)
