"""Downloads one model at a time in a thread, for the model chooser.

Asks before anything goes to the network.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from textual.app import App
from textual.timer import Timer

from gistread.engine.catalogue import (
    Catalogue,
    CatalogueEntry,
    Machine,
    read_catalogue,
    reading_s,
    recommend,
    this_machine,
)
from gistread.engine.fetching.download import Progress
from gistread.engine.fetching.hub import is_on_the_hub
from gistread.engine.fetching.network import network_of
from gistread.engine.fetching.partial_file import discard_download
from gistread.engine.fetching.plan import (
    Plan,
    check_disk,
    get,
    make_plan,
    present_bytes,
)
from gistread.engine.llama.machine import free_disk_bytes
from gistread.engine.model_text import (
    entry_facts,
    fit_text,
    fit_verdict,
    plan_lines,
    progress_text,
    share_of,
)
from gistread.errors import GistreadError
from gistread.tui.model_rows import Fetch, ModelRow
from gistread.tui.screens.listing import ListScreen, Row
from gistread.tui.services import AppServices
from gistread.units import format_duration, format_size

_REDRAW_S = 1.0  # Between two looks at the progress of a download
_PROBLEM_S = 10  # Seconds that a problem with a plan is shown
_OUTCOME_S = 15  # Seconds that the outcome of a download is shown


@dataclass(frozen=True, slots=True)
class Download:
    """An unfinished download: running, stopped by a problem, or else paused."""

    plan: Plan
    running: bool = True
    progress: Progress | None = None
    problem: str = ""

    @property
    def share(self) -> float:
        """How much of the file is downloaded, from 0 to 1."""
        if not self.progress:
            return 0.0
        return share_of(self.progress)

    @property
    def words(self) -> str:
        """Its state, for the row of the model."""
        if self.problem:
            return f"stopped: {self.problem}"
        if not self.running:
            return f"paused at {self.share:.0%}"
        if self.progress is None:
            return "starting"
        return f"{self.share:.0%} · {progress_text(self.progress)}"


class ModelDownloads:
    """Models to download, and the download that is under way.

    A paused download resumes where it stopped, even in a later run. Nothing costly happens before
    `prepare`.
    """

    def __init__(
        self, app: App[None], services: AppServices, redraw: Callable[[], None]
    ) -> None:
        """`redraw` is called while a download runs, to show its progress."""
        self._app = app
        self._services = services
        self._redraw = redraw
        self._folder = services.paths.models
        self._catalogue: Catalogue | None = None
        self._machine: Machine | None = None
        # Called with the first file of a downloaded model; set by the screen that shows models.
        self.on_downloaded: Callable[[Path], None] | None = None
        self._timer: Timer | None = None
        self._download: Download | None = None
        # Done when the thread has ended
        self._ended: asyncio.Future[None] | None = None
        # Stops the download soon, and keeps the partial file
        self.halt: Callable[[], None] = lambda: None

    @property
    def running(self) -> bool:
        return self._download is not None and self._download.running

    async def prepare(self) -> None:
        """Read the catalogue and measure the machine, which takes a moment, in a thread."""
        self._catalogue = await asyncio.to_thread(read_catalogue)
        self._machine = await asyncio.to_thread(this_machine)

    def rows(self, words: int) -> tuple[list[ModelRow], list[ModelRow]]:
        """(unfinished and recommended, other) models for a book of `words` words.

        Before `prepare`, only unfinished ones. `words` is 0 without a book.
        """
        recommended: list[ModelRow] = []
        others: list[ModelRow] = []
        if self._download is not None:
            recommended.append(_unfinished_row(self._download))
        if self._catalogue is None or self._machine is None:
            return recommended, others
        best = recommend(self._catalogue.entries, self._machine)
        for entry in self._catalogue.entries:
            if self._is_present(entry):
                continue
            if best is not None and best.entry == entry:
                row = _row(entry, self._machine, best.reason, words)
                recommended.append(row)
            else:
                others.append(_row(entry, self._machine, "", words))
        return recommended, others

    def _is_present(self, entry: CatalogueEntry) -> bool:
        """Whether a model has been downloaded, or its download has begun."""
        if self._download is not None and self._download.plan.spec == entry.name:
            return True
        return (self._folder / Path(entry.file).name).exists()

    @property
    def note(self) -> str:
        """Progress of the download for the status line; empty without one."""
        download = self._download
        if download is None:
            return ""
        name = download.plan.name
        if download.running:
            return f"downloading {name} {download.share:.0%}"
        return f"{name} paused"

    async def choose(self, spec: str) -> None:
        """Ask what to do with a chosen row or a typed address, and do it."""
        download = self._download
        try:
            if download is not None and download.plan.spec == spec:
                await self._ask_about(download)
            elif download is not None and download.running:
                notice = f"One download at a time: {download.plan.name} is running."
                self._app.notify(notice, severity="warning")
            else:
                await self._ask_to_get(spec)
        except GistreadError as error:
            self._app.notify(str(error), severity="error", timeout=_PROBLEM_S)

    async def _ask_to_get(self, spec: str) -> None:
        """Plan a download, and ask the user whether to start it.

        Only a model that is not in the catalogue is looked up on the hub.
        """
        if self._catalogue is None:
            catalogue = await asyncio.to_thread(read_catalogue)
        else:
            catalogue = self._catalogue
        if is_on_the_hub(spec):
            self._app.notify("Looking it up …", timeout=2)

        def plan_in_thread() -> Plan:
            return asyncio.run(make_plan(spec, catalogue, network_of()))

        plan = await asyncio.to_thread(plan_in_thread)
        check_disk(plan, self._folder)
        terms = "You agree to its licence. Runs in the background and can be resumed."
        rows = [Row("start", "Download", terms)]
        if present_bytes(plan, self._folder):
            rows.append(Row("discard", "Discard the partial download"))
        rows.append(Row("leave", "Not now"))
        free = free_disk_bytes(self._folder)
        disk = "not known" if free is None else f"{format_size(free)} are free"
        note = "\n".join([*plan_lines(plan, self._folder), f"disk      {disk}"])
        screen = ListScreen(f"Download {plan.name}?", note, rows)
        choice = await self._app.push_screen_wait(screen)
        await self._do(plan, choice)

    async def _ask_about(self, download: Download) -> None:
        if download.running:
            toggle = Row("pause", "Pause", "It can be resumed at any time.")
        else:
            toggle = Row("start", "Resume", "From where it stopped.")
        rows = [
            toggle,
            Row("discard", "Stop and discard the partial download"),
            Row("leave", "Leave it as it is"),
        ]
        screen = ListScreen(download.plan.name, download.words, rows)
        choice = await self._app.push_screen_wait(screen)
        await self._do(download.plan, choice)

    async def _do(self, plan: Plan, choice: str | None) -> None:
        """Do what the user chose: "start", "pause" or "discard"; nothing else does anything."""
        if choice in ("pause", "discard"):
            await self._pause()
        if choice == "discard":
            await asyncio.to_thread(discard_download, self._folder, plan.file.name)
            self._download = None
            self._redraw()
            await self.prepare()
        elif choice == "start" and not self.running:
            self._start(plan)

    def _start(self, plan: Plan) -> None:
        """Download in a thread with an event loop of its own, and show the progress."""
        app_loop = asyncio.get_running_loop()
        own_loop = asyncio.new_event_loop()
        self._ended = app_loop.create_future()
        self._download = Download(plan)
        task = own_loop.create_task(get(plan, self._folder, network_of(), self._tell))

        def halt() -> None:
            with contextlib.suppress(RuntimeError):  # The download has just ended.
                own_loop.call_soon_threadsafe(task.cancel)

        def run() -> None:
            outcome: Path | Exception | None = None
            try:
                outcome = own_loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass  # Paused
            except Exception as error:
                outcome = error
            own_loop.run_until_complete(own_loop.shutdown_default_executor())
            own_loop.close()
            with contextlib.suppress(RuntimeError):  # The app has ended.
                app_loop.call_soon_threadsafe(self._end, plan, outcome)

        self.halt = halt
        threading.Thread(target=run, name="download", daemon=True).start()
        self._timer = self._app.set_interval(_REDRAW_S, self._redraw)

    def _tell(self, progress: Progress) -> None:
        """Called in the thread; the next redraw shows it."""
        if self._download is not None:
            self._download = replace(self._download, progress=progress)

    def _end(self, plan: Plan, outcome: Path | Exception | None) -> None:
        """Show how a download has ended; without an outcome, it was paused.

        Called in the app's loop.
        """
        assert self._ended is not None
        assert self._timer is not None
        self._ended.set_result(None)
        self._timer.stop()
        problem = ""
        if isinstance(outcome, Exception):
            problem = str(outcome).replace("\n", " ")
        download = self._download or Download(plan)
        self._download = replace(download, running=False, problem=problem)
        match outcome:
            case GistreadError():
                notice = f"{plan.name}: {problem}"
                self._app.notify(notice, severity="error", timeout=_OUTCOME_S)
            case Exception():
                raise outcome
            case Path():
                self._complete(plan, outcome)
        self._redraw()

    def _complete(self, plan: Plan, file: Path) -> None:
        """Offer the downloaded model: in the screen that shows models, if it is open."""
        self._download = None
        key = self._services.key_hint("choose-model")
        if self.on_downloaded is not None:
            key = "Enter"
        notice = f"{plan.name} is downloaded. Press {key} to use it."
        self._app.notify(notice, timeout=_OUTCOME_S)
        if self.on_downloaded is not None:
            self.on_downloaded(file)

    async def _pause(self) -> None:
        """Stop, keeping the partial download. Idempotent."""
        self.halt()
        if self._ended is not None:
            await asyncio.shield(self._ended)

    async def close(self) -> str:
        """Pause the download. Returns what to tell the user when the app ends."""
        was_running = self.running
        await self._pause()
        if not was_running or self._download is None:
            return ""
        key = self._services.key_hint("choose-model")
        name = self._download.plan.name
        share = self._download.share
        return (
            f"{name} is downloaded to {share:.0%}; "
            f"{key} and the same name or address continue it."
        )


def _unfinished_row(download: Download) -> ModelRow:
    keys = "Enter: pause or stop" if download.running else "Enter: resume or discard"
    plan = download.plan
    detail = f"{download.problem}\n{plan.host} · {keys}".lstrip()
    return ModelRow(Fetch(plan.spec), plan.name, download.words, detail=detail)


def _row(entry: CatalogueEntry, machine: Machine, reason: str, words: int) -> ModelRow:
    """A model to download; `reason`: why it is recommended, or empty.

    `words`: length of the open book, for the time that it takes; 0 without one.
    """
    size, *others, licence = entry_facts(entry)
    facts = ["download", size]
    if seconds := reading_s(entry, machine, words):
        facts.append(f"about {format_duration(seconds)} for this book")
    facts.append(licence)
    if not reason:
        facts.append(fit_verdict(entry, machine))
    about = " · ".join(filter(None, facts))
    more_facts = " · ".join([fit_text(entry, machine), *others])
    detail = "\n".join(filter(None, (reason, entry.good_for, more_facts)))
    return ModelRow(Fetch(entry.name), entry.name, about, detail=detail)
