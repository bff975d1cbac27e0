"""Model downloads: a thread, a section of the model screen, and questions before anything goes to the network."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from textual.app import App
from textual.timer import Timer

from gistread.engine.catalogue import Catalogue, CatalogueEntry, Kind, read_catalogue
from gistread.engine.fetching.addresses import is_address
from gistread.engine.fetching.network import Network, network_of
from gistread.engine.fetching.partial_file import UnfinishedDownload, unfinished_downloads
from gistread.engine.fetching.plan import FetchedModel, Plan, check_disk, discard, get, make_plan, present_bytes
from gistread.engine.fetching.progress import Progress
from gistread.engine.fetching.text import entry_facts, fit_text, plan_lines, progress_text, share_of
from gistread.engine.llama.machine import free_disk_bytes
from gistread.engine.recommendation import Machine, recommend, this_machine
from gistread.errors import GistreadError
from gistread.tui.model_rows import ModelRow, Section
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.services import AppServices
from gistread.units import format_size


class DownloadPhase(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Download:
    plan: Plan
    phase: DownloadPhase = DownloadPhase.RUNNING
    progress: Progress | None = None
    number: int = 1  # Number of the file being downloaded
    problem: str = ""
    got: FetchedModel | None = None

    @property
    def words(self) -> str:
        match self.phase:
            case DownloadPhase.RUNNING:
                if self.progress is None:
                    return "starting"
                count = len(self.plan.files)
                return f"{self.share:.0%} · {progress_text(self.progress, self.number, count)}"
            case DownloadPhase.PAUSED:
                return f"paused at {self.share:.0%}"
            case DownloadPhase.FAILED:
                return f"stopped: {self.problem}"
        return "downloaded"

    @property
    def share(self) -> float:
        return share_of(self.progress) if self.progress else 0.0


class Downloads:
    """Downloads one model at a time in a thread. A paused download resumes where it stopped, even in a later run."""

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        """`changed` is called in the app's event loop when the phase changes."""
        self.folder = folder
        self.state: Download | None = None
        self._changed = changed
        self._stop: Callable[[], None] = lambda: None
        self._ended: asyncio.Future[None] | None = None

    @property
    def running(self) -> bool:
        return self.state is not None and self.state.phase is DownloadPhase.RUNNING

    def start(self, plan: Plan, network: Network) -> None:
        assert not self.running
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        self.state = Download(plan)
        own_loop = asyncio.new_event_loop()
        task = own_loop.create_task(get(plan, self.folder, network, self._tell))

        def stop() -> None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                own_loop.call_soon_threadsafe(task.cancel)

        def thread() -> None:
            got, problem, defect = None, "", None
            try:
                got = own_loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass
            except GistreadError as error:
                problem = str(error).replace("\n", " ")
            except Exception as error:
                defect = error
            own_loop.run_until_complete(own_loop.shutdown_default_executor())
            own_loop.close()
            with contextlib.suppress(RuntimeError):  # the app has ended
                loop.call_soon_threadsafe(self._end, got, problem, defect)

        self._stop = stop
        threading.Thread(target=thread, name="download", daemon=True).start()
        self._changed()

    def halt(self) -> None:
        """Stop soon, keeping the partial download."""
        self._stop()

    async def pause(self) -> None:
        """Stop, keeping the partial download. Idempotent."""
        self.halt()
        if self._ended is not None:
            await asyncio.shield(self._ended)

    async def cancel(self) -> None:
        """Stop, and discard the partial download. Raises FetchError while another process downloads it."""
        await self.pause()
        if self.state is not None and self.state.phase is not DownloadPhase.DONE:
            await asyncio.to_thread(discard, self.state.plan, self.folder)
        self.state = None
        self._changed()

    def _tell(self, progress: Progress, number: int, count: int) -> None:
        """Called in the thread; the next redraw shows it."""
        if self.state is not None:
            self.state = replace(self.state, progress=progress, number=number)

    def _end(self, got: FetchedModel | None, problem: str, defect: Exception | None) -> None:
        assert self.state is not None
        assert self._ended is not None
        phase = DownloadPhase.DONE if got else DownloadPhase.FAILED if problem else DownloadPhase.PAUSED
        self.state = replace(self.state, phase=phase, got=got, problem=problem)
        self._ended.set_result(None)
        if defect is not None:
            raise defect
        self._changed()


FETCH = "\0fetch:"  # prefix of the ids of models to download; a catalogue name or an address follows
MORE = f"{FETCH}\0more"  # id of the row that shows all the others
TITLE = "Can be downloaded, after confirmation"


