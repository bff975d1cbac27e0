"""The application: themes, keys, screens.

A defect ends it with one line; the details go to the log.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import events
from textual._context import active_message_pump
from textual.app import App
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.filter import LineFilter, Monochrome, NoColor
from textual.notifications import SeverityLevel
from textual.widgets import Input
from textual.worker import WorkerFailed, get_current_worker

from gistread.book.model import Book
from gistread.config import Config
from gistread.engine.llama.library import installed_version
from gistread.engine.models import settings_name
from gistread.engine.protocol import Engine
from gistread.errors import GistreadError, StorageError, traceback_text
from gistread.memory.check_results import CheckResults
from gistread.paths import Paths, packaged_themes
from gistread.session.models import engine_maker
from gistread.session.session import Session
from gistread.store.user_data import UserData
from gistread.system import return_freed_memory
from gistread.tui import themes
from gistread.tui.all_commands import COMMANDS
from gistread.tui.app_commands import ANYWHERE, HELP, SUSPEND
from gistread.tui.appearance import FOLLOW, Appearance, FollowingDriver, ask
from gistread.tui.commands import (
    AnyCommand,
    CommandKeys,
    CommandTarget,
    Scope,
    bindings,
)
from gistread.tui.defects import DefectError, log, log_to
from gistread.tui.drawing import KITTY_TERMS, Drawer, ImageMode, choose_mode
from gistread.tui.model_rows import ModelKey, Role
from gistread.tui.screens.choosing import (
    FOR_BOOKS,
    ReaderScreen,
    ThemeScreen,
    figures_panel,
)
from gistread.tui.screens.help import (
    HelpLine,
    HelpScreen,
    lines_of_panel,
    nearest_scopes,
    sorted_help,
)
from gistread.tui.screens.reading import ReadingScreen
from gistread.tui.services import AppServices, Opening, Settings, TerminalSignals
from gistread.tui.small_caches import keep_caches_small
from gistread.tui.text import clean
from gistread.tui.text.bidi import terminal_order_off

if TYPE_CHECKING:
    from gistread.tui.model_downloads import ModelDownloads

Opened = Path | Book
QUIT_S = 2.0  # Longest wait for each thing that is slow to close
_WATCHDOG_S = QUIT_S + 1.0  # After a signal, the process ends at the latest then
_ENDED_BY_SIGNAL = 128  # Exit status after a signal, to which its number is added
RUN_ON_S = 1.0  # Longest wait for work that outlives its screen
_LONG_NOTICE_S = 10  # Seconds


class GistreadApp(CommandTarget, App[None]):
    """Opens a book, or the library if `book` is None.

    `model` is the name that the user typed, or empty. `look_at` is the place of the book to show
    first.
    """

    TITLE = "gistread"
    CSS_PATH = "gistread.tcss"
    OWN_COMMANDS = ANYWHERE
    BINDINGS = bindings(ANYWHERE)
    ENABLE_COMMAND_PALETTE = False  # the help lists and runs all commands

    def __init__(
        self,
        book: Opened | None,
        *,
        paths: Paths,
        config: Config,
        model: str = "",
        make_engine: Callable[[str], Engine] | None = None,
        tour: bool = False,
        light: bool = False,
        look_at: Opening | None = None,
    ) -> None:
        has_own_driver = bool(os.environ.get("TEXTUAL_DRIVER"))
        super().__init__(driver_class=None if has_own_driver else FollowingDriver)
        keep_caches_small()
        self.paths = paths
        self.settings = Settings(config, paths.config_file, self._warn)
        # None until the user looks at models
        self._downloads: ModelDownloads | None = None
        # Why the named book cannot be opened, if that ended the app
        self.failure: GistreadError | None = None
        # Work that may outlive its screen
        self._running_on: set[asyncio.Task[None]] = set()
        # What could not be saved when the user last wanted to quit
        self._unsaved_before = ""
        # The book named on the command line; None once another is opened
        self._first = book
        self._is_reopening = False  # A book is closed to be opened anew
        self._look_at = look_at
        self._tour = tour  # Whether the first book is shown with the tour
        self._keys = CommandKeys(COMMANDS, config.keys)
        self._problems = self._read_themes() + self._keys.problems
        if config.theme and config.theme not in self._palettes:
            self._problems.append(f"Unknown theme {config.theme!r} in the settings.")
        self._light = light  # Whether the terminal said that its background is light
        self._set_first_theme()
        signals = TerminalSignals(
            lambda: self.settings.config,
            os.environ,
            self._to_terminal,
            lambda: self.app_focus,
        )
        self.services = AppServices(
            paths=paths,
            settings=self.settings,
            user_data=UserData(paths),
            drawer=Drawer(self._image_mode(), self._to_terminal),
            signals=signals,
            keys=self._keys,
            run_command=self._run_where_it_works,
            make_engine=make_engine or self._make_engine,
            named_model=model,
            download_note=self._download_note,
            cannot_open=self._cannot_open,
            back_to_library=self.action_library,
            reopen=self._reopen,
            run_on=self._run_on,
        )

    def _image_mode(self) -> ImageMode:
        colors = None if self.no_color else self.console.color_system or "standard"
        return choose_mode(self.settings.config.images, os.environ, colors)

    def _make_engine(self, model: str) -> Engine:
        """The engine for a model, by the settings as they are now."""
        make = engine_maker(self.settings.config, self.paths)
        return make(model)

    def _download_note(self) -> str:
        if self._downloads is None:
            return ""
        return self._downloads.note

    def _to_terminal(self, data: str) -> None:
        if self._driver is not None:
            self._driver.write(data)

    def _set_pointer_shape(self, shape: str) -> None:
        if self.settings.config.pointer_shapes:
            super()._set_pointer_shape(shape)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours with which the style sheet is parsed before a theme is set."""
        colors = {f"gr-{role}": "#808080" for role in themes.ROLES}
        return colors | {"gr-cursor-style": "none", "gr-span-style": "none"}

    def on_mount(self) -> None:
        self._end_by_signal()
        self._follow_terminal()
        self.app_resume_signal.subscribe(self, self._follow_terminal)
        self.set_keymap(self._keys.changed)
        if self._first is None:
            self.action_library()
        else:
            self.open_book(self._first, self._look_at)
        if self._problems:
            problems = "\n".join(self._problems)
            self.notify(problems, severity="warning", timeout=_LONG_NOTICE_S)

    def open_book(self, book: Opened, look_at: Opening | None = None) -> None:
        screen = ReadingScreen(book, self.services, tour=self._tour, look_at=look_at)
        self.push_screen(screen)
        self._tour = False

    async def _reopen(self, path: Path, prepare: Callable[[], None]) -> None:
        """Close the open book, call `prepare` in a thread, and open the file anew.

        A second call while the book closes does nothing.
        """
        if self._is_reopening:
            return
        self._first = None
        self._is_reopening = True
        if (current := self.reading) is not None:
            current.withdraw_all()
            await current.close()
            while current in self.screen_stack:
                self.pop_screen()  # Also a panel that was opened meanwhile
        try:
            await asyncio.to_thread(prepare)
        except StorageError as error:
            self._warn(str(error))
        self._is_reopening = False
        self.open_book(path)

    def _run_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that may outlive its screen."""
        task = asyncio.create_task(work)
        self._running_on.add(task)
        task.add_done_callback(self._running_on.discard)

    async def _end_running_on(self) -> None:
        """Wait a moment for work that outlives its screen, then cancel it."""
        if self._running_on:
            _, unfinished = await asyncio.wait(self._running_on, timeout=RUN_ON_S)
            for task in unfinished:
                task.cancel()

    def _cannot_open(self, error: GistreadError) -> None:
        """End the app if the book was named on the command line; else show the library."""
        if self._first is not None:
            self.failure = error
            self.exit(return_code=int(error.exit_status))
            return
        self.pop_screen()  # The one that was to show the book
        self.notify(str(error), severity="error", timeout=_LONG_NOTICE_S)
        self.action_library()

    @property
    def _session(self) -> Session | None:
        if self.reading is None:
            return None
        return self.reading.session

    @property
    def reading(self) -> ReadingScreen | None:
        """The screen of the open book; None without one."""
        for screen in self.screen_stack:
            if isinstance(screen, ReadingScreen):
                return screen
        return None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show the message as plain text: notices quote books, models and files."""
        super().notify(
            clean(message),
            title=title,
            severity=severity,
            timeout=timeout,
            markup=False,
        )

    def _warn(self, text: str) -> None:
        self.notify(text, severity="warning")

    def target_of(self, command: AnyCommand) -> CommandTarget | None:
        """Where this command runs now; None if it works elsewhere."""
        screen = self.screen
        if command.scope is Scope.SELECTING and not self._is_selecting:
            return None
        # Commands of the book and the memory also run while another pane has the focus.
        for node in (self, screen, screen.focused, *screen.query("#book, #memory")):
            if isinstance(node, CommandTarget) and command in node.OWN_COMMANDS:
                return node
        return None

    @property
    def _is_selecting(self) -> bool:
        """Whether the user is selecting words of the book by keyboard."""
        screen = self.screen
        return isinstance(screen, ReadingScreen) and screen.book_pane.selecting

    def _run_where_it_works(self, command: AnyCommand) -> None:
        target = self.target_of(command)
        if target is None:
            self._warn(f"{command.title}: {command.scope.lower()}.")
        else:
            self.call_later(target.run_command, command)

    def action_choose_theme(self) -> None:
        """Choose from the themes, which are read again: one can be edited while it is shown."""
        palettes_before = self._palettes
        problems = self._read_themes()
        shown = self._theme_for(self.theme)
        self.theme = shown
        was_edited = self._palettes.get(shown) != palettes_before.get(shown)
        if was_edited:
            self.mutate_reactive(GistreadApp.theme)

        def chosen(name: str | None) -> None:
            if name is not None:
                self.settings.set("theme", name)
                self._follow_terminal()
                self.theme = self._theme_for(name)
            elif self.settings.config.theme:
                self.theme = shown
            else:
                # Meanwhile, the terminal may have become light or dark.
                self.theme = self._theme_for("")

        palettes = list(self._palettes.values())
        current = shown if self.settings.config.theme else ""
        screen = ThemeScreen(palettes, current, problems, self._theme_for(""))
        self.push_screen(screen, chosen)

    def _theme_for(self, name: str) -> str:
        """The name of this theme, or of the usual one for the terminal if it does not exist."""
        candidates = (name, self._usual_theme(), *self._palettes)
        return next(theme for theme in candidates if theme in self._palettes)

    def _usual_theme(self) -> str:
        if self.no_color:
            return "terminal"
        return themes.LIGHT if self._light else themes.DEFAULT

    def _follow_terminal(self, _: object = None) -> None:
        """Let the terminal say whether it is light, unless the user chose a theme."""
        is_theme_chosen = bool(self.settings.config.theme) or self.no_color
        if isinstance(self._driver, FollowingDriver) and not is_theme_chosen:
            self._driver.write(FOLLOW)

    def on_appearance(self, appearance: Appearance) -> None:
        self._light = appearance.light
        if not self.settings.config.theme:
            self.theme = self._theme_for("")

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colours, remove the terminal's own too: Textual would draw them black."""
        filters = super().get_line_filters()
        if self.no_color and self.native_ansi_color:
            return [
                NoColor() if isinstance(line_filter, Monochrome) else line_filter
                for line_filter in filters
            ]
        return filters

    def _end_by_signal(self) -> None:
        """Quit as usual when the terminal closes or the system shuts down."""
        if self.is_headless:
            return
        ends = {signal.SIGTERM: self._quit, signal.SIGHUP: self._hang_up}
        loop = asyncio.get_running_loop()
        for number, end in ends.items():
            loop.add_signal_handler(number, self._end_soon, number, end)

    def _end_soon(self, number: int, end: Callable[[], Awaitable[None]]) -> None:
        """Quit within a time limit: Textual waits forever for a closed terminal."""
        exit_status = _ENDED_BY_SIGNAL + number
        watchdog = threading.Timer(_WATCHDOG_S, os._exit, (exit_status,))
        watchdog.daemon = True
        watchdog.start()
        self.call_later(end)

    async def _hang_up(self) -> None:
        """End at once, after the book is saved: the terminal is closed."""
        if self.reading is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.reading.close(), QUIT_S)
        os._exit(_ENDED_BY_SIGNAL + signal.SIGHUP)

    def _read_themes(self) -> list[str]:
        """Read all themes, and return a line for each invalid file."""
        self._palettes, problems = themes.read_themes(
            packaged_themes(), self.paths.themes
        )
        for palette in self._palettes.values():
            self.register_theme(palette.theme())
        return problems

    def _set_first_theme(self) -> None:
        """Set the theme before the app runs: a later change would parse every style sheet again."""
        chosen = self.settings.config.theme
        if self.no_color:
            chosen = ""  # Textual would make it grey.
        name = self._theme_for(chosen)
        if chosen not in ("", name):
            key = self._keys.hint("theme")
            self._problems.append(
                f"There is no theme {chosen!r}; {name} is shown. {key} chooses another."
            )
        self.set_reactive(GistreadApp.theme, name)
        dark = self.current_theme.dark
        self.update_classes(
            {f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark},
            update=False,
        )
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    def action_help(self) -> None:
        """Show the keys of the current screen and pane first, then all others."""
        from gistread.tui.screens.library import LibraryScreen

        screen = self.screen
        if isinstance(screen, HelpScreen):
            screen.dismiss()
            return
        if isinstance(screen, ReadingScreen):
            is_selecting = screen.book_pane.selecting
            first = nearest_scopes(screen.panes.current, selecting=is_selecting)
        else:
            first = nearest_scopes(None, library=isinstance(screen, LibraryScreen))
        panel: list[HelpLine] = []
        if not first:
            # The screen is a panel, with keys of its own.
            panel = lines_of_panel(screen.active_bindings.values(), self._keys)

        def run(line: HelpLine | None) -> None:
            if line is not None and line.command is not None:
                self._run_where_it_works(line.command)

        self.push_screen(HelpScreen(sorted_help(self._keys, first, panel)), run)

    def on_key(self, event: events.Key) -> None:
        """Open the help and suspend from a panel too, where Textual ignores the app's keys."""
        # A letter that was typed before the input of a panel had the focus belongs there.
        if isinstance(self.focused, Input) and event.is_printable and event.character:
            event.prevent_default().stop()
            self.focused.insert_text_at_cursor(event.character)
            return
        if not self.screen.is_modal:
            return
        for command in (HELP, SUSPEND):
            if event.key in self._keys.pressed(command):
                event.stop()
                self.call_later(self.run_command, command)

    def action_library(self, back_to: Opening | None = None) -> None:
        """Show the library. `back_to`: the place that was opened from its list."""
        from gistread.tui.library_work import Books
        from gistread.tui.screens.library import LibraryScreen

        if isinstance(self.screen, LibraryScreen):
            return
        books = Books(self.paths)
        if self.reading is not None:
            self.reading.withdraw_all()
        library = LibraryScreen(
            books, self.services, session=self._session, back_to=back_to
        )
        self.push_screen(library, self._open_from_library)

    async def action_figures(self) -> None:
        self.push_screen(await figures_panel(self.services))

    async def _open_from_library(self, opening: Opening | None) -> None:
        if opening is None:
            return
        self._first = None
        if (current := self.reading) is not None:
            current.withdraw_all()
            await current.close()
            self.pop_screen()
        look_at = opening if opening.place else None
        self.open_book(opening.path, look_at)

    def action_choose_reader(self) -> None:
        """Choose the reader of the open book; in the library, that of all other books."""
        from gistread.tui.screens.library import LibraryScreen

        controllers = None if self.reading is None else self.reading.controllers
        if controllers is None or isinstance(self.screen, LibraryScreen):
            settings = self.settings
            screen = ReaderScreen(
                lambda: settings.config, settings.set, session=None, whose=FOR_BOOKS
            )
            self.push_screen(screen)
        else:
            controllers.asking.show_panel()

    async def action_choose_model(self) -> None:
        """Let the user choose a model that reads or answers, or none."""
        from gistread.tui.model_downloads import ModelDownloads
        from gistread.tui.screens.model import ModelScreen

        if self._downloads is None:
            self._downloads = ModelDownloads(self, self.services, self._redraw_lines)
        results = CheckResults(self.paths, installed_version())
        config = self.settings.config
        loaded = ""
        words = 0
        if (session := self._session) is not None:
            config = replace(config, model=session.models.reading.spec)
            loaded = _placement_and_pace(session)
            words = session.book.words
        screen = ModelScreen(
            config, self._downloads, results=results, loaded=loaded, words=words
        )

        async def use(key: ModelKey | None) -> None:
            if key is not None:
                spec = key if isinstance(key, str) else ""  # Empty: no model
                await self._use_model(screen.role, spec)

        self.push_screen(screen, use)

    def _redraw_lines(self) -> None:
        if self.reading is not None and self.reading.is_mounted:
            self.reading.redraw_lines()

    async def _use_model(self, role: Role, spec: str) -> None:
        """Use the model that `spec` names in this role; none if it is empty."""
        try:
            model = settings_name(spec)
        except GistreadError as error:
            self.notify(str(error), severity="error", timeout=_LONG_NOTICE_S)
            return
        session = self._session
        # Once there is a usual reading model, the choice in a book is for this book only.
        is_for_book = role is Role.READING and session is not None
        if not is_for_book or not self.settings.config.model:
            self.settings.set(role.value, model)
        controllers = None if self.reading is None else self.reading.controllers
        if session is None or controllers is None:
            return
        match role:
            case Role.READING:
                await controllers.reading_along.use_model(model)
            case Role.ASKING:
                await session.use_asking_model(model)
                self._tell_who_answers(session.activity.asking_model)

    def _tell_who_answers(self, asking_model: str) -> None:
        """Say which model answers questions; if it is no other, the one that reads."""
        if asking_model:
            self.notify(f"{asking_model} will answer questions.")
        else:
            self.notify("The reading model also answers questions.")

    async def action_quit(self) -> None:
        """Quit; while something cannot be saved, only at the second time."""
        unsaved = ""
        if self.reading is not None:
            with contextlib.suppress(TimeoutError):
                unsaved = await asyncio.wait_for(self.reading.save(), QUIT_S)
        if unsaved and unsaved != self._unsaved_before:
            self._unsaved_before = unsaved
            advice = self.services.with_keys("{quit} again quits without it.")
            self.notify(f"{unsaved} {advice}", severity="warning")
            return
        await self._quit()

    async def _quit(self) -> None:
        """Quit now; anything slow to close gets two seconds.

        On the terminal stays a message about what could not be saved or is still to be downloaded.
        """
        message = ""
        if self._downloads is not None:
            with contextlib.suppress(TimeoutError):
                message = await asyncio.wait_for(self._downloads.close(), QUIT_S)
        if self.reading is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.reading.close(), QUIT_S)
            message = "\n".join(filter(None, [self.reading.unsaved, message]))
        await self._end_running_on()
        await self.settings.close()
        self.exit(message=message or None)

    async def on_unmount(self) -> None:
        if self._downloads is not None:
            self._downloads.halt()
        await self.settings.close()
        self.services.drawer.clear()
        self.services.signals.progress(None)

    def _handle_exception(self, error: Exception) -> None:
        """Log the error, and end the app with one line.

        Textual has no public hook, and prints a traceback unless the error has `__rich__`.
        """
        details = traceback_text(error)
        if _meets_removed_widgets(error):
            log.warning("Drawn on a screen that is being removed\n%s", details)
            return
        if not self.is_running:
            log.error("A defect after the end of the app\n%s", details)
            return
        log.error("A defect ended the app\n%s", details)
        super()._handle_exception(DefectError(error, self.paths.log_file))


