"""How the book is shown: its pictures, in the text and alone, and its typography."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from gistread.book.model import Book, ParagraphKind
from gistread.config import Value
from gistread.errors import GistreadError
from gistread.tui.drawing import ImageMode, read_picture
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import FOCUS_MODE, TWO_COLUMNS, Pane
from gistread.tui.screens.choosing import TypographyScreen
from gistread.tui.text import Clicked, LongText
from gistread.tui.text.figure import Figure

_NEAR_CHARACTERS = 2000  # Before and after the view
_FIRST_PARAGRAPHS = 5  # Among which a cover in the text is looked for
_ROWS_AROUND = 4  # Rows of the screen without text
_LEAST_ROWS = 3  # Of a picture, however low the screen is
_MOST_SHARE = 2 / 3  # Of the rows, for a picture: words stay below it
_RETURN_TOP = 0.2  # Where the words at a picture are shown, from 0 (top) to 1
_LEAST_TEXT_WIDTH, _MOST_TEXT_WIDTH = 20, 200


class Pictures:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._sources = _sources(context.book)
        # By paragraph; None if the picture cannot be drawn
        self._figures: dict[int, Figure | None] = {}
        self._most_rows = 0
        self._shown = True
        self._loading = False

    def update(self) -> None:
        """Load pictures near the view, and fit drawn ones to the screen and the settings."""
        context = self._context
        app, config = context.screen.app, context.services.config
        if not self._sources or not app.size.height:
            return
        shown = config.pictures and context.services.drawer.mode is not ImageMode.DOTS
        most_rows = max(
            _LEAST_ROWS, int((app.size.height - _ROWS_AROUND) * _MOST_SHARE)
        )
        if (shown, most_rows) != (self._shown, self._most_rows):
            self._shown, self._most_rows = shown, most_rows
            self._show(self._figures)
        if shown and not self._loading and self._next_to_load() is not None:
            self._loading = True
            context.screen.run_worker(self._load(), group="pictures")

    def show_next(self) -> None:
        view, images = self._context.book_pane.visible_range, self._context.book.images
        if not images or view is None:
            self._context.warn("This book has no pictures.")
            return
        self._open(
            next(
                (index for index, image in enumerate(images) if image.end > view[0]),
                len(images) - 1,
            )
        )

    def clicked(self, event: Clicked) -> bool:
        if event.book_offset is None:
            return False
        book = self._context.book
        image = next(
            iter(book.images_between(event.book_offset, event.book_offset + 1)), None
        )
        if image is not None:
            self._open(book.images.index(image))
        return image is not None

    def _open(self, index: int) -> None:
        # Imported when the first picture is shown: the book's text comes first.
        from gistread.tui.screens.image import ImageScreen

        context = self._context
        screen = ImageScreen(context.book, context.path, index, context.services.drawer)
        context.push(
            screen, lambda offset: context.navigation.jump(offset, top=_RETURN_TOP)
        )

    def _show(self, figures: Mapping[int, Figure | None]) -> None:
        drawn = {
            index: figure.limited(self._most_rows)
            for index, figure in figures.items()
            if figure is not None
        }
        if drawn:
            self._context.book_pane.show_figures(
                drawn if self._shown else dict.fromkeys(drawn)
            )

    def _next_to_load(self) -> int | None:
        """The next paragraph near the view with a picture to load.

        Paragraphs above the view come last.
        """
        book = self._context.book
        view = self._context.book_pane.visible_range
        if view is None:
            return None
        start, end = view
        top = book.paragraph_index(start)
        first = book.paragraph_index(max(0, start - _NEAR_CHARACTERS))
        last = book.paragraph_index(end + _NEAR_CHARACTERS)
        near: tuple[int, ...] = (*range(top, last + 1), *range(top - 1, first - 1, -1))
        for index in near:
            if index in self._sources and index not in self._figures:
                return index
        return None

    async def _load(self) -> None:
        try:
            while self._shown and (index := self._next_to_load()) is not None:
                self._figures[index] = None
                # The caption stays in the text; the viewer shows the error.
                with suppress(GistreadError):
                    context = self._context
                    data = await asyncio.to_thread(
                        read_picture, context.path, self._sources[index]
                    )
                    self._figures[index] = figure = await asyncio.to_thread(
                        context.services.drawer.figure, data
                    )
                    self._show({index: figure})
        finally:
            self._loading = False


def _sources(book: Book) -> dict[int, str]:
    """Sources of the pictures, by paragraph."""
    sources: dict[int, str] = {}
    for image in book.images:
        index = book.paragraph_index(image.start)
        if book.paragraphs[index].kind is ParagraphKind.IMAGE:
            sources.setdefault(index, image.source)  # The first of each
    in_text = any(
        sources.get(index) == book.cover for index in range(_FIRST_PARAGRAPHS)
    )
    if not book.cover or in_text or not book.paragraphs:
        return sources
    return {0: book.cover} | sources


class Typography:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    def widen(self, step: int) -> None:
        pane = self._context.book_pane
        # Beyond the edge of the pane a wider text looks the same, and takes long to undo.
        width = min(pane.row_width or pane.text_width, pane.text_width) + step
        self.set("text_width", max(_LEAST_TEXT_WIDTH, min(width, _MOST_TEXT_WIDTH)))

    def switch_columns(self) -> None:
        """Show the text in one column or in two, where there is room."""
        columns = 1 if self._context.services.config.text_columns > 1 else 2
        self.set("text_columns", columns)
        width = self._context.screen.size.width
        if width >= TWO_COLUMNS:
            return
        if columns > 1:
            words = (
                f"Two columns of text, once the terminal is {TWO_COLUMNS} columns wide"
            )
        else:
            words = f"One column of text, also where the terminal is {TWO_COLUMNS} columns wide"
        self._context.notify(f"{words}: now it has {width}.")

    def focus_mode(self) -> None:
        screen = self._context.screen
        self._context.panes.show(Pane.BOOK)
        screen.toggle_class(FOCUS_MODE)
        if screen.has_class(FOCUS_MODE):
            key = self._context.key_hint("focus-mode")
            self._context.notify(
                f"{key} or a click beside the text leaves focus mode.", timeout=2
            )

    def clicked(self, event: Clicked) -> bool:
        """A click beside the text leaves focus mode, which shows nothing else to click on."""
        leaves = event.book_offset is None and self._context.screen.has_class(
            FOCUS_MODE
        )
        if leaves:
            self.focus_mode()
        return leaves

    def show_panel(self) -> None:
        context = self._context
        context.panes.show(Pane.BOOK)
        context.screen.app.push_screen(
            TypographyScreen(lambda: context.services.config, self.set)
        )

    def set(self, key: str, value: Value) -> None:
        settings = self._context.services.settings
        if getattr(settings.config, key) == value:
            return
        settings.set(key, value)
        self._context.book_pane.set_typography(settings.config)
        self._context.panes.fit_columns(self._context.screen.size.width)
        self.apply_text_order()
        self._context.refresh()

    def apply_text_order(self) -> None:
        """Let all panes treat right-to-left text as the book pane does."""
        for text in self._context.screen.query(LongText):
            text.reorder = self._context.book_pane.reorder
