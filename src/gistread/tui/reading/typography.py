"""Changes how the book is set: width, margins, spacing, columns, focus mode."""

from gistread.config import Value
from gistread.tui.layout import Pane
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import FOCUS_MODE
from gistread.tui.text import Clicked, LongText
from gistread.tui.text.columns import least_width

_LEAST_TEXT_WIDTH, _MOST_TEXT_WIDTH = 20, 200


class Typography:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    def widen(self, step: int) -> None:
        pane = self._context.book_pane
        # Beyond the edge of the pane a wider text looks the same, and takes long to undo.
        width = min(pane.row_width or pane.text_width, pane.text_width) + step
        self.set("text_width", max(_LEAST_TEXT_WIDTH, min(width, _MOST_TEXT_WIDTH)))

    def columns(self) -> None:
        pane = self._context.book_pane
        wanted = 1 if pane.columns > 1 else 2
        self.set("columns", wanted)
        if wanted > 1 and pane.size.width and pane.column_count < wanted:
            least = least_width(wanted, pane.side_margin)
            key = self._context.key_hint("focus-mode")
            self._context.notify(f"Two columns need a book pane {least} cells wide; {key} gives it the whole screen.")

    def focus_mode(self) -> None:
        screen = self._context.screen
        self._context.panes.show(Pane.BOOK)
        screen.toggle_class(FOCUS_MODE)
        if screen.has_class(FOCUS_MODE):
            key = self._context.key_hint("focus-mode")
            self._context.notify(f"{key} or a click beside the text leaves focus mode.", timeout=2)

    def clicked(self, event: Clicked) -> bool:
        """A click beside the text leaves focus mode, which shows nothing else to click on."""
        leaves = event.book_offset is None and self._context.screen.has_class(FOCUS_MODE)
        if leaves:
            self.focus_mode()
        return leaves

    def show_panel(self) -> None:
        from gistread.tui.screens.typography import TypographyScreen

        context = self._context
        context.panes.show(Pane.BOOK)
        context.screen.app.push_screen(TypographyScreen(lambda: context.services.config, self.set))

    def set(self, key: str, value: Value) -> None:
        settings = self._context.services.settings
        if getattr(settings.config, key) == value:
            return
        settings.set(key, value)
        self._context.book_pane.set_typography(settings.config)
        self.apply_text_order()
        self._context.refresh()

    def apply_text_order(self) -> None:
        """Let all panes treat right-to-left text as the book pane does."""
        for text in self._context.screen.query(LongText):
            text.reorder = self._context.book_pane.reorder
