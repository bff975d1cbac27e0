"""The blocks of a long text: paragraphs, labels, gists, messages. Styles are named; the theme defines them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Span:
    """`Block.text[start:end]` in an additional style, and perhaps a link."""

    start: int
    end: int
    style: str = "link"
    link: Hashable | None = None
    """Returned in `LongText.Clicked.link`."""


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph as it is shown. Nothing in it is read as markup or as a control character."""

    text: str
    key: Hashable = None
    """Identifies the block. Neighbours with the same key are one for the block cursor."""
    start: int | None = None
    """Offset of `text` in the book; None for other text."""
    style: str = "text"
    """One of `stylesheet.STYLES`; unknown styles are drawn as text."""
    level: int = 0
    """Of a heading, from 1; adds the style `heading-1` … `heading-4`."""
    indent: int = 0
    """Cells between the rail and the text."""
    first_indent: int = 0
    """Additional cells before the first row of a paragraph."""
    turnover: int = 0
    """Additional cells before a row that continues a line, as in verse."""
    hanging: str = ""
    """A label in the indent of the first row, such as ` 11 ▾`. A wider label moves the text of that row."""
    rail: str = ""
    """At the left of each row, such as `╎ `."""
    tail: str = ""
    """Muted words at the right edge of the last row, such as `(410 w)`; in a row of their own if necessary."""
    blank_before: int = 1
    """Empty rows above."""
    align: Literal["left", "center", "justify"] = "left"
    """`left` means right for a right-to-left script."""
    language: str = ""
    """BCP 47, for hyphenation; empty: no hyphenation."""
    foreign: tuple[tuple[int, int, str], ...] = ()
    """(start, end, language) of parts in another language."""
    max_width: int = 0
    """Maximum cells of a row of text; 0: no limit."""
    spans: tuple[Span, ...] = ()
    """Later ones are drawn over earlier ones."""


class BlockSource(Protocol):
    """Blocks by index, perhaps made on demand; the same index gives equal blocks."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Block: ...


@runtime_checkable
class Countable(Protocol):
    """A source that makes a block faster when only its rows are counted."""

    def bare(self, index: int, /) -> Block:
        """The block without its spans."""
        ...
