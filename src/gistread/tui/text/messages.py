"""Messages of a long text: `LongText.Clicked` is handled by `on_long_text_clicked`, and so on."""

from collections.abc import Hashable

from textual.message import Message
from textual.widget import Widget


class About(Message, namespace="long_text"):
    """Base of the messages: `@on` can select by the widget that sent them."""

    def __init__(self, long_text: Widget) -> None:
        super().__init__()
        self.long_text = long_text

    @property
    def control(self) -> Widget:
        return self.long_text


class OffsetChanged(About, namespace="long_text"):
    """Another character of the book is the first in view. At most one per refresh."""

    def __init__(self, long_text: Widget, offset: int) -> None:
        super().__init__(long_text)
        self.offset = offset


class Clicked(About, namespace="long_text"):
    """A block was clicked once, without selecting."""

    def __init__(
        self,
        long_text: Widget,
        block_key: Hashable,
        index: int,
        offset_in_block: int | None,
        book_offset: int | None,
        link: Hashable | None,
    ) -> None:
        super().__init__(long_text)
        self.block_key = block_key
        self.index = index
        self.offset_in_block = offset_in_block
        """The character under the mouse; None on a label, a tail or the empty rest of a row."""
        self.book_offset = book_offset
        """The same in the book; None where that is not the book's text."""
        self.link = link
        """`Span.link` of the topmost span there that has one."""
