"""The context that the controllers of one open book share, and the moves in it."""

import asyncio
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from textual.screen import Screen

from gistread.book.model import Book
from gistread.memory.front_matter import story_of
from gistread.search.destinations import HINT, Destination, destinations_of, is_cfi
from gistread.session.events import Obstacle
from gistread.session.questions import Question
from gistread.session.session import Session
from gistread.store.model import AskingChoice, NameCorrection, ReadingPlace
from gistread.store.pace import ReadingSpeed
from gistread.tui.jobs import run_job
from gistread.tui.progress import Progress
from gistread.tui.reading.jumps import JumpList, step_among
from gistread.tui.reading.layers import MarkLayers
from gistread.tui.reading.pane_switcher import BookScreen, Pane
from gistread.tui.reading.position import ModelPlace, ReadingPosition
from gistread.tui.reading.user_data_writer import UserDataWriter
from gistread.tui.screens.contents import ContentsScreen
from gistread.tui.widgets.input_line import InputLineClient

_REMEMBERED = 20  # Jumps that are saved for the next start
Result = TypeVar("Result")
_OBSTACLES = {
    Obstacle.NO_MODEL: "No model is loaded. Press {choose-model} to choose one.",
    Obstacle.NO_READING_MODEL: (
        "No section has been read yet. Press {choose-model} to choose a reading model."
    ),
    Obstacle.NOTHING_READ: "No section has been read yet. Press {resume} to start reading.",
}


class ReadingContext:
    """The open book, the widgets that show it, and the application around them."""

    def __init__(
        self, screen: BookScreen, book: Book, path: Path | None, saved: ReadingPlace
    ) -> None:
        """`path`: the book's file, None for standard input. `saved`: where the user was."""
        self.screen = screen
        self.services = services = screen.services
        self.book = book
        self.path = path
        self.book_pane = screen.book_pane
        self.memory_pane = screen.memory_pane
        self.answers_pane = screen.answers_pane
        self.question = screen.question
        # False once the memory is shown and the model of the settings, if any, is chosen
        self.opening = True
        # Whether a saved memory was looked for; if there is one, it is shown
        self.memory_looked_for = False
        self.input_line = screen.input_line
        self.panes = screen.panes
        self.refresh = screen.redraw_lines  # Redraws the lines around the panes
        self.notify = screen.notify
        self.warn = screen.warn
        self.key_hint = services.key_hint
        self.layers = MarkLayers(screen.book_pane, screen.memory_pane)
        self.position = ReadingPosition(saved, len(book.text))
        self.model_place = ModelPlace(self.position, book)
        speed = ReadingSpeed(services.paths)
        shown_progress = services.config.progress.split()
        self.progress = Progress(book, speed, services.user_data, shown_progress)
        self.user_data = UserDataWriter(book, path, services, screen.warn, saved)
        # The user's corrections of names in the book
        self.corrections: tuple[NameCorrection, ...] = ()
        self.asking_choice = AskingChoice()  # Choices for this book, over the settings
        self.navigation = Navigation(self)
        self.session: Session | None = None  # None until the first page has been drawn

    @cached_property
    def chapter_starts(self) -> tuple[tuple[float, int], ...]:
        """(beginning as a share of the book, level) of each chapter of the story.

        Title page and colophon are no part of it.
        """
        start, end = story_of(self.book)
        length = max(1, len(self.book.text))
        return tuple(
            (chapter.start / length, chapter.level)
            for chapter in self.book.chapters
            if start <= chapter.start < end
        )

    @property
    def place(self) -> int:
        """Offset of what is shown of the book."""
        return self.book_pane.place

    @property
    def chosen_exchange(self) -> int | None:
        """Index of the exchange under the cursor of the answers pane, or else of the last.

        None without one.
        """
        key = self.answers_pane.cursor_key
        if self.panes.current is Pane.ANSWERS and isinstance(key, tuple):
            number: int = key[1]  # Keys there are (kind, number of the exchange, …).
            return number
        if not self.answers_pane.exchanges:
            return None
        return len(self.answers_pane.exchanges) - 1

    @property
    def last_question(self) -> Question | None:
        """The question asked last, running or not; None before the first."""
        if self.session is None:
            return None
        return self.session.questions.current

    def warn_of(self, obstacle: Obstacle) -> None:
        """Say why a question cannot be asked now, and name the key that helps."""
        self.warn(self.services.with_keys(_OBSTACLES[obstacle]))

    def push(
        self,
        screen: Screen[Result | None],
        done: Callable[[Result], Any] = lambda _: None,
    ) -> None:
        """Show a screen over this one; `done` is called with its result, if it has one.

        If `done` is a coroutine function, what it returns is awaited.
        """

        def closed(result: Result | None) -> Any:
            if result is None:
                return None
            return done(result)

        self.screen.app.push_screen(screen, closed)


