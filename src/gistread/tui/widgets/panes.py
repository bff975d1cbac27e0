"""The book pane and the answers pane: long text with this program's keys, and what each adds."""

from dataclasses import replace

from gistread.book.model import Book
from gistread.readers.events import ReaderEvent
from gistread.tui.answer_blocks import Exchange, exchange_blocks, heard
from gistread.tui.book_blocks import BookBlocks
from gistread.tui.commands import Place, bindings
from gistread.tui.text.document import Block
from gistread.tui.text.widget import LongText


class BookPane(LongText):
    """The calm part: nothing in it moves unless the reader moves."""

    BINDINGS = bindings(Place.MOVING)

    def __init__(self, text_width: int, *, id: str | None = None) -> None:
        super().__init__(id=id, text_width=text_width)

    @property
    def place(self) -> int:
        """Offset of the first character in view; 0 before there is a book."""
        return self.reading_offset or 0

    def share_read(self, book: Book) -> float:
        """How much of the book lies behind, from 0 to 1; all of it when its end is in view."""
        view = self.visible_range
        if view is None:
            return 0.0
        return 1.0 if view[1] >= len(book.text) else view[0] / len(book.text)

    def show_book(self, book: Book, offset: int) -> None:
        self.show(BookBlocks(book), keep_position=False)
        if offset:
            self.scroll_to_offset(offset)


class AnswersPane(LongText):
    """The questions of this sitting and of earlier ones, the newest at the end."""

    BINDINGS = bindings(Place.MOVING)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, side_margin=1, follow=True)
        self.exchanges: list[Exchange] = []
        self._blocks: list[Block] = []
        self._last_start = 0

    def show_exchanges(self, exchanges: list[Exchange]) -> None:
        """Replace everything."""
        self.exchanges = list(exchanges)
        self._blocks = []
        for number, exchange in enumerate(exchanges):
            self._last_start = len(self._blocks)
            self._blocks += exchange_blocks(exchange, number)
        self.show(self._blocks, keep_position=False)
        self._to_end()

    def begin(self, question: str) -> None:
        """A new question stands at the end."""
        self.exchanges.append(Exchange(question, running=True))
        blocks = exchange_blocks(self.exchanges[-1], len(self.exchanges) - 1)
        self._last_start = len(self._blocks)
        self._blocks += blocks
        self.show(self._blocks)
        self._to_end()

    def hear(self, *events: ReaderEvent) -> None:
        """What the reader said about the last question."""
        exchange = self.exchanges[-1]
        for event in events:
            exchange = heard(exchange, event)
        self._set_last(exchange)

    def end(self, problem: str) -> None:
        """No more is coming."""
        self._set_last(replace(self.exchanges[-1], running=False, problem=problem))

    def _set_last(self, exchange: Exchange) -> None:
        self.exchanges[-1] = exchange
        blocks = exchange_blocks(exchange, len(self.exchanges) - 1)
        removed = len(self._blocks) - self._last_start
        self._blocks[self._last_start :] = blocks
        self.splice(self._last_start, removed, blocks)
        self._to_end()

    def _to_end(self) -> None:
        self.call_after_refresh(self.scroll_end, animate=False)
