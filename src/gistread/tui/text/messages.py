"""What a long text tells its owner: `LongText.Clicked` and so on, handled by `on_long_text_clicked` and so on."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from gistread.tui.text.view import TextView


class About(Message, namespace="long_text"):
    """What the messages of a long text have in common: `@on` can select by that widget."""

    def __init__(self, long_text: "TextView") -> None:
        super().__init__()
        self.long_text = long_text

    @property
    def control(self) -> "TextView":
        """The widget that sent it."""
        return self.long_text


class OffsetChanged(About, namespace="long_text"):
    """The first of the book's characters in view is another one. At most one a refresh."""

    def __init__(self, long_text: "TextView", offset: int) -> None:
        super().__init__(long_text)
        self.offset = offset


class Clicked(About, namespace="long_text"):
    """A block was clicked, once, without selecting."""

    def __init__(
        self,
        long_text: "TextView",
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


class Activated(About, namespace="long_text"):
    """The action `activate` on the cursor's block."""

    def __init__(self, long_text: "TextView", key: Hashable) -> None:
        super().__init__(long_text)
        self.key = key


class CursorMoved(About, namespace="long_text"):
    """The cursor stands on another key."""

    def __init__(self, long_text: "TextView", key: Hashable) -> None:
        super().__init__(long_text)
        self.key = key
