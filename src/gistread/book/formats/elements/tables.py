"""Distinguishes data tables, which become rows of text, from layout tables."""

from collections.abc import Iterator

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text

COLUMN_END = " | "
# Longer cells are prose, which reads better cell by cell.
_LONGEST_CELL_CHARACTERS = 300


def is_data_table(table: etree._Element) -> bool:
    """Short cells, some with words, and no nested table."""
    found = False
    for element in table.iter():
        name = local_name(element)
        if name == "table" and element is not table:
            return False
        if name in ("td", "th"):
            words = len(plain_text(element))
            if words > _LONGEST_CELL_CHARACTERS:
                return False
            found = found or words > 0
    return found


def rows_of(table: etree._Element) -> Iterator[etree._Element]:
    return (element for element in table.iter() if local_name(element) == "tr")


def cells_of(row: etree._Element) -> Iterator[etree._Element]:
    return (cell for cell in row if local_name(cell) in ("td", "th"))
