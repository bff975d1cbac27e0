"""The answers pane: questions, steps and answers. Follows the newest unless the person has scrolled away."""

from collections.abc import Hashable
from dataclasses import replace

from textual.message import Message

from gistread.readers.events import ReaderEvent
from gistread.tui.answer_blocks import AnswerTarget, Exchange, Unfold, exchange_blocks, line_key, with_event
from gistread.tui.commands import Scope, bindings
from gistread.tui.text import Block, Clicked, LongText
from gistread.tui.work.lines import Places
from gistread.user_data import SavedQuestion

_EMPTY = (Block("No questions yet. Type one below; the answer names its sources.", style="muted"),)


class AnswersPane(LongText):
    """The blocks of the last exchange begin at `_last_start`."""

    BINDINGS = bindings(Scope.MOVING)

    class Followed(Message):
        def __init__(self, exchange: int, target: AnswerTarget) -> None:
            super().__init__()
            self.exchange = exchange
            self.target = target

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(_EMPTY, id=id, side_margin=0, cursor=True, follow=True)
        self.exchanges: list[Exchange] = []
        self.places = Places()  # names places of the book; replaced when the memory changes
        self._blocks: list[Block] = []
        self._targets: dict[Hashable, AnswerTarget] = {}
        self._last_start = 0
        self._drawn_width = 0
        self._left_at = -1  # row of the last automatic scroll; at another row, the person has scrolled

    def on_resize(self) -> None:
        """Redraw, since each source is cut to one row."""
        if self.exchanges and self.size.width != self._drawn_width:
            following = self.scroll_offset.y == self._left_at
            self._draw_all()
            if following:
                self._scroll_to_newest()

    def show_exchanges(self, exchanges: list[Exchange]) -> None:
        self.exchanges = list(exchanges)
        self._draw_all()
        self.set_cursor(("question", len(exchanges) - 1), scroll=False)
        self._scroll_to_newest()

    def begin(self, exchange: Exchange) -> None:
        """Show a running question."""
        self.exchanges.append(exchange)
        self._draw_all()
        self.set_cursor(("question", len(self.exchanges) - 1), scroll=False)
        self._scroll_to_newest()

    def set_record(self, record: SavedQuestion) -> None:
        """Set the saved record of the last exchange."""
        self._set_last(replace(self.exchanges[-1], record=record))

    def set_models(self, models: str) -> None:
        self._set_last(replace(self.exchanges[-1], models=models))

    def add_events(self, *events: ReaderEvent) -> None:
        exchange = self.exchanges[-1]
        for event in events:
            exchange = with_event(exchange, event)
        self._set_last(exchange)

    def end(self, problem: str) -> None:
        self._set_last(replace(self.exchanges[-1], running=False, making=None, problem=problem))

    @property
    def works(self) -> bool:
        return bool(self.exchanges) and self.exchanges[-1].shows_work

    @property
    def last_rows(self) -> int:
        """Rows of the last exchange."""
        return self._index.height - self._index.first_row(self._last_start) if self._blocks else 0

    @property
    def shown_places(self) -> tuple[tuple[int, int], ...]:
        """Places of the book given to the model for the last question, as reported by its reader."""
        passages = self.exchanges[-1].work.passages if self.exchanges else None
        return passages.places if passages else ()

    def unfold(self, number: int) -> bool:
        """Show or hide the steps of an exchange. Returns whether it has any."""
        exchange = self.exchanges[number]
        if not exchange.work:
            return False
        self.exchanges[number] = replace(exchange, unfolded=not exchange.shows_work)
        on_it = self.cursor_key
        self._draw_all()
        if on_it is not None and self._index.find_key(on_it) is None:
            on_it = ("work", number)
        self.set_cursor(on_it if on_it is not None else ("work", number), scroll=False)
        self.call_after_refresh(lambda: self.scroll_to_key(("work", number)))
        return True

    def mark_kept(self, number: int) -> None:
        """Show that the answer of an exchange was kept as a note."""
        self.exchanges[number] = replace(self.exchanges[number], kept=True)
        self._draw_all()

    def _draw_all(self) -> None:
        self._drawn_width = self.size.width
        self._blocks, self._targets = [], {}
        for number, exchange in enumerate(self.exchanges):
            self._last_start = len(self._blocks)
            drawn = exchange_blocks(exchange, number, self.places, self.size.width)
            self._blocks += drawn.blocks
            self._targets |= drawn.targets
        self.show(self._blocks or _EMPTY)

    def _set_last(self, exchange: Exchange) -> None:
        following = self.scroll_offset.y >= self.max_scroll_y or self.scroll_offset.y == self._left_at
        self.exchanges[-1] = exchange
        drawn = exchange_blocks(exchange, len(self.exchanges) - 1, self.places, self.size.width)
        self._targets |= drawn.targets
        before, self._blocks[self._last_start :] = self._blocks[self._last_start :], drawn.blocks
        self.replace_blocks(self._last_start, before, drawn.blocks)
        if following:
            self._scroll_to_newest()

    def _scroll_to_newest(self) -> None:
        self.call_after_refresh(self._show_newest)

    def _show_newest(self) -> None:
        exchange = self.exchanges[-1] if self.exchanges else None
        current = exchange.work.current if exchange and self.works and not exchange.answer else None
        self.action_bottom()
        if current is not None:
            self.scroll_to_key(line_key(len(self.exchanges) - 1, current))
        self._left_at = self.scroll_offset.y

    def _is_current(self, index: int) -> bool:
        return self.has_focus and super()._is_current(index)

    def action_line_down(self, count: int = 1) -> None:
        """Move to the next lines (negative: the previous), scrolling through lines longer than the pane."""
        step = 1 if count > 0 else -1
        for _ in range(abs(count)):
            if self._beyond(below=count > 0):
                super().action_line_down(step)
            else:
                self.move_cursor(step)

    def _beyond(self, *, below: bool) -> bool:
        """Whether the current line continues out of view, or is the last in its direction."""
        index = self._cursor_at()
        if index is None:
            return True
        start, end = self._index.run_of(index)
        top = self.scroll_offset.y
        if not self._in_view(index, self.rows_shown):
            return False
        hidden = self._index.first_row(end) > top + self.rows_shown if below else self._index.first_row(start) < top
        return hidden or self._next_keyed(index, forward=below) is None

    def follow_line(self) -> bool:
        """Follow the cursor's line. Returns whether it has a target."""
        key = self.cursor_key
        index = self._cursor_at()
        if index is None or not self._in_view(index, self.rows_shown) or key not in self._targets:
            return False
        self._tell(key, self._targets[key])
        return True

    def on_long_text_clicked(self, event: Clicked) -> None:
        kind = event.block_key[0] if isinstance(event.block_key, tuple) else ""
        target = event.link if isinstance(event.link, AnswerTarget) else None
        if target is None and kind != "answer":
            target = self._targets.get(event.block_key)
        if target is not None:
            self._tell(event.block_key, target)

    def _tell(self, key: Hashable, target: AnswerTarget) -> None:
        assert isinstance(key, tuple)
        if isinstance(target, Unfold):
            self.unfold(key[1])
        self.post_message(self.Followed(key[1], target))
