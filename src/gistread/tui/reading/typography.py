"""How the book is set, as the person wants it: width, margins, spacing, columns, and nothing but the text on screen.

A part of the reading screen. What the settings are and how they are shown is `widgets/typography_panel.py`; what they
do to a page is the affair of the book pane.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual import on
from textual.screen import Screen

from gistread.config import Value
from gistread.tui.commands import BY_ID, keys_of
from gistread.tui.layout import Pane
from gistread.tui.text.columns import least_width
from gistread.tui.text.widget import LongText
from gistread.tui.widgets.panes import BookPane
from gistread.tui.widgets.typography_panel import LEAST_TEXT_WIDTH, MOST_TEXT_WIDTH, TypographyPanel

if TYPE_CHECKING:
    from gistread.tui.app import GistreadApp

FOCUS_MODE = "-focus-mode"
_STEP = 4
"""Columns by which a key makes the text wider."""


class Typography(Screen[None]):
    """What a screen with a book pane can do to the look of its page."""

    book_pane: BookPane

    def to_pane(self, pane: Pane) -> None:
        """Give the keys to a pane, and the screen where only one fits."""
        raise NotImplementedError

    def show_order(self) -> None:
        """All long texts leave the order of their words to the terminal, or none."""
        for text in self.query(LongText):
            text.reorder = self.book_pane.reorder

    def leave_focus_mode(self) -> None:
        """Show again what stands around the text."""
        self.remove_class(FOCUS_MODE)

    def action_wider_text(self) -> None:
        self._change_width(_STEP)

    def action_narrower_text(self) -> None:
        self._change_width(-_STEP)

    def _change_width(self, step: int) -> None:
        shown = self.book_pane.row_width or self.book_pane.text_width
        # Beyond the edge of the pane a wider text would look the same, and the way back would be long.
        width = min(shown, self.book_pane.text_width) + step
        self._set("text_width", max(LEAST_TEXT_WIDTH, min(width, MOST_TEXT_WIDTH)))

    def action_columns(self) -> None:
        pane = self.book_pane
        wanted = 1 if pane.columns > 1 else 2
        self._set("columns", wanted)
        if wanted > 1 and pane.size.width and pane.column_count < wanted:
            least = least_width(wanted, pane.side_margin)
            key = self._focus_key
            self.notify(f"Two columns appear where the book has {least} cells of the screen; {key} gives it all.")

    def action_focus_mode(self) -> None:
        self.to_pane(Pane.BOOK)
        self.toggle_class(FOCUS_MODE)
        if self.has_class(FOCUS_MODE):
            self.notify(f"{self._focus_key} brings the rest back.", timeout=2)

    def action_typography(self) -> None:
        panels = self.query(TypographyPanel)
        if panels:
            self._close_panel()
            return
        self.to_pane(Pane.BOOK)
        panel = TypographyPanel(self._app.config)
        self.mount(panel, after="#panes")
        panel.focus()

    @on(TypographyPanel.Changed)
    def _panel_changed(self, event: TypographyPanel.Changed) -> None:
        self._set(event.key, event.value)

    @on(TypographyPanel.Closed)
    def _close_panel(self) -> None:
        self.query(TypographyPanel).remove()
        self.to_pane(Pane.BOOK)

    @property
    def _focus_key(self) -> str:
        return keys_of(BY_ID["focus-mode"], self._app.keymap)[0]

    @property
    def _app(self) -> "GistreadApp":
        return cast("GistreadApp", self.app)

    def _set(self, key: str, value: Value) -> None:
        """Change a setting at once, and remember it."""
        app = self._app
        if getattr(app.config, key) == value:
            return
        app.config = replace(app.config, **{key: value})  # type: ignore[arg-type]  # the panel offers what is allowed
        app.save(key, value)
        self.book_pane.set_typography(app.config)
        self.show_order()
        for panel in self.query(TypographyPanel):
            panel.show_config(app.config)