class Navigation(InputLineClient):
    """Jumps in the book, and back; also to a place that the user types."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._book = context.book
        # The pane to show after going back; None: the book
        self._return_to: Pane | None = None
        # The destinations that the typed words may mean
        self._destinations: tuple[Destination, ...] = ()
        self.jumps = JumpList()

    @property
    def saved_place(self) -> ReadingPlace:
        """The position to save for the next start."""
        position = self._context.position
        jumps = list(self.jumps.behind)
        # While the user only looks, the jumps from the reading place on are not saved.
        if position.looking and position.place in jumps:
            while jumps.pop() != position.place:
                pass  # A jump of this look
        return ReadingPlace(
            position.place,
            read=position.read,
            behind=tuple(jumps[-_REMEMBERED:]),
            end=position.end,
        )

    def jump(
        self,
        offset: int,
        top: float = 0.0,
        *,
        series: str = "",
        return_to: Pane | None = None,
    ) -> None:
        """Show a place, `top` (0 to 1) down the screen.

        Consecutive jumps of one `series` count as one in the history. The reading place stays where
        it is until the user reads on there. `return_to`: the pane that `back` shows.
        """
        pane = self._context.book_pane
        self.jumps.record(pane.place, offset, series)
        self.show(offset, top)
        if series:
            pane.call_after_refresh(lambda: self.jumps.arrived(pane.place))
        self._return_to = return_to or self._return_to

    def show(self, offset: int, top: float = 0.0) -> None:
        """Show a place without adding to the history."""
        pane = self._context.book_pane
        is_laid_out = pane.visible_range is not None
        row_before = pane.scroll_offset.y
        if self._book.paragraphs and offset <= self._book.paragraphs[0].start:
            pane.scroll_to_beginning()  # With the empty rows above the first line
        else:
            pane.scroll_to_offset(offset, top=top)
        has_scrolled = pane.scroll_offset.y != row_before
        # Without a move, the next screen that the user turns would count as the jump.
        if has_scrolled or not is_laid_out:
            self._context.position.jump()

    def back(self) -> None:
        """Look at where the last jump began; when no jump is left, at the reading place.

        Neither the reading place nor what was read changes.
        """
        position = self._context.position
        if position.looking and not self.jumps.behind:
            self.jumps.record(position.place, self._context.place)
        self._return(back=True)
        if self._return_to is not None:
            view = self._context.book_pane.visible_range
            if view is not None:
                # The book is about to be hidden, and then does not report its move.
                position.moved(*view)
            self._context.panes.show(self._return_to)
            self._return_to = None

    def forward(self) -> None:
        """Look at the place that was left by going back."""
        self._return(back=False)

    def _return(self, *, back: bool) -> None:
        """Look at the place before or after this one in the history, or warn that there is none."""
        place = self.jumps.move(self._context.place, back=back)
        if place is None:
            if back:
                self._context.warn("No earlier place to go back to.")
            else:
                self._context.warn("No later place: you have not gone back.")
            return
        self.show(place)

    def step_chapter(self, step: int) -> None:
        starts = [chapter.start for chapter in self._book.chapters]
        self.jump(step_among(starts, self._context.place, step), series="chapters")

    def step_paragraph(self, step: int) -> None:
        starts = [paragraph.start for paragraph in self._book.paragraphs]
        target = step_among(starts, self._context.place, step)
        self._context.book_pane.scroll_to_offset(target)

    def contents(self) -> None:
        """Show the contents, and go to the chapter that is chosen."""
        context = self._context

        def go(chapter: int) -> None:
            self.jump(self._book.chapters[chapter].start)
            context.panes.show(Pane.BOOK)

        screen = ContentsScreen(
            self._book,
            context.place,
            words_per_minute=context.progress.words_per_minute,
            position=context.position,
            shown=context.answers_pane.shown_places,
        )
        context.push(screen, go)

    # The input line for a place: `40%`, `page 12`, a chapter

    def ask(self) -> None:
        """Ask the user for a place to go to."""
        self._context.input_line.ask(self, "go to", HINT)
        self.typed("")

    def typed(self, words: str) -> None:
        """Offer the destinations that these words may mean."""
        context = self._context
        if is_cfi(words):
            self._destinations = ()
            context.input_line.choose_from(())
            context.input_line.say("Enter looks it up.")
            return
        target = destinations_of(words, context.book, context.place, context.path)
        self._destinations = target.destinations
        names = [destination.words for destination in target.destinations]
        context.input_line.choose_from(names)
        context.input_line.say(target.problem, problem=bool(target.problem))

    def accepted(self, words: str, choice: int | None) -> None:
        """Go to the chosen destination; without words, to the reading place."""
        if choice is not None and choice < len(self._destinations):
            self._go(self._destinations[choice])
        elif is_cfi(words):
            look_up = partial(self._look_up, words)
            run_job(self._context.screen, look_up, group="go to")
        elif not words.strip():
            self._context.input_line.close()
            if self._context.position.looking:
                self.jump(self._context.position.place)

    async def _look_up(self, words: str) -> None:
        """Go to the place of an EPUB CFI, unless the line has changed meanwhile."""
        context, line = self._context, self._context.input_line
        line.say("Looking it up …")
        target = await asyncio.to_thread(
            destinations_of, words, context.book, context.place, context.path
        )
        if not line.is_open or line.words != words:
            return
        if target.destinations:
            self._go(target.destinations[0])
        else:
            line.say(target.problem, problem=True)

    def _go(self, destination: Destination) -> None:
        self._context.input_line.close()
        self._context.panes.show(Pane.BOOK)
        self.jump(destination.offset)
