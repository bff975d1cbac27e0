"""Chooses a model and its role: one on this machine, a download, a path or address, or none."""

import asyncio
import threading
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.config import Config
from gistread.engine.catalogue import Kind
from gistread.engine.fetching.addresses import is_on_the_hub
from gistread.engine.llama.machine import available_bytes
from gistread.engine.model_files import Availability, ModelFile
from gistread.engine.model_search import SUFFIX, starter_path
from gistread.engine.models import each_model
from gistread.engine.recommendation import free_for_models
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.tui.commands import own_keys
from gistread.tui.model_downloads import FETCH, MORE, ModelDownloads
from gistread.tui.model_rows import (
    NO_MODEL,
    TITLES,
    ModelChoice,
    ModelRow,
    Role,
    Section,
    matching,
    no_model_section,
    sections,
)
from gistread.tui.screens.listing import Panel
from gistread.tui.text import clean
from gistread.tui.widgets.lines import Choices
from gistread.units import format_size

_DETAIL_LINES = 6  # with a model loaded: a fixed height, so that the list does not move
_REDRAW_S = 0.1  # how often the list is redrawn while models are found


class ModelScreen(Panel[ModelChoice | None]):
    """Dismissed with the chosen model and its role. Letters filter."""

    BINDINGS = own_keys(
        ("escape", "leave", "Close"),
        ("tab", "step_role(1)"),
        ("shift+tab", "step_role(-1)"),
        ("down", "list('cursor_down')"),
        ("up", "list('cursor_up')"),
        ("pagedown", "list('page_down')"),
        ("pageup", "list('page_up')"),
        ("ctrl+home", "list('first')"),
        ("ctrl+end", "list('last')"),
        priority=True,
    )
    AUTO_FOCUS = "#model-filter"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - Textual declares no class variable

    def __init__(
        self, config: Config, downloads: ModelDownloads, results: CheckResults | None = None, loaded: str = ""
    ) -> None:
        """`results`: earlier model checks; `loaded`: where the loaded model is in memory, in words."""
        super().__init__()
        self._chosen = {role: str(getattr(config, role.setting)) for role in Role}
        self._downloads = downloads
        self._role = Role.READING
        self._found: list[ModelFile] = []
        self._starter: Path | None = None
        self._free_bytes = 0
        self._drawn: object = None  # what the list was last drawn from
        self._whole = False  # whether every download is listed, not only the recommended one
        self._wanted = ""  # row to highlight once listed: a model just downloaded
        self._searching = True
        self._stop = threading.Event()
        self._moved = False  # whether the person moved the highlight; before, it stays on the current model
        self._rows: dict[str, ModelRow] = {}
        self._results = results
        self._loaded = loaded
        self._checked: dict[Path, CheckResult] = {}

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="model-panel"):
            yield Static("Choose a model for", classes="panel-title", markup=False)
            yield Choices(id="model-role")
            yield Static("", classes="panel-note", id="model-note", markup=False)
            yield Input(
                placeholder="letters filter · or a path, hf:owner/repository, http://server/v1 · Enter",
                compact=True,
                id="model-filter",
            )
            rows = OptionList(id="model-rows", markup=False)
            rows.can_focus = False
            yield rows
            yield Static("", id="model-detail", markup=False)

    def on_mount(self) -> None:
        if self._loaded:
            self.query_one("#model-detail").styles.height = _DETAIL_LINES
        self._downloads.on_downloaded = self._on_downloaded
        self.set_interval(_REDRAW_S, self._draw_found)
        self.run_worker(self._find())
        self._show_role()
        self._draw()

    def on_unmount(self) -> None:
        self._stop.set()
        self._downloads.on_downloaded = None

    def _on_downloaded(self, path: Path) -> None:
        self._wanted = str(path)
        if not self._searching:
            self.run_worker(self._find(again=True))

    async def _find(self, *, again: bool = False) -> None:
        """Read the headers of all models in a thread; the timer draws what has been found."""
        self._searching = True
        self._found.clear()
        try:
            await asyncio.to_thread(self._read_headers, asyncio.get_running_loop())
            await self._downloads.prepare()
        finally:
            self._searching = False
            if self.is_mounted:
                self._draw()
        if self._wanted and self.is_mounted and not again:
            await self._find(again=True)  # the folder was read before the download ended

    def _read_headers(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called in a thread. Hands each model to the event loop, which alone changes the screen."""
        tell = loop.call_soon_threadsafe
        starter = starter_path()
        tell(self._measured, available_bytes(), starter)
        result_of = self._results.by_file() if self._results else lambda _: None
        for model in each_model():
            if self._stop.is_set():
                return
            tell(self._add, model, result_of(model.path))
        tell(self._measured, free_for_models(), starter)  # asking a graphics card takes a second

    def _measured(self, free_bytes: int, starter: Path | None) -> None:
        self._free_bytes, self._starter = free_bytes, starter

    def _add(self, model: ModelFile, verdict: CheckResult | None) -> None:
        self._found.append(model)
        if verdict is not None:
            self._checked[model.path] = verdict

    def _sections(self) -> list[Section]:
        current = self._chosen.get(self._role, "")
        there = sections(list(self._found), self._free_bytes, current, self._starter, self._role, self._checked)
        downloads = self._download_section
        at = 1 if there and there[0].title in (TITLES[Availability.READY], TITLES[Availability.EMBEDDINGS]) else 0
        return [*there[:at], *([downloads] if downloads else []), *there[at:], no_model_section(self._role, current)]

    @property
    def _download_section(self) -> Section | None:
        kind: Kind = "embedding" if self._role is Role.EMBEDDING else "text"
        return self._downloads.section(kind, whole=self._whole or bool(self._typed))

    @property
    def _drawn_from(self) -> object:
        section = self._download_section
        return len(self._found), [row.id for row in section.rows] if section else []

    def _draw_found(self) -> None:
        if self._drawn != self._drawn_from:
            self._draw()
            return
        # Progress of a download only rewrites its row.
        section = self._download_section
        for row in section.rows if section else ():
            if row.id in self._rows and self._rows[row.id] != row:
                self._rows[row.id] = row
                self._options.replace_option_prompt(row.id, _content(row))
                self._show_detail()

    def _draw(self) -> None:
        self._drawn = self._drawn_from
        shown = matching(self._sections(), self._typed)
        self._rows = {row.id: row for section in shown for row in section.rows}
        options = self._options
        at = options.highlighted_option
        wanted = at.id if at is not None and self._moved else None
        if self._wanted and any(str(model.path) == self._wanted for model in self._found):
            wanted, self._wanted, self._moved = self._wanted, "", True
        options.clear_options()
        for number, section in enumerate(shown):
            if section.title:
                above = "\n" if number and self.has_class("-high") else ""
                options.add_option(Option(Content.styled(above + section.title, "bold $gr-accent"), disabled=True))
            for row in section.rows:
                options.add_option(Option(_content(row), id=row.id))
        rows = self._rows.values()
        wishes = (lambda row: row.id == wanted, lambda row: row.is_current, lambda row: row.enabled, lambda row: True)
        target = next((row for wish in wishes for row in rows if wish(row)), None)
        if target is not None:
            self._options.highlighted = self._options.get_option_index(target.id)
        self._show_detail()
        self._say()

    def _say(self) -> None:
        usable = sum(model.usable for model in self._found)
        free = f"{format_size(self._free_bytes)} of memory free"
        if self._searching:
            note = f"Looking for models on this machine … {usable or ''}".rstrip()
        elif usable:
            note = f"{usable} on this machine · {free} · larger ones understand more"
        else:
            note = (
                "No language model on this machine yet. Choose one below to download it.\n"
                "Or download the small starter: gistread models get starter"
            )
        self.query_one("#model-note", Static).update(note)

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        option = self._options.highlighted_option
        row = self._rows.get(option.id or "") if option is not None else None
        if row is not None:
            is_loaded = row.is_current and self._role is Role.READING and self._loaded
            detail = f"Loaded: {self._loaded}\n{row.detail}" if is_loaded else row.detail
        else:
            use = "download it" if is_fetched(self._typed) else "use it as a path or address"
            detail = f"No model with this name. Press Enter to {use}: {self._typed}"
        self.query_one("#model-detail", Static).update("\n".join(map(clean, detail.splitlines())))

    @property
    def _options(self) -> OptionList:
        return self.query_one("#model-rows", OptionList)

    @property
    def _typed(self) -> str:
        return self.query_one("#model-filter", Input).value.strip()

    @on(Input.Changed)
    def _filter(self) -> None:
        self._draw()

    @on(Input.Submitted)
    def _entered(self) -> None:
        option = self._options.highlighted_option
        if is_fetched(self._typed):
            self._choose(f"{FETCH}{self._typed}")
        elif _is_place(self._typed) or (self._typed and not self._rows):
            self.dismiss(ModelChoice(self._role, self._typed))
        elif option is not None and option.id is not None:
            self._choose(option.id)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        if event.option.id is not None:
            self._choose(event.option.id)

    def _choose(self, row: str) -> None:
        if refusal := self._rows[row].refusal if row in self._rows else "":
            self.notify(refusal, severity="warning")
        elif row == MORE:
            at = self._options.get_option_index(MORE)
            self._whole = self._moved = True
            self._draw()
            self._options.highlighted = at  # the first of the new rows
        elif row.startswith(FETCH):
            self.run_worker(self._fetch(row), exclusive=True, group="fetch")
        else:
            self.dismiss(ModelChoice(self._role, "" if row == NO_MODEL else row))

    async def _fetch(self, row: str) -> None:
        await self._downloads.choose(row.removeprefix(FETCH))
        if self.is_mounted and self._downloads.downloads.running:
            self.query_one("#model-filter", Input).value = ""
            self._moved = True
            self._draw()
            if row in self._rows:
                self._options.highlighted = self._options.get_option_index(row)

    def action_step_role(self, step: int) -> None:
        roles = list(Role)
        self.action_role(roles[(roles.index(self._role) + step) % len(roles)])

    def action_role(self, role: str) -> None:
        self._role, self._moved = Role(role), False
        self._show_role()
        self._draw()

    def _show_role(self) -> None:
        roles = list(Role)
        words = [(role.value, f"role('{role}')") for role in roles]
        steps = (("⇧Tab", "step_role(-1)"), ("Tab", "step_role(1)"))
        self.query_one("#model-role", Choices).show_choices(words, roles.index(self._role), steps)

    def action_list(self, action: str) -> None:
        self._moved = True
        getattr(self._options, f"action_{action}")()
        if action == "first":
            self._options.scroll_home(animate=False)  # with its heading


def is_fetched(typed: str) -> bool:
    """Whether this names a model to download: a repository of the hub, or the address of a GGUF file."""
    path = typed.partition("?")[0].casefold()
    named = is_on_the_hub(typed) and not Path(typed).exists()
    return named or (path.startswith(("https://", "http://")) and path.endswith(SUFFIX))


def _is_place(typed: str) -> bool:
    return "://" in typed or typed.startswith(("/", "~", ".")) or typed.casefold().endswith(SUFFIX)


def _content(row: ModelRow) -> Content:
    mark = "● " if row.is_current else "  "
    style = "bold" if row.is_current else "" if row.enabled else "$gr-muted"
    name = Content.styled(f"{mark}{clean(row.name)}", style)
    return Content.assemble(name, "\n  ", (clean(row.about), "$gr-muted not bold")) if row.about else name
