"""What a long text is made of: blocks, one a paragraph (or a label, a gist, a message). Data only.

A block knows neither its rows nor its colours: it names a style, and the theme says what that looks like.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Span:
    """`Block.text[start:end]` drawn in a further style, and perhaps a link."""

    start: int
    end: int
    style: str = "link"
    link: Hashable | None = None
    """Handed back in `LongText.Clicked.link`. Whatever the owner of the block understands."""


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph as it is shown. All of it is text: nothing in it is read as markup or as a control."""

    text: str
    key: Hashable = None
    """Names the block to its owner. Neighbours with the same key are one for the block cursor."""
    start: int | None = None
    """Offset in the book of `text[0]`; None where the text is not the book's. Such text equals the book's there."""
    style: str = "text"
    """A style of `LongText.COMPONENT_CLASSES` without its prefix; one that is unknown there is drawn as text."""
    level: int = 0
    """Of a heading: 1 is the highest. It chooses `heading-1` … `heading-4` on top of `heading`."""
    indent: int = 0
    """Cells between the rail and the text."""
    first_indent: int = 0
    """Further cells before the first row: the book's way to start a paragraph."""
    turnover: int = 0
    """Further cells before a row that continues a line: the book's way to wrap verse."""
    hanging: str = ""
    """A label drawn in the indent of the first row, such as ` 11 ▾`. Where it is wider, the first row starts later."""
    rail: str = ""
    """Drawn at the left of each row, such as `╎ `."""
    tail: str = ""
    """Muted words behind the last row at the right edge, such as `(410 w)`; in a row of their own if need be."""
    blank_before: int = 1
    """Empty rows above."""
    align: Literal["left", "center", "justify"] = "left"
    """`left` is the right for a script that runs from there."""
    language: str = ""
    """BCP 47: by the rules of which words may be parted at the end of a row. Empty: they are not."""
    foreign: tuple[tuple[int, int, str], ...] = ()
    """Parts `[start, end)` of the text in another language than that."""
    max_width: int = 0
    """Most cells of a row of the text; 0 for what the widget has."""
    spans: tuple[Span, ...] = ()
    """Later ones are drawn over earlier ones."""


class BlockSource(Protocol):
    """Blocks by index. They may be made when asked for; asked twice, equal ones must come."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Block: ...


@runtime_checkable
class Countable(Protocol):
    """A source that can make a block faster when only its rows are to be counted."""

    def bare(self, index: int, /) -> Block:
        """The block without what changes nothing about its rows: its spans."""
        ...
