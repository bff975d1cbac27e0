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

_NEAR_CHARACTERS = 2000  # Pictures so near to the view are loaded
_FIRST_PARAGRAPHS = 5  # A cover in the text is one of these
_ROWS_AROUND = 4  # Rows of the screen without text
_LEAST_ROWS = 3  # Fewest rows of a picture, however low the screen is
_MOST_SHARE = 2 / 3  # Most of the rows for a picture: words stay below it
_RETURN_TOP = 0.2  # Where the words at a picture are shown, from 0 (top) to 1
_LEAST_TEXT_WIDTH, _MOST_TEXT_WIDTH = 20, 200


class Pictures:
    """Loads the pictures near the view, and shows them in the text or alone."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context
        self._sources = _sources(context.book)
        # The pictures by paragraph; None for one that cannot be drawn
        self._figures: dict[int, Figure | None] = {}
        self._most_rows = 0  # Most rows of a picture in the text
        self._shown = True  # Whether pictures are drawn in the text
        self._loading = False

    def update(self) -> None:
        """Load pictures near the view, and fit drawn ones to the screen and the settings."""
        context = self._context
        app, config = context.screen.app, context.services.config
        if not self._sources or not app.size.height:
            return
        shown = config.pictures and context.services.drawer.mode is not ImageMode.DOTS
        rows_of_text = app.size.height - _ROWS_AROUND
        most_rows = max(_LEAST_ROWS, int(rows_of_text * _MOST_SHARE))
        if shown != self._shown or most_rows != self._most_rows:
            self._shown, self._most_rows = shown, most_rows
            self._show(self._figures)
        if shown and not self._loading and self._next_to_load() is not None:
            self._loading = True
            context.screen.run_worker(self._load(), group="pictures")

    def show_next(self) -> None:
        """Show the first picture from the top of the view on; if all are above it, the last."""
        view, images = self._context.book_pane.visible_range, self._context.book.images
        if not images or view is None:
            self._context.warn("This book has no pictures.")
            return
        top, _ = view
        following = [index for index, image in enumerate(images) if image.end > top]
        self._open(following[0] if following else len(images) - 1)

    def clicked(self, event: Clicked) -> bool:
        """Show the picture that was clicked. Returns whether it is one."""
        offset = event.book_offset
        if offset is None:
            return False
        book = self._context.book
        images = list(book.images_between(offset, offset + 1))
        if not images:
            return False
        self._open(book.images.index(images[0]))
        return True

    def _open(self, index: int) -> None:
        """Show a picture in the viewer."""
        # Imported when the first picture is shown: the book's text comes first.
        from gistread.tui.screens.image import ImageScreen

        context = self._context

        def go(offset: int) -> None:
            context.navigation.jump(offset, top=_RETURN_TOP)

        screen = ImageScreen(context.book, context.path, index, context.services.drawer)
        context.push(screen, go)

    def _show(self, figures: Mapping[int, Figure | None]) -> None:
        """Draw these figures in the text, or take them away if they are not to be shown."""
        drawable: dict[int, Figure | None] = {
            index: figure.limited(self._most_rows)
            for index, figure in figures.items()
            if figure is not None
        }
        if not self._shown:
            drawable = dict.fromkeys(drawable)  # None takes a picture out of the text.
        if drawable:
            self._context.book_pane.show_figures(drawable)

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
        downwards = range(top, last + 1)
        upwards = range(top - 1, first - 1, -1)
        near: list[int] = [*downwards, *upwards]
        for index in near:
            if index in self._sources and index not in self._figures:
                return index
        return None

    async def _load(self) -> None:
        """Load and show pictures until all near the view are loaded."""
        try:
            while self._shown and (index := self._next_to_load()) is not None:
                # If it cannot be drawn, its caption stays in the text; the viewer shows the error.
                self._figures[index] = None
                with suppress(GistreadError):
                    figure = await self._figure(self._sources[index])
                    self._figures[index] = figure
                    self._show({index: figure})
        finally:
            self._loading = False

    async def _figure(self, source: str) -> Figure:
        """Read and draw a picture. Raises GistreadError."""
        drawer = self._context.services.drawer
        data = await asyncio.to_thread(read_picture, self._context.path, source)
        return await asyncio.to_thread(drawer.figure, data)


def _sources(book: Book) -> dict[int, str]:
    """The source of the first picture in each paragraph of pictures, by its index.

    A cover that is not in the text is shown above it.
    """
    sources: dict[int, str] = {}
    for image in book.images:
        index = book.paragraph_index(image.start)
        if book.paragraphs[index].kind is ParagraphKind.IMAGE:
            sources.setdefault(index, image.source)
    if not book.cover or not book.paragraphs:
        return sources
    first_sources = [sources.get(index) for index in range(_FIRST_PARAGRAPHS)]
    if book.cover not in first_sources:
        sources.setdefault(0, book.cover)
    return sources


class Typography:
    """Changes how the text is laid out, for all books."""

    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    def widen(self, step: int) -> None:
        """Make the text wider by `step` columns, or narrower if it is negative."""
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
            words = "Two columns of text, once"
        else:
            words = "One column of text, also where"
        needed = f"the terminal is {TWO_COLUMNS} columns wide"
        self._context.notify(f"{words} {needed}: now it has {width}.")

    def focus_mode(self) -> None:
        """Show the text alone, or all again."""
        screen = self._context.screen
        self._context.panes.show(Pane.BOOK)
        screen.toggle_class(FOCUS_MODE)
        if screen.has_class(FOCUS_MODE):
            key = self._context.key_hint("focus-mode")
            notice = f"{key} or a click beside the text leaves focus mode."
            self._context.notify(notice, timeout=2)

    def clicked(self, event: Clicked) -> bool:
        """Leave focus mode if the click was beside the text. Returns whether it did."""
        is_focus_mode = self._context.screen.has_class(FOCUS_MODE)
        if event.book_offset is not None or not is_focus_mode:
            return False
        self.focus_mode()
        return True

    def show_panel(self) -> None:
        """Show the panel of all these settings, beside the book."""
        context = self._context
        context.panes.show(Pane.BOOK)
        panel = TypographyScreen(lambda: context.services.config, self.set)
        context.screen.app.push_screen(panel)

    def set(self, key: str, value: Value) -> None:
        """Change a setting and lay the text out anew."""
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
