"""The context that the controllers of one open book share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from textual.screen import Screen

from gistread.book.model import Book
from gistread.session.events import Obstacle
from gistread.session.session import Session
from gistread.store.model import NameCorrection, ReadingPlace
from gistread.store.pace import ReadingSpeed
from gistread.tui.progress import Progress
from gistread.tui.reading.layers import MarkLayers
from gistread.tui.reading.navigation import Navigation
from gistread.tui.reading.pane_switcher import BookScreen, Pane
from gistread.tui.reading.position import ModelPlace, ReadingPosition
from gistread.tui.reading.user_data_writer import UserDataWriter

Result = TypeVar("Result")
_OBSTACLES = {
    Obstacle.NO_MODEL: "No model is loaded. Press {choose-model} to choose one.",
    Obstacle.NO_READING_MODEL: "No section has been read yet. Press {choose-model} to choose a reading model.",
    Obstacle.NOTHING_READ: "No section has been read yet. Press {resume} to start reading.",
}


class ReadingContext:
    """The open book, the widgets that show it, and the application around them."""

    def __init__(self, screen: BookScreen, book: Book, path: Path | None, saved: ReadingPlace) -> None:
        """`path`: the file the book came from, None for standard input; `saved`: where the user was."""
        self.screen = screen
        self.services = services = screen.services
        self.book = book
        self.path = path
        self.book_pane = screen.book_pane
        self.memory_pane = screen.memory_pane
        self.answers_pane = screen.answers_pane
        self.question = screen.question
        self.input_line = screen.input_line
        self.panes = screen.panes
        self.refresh = screen.redraw_lines  # of the lines around the panes
        self.notify = screen.notify
        self.warn = screen.warn
        self.key_hint = services.key_hint
        self.layers = MarkLayers(screen.book_pane, screen.memory_pane)
        self.position = ReadingPosition(saved, len(book.text))
        self.model_place = ModelPlace(self.position, book)
        pace, shown = ReadingSpeed(services.paths), services.config.progress.split()
        self.progress = Progress(book, pace, services.user_data, shown)
        self.user_data = UserDataWriter(book, path, services, screen.warn)
        self.corrections: tuple[NameCorrection, ...] = ()  # Corrections of names in the book
        self.navigation = Navigation(self)
        self.session: Session | None = None  # None until the first page has been drawn

    @property
    def place(self) -> int:
        return self.book_pane.place

    @property
    def chosen_exchange(self) -> int:
        """Index of the exchange under the cursor of the answers pane, or else of the last; -1 without one."""
        key = self.answers_pane.cursor_key if self.panes.current is Pane.ANSWERS else None
        return key[1] if isinstance(key, tuple) else len(self.answers_pane.exchanges) - 1

    def warn_of(self, obstacle: Obstacle) -> None:
        """Say why a question cannot be asked now, and name the key that helps."""
        self.warn(self.services.with_keys(_OBSTACLES[obstacle]))

    def push(self, screen: Screen[Result | None], done: Callable[[Result], Any] = lambda _: None) -> None:
        """Show a screen over this one; `done` is called with its result, if it has one."""
        self.screen.app.push_screen(screen, lambda result: done(result) if result is not None else None)
