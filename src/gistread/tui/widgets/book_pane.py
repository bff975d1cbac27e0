"""The book pane: the book as long text, with its typography and pictures."""

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from textual import events
from textual.message import Message

from gistread.book.model import Book
from gistread.config import Config
from gistread.tui.book_blocks import BookBlocks, PageStyle, is_story
from gistread.tui.commands import bindings
from gistread.tui.marking.caret import SelectableText
from gistread.tui.marking.caret_commands import SELECTING
from gistread.tui.text.bidi import reorders
from gistread.tui.text.figure import Figure
from gistread.tui.widgets.moving import MOVING

_NUMBERS = 2  # Cells beside the margin for the numbers of sections


class BookPane(SelectableText):
    """The book's text. Nothing moves unless the user moves it."""

    OWN_COMMANDS = (*MOVING, *SELECTING)
    BINDINGS = bindings(MOVING)

    keeps_end = True

    @dataclass
    class Wanted(Message):
        """The user wants to go to this share of the book, from 0 to 1."""

        share: float

    @dataclass
    class Pointed(Message):
        """The mouse has come to a link of the book, by its index, or left it."""

        link: int | None

    def __init__(self, config: Config, *, id: str | None = None) -> None:
        super().__init__(id=id, text_width=config.text_width)
        self.book: Book | None = None
        self._figures: dict[int, Figure | None] = {}
        self._page_style = PageStyle()
        self._pointed_at: int | None = None
        # What was in view when the pane was last on the screen
        self._last_range = (0, 0)
        self.set_typography(config)

    @property
    def place(self) -> int:
        """Offset of the first character in view; 0 before there is a book."""
        return self.reading_offset or 0

    @property
    def last_range(self) -> tuple[int, int] | None:
        """(start, end) of the book's text in view.

        While the pane is hidden, this is what was in view at the same place.
        """
        view = self.visible_range
        if view is None:
            return None
        start, end = view
        last_start, _ = self._last_range
        is_hidden = start == end
        if is_hidden and last_start == start:
            return self._last_range
        self._last_range = view
        return view

    def share_read(self, book: Book) -> float:
        """Share of the book before the view, from 0 to 1; 1 if the end is in view."""
        view = self.last_range
        if view is None:
            return 0.0
        start, end = view
        if end >= len(book.text):
            return 1.0
        return start / len(book.text)

    def set_typography(self, config: Config) -> None:
        """Draw the book as these settings have it."""
        self._config = config
        style = self._style()
        if style != self._page_style:
            self._page_style = style
            if self.book is not None:
                self.show(BookBlocks(self.book, style, self._figures))
        self.text_width = config.text_width
        self.side_margin = config.side_margin + _NUMBERS
        self.overlap = config.overlap
        self.reorder = reorders(config.bidi, os.environ)

    def _style(self) -> PageStyle:
        """How pages are drawn; by default, a story has indented paragraphs."""
        config = self._config
        indents = config.paragraphs == "indent"
        if config.paragraphs == "auto" and self.book is not None:
            indents = is_story(self.book)
        return PageStyle(indents, config.justify, config.hyphenate)

    def show_book(self, book: Book, offset: int) -> None:
        """Show another book at this offset."""
        self.book = book
        self._figures = {}
        self._page_style = self._style()
        blocks = BookBlocks(book, self._page_style, self._figures)
        self.show(blocks, keep_position=False)
        if offset:
            self.scroll_to_offset(offset)

    def show_figures(self, figures: Mapping[int, Figure | None]) -> None:
        """Draw pictures above these paragraphs, by index; None removes one."""
        self._figures.update(figures)
        for index in figures:
            self._index.recount(index)
        self._refit()

    @property
    def block_count(self) -> int:
        return len(self._index)

    def blocks_of(self, key: Hashable) -> range:
        """Indices of the blocks with this key; empty if there are none."""
        first = self._index.find_key(key)
        if first is None:
            return range(0)
        return range(*self._index.run_of(first))

    def shows_key(self, key: Hashable) -> bool:
        """Whether a row of these blocks is in view."""
        first = self._index.find_key(key)
        if first is None or not self._ready:
            return False
        start, end = self._index.run_of(first)
        top, bottom = self.rows_in_view
        is_above = self._index.first_row(end) <= top
        is_below = self._index.first_row(start) > bottom
        return not is_above and not is_below

    def on_mouse_move(self, event: events.MouseMove) -> None:
        position = event.get_content_offset(self)
        self._point_at(None if position is None else self.link_at(position))

    def on_leave(self) -> None:
        self._point_at(None)

    def _point_at(self, link: Hashable | None) -> None:
        index = link if isinstance(link, int) else None
        if index != self._pointed_at:
            self._pointed_at = index
            self.post_message(self.Pointed(index))

    def scroll_to_beginning(self) -> None:
        """Scroll to the empty rows above the first line."""
        super().action_top()

    def action_top(self) -> None:
        self.post_message(self.Wanted(0.0))

    def action_bottom(self) -> None:
        self.post_message(self.Wanted(1.0))