class ModelDownloads:
    """The downloads of the model screen. Does nothing costly before `prepare`."""

    def __init__(self, app: App[None], services: AppServices, redraw: Callable[[], None]) -> None:
        """`redraw` is called while a download runs, to show its progress."""
        self._app = app
        self._services = services
        self._redraw = redraw
        self._catalogue: Catalogue | None = None
        self._problem = ""
        self._machine: Machine | None = None
        self._begun: list[UnfinishedDownload] = []  # by earlier runs, or by another process
        self.downloads = Downloads(services.paths.models, self._changed)
        # Called with the first file of a downloaded model; set by the screen that shows models.
        self.on_downloaded: Callable[[Path], None] | None = None
        self._timer: Timer | None = None

    async def prepare(self) -> None:
        """Read the catalogue and measure the machine, which takes a moment, in a thread."""
        try:
            self._catalogue = await asyncio.to_thread(read_catalogue, self._services.paths.own_models)
            self._problem = ""
        except GistreadError as error:
            self._problem = str(error)
        self._machine = await asyncio.to_thread(this_machine)
        self._begun = await asyncio.to_thread(unfinished_downloads, self.downloads.folder)

    def section(self, kind: Kind, *, whole: bool) -> Section | None:
        """The models to download: the recommended one and, with `whole`, all others. None before `prepare`."""
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
                and not (self._services.paths.models / Path(entry.file).name).exists()
            ]
            first = [self._row(entry, best.reason) for entry in entries if best is not None and entry == best.entry]
            others = [self._row(entry) for entry in entries if best is None or entry != best.entry]
            rows += first
            if whole or best is None or kind == "embedding":
                rows += others
            elif others:
                rows.append(ModelRow(MORE, f"{len(others)} more …", "smaller, larger, and for other languages"))
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
        """Progress of the download for the status line; empty without one."""
        state = self.downloads.state
        if state is None or state.phase is DownloadPhase.DONE:
            return ""
        if self.downloads.running:
            return f"downloading {state.plan.name} {state.share:.0%}"
        return f"{state.plan.name} paused"

    async def choose(self, spec: str) -> None:
        """Ask what to do with a chosen row or a typed address, and do it."""
        state = self.downloads.state
        try:
            if state is not None and state.plan.spec == spec and state.phase is not DownloadPhase.DONE:
                await self._ask_about_download()
            elif self.downloads.running:
                assert state is not None
                self._app.notify(f"One download at a time: {state.plan.name} is running.", severity="warning")
            else:
                await self._ask(await self._plan(spec))
        except GistreadError as error:
            self._app.notify(str(error), severity="error", timeout=10)

    async def close(self) -> str:
        """Pause the download. Returns what to tell the person when the app ends."""
        running = self.downloads.running
        await self.downloads.pause()
        state = self.downloads.state
        if not running or state is None:
            return ""
        how = self._services.key_hint("choose-model") if state.plan.stored_spec else "the same address"
        return f"{state.plan.name} is downloaded to {state.share:.0%}; {how} continues it."

    async def _plan(self, spec: str) -> Plan:
        """Plan a download, asking the hub only for what is not in the catalogue."""
        catalogue = self._catalogue
        if catalogue is None:
            catalogue = await asyncio.to_thread(read_catalogue, self._services.paths.own_models)
        if is_address(spec):
            self._app.notify("Looking it up …", timeout=2)
        network = network_of()
        return await asyncio.to_thread(lambda: asyncio.run(make_plan(spec, catalogue, network)))

    async def _ask(self, plan: Plan) -> None:
        folder = self.downloads.folder
        check_disk(plan, folder)
        free = free_disk_bytes(folder)
        disk = "not known" if free is None else f"{format_size(free)} are free"
        lines = "\n".join([*plan_lines(plan, folder), f"disk      {disk}"])
        rows = [
            Row("start", "Download", "You agree to its licence. Runs in the background and can be resumed."),
            *([Row("discard", "Discard the partial download")] if present_bytes(plan, folder) else []),
            Row("leave", "Not now"),
        ]
        match await self._answer(f"Download {plan.name}?", lines, rows):
            case "start":
                self.downloads.start(plan, network_of())
            case "discard":
                await asyncio.to_thread(discard, plan, folder)
                await self.prepare()

    async def _ask_about_download(self) -> None:
        state = self.downloads.state
        assert state is not None
        if self.downloads.running:
            first = Row("pause", "Pause", "It can be resumed at any time.")
        else:
            first = Row("start", "Resume", "From where it stopped.")
        rows = [first, Row("discard", "Stop and discard the partial download"), Row("leave", "Leave it as it is")]
        match await self._answer(state.plan.name, state.words, rows):
            case "pause":
                await self.downloads.pause()
            case "start" if not self.downloads.running:
                self.downloads.start(state.plan, network_of())
            case "discard":
                await self.downloads.cancel()
                await self.prepare()

    async def _answer(self, title: str, note: str, rows: list[Row]) -> str | None:
        return await self._app.push_screen_wait(ListScreen(title, note, rows))

    def _download_row(self) -> list[ModelRow]:
        state = self.downloads.state
        if state is None or state.phase is DownloadPhase.DONE:
            return []
        keys = "Enter: pause or stop" if self.downloads.running else "Enter: resume or discard"
        told = f"{state.problem}\n{state.plan.host} · {keys}".lstrip()
        return [ModelRow(f"{FETCH}{state.plan.spec}", state.plan.name, state.words, told)]

    def _begun_rows(self) -> list[ModelRow]:
        state = self.downloads.state
        rows = []
        for one in self._begun:
            if state is None or state.plan.spec != one.spec:
                how_far = format_size(one.done_bytes) if one.share is None else f"{one.share:.0%}"
                told = f"{one.spec}\nEnter: resume or discard"
                rows.append(ModelRow(f"{FETCH}{one.spec}", one.name, f"partial: {how_far}", told))
        return rows

    def _changed(self) -> None:
        state = self.downloads.state
        if self.downloads.running and self._timer is None:
            self._timer = self._app.set_interval(1.0, self._redraw)
        elif not self.downloads.running and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._redraw()
        if state is not None and state.phase is DownloadPhase.FAILED:
            self._app.notify(f"{state.plan.name}: {state.problem}", severity="error", timeout=15)
        elif state is not None and state.got is not None:
            key = "Enter" if self.on_downloaded is not None else self._services.key_hint("choose-model")
            self._app.notify(f"{state.plan.name} is downloaded. Press {key} to use it.", timeout=15)
            if self.on_downloaded is not None:
                self.on_downloaded(state.got.path)
