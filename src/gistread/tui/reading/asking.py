"""How questions about the open book are answered: the method, who opens sections, and how many.

Each book keeps its own choice; one without a choice follows the settings.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Literal

from gistread.config import Config, Value
from gistread.errors import StorageError
from gistread.readers.steering import Steps
from gistread.session.questions import settings_of_book
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.question_line import QuestionLine
from gistread.tui.screens.choosing import ReaderScreen, sections_words, title_of

_WHOSE = "For this book. Books without their own choice follow the settings: {}."


class AskingController:
    """The choice of how questions about this book are answered."""

    def __init__(self, context: ReadingContext, line: QuestionLine) -> None:
        self._context = context
        self._line = line

    def load(self) -> None:
        """Load what was chosen for this book. Call it in a thread."""
        context = self._context
        with suppress(StorageError):
            stored = context.services.user_data.asking_choice(context.book.sha256)
            context.asking_choice = stored

    @property
    def config(self) -> Config:
        """The settings, with what was chosen for this book in place of theirs."""
        context = self._context
        return settings_of_book(context.services.config, context.asking_choice)

    def method_and_sections(self) -> tuple[str, str]:
        """(method, who opens sections) in words, with how many if chosen for this book."""
        config = self.config
        sections = sections_words(
            Steps(config.steps), self._context.asking_choice.max_pages
        )
        return title_of(config.reader), sections

    def show_panel(self) -> None:
        """Let the user choose for this book."""
        usual = self._context.services.config
        usual_sections = sections_words(Steps(usual.steps), usual.max_pages)
        usual_words = f"{title_of(usual.reader)}, {usual_sections}"
        panel = ReaderScreen(
            lambda: self.config,
            self.change,
            self._context.session,
            whose=_WHOSE.format(usual_words),
            upto=self._line.bound,
        )
        self._context.screen.app.push_screen(panel)

    def change(self, key: str, value: Value) -> None:
        """Change `reader`, `steps` or `max_pages` for this book, now and later."""
        match key, value:
            case "reader", str():
                self._use_reader(value)
            case "steps", ("alone" | "ask") as steps:
                self._use_steps(steps)
            case "max_pages", int():
                self._use_max_pages(value)
        choice = self._context.asking_choice
        self._context.user_data.save(
            lambda data, sha256: data.choose_asking(sha256, choice)
        )
        self._context.refresh()

    def _use_reader(self, reader: str) -> None:
        context = self._context
        context.asking_choice = replace(context.asking_choice, reader=reader)
        if context.session is not None:
            context.screen.run_worker(context.session.use_reader(reader))

    def _use_steps(self, steps: Literal["alone", "ask"]) -> None:
        context = self._context
        context.asking_choice = replace(context.asking_choice, steps=steps)
        if context.session is not None and context.session.answering:
            context.session.steering.set_steps(Steps(steps))

    def _use_max_pages(self, most: int) -> None:
        context = self._context
        context.asking_choice = replace(context.asking_choice, max_pages=most)
        if context.session is not None:
            context.session.use_max_pages(most)