def _meets_removed_widgets(error: Exception) -> bool:
    """Whether what failed looked for widgets of a screen that is being removed.

    Widgets leave before the workers and callbacks of their screen end.
    """
    cause: BaseException = error
    node: object = active_message_pump.get(None)
    if isinstance(error, WorkerFailed):
        cause = error.error
        node = get_current_worker().node
    return isinstance(cause, NoMatches) and isinstance(node, DOMNode) and node._pruning


def _placement_and_pace(session: Session) -> str:
    """Where the reading model is loaded, and how fast it writes; empty before it is loaded."""
    from gistread.engine.model_text import placement_text, words_of

    text = ""
    info = session.models.reading.info
    if info is not None and info.placement is not None:
        text = placement_text(info.placement)
    state = session.activity.engine
    if state is not None and state.tokens_per_s:
        text += f" · about {words_of(state.tokens_per_s)} words a second"
    return text


def run(
    book: Opened | None,
    *,
    paths: Paths,
    config: Config,
    model: str,
    look_at: Opening | None = None,
) -> int:
    """Run the app on a terminal and return the exit status.

    `look_at`: the place of the book to show first.
    Raises GistreadError if the book cannot be opened.
    """
    log_to(paths.log_file)
    return_freed_memory()
    if os.environ.get("TERM") in KITTY_TERMS:
        os.environ.setdefault("COLORTERM", "truecolor")  # ssh does not pass it on
    tour = not UserData(paths).recent()
    has_no_theme_to_choose = "NO_COLOR" in os.environ
    has_no_terminal = "TEXTUAL_DRIVER" in os.environ  # But a browser
    light = False
    if not (config.theme or has_no_theme_to_choose or has_no_terminal):
        light = ask()
    app = GistreadApp(
        book,
        paths=paths,
        config=config,
        model=model,
        tour=tour,
        light=light,
        look_at=look_at,
    )
    with terminal_order_off(config.bidi, os.environ):
        app.run()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0
