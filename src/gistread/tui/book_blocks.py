"""A book as blocks of long text: one a paragraph, made when it is drawn. Pure."""

from collections.abc import Sequence

from gistread.book.model import Book, Kind, Paragraph
from gistread.tui.text.document import Block

_CENTRED = {Kind.HEADING, Kind.BREAK}


class BookBlocks(Sequence[Block]):
    """Block `i` is paragraph `i`."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def __len__(self) -> int:
        return len(self._book.paragraphs)

    def __getitem__(self, index: int) -> Block:  # type: ignore[override]  # slices are never asked for
        paragraph = self._book.paragraphs[index]
        return paragraph_block(self._book, paragraph, key=index)


def paragraph_block(book: Book, paragraph: Paragraph, key: object) -> Block:
    """One paragraph as it stands in the book pane."""
    kind = paragraph.kind
    return Block(
        text=book.text[paragraph.start : paragraph.end],
        key=key,
        start=paragraph.start,
        style=kind.value,
        level=paragraph.level,
        indent=_indent(paragraph),
        blank_before=2 if kind is Kind.HEADING else 1,
        align="center" if kind in _CENTRED else "left",
    )


def _indent(paragraph: Paragraph) -> int:
    match paragraph.kind:
        case Kind.VERSE | Kind.QUOTE:
            return 4
        case Kind.LIST:
            return 2 * max(1, paragraph.level)
        case Kind.NOTE:
            return 2
        case _:
            return 0
