"""The application: themes, keys, screens, and what happens when something is wrong.

Small on purpose. A defect ends it with one line; the details go to the log.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.dom import DOMNode
from textual.filter import LineFilter, Monochrome, NoColor
from textual.notifications import SeverityLevel
from textual.screen import Screen

from gistread.book.model import Book
from gistread.config import Config, save_setting
from gistread.errors import GistreadError, UsageError
from gistread.paths import Paths
from gistread.tui import commands, palette, themes
from gistread.tui.commands import COMMANDS, Place
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.terminal_order import asked_to_leave_order
from gistread.tui.text.cells import clean
from gistread.user_data import UserData

if TYPE_CHECKING:
    from gistread.engine.protocol import Embedder, Engine
    from gistread.tui.fetching import Fetching
    from gistread.tui.model_rows import ModelChoice

Opened = Path | Book
QUIT_S = 2.0
log = logging.getLogger("gistread.tui")


class DefectError(Exception):
    """A defect, as Textual is to show it: one line, on the way out."""

    def __init__(self, error: BaseException, log_file: Path) -> None:
        super().__init__(str(error))
        self.log_file = log_file
        self.__cause__ = error

    def __rich__(self) -> str:
        return f"gistread has ended because of a defect of its own; the details are in {self.log_file}"


class GistreadApp(App[None]):
    """`book`: a path, a book that is open already, or None for the library. `model`: path or name of the
    one to load at once; else the one in the settings."""

    TITLE = "gistread"
    CSS_PATH = "gistread.tcss"
    BINDINGS = commands.bindings(Place.ANYWHERE)
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING: ClassVar[str] = "ctrl+p"

    def __init__(
        self,
        book: Opened | None,
        *,
        paths: Paths,
        config: Config,
        model: str = "",
        path: Path | None = None,
        make_engine: "Callable[[str], Engine] | None" = None,
    ) -> None:
        super().__init__()
        self.paths = paths
        self.config = config
        self.user_data = UserData(paths.books)
        self.make_engine = make_engine or self._new_engine
        self.fetching: Fetching | None = None
        """Of models; None until somebody looks at them."""
        self.failure: GistreadError | None = None
        """Why the app ended, where the person named something that cannot be used."""
        self._first = book
        self._first_path = path
        self.model = model or config.model
        self.asking_model = config.asking_model
        self.reader = config.reader
        self._palettes, self._problems = themes.read_themes(themes.packaged_themes(), paths.user_themes)
        self.keymap, key_problems = commands.check_keys(config.keys)
        self._problems += key_problems
        self._register_themes()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return palette.variable_defaults()

    def on_mount(self) -> None:
        self._end_by_signal()
        self.set_keymap(self.keymap)
        self.theme = self._first_theme()
        if self._first is None:
            self.action_library()
        else:
            self.open_book(self._first, self._first_path)
        for problem in self._problems:
            self.notify(problem, severity="warning", timeout=10)

    def open_book(self, book: Opened, path: Path | None = None) -> None:
        """Show this book."""
        self.push_screen(ReadingScreen(book, path=path, model=self.model, asking_model=self.asking_model))

    def cannot_open(self, error: GistreadError) -> None:
        """The book that was to be shown cannot be read: the end where it was named, a notice in the library."""
        if self._first is not None:
            self.failure = error
            self.exit(return_code=int(error.exit_status))
            return
        self.pop_screen()
        self.notify(str(error), severity="error", timeout=10)
        self.action_library()

    @property
    def reading(self) -> ReadingScreen | None:
        """The screen with the open book."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ReadingScreen)), None)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """As Textual does, but never as markup or controls: books, models and files put words into notices."""
        super().notify(clean(message), title=title, severity=severity, timeout=timeout, markup=False)

    def save(self, key: str, value: str | int | bool) -> None:
        """Remember a setting, in a thread; a disk that refuses is a notice."""

        def write() -> None:
            try:
                save_setting(self.paths.config_file, key, value)
            except GistreadError as error:
                self.call_from_thread(self.notify, str(error), severity="warning")

        self.run_worker(write, thread=True)

    # Commands

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every command that works on this screen, and every theme."""
        for command in COMMANDS:
            target = self._target(command, screen)
            if command.title and target is not None:
                keys = " ".join(commands.keys_of(command, self.keymap))
                yield SystemCommand(
                    command.title, f"{keys}  {command.help}".strip(), self._runner(command.action, target)
                )
        for name, one in self._palettes.items():
            yield SystemCommand(f"Theme: {one.title}", "", lambda name=name: self.use_theme(name))

    def _target(self, command: commands.Command, screen: Screen[object]) -> DOMNode | None:
        """What carries the command on this screen: the screen, or the pane that has the keys, or else another."""
        if command.action.startswith("app."):
            return self
        if command.place is Place.SELECTING and not (isinstance(screen, ReadingScreen) and screen.book_pane.selecting):
            return None
        name = command.action.partition("(")[0]
        nodes = (screen, screen.focused, *screen.query("#book, #memory"))
        return next((node for node in nodes if node is not None and hasattr(node, f"action_{name}")), None)

    def _runner(self, action: str, target: DOMNode) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, action, target)

        return run

    def use_theme(self, name: str) -> None:
        """Change at once, and remember."""
        self.theme = name
        self.save("theme", name)

    def action_choose_theme(self) -> None:
        """The person's own themes are read anew, so that one can be made while looking at it."""
        from gistread.tui.screens.theme import ThemeScreen

        self._palettes, problems = themes.read_themes(themes.packaged_themes(), self.paths.user_themes)
        self._register_themes()
        before = self.theme if self.theme in self._palettes else themes.DEFAULT
        self.theme = before
        self.mutate_reactive(GistreadApp.theme)  # its colours may be others now, under the same name

        def chosen(name: str | None) -> None:
            if name is None:
                self.theme = before
            else:
                self.use_theme(name)

        self.push_screen(ThemeScreen(list(self._palettes.values()), before, problems), chosen)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """As Textual says; but without colours those of the terminal are left out, which it takes for black."""
        filters = super().get_line_filters()
        if self.no_color and self.native_ansi_color:
            return [NoColor() if isinstance(one, Monochrome) else one for one in filters]
        return filters

    def _end_by_signal(self) -> None:
        """A terminal that is closed, a system that shuts down: an end as by `q`, with nothing lost or left running."""
        if self.is_headless or sys.platform == "win32":
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: self._end_soon(signal.SIGTERM, self.action_quit))
        loop.add_signal_handler(signal.SIGHUP, lambda: self._end_soon(signal.SIGHUP, self._hang_up))

    def _end_soon(self, number: int, end: Callable[[], Awaitable[None]]) -> None:
        """Begin to end, and see to it that there is an end: Textual waits for ever for a terminal that is gone."""
        watchdog = threading.Timer(QUIT_S + 1.0, os._exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        self.call_later(end)

    async def _hang_up(self) -> None:
        if self.reading is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.reading.close(), QUIT_S)
        os._exit(128 + signal.SIGHUP)

    def _register_themes(self) -> None:
        for one in self._palettes.values():
            self.register_theme(one.theme())

    def action_help(self) -> None:
        """The keys of the screen and the pane that one is in, then all others."""
        from gistread.tui.screens.help import HelpScreen, help_of, lines_of_panel, places_first
        from gistread.tui.screens.library import LibraryScreen

        screen = self.screen
        if isinstance(screen, HelpScreen):
            screen.dismiss()
            return
        reading = screen if isinstance(screen, ReadingScreen) else None
        first = places_first(
            reading.pane if reading else None,
            selecting=reading is not None and reading.book_pane.selecting,
            library=isinstance(screen, LibraryScreen),
        )
        panel = [] if first else lines_of_panel(screen.active_bindings.values())
        self.push_screen(HelpScreen(help_of(self.keymap, first, panel)))

    def on_key(self, event: events.Key) -> None:
        """Help also works over a panel, where Textual leaves the app's keys out."""
        if self.screen.is_modal and event.key in commands.key_names(commands.BY_ID["help"], self.keymap):
            event.stop()
            self.action_help()

    def action_library(self) -> None:
        from gistread.tui.library_work import Books
        from gistread.tui.screens.library import LibraryScreen

        if not isinstance(self.screen, LibraryScreen):
            self.push_screen(LibraryScreen(Books(self.paths)), self._open_from_library)

    async def _open_from_library(self, path: str | None) -> None:
        """In place of the open book; without a choice and without a book there is nothing left to show."""
        current = self.reading
        if path is None:
            if current is None:
                self.exit()
            return
        self._first = None
        if current is not None:
            await current.close()
            self.pop_screen()
        self.open_book(Path(path))

    def action_choose_reader(self) -> None:
        from gistread.tui.screens.reader import ReaderScreen

        session = self.reading.session if self.reading is not None else None
        self.push_screen(ReaderScreen(self.reader, session), self._use_reader)

    async def _use_reader(self, reader: str | None) -> None:
        """It answers the next question, and those of other days."""
        if reader is None:
            return
        self.reader = reader
        self.save("reader", reader)
        if self.reading is not None and self.reading.session is not None:
            await self.reading.session.use_reader(reader)

    async def action_choose_model(self) -> None:
        from gistread.engine.llama.library import installed_version
        from gistread.engine.model_text import placement_text
        from gistread.memory.check_results import CheckResults
        from gistread.tui.fetching import Fetching
        from gistread.tui.model_rows import Role
        from gistread.tui.screens.model import ModelScreen

        self.fetching = self.fetching or Fetching(self)
        chosen = {
            Role.READING: self.model,
            Role.ASKING: self.asking_model,
            Role.EMBEDDING: self.config.embedding_model,
        }
        verdicts = CheckResults(self.paths.check_results, installed_version())
        session = self.reading.session if self.reading is not None else None
        info = session.info if session is not None else None
        loaded = placement_text(info.placement) if info is not None and info.placement is not None else ""
        self.push_screen(ModelScreen(chosen, self.fetching, verdicts, loaded), self._use_model)

    async def _use_model(self, choice: "ModelChoice | None") -> None:
        """A model was chosen for something, none (empty), or nothing. It is remembered, and used for the open book."""
        if choice is None:
            return
        from gistread.engine.model_source import settings_name
        from gistread.tui.model_rows import Role

        try:
            model = settings_name(choice.spec)
        except GistreadError as error:
            self.notify(str(error), severity="error", timeout=10)
            return
        reading = self.reading
        match choice.role:
            case Role.READING:
                self.model = model
                self.save("model", model)
                if reading is not None:
                    await reading.use_model(model)
            case Role.ASKING:
                self.asking_model = model
                self.save("asking_model", model)
                if reading is not None:
                    await reading.use_asking_model(model)
            case Role.EMBEDDING:
                self.config = replace(self.config, embedding_model=model)
                self.save("embedding_model", model)
                if reading is not None and reading.session is not None:
                    await reading.session.use_embedder(self.new_embedder())

    async def action_quit(self) -> None:
        """At once; what is slow to end has two seconds."""
        parting = ""
        if self.fetching is not None:
            with contextlib.suppress(TimeoutError):
                parting = await asyncio.wait_for(self.fetching.close(), QUIT_S)
        if self.reading is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.reading.close(), QUIT_S)
            parting = "\n".join(filter(None, [self.reading.parting_words, parting]))
        self.exit(message=parting or None)

    def on_unmount(self) -> None:
        if self.fetching is not None:
            self.fetching.downloads.halt()

    # What is wrong

    def _first_theme(self) -> str:
        name = self.config.theme
        if name and name not in self._palettes:
            self._problems.append(f"There is no theme {name!r}; there are {', '.join(self._palettes)}.")
        if name in self._palettes:
            return name
        return themes.DEFAULT if themes.DEFAULT in self._palettes else next(iter(self._palettes))

    def _new_engine(self, model: str) -> "Engine":
        """In a thread: finding a model by its name reads headers. Raises EngineError."""
        from gistread.engine.model_source import find_source, new_engine

        return new_engine(find_source(model), self.config, self.paths)

    def new_embedder(self) -> "Embedder":
        """For one book; which model it is, is found out when it is first needed."""
        from gistread.engine.llama.embedder import LlamaEmbedder
        from gistread.engine.models import find_embedding_model

        return LlamaEmbedder(
            lambda: find_embedding_model(self.config.embedding_model, "dense"), log=self.paths.worker_log
        )

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print the traceback over the person's terminal. It shows an error with `__rich__` as that
        # says, and keeps it for tests; there is no public hook for this.
        log.error("A defect ended the app", exc_info=error)
        super()._handle_exception(DefectError(error, self.paths.log_file))


def run(book: Opened | None, *, paths: Paths, config: Config, model: str = "", path: Path | None = None) -> int:
    """Show the app until the person leaves; return the exit status.

    `path` is where a book that is open already came from. Raises UsageError without a terminal, and the error of
    a book that was named and cannot be read.
    """
    in_browser = bool(os.environ.get("TEXTUAL_DRIVER"))
    if not in_browser and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "There is no terminal to show a book on.", "`gistread index` and `gistread ask` work without one."
        )
    _log_to(paths.log_file)
    app = GistreadApp(book, paths=paths, config=config, model=model, path=path)
    with asked_to_leave_order(config.bidi, os.environ):
        app.run()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0


def _log_to(path: Path) -> None:
    """Defects go to a file; a file that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    except OSError:
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.propagate = False
