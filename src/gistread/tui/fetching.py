"""Fetching models from the screen: what can be fetched as a section of the model screen, the question beforehand, and
what a choice does while a download runs. Without that choice and a yes nothing goes to the network.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.timer import Timer

from gistread.engine.catalogue import Catalogue, CatalogueEntry, Kind, read_catalogue
from gistread.engine.fetching.addresses import is_address
from gistread.engine.fetching.network import network_of
from gistread.engine.fetching.plan import Plan, check_disk, discard, make_plan, present_bytes
from gistread.engine.fetching.text import entry_facts, fit_text, plan_lines
from gistread.engine.fetching.unfinished import UnfinishedDownload, unfinished_downloads
from gistread.engine.recommendation import Machine, recommend
from gistread.engine.this_machine import this_machine
from gistread.errors import GistreadError
from gistread.tui.downloading import Course, Downloads
from gistread.tui.model_rows import ModelRow, Section
from gistread.tui.screens.listing import ListScreen, Row
from gistread.units import format_size

if TYPE_CHECKING:
    from gistread.tui.app import GistreadApp

FETCH = "\0fetch:"
"""Ids of rows that are fetched begin so; a name of the catalogue or an address follows."""
MORE = f"{FETCH}\0more"
"""Id of the row that stands for all the others."""
TITLE = "Can be fetched, after asking"
_GO, _PAUSE, _DROP, _LEAVE = "go", "pause", "drop", "leave"


class Fetching:
    """Of one app. Cheap until `look` is called."""

    def __init__(self, app: "GistreadApp") -> None:
        self._app = app
        self._catalogue: Catalogue | None = None
        self._problem = ""
        self._machine: Machine | None = None
        self._begun: list[UnfinishedDownload] = []
        """On other days, or in another gistread just now."""
        self.downloads = Downloads(app.paths.models, self._changed)
        self.came: Callable[[Path], None] | None = None
        """Called with the first file of a model that has come, by whoever shows models just then."""
        self._timer: Timer | None = None

    def look(self) -> None:
        """Read the catalogue and look at the machine. For a thread: it takes a moment."""
        try:
            self._catalogue = read_catalogue(self._app.paths.own_models)
            self._problem = ""
        except GistreadError as error:
            self._problem = str(error)
        self._machine = this_machine()
        self._begun = unfinished_downloads(self.downloads.folder)

    def section(self, kind: Kind, *, whole: bool) -> Section | None:
        """What can be fetched and is not here, the recommended first and, unless the whole is wanted, alone.

        None before `look`.
        """
        rows = [*self._download_row(), *self._begun_rows()]
        if self._problem:
            name = "The catalogue cannot be read"
            rows.append(ModelRow(f"{FETCH}\0", name, self._problem, self._problem, refusal=self._problem))
        if self._catalogue is not None and self._machine is not None:
            best = recommend(self._catalogue.entries, self._machine)
            there = {row.id for row in rows}
            entries = [
                entry
                for entry in self._catalogue.entries
                if entry.kind == kind
                and f"{FETCH}{entry.name}" not in there
                and not (self._app.paths.models / Path(entry.file).name).exists()
            ]
            first = [self._row(entry, best.reason) for entry in entries if best is not None and entry == best.entry]
            others = [self._row(entry) for entry in entries if best is None or entry != best.entry]
            rows += first
            if whole or best is None or kind == "embedding":
                rows += others
            elif others:
                rows.append(ModelRow(MORE, f"{len(others)} more …", "smaller and larger ones, and for other languages"))
        return Section(TITLE, tuple(rows)) if rows else None

    def _row(self, entry: CatalogueEntry, reason: str = "") -> ModelRow:
        assert self._machine is not None
        room = fit_text(entry, self._machine)
        facts = entry_facts(entry)
        if reason:
            name, about = f"{entry.name}   recommended", [facts[0], facts[-1], reason]
        else:
            name, about = entry.name, [room.partition(",")[0].partition(":")[0], *facts]
        known = [reason, " · ".join(facts)] if reason else [entry.good_for, room]
        told = [*known, f"hf:{entry.repository}:{entry.file}"]
        return ModelRow(f"{FETCH}{entry.name}", name, " · ".join(filter(None, about)), "\n".join(filter(None, told)))

    @property
    def note(self) -> str:
        """For the status line: how a download stands; empty without one."""
        state = self.downloads.state
        if state is None or state.course is Course.DONE:
            return ""
        return f"fetching {state.plan.name} {state.share:.0%}" if self.downloads.running else f"{state.plan.name} waits"

    async def choose(self, spec: str) -> None:
        """A row was chosen, or an address typed: ask, and do what is answered."""
        state = self.downloads.state
        try:
            if state is not None and state.plan.spec == spec and state.course is not Course.DONE:
                await self._ask_about_download()
            elif self.downloads.running:
                assert state is not None
                self._app.notify(f"One at a time: {state.plan.name} is being fetched.", severity="warning")
            else:
                await self._ask(await self._plan(spec))
        except GistreadError as error:
            self._app.notify(str(error), severity="error", timeout=10)

    async def close(self) -> str:
        """Stop what runs; what there is to say of it on the way out."""
        running = self.downloads.running
        await self.downloads.pause()
        state = self.downloads.state
        if not running or state is None:
            return ""
        how = "`m` goes" if state.plan.kept_spec else "the same address goes"
        return f"{state.plan.name} is fetched to {state.share:.0%}; {how} on with it."

    async def _plan(self, spec: str) -> Plan:
        """Asked of the hub only for what the catalogue does not say."""
        catalogue = self._catalogue
        if catalogue is None:
            catalogue = await asyncio.to_thread(read_catalogue, self._app.paths.own_models)
        if is_address(spec):
            self._app.notify("Asking what there is …", timeout=2)
        network = network_of()
        return await asyncio.to_thread(lambda: asyncio.run(make_plan(spec, catalogue, network)))

    async def _ask(self, plan: Plan) -> None:
        folder = self.downloads.folder
        check_disk(plan, folder)
        lines = "\n".join([*plan_lines(plan, folder), f"disk      {_free_words(folder)}"])
        rows = [
            Row(_GO, "Fetch it", "You agree to its licence. It comes in the background; what has come is never lost."),
            *([Row(_DROP, "Throw away what has come")] if present_bytes(plan, folder) else []),
            Row(_LEAVE, "Not now"),
        ]
        match await self._answer(f"Fetch {plan.name}?", lines, rows):
            case "go":
                self.downloads.start(plan, network_of())
            case "drop":
                await asyncio.to_thread(discard, plan, folder)
                await asyncio.to_thread(self.look)

    async def _ask_about_download(self) -> None:
        state = self.downloads.state
        assert state is not None
        if self.downloads.running:
            first = Row(_PAUSE, "Pause", "What has come is kept, on other days, too.")
        else:
            first = Row(_GO, "Go on", "From where it stopped.")
        rows = [first, Row(_DROP, "Stop and throw away what has come"), Row(_LEAVE, "Leave it as it is")]
        match await self._answer(state.plan.name, state.words, rows):
            case "pause":
                await self.downloads.pause()
            case "go" if not self.downloads.running:
                self.downloads.start(state.plan, network_of())
            case "drop":
                await self.downloads.cancel()
                await asyncio.to_thread(self.look)

    async def _answer(self, title: str, note: str, rows: list[Row]) -> str | None:
        return await self._app.push_screen_wait(_Question(title, note, rows))

    def _download_row(self) -> list[ModelRow]:
        state = self.downloads.state
        if state is None or state.course is Course.DONE:
            return []
        keys = "Enter: pause or stop" if self.downloads.running else "Enter: go on, or throw away"
        told = f"{state.problem}\n{state.plan.host} · {keys}".lstrip()
        return [ModelRow(f"{FETCH}{state.plan.spec}", state.plan.name, state.words, told)]

    def _begun_rows(self) -> list[ModelRow]:
        state = self.downloads.state
        rows = []
        for one in self._begun:
            if state is None or state.plan.spec != one.spec:
                how_far = format_size(one.done_bytes) if one.share is None else f"{one.share:.0%}"
                told = f"{one.spec}\nEnter: go on, or throw away"
                rows.append(ModelRow(f"{FETCH}{one.spec}", one.name, f"begun: {how_far} is here", told))
        return rows

    def _changed(self) -> None:
        """The course of the download is another."""
        state = self.downloads.state
        if self.downloads.running and self._timer is None:
            self._timer = self._app.set_interval(1.0, self._show_status)
        elif not self.downloads.running and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._show_status()
        if state is not None and state.course is Course.FAILED:
            self._app.notify(f"{state.plan.name}: {state.problem}", severity="error", timeout=15)
        elif state is not None and state.got is not None:
            how = "Enter uses it" if self.came is not None else "m chooses it"
            self._app.notify(f"{state.plan.name} is here: {how}.", timeout=15)
            if self.came is not None:
                self.came(state.got.path)

    def _show_status(self) -> None:
        if self._app.reading is not None and self._app.reading.is_mounted:
            self._app.reading.hearing.show_status()


class _Question(ListScreen):
    """Dismissed with the id of a row."""

    def __init__(self, title: str, note: str, rows: list[Row]) -> None:
        super().__init__(title, note)
        self._rows = rows

    def on_mount(self) -> None:
        self.show_rows(self._rows)


def _free_words(folder: Path) -> str:
    import shutil

    there = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    try:
        return f"{format_size(shutil.disk_usage(there).free)} are free"
    except OSError:
        return "not known"
