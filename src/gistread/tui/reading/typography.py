"""Changes how the book is set: width, margins, spacing, columns, focus mode."""

from gistread.config import Value
from gistread.tui.layout import Pane
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.pane_switcher import FOCUS_MODE
from gistread.tui.text import Clicked, LongText
from gistread.tui.text.columns import least_width
from gistread.tui.widgets.typography_panel import LEAST_TEXT_WIDTH, MOST_TEXT_WIDTH, TypographyPanel


class Typography:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    def widen(self, step: int) -> None:
        pane = self._context.book_pane
        # Beyond the edge of the pane a wider text looks the same, and takes long to undo.
        width = min(pane.row_width or pane.text_width, pane.text_width) + step
        self.set("text_width", max(LEAST_TEXT_WIDTH, min(width, MOST_TEXT_WIDTH)))

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

    def toggle_panel(self) -> None:
        if self._context.screen.query(TypographyPanel):
            self.close_panel()
            return
        self._context.panes.show(Pane.BOOK)
        panel = TypographyPanel(self._context.services.config)
        self._context.screen.mount(panel, after="#panes")
        panel.focus()

    def close_panel(self) -> None:
        self._context.screen.query(TypographyPanel).remove()
        self._context.panes.show(Pane.BOOK)

    def set(self, key: str, value: Value) -> None:
        settings = self._context.services.settings
        if getattr(settings.config, key) == value:
            return
        settings.set(key, value)
        self._context.book_pane.set_typography(settings.config)
        self.apply_text_order()
        for panel in self._context.screen.query(TypographyPanel):
            panel.show_config(settings.config)

    def apply_text_order(self) -> None:
        """Let all panes treat right-to-left text as the book pane does."""
        for text in self._context.screen.query(LongText):
            text.reorder = self._context.book_pane.reorder
