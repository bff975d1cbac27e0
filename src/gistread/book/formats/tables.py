"""A table of XHTML becomes rows of text, where it is a table of facts and not a way to lay out a page."""

from lxml import etree

from gistread.book.formats.markup import local_name

_SEPARATOR = " | "
# A cell longer than this holds prose, and a table of prose reads better cell by cell.
_LONGEST_CELL_CHARACTERS = 300
_SKIPPED = frozenset(("script", "style", "template", "rp"))


def table_rows(table: etree._Element) -> list[str] | None:
    """The rows of `table` as lines, or None where it should be read cell by cell."""
    rows = []
    for element in table.iter():
        name = local_name(element)
        if name == "table" and element is not table:
            return None
        if name != "tr":
            continue
        cells = [_cell_text(cell) for cell in element if local_name(cell) in ("td", "th")]
        if any(len(cell) > _LONGEST_CELL_CHARACTERS for cell in cells):
            return None
        row = _SEPARATOR.join(cells).strip(" |") if any(cells) else ""
        if row:
            rows.append(row)
    return rows


def _cell_text(cell: etree._Element) -> str:
    parts: list[str] = []
    _collect(cell, parts)
    return " ".join("".join(parts).split())


def _collect(element: etree._Element, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        name = local_name(child)
        if name in ("img", "image"):
            parts.append(f"[{child.get('alt')}]" if child.get("alt") else "")
        elif name and name not in _SKIPPED:
            inline = name in ("a", "abbr", "b", "cite", "code", "em", "i", "span", "strong", "sub", "sup", "small", "u")
            parts.append("" if inline else " ")
            _collect(child, parts)
            parts.append("" if inline else " ")
        parts.append(child.tail or "")
