"""The blocks of a long text, the marks over it, and its messages.

Styles are names that the theme defines.
"""

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from textual.message import Message
from textual.widget import Widget

from gistread.tui.text.figure import Figure


@dataclass(frozen=True, slots=True)
class Span:
    """`Block.text[start:end]` in an additional style, with an optional link."""

    start: int
    end: int
    style: str = "link"
    link: Hashable | None = None  # Reported as `Clicked.link`


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph to draw. Markup and control characters in it have no effect."""

    text: str
    # Identifies the block. The block cursor treats neighbours with the same key as one.
    key: Hashable = None
    start: int | None = None  # Offset of `text` in the book; None for other text
    style: str = "text"  # A style without a rule in long_text.tcss is drawn as text
    # A heading's level, from 1; adds the style `heading-1` … `heading-4`
    level: int = 0
    indent: int = 0  # Cells between the rail and the text
    first_indent: int = 0  # Additional cells before the first row of a paragraph
    # Additional cells before a row that continues a line, as in verse
    turnover: int = 0
    # A label in the indent of the first row, such as ` 11 ▾`. A wider label moves the text of that
    # row.
    hanging: str = ""
    rail: str = ""  # At the left of each row, such as `╎ `
    # Muted words at the right edge of the last row, such as `(410 w)`; in a row of their own if
    # necessary.
    tail: str = ""
    blank_before: int = 1  # Empty rows above
    # Whether to draw a line from the text to the right edge or the tail
    rule: bool = False
    # Whether a chapter begins: the empty rows above belong to its first row
    opens: bool = False
    # A style whose background fills the rows; empty: that of the widget
    ground: str = ""
    # `left` means right for a right-to-left script
    align: Literal["left", "center", "justify"] = "left"
    language: str = ""  # BCP 47, for hyphenation; empty: no hyphenation
    # (start, end, language) of parts in another language
    foreign: tuple[tuple[int, int, str], ...] = ()
    max_width: int = 0  # Maximum cells of a row of text; 0: no limit
    spans: tuple[Span, ...] = ()  # Later ones are drawn over earlier ones
    figure: Figure | None = None  # Drawn in the middle above the text


class BlockSource(Protocol):
    """Blocks by index, possibly created on demand; one index always gives equal blocks.

    With a method `bare`, a source creates blocks without spans, faster, to count their rows.
    """

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Block: ...


class Mark(NamedTuple):
    """`Book.text[start:end]`, drawn in `style` (a component style of `LongText`)."""

    start: int
    end: int
    style: str = "mark"
    # Drawn in the margin of the row where the mark begins, if there is room
    sign: str = ""
    sign_style: str = "sign"


class MarkIndex:
    """Finds the marks that overlap a range of the book."""

    def __init__(self, marks: Iterable[Mark] = ()) -> None:
        numbered = [(number, mark) for number, mark in enumerate(marks)]
        nonempty = [
            (number, mark) for number, mark in numbered if mark.end > mark.start
        ]
        self._marks = sorted(nonempty, key=lambda pair: pair[1].start)
        self._starts = [mark.start for _, mark in self._marks]
        lengths = (mark.end - mark.start for _, mark in self._marks)
        self._longest = max(lengths, default=0)

    def between(self, start: int, end: int) -> list[Mark]:
        """Marks that overlap `[start, end)`, in the order given; the last is drawn on top."""
        # No mark that begins earlier is long enough to reach `start`.
        first = bisect_left(self._starts, start - self._longest + 1)
        last = bisect_left(self._starts, end)
        candidates = self._marks[first:last]
        overlapping = [
            (number, mark) for number, mark in candidates if mark.end > start
        ]
        return [mark for _, mark in sorted(overlapping)]


@dataclass
class LongTextMessage(Message, namespace="long_text"):
    """Base of the messages. `@on` can select them by the widget that sent them."""

    long_text: Widget

    @property
    def control(self) -> Widget:
        return self.long_text


@dataclass
class OffsetChanged(LongTextMessage, namespace="long_text"):
    """The first character of the book in view has changed. Sent at most once per refresh.

    `turned`: whether the user turned screens; several may be turned between two refreshes.
    """

    offset: int
    turned: bool = False


@dataclass
class EndChanged(LongTextMessage, namespace="long_text"):
    """More or fewer rows are in view, below the same first character."""


@dataclass
class Clicked(LongTextMessage, namespace="long_text"):
    block_key: Hashable
    # The character under the mouse; None on a label, a tail or the empty rest of a row.
    offset_in_block: int | None
    book_offset: int | None  # The same in the book; None outside the book's text
    link: Hashable | None  # `Span.link` of the topmost span there that has one
    text: str  # Of the block
    again: bool  # Whether the cursor was on the block already
