"""The answers pane: questions, steps and answers.

Follows the newest unless the user has scrolled away.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

from textual.geometry import Size
from textual.message import Message

from gistread.readers.events import ReaderEvent, Shown
from gistread.readers.trace import Places
from gistread.tui.answer_blocks import (
    AnswerTarget,
    Exchange,
    Unfold,
    continued_exchanges,
    exchange_blocks,
    line_key,
    with_event,
)
from gistread.tui.commands import CommandTarget, bindings
from gistread.tui.text import Block, Clicked, LongText
from gistread.tui.widgets.moving import MOVING

_WIDTH = 80  # Most cells of an answer, with its bars
_NO_QUESTIONS = "No questions yet. Type one below; the answer names its sources."
_EMPTY = (Block(_NO_QUESTIONS, style="muted"),)


class AnswersPane(CommandTarget, LongText):
    """The exchanges about a book, one below the other. Only the last one can still change."""

    OWN_COMMANDS = MOVING
    BINDINGS = bindings(MOVING)
    CURSOR_NEEDS_FOCUS = True

    @dataclass
    class Followed(Message):
        exchange: int
        target: AnswerTarget

    class Rewrapped(Message):
        """The answers were drawn for another width, and may need another height."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            _EMPTY, id=id, text_width=_WIDTH - 2, side_margin=0, cursor=True
        )
        self.exchanges: list[Exchange] = []
        # Names places of the book; replaced when the memory changes
        self.places = Places()
        self._targets: dict[Hashable, AnswerTarget] = {}
        self._last_start = 0  # Index of the first block of the last exchange
        self._drawn_width = 0
        # Row of the last automatic scroll; at another row, the user has scrolled
        self._scrolled_to = -1
        # Whether the newest answer was followed before the last resize
        self._followed = True

    @property
    def _following(self) -> bool:
        """Whether the view still follows the newest answer."""
        row = self.scroll_offset.y
        is_at_end = row >= self.max_scroll_y
        return is_at_end or row == self._scrolled_to

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        # Before Textual clips the position to the new size
        self._followed = self._following
        return super()._size_updated(size, virtual_size, container_size, layout)

    def on_resize(self) -> None:
        """Redraw, since each source is cut to one row, and keep the newest answer in view."""
        if self.exchanges and self.size.width != self._drawn_width:
            self._draw_all()
            self.post_message(self.Rewrapped())
        if self._followed:
            self.show_newest()

    def show_exchanges(self, exchanges: list[Exchange]) -> None:
        self.exchanges = list(exchanges)
        self._draw_all()
        self.set_cursor(("question", len(exchanges) - 1), scroll=False)
        self.show_newest()

    def change_last(self, **changes: Any) -> None:
        """Draw the last exchange with other fields."""
        self._set_last(replace(self.exchanges[-1], **changes))

    def add_events(self, *events: ReaderEvent) -> None:
        exchange = self.exchanges[-1]
        for event in events:
            exchange = with_event(exchange, event)
        self._set_last(exchange)

    @property
    def shows_steps(self) -> bool:
        return bool(self.exchanges) and self.exchanges[-1].shows_steps

    @property
    def last_rows(self) -> int:
        """Rows of the last exchange, together with a folded one directly above it."""
        is_drawn = self._index.find_key(("question", 0)) is not None
        if not is_drawn:
            return 0
        last = len(self.exchanges) - 1
        start = self._last_start
        if last > 0 and self.exchanges[last - 1].folded:
            before = self._index.find_key(("question", last - 1))
            if before is not None:
                start = before
        return self._index.height - self._index.first_row(start)

    @property
    def rows_to_rivals(self) -> int:
        """Rows of the last exchange down to what other passages say; 0 if they say the same.

        Their blocks have the key `rivals`.
        """
        index = self._index.find_key(("rivals", len(self.exchanges) - 1))
        if index is None:
            return 0
        _, end = self._index.run_of(index)
        return self._index.first_row(end) - self._index.first_row(self._last_start)

    def scroll_to_rivals(self) -> None:
        """Show what other passages say instead of the last answer."""
        self.scroll_to_key(("rivals", len(self.exchanges) - 1))

    @property
    def shown_places(self) -> tuple[tuple[int, int], ...]:
        """Places of the book given to the model for the last question, reported by its reader."""
        if not self.exchanges:
            return ()
        for event in reversed(self.exchanges[-1].trace):
            if isinstance(event, Shown):
                return event.places
        return ()

    def unfold(self, number: int) -> bool:
        """Show or hide the steps of an exchange. Returns whether it has any."""
        exchange = self.exchanges[number]
        if exchange.folded:
            self.exchanges[number] = replace(exchange, folded=False)
            self._draw_all()
            return True
        if not exchange.steps(self.places):
            return False
        self.exchanges[number] = replace(exchange, unfolded=not exchange.shows_steps)
        cursor = self.cursor_key
        self._draw_all()
        if cursor is None or self._index.find_key(cursor) is None:
            cursor = ("steps", number)
        self.set_cursor(cursor, scroll=False)
        self.call_after_refresh(lambda: self.scroll_to_key(("steps", number)))
        return True

    def fold(self, number: int) -> None:
        """Move an exchange to the end and show only its answer, to compare it with a new one."""
        exchange = replace(self.exchanges.pop(number), folded=True)
        self.exchanges.append(exchange)
        self._draw_all()

    def is_in_view(self, key: Hashable) -> bool:
        """Whether a row of the blocks with this key is in view."""
        index = self._index.find_key(key)
        return index is not None and self._in_view(index, self.size.height)

    def mark_kept(self, number: int) -> None:
        """Show that the answer of an exchange was kept as a note."""
        self.exchanges[number] = replace(self.exchanges[number], kept=True)
        self._draw_all()

    def _draw_all(self) -> None:
        self._drawn_width = self.size.width
        self._targets = {}
        blocks: list[Block] = []
        continued = continued_exchanges(self.exchanges)
        for number in range(len(self.exchanges)):
            self._last_start = len(blocks)
            blocks += self._draw(number, is_continued=number in continued)
        self.show(blocks or _EMPTY)

    def _draw(self, number: int, *, is_continued: bool = False) -> list[Block]:
        """The blocks of an exchange. Adds their targets.

        `is_continued`: whether its answer was gone on with, which the last never was.
        """
        width = min(self.size.width, _WIDTH)
        drawn = exchange_blocks(
            self.exchanges[number],
            number,
            self.places,
            width,
            is_continued=is_continued,
        )
        self._targets |= drawn.targets
        return drawn.blocks

    def _set_last(self, exchange: Exchange) -> None:
        """Draw the last exchange anew, and follow it unless the user has scrolled away."""
        was_following = self._following
        self.exchanges[-1] = exchange
        last = len(self.exchanges) - 1
        self.replace_from(self._last_start, self._draw(last))
        if was_following:
            self.show_newest()

    def show_newest(self) -> None:
        """Scroll to the last exchange, once the pane has its new height."""
        self.call_after_refresh(self._scroll_to_newest)

    def _scroll_to_newest(self) -> None:
        """Scroll to the end of the last exchange.

        If it is answered and longer than the pane, scroll to its beginning.
        """
        self.action_bottom()
        if self.exchanges:
            self._show_beginning_or_step(self.exchanges[-1])
        self._scrolled_to = self.scroll_offset.y

    def _show_beginning_or_step(self, exchange: Exchange) -> None:
        """Scroll to the question of a long answer, or to the latest step of a running reader."""
        last = len(self.exchanges) - 1
        if exchange.answer and self.last_rows > self.size.height:
            self.scroll_to_key(("question", last), row=0)
        elif exchange.running and exchange.shows_steps and not exchange.answer:
            latest_step = len(exchange.steps(self.places)) - 1
            self.scroll_to_key(line_key(last, latest_step))

    def action_line_down(self, count: int = 1) -> None:
        """Move to the next lines (negative: the previous).

        Lines longer than the pane are scrolled through.
        """
        step = 1 if count > 0 else -1
        for _ in range(abs(count)):
            if self._scrolls_on(down=count > 0):
                super().action_line_down(step)
            else:
                self.move_cursor(step)

    def _scrolls_on(self, *, down: bool) -> bool:
        """Whether the current line continues out of view, or is the last in this direction."""
        index = self._cursor_at()
        if index is None:
            return True
        if not self._in_view(index, self.size.height):
            return False
        start, end = self._index.run_of(index)
        top = self.scroll_offset.y
        if down:
            continues = self._index.first_row(end) > top + self.size.height
        else:
            continues = self._index.first_row(start) < top
        return continues or self._next_keyed(index, forward=down) is None

    def follow_line(self) -> bool:
        """Follow the cursor's line. Returns whether it has a target."""
        key = self.cursor_key
        index = self._cursor_at()
        if index is None or not self._in_view(index, self.size.height):
            return False
        target = self._targets.get(key)
        if target is None:
            return False
        self._follow(key, target)
        return True

    def on_long_text_clicked(self, event: Clicked) -> None:
        """Follow a link, or the target of a row; in an answer only its links."""
        kind = event.block_key[0] if isinstance(event.block_key, tuple) else ""
        target = event.link if isinstance(event.link, AnswerTarget) else None
        if target is None and kind != "answer":
            target = self._targets.get(event.block_key)
        if target is not None:
            self._follow(event.block_key, target)

    def _follow(self, key: Hashable, target: AnswerTarget) -> None:
        """Report a target. `key`: (kind, number of the exchange, …) of its block."""
        assert isinstance(key, tuple)
        _, number, *_ = key
        if isinstance(target, Unfold):
            self.unfold(number)
        self.post_message(self.Followed(number, target))
