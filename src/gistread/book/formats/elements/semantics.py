"""Reads what XHTML elements are: blocks, notes, verse, figures.

Also the markers of lists, and the sources of pictures.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lxml import etree

from gistread.book.formats.elements.markup import (
    elements_named,
    local_name,
    plain_text,
    text_without,
)
from gistread.book.normalise import join_title, word_set

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ELEMENTS, _TYPES, _CLASSES = (
    {kind: word_set(words) for kind, words in _TABLES[table].items()}
    for table in ("elements", "types", "classes")
)
BLOCKS, SCRIPTS, CONTROLS = (
    _ELEMENTS[name] for name in ("blocks", "scripts", "controls")
)
NOTES_TYPES = _TYPES["notes"]
PAGE_NUMBER_TYPES = _TYPES["page_number"]
BACK_REFERENCE_TYPES = _TYPES["back_reference"]
PAGE_NUMBER_CLASSES = _CLASSES["page_number"]
LINE_NUMBER_CLASSES = _CLASSES["line_number"]
LICENCE_CLASSES = _CLASSES["licence"]
FURNITURE_CLASSES = LINE_NUMBER_CLASSES | LICENCE_CLASSES | _CLASSES["drawn_equation"]
HEADINGS = {f"h{n}": n for n in range(1, 7)}
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_REFERENCE = re.compile(r"[\d*†‡§]{1,4}$")
_REFERENCE_TYPES = frozenset(("noteref", "doc-noteref"))
_NAMED_REFERENCE = re.compile(
    r"(?:(?:note|fn|n)\.?)?(?:\d{1,4}|[ivxlc]{1,6})", re.IGNORECASE
)
_NO_PHRASES = (
    BLOCKS | SCRIPTS | CONTROLS | {"svg", "math", "iframe", "nav", "img", "hr"}
)
_SHORTEST_WORD = 3
"""Letters of a reference that is a word of the sentence; "a", "bb" and "注" are signs."""
LONGEST_INITIAL = 3
_WORDS_OF_ONE_LETTER = frozenset("aioyeàéuskvzвкиосуяа")

Types = frozenset[str]  # The values of `epub:type` and `role`


def types_of(element: etree._Element) -> Types:
    """The types of an element, of XML or of repaired HTML.

    Kindle books that Calibre converts have them without their namespace.
    """
    named = (
        element.get(EPUB_TYPE) or element.get("epub:type") or element.get("type") or ""
    )
    role = element.get("role") or ""
    if named or role:
        return frozenset((*named.split(), role))
    return frozenset()


def is_invisible(element: etree._Element) -> bool:
    """Whether the element's own attributes hide it."""
    return element.get("hidden") is not None or bool(
        _HIDDEN.search(element.get("style") or "")
    )


def is_verse(element: etree._Element, types: Types) -> bool:
    is_named_so = bool(
        types & _TYPES["verse"] or classes_of(element) & _CLASSES["verse"]
    )
    return is_named_so or local_name(element) == "linegroup"


def is_note(element: etree._Element, types: Types) -> bool:
    return bool(types & _TYPES["note"]) or bool(classes_of(element) & _CLASSES["note"])


def holds_notes(element: etree._Element, types: Types) -> bool:
    return bool(
        types & NOTES_TYPES
        or classes_of(element) & (_CLASSES["note"] | _CLASSES["notes"])
    )


def is_inner_note(name: str, types: Types) -> bool:
    """Whether an element inside a paragraph is a note and not a reference to one."""
    return name not in ("a", "sup") and bool(types & _TYPES["note"])


def is_drop_cap(element: etree._Element) -> bool:
    return bool(classes_of(element) & _CLASSES["drop_cap"])


def is_phrase(element: etree._Element) -> bool:
    """Whether an element holds only words and phrases: no paragraph, script or drawing."""
    return not any(
        local_name(each) in _NO_PHRASES for each in element.iterdescendants()
    )


def is_initial(text: str) -> bool:
    """Whether a text is one letter, perhaps after a quotation mark."""
    return len(text) <= LONGEST_INITIAL and sum(map(str.isalpha, text)) == 1


def is_word_of_one_letter(text: str) -> bool:
    """Whether an initial may be a word: "I went", "A man"."""
    return text.strip("“”‘’\"'«„—").casefold() in _WORDS_OF_ONE_LETTER


def needs_brackets(reference: str) -> bool:
    """Whether a note reference is a number or sign, and not a word of the sentence."""
    if reference[:1] in "[({" or " " in reference:
        return False
    is_word = sum(char.isalpha() for char in reference) >= _SHORTEST_WORD
    return not is_word or bool(_NAMED_REFERENCE.fullmatch(reference))


def is_figure(element: etree._Element, name: str) -> bool:
    return name == "figure" or (
        name == "div" and bool(classes_of(element) & _CLASSES["figure"])
    )


def is_caption(element: etree._Element, name: str) -> bool:
    """Whether a block is a picture's caption. A table's caption is text."""
    return name == "figcaption" or (
        name in ("p", "div") and bool(classes_of(element) & _CLASSES["caption"])
    )


def is_reference(element: etree._Element, name: str, types: Types) -> bool:
    """Whether <a> or <sup> is a note reference, to be set apart from the word before it."""
    has_class = name == "a" and classes_of(element) & _CLASSES["reference"]
    if has_class or types & _REFERENCE_TYPES:
        # Chinese publishers use a picture.
        names = map(local_name, element.iter())
        return bool(plain_text(element)) or "img" in names
    # A link that is raised, or raised words with a link.
    inner = "sup" if name == "a" else "a"
    inside = [child for child in element if local_name(child) == inner]
    if not any(child.get("href") or element.get("href") for child in inside):
        return False
    return _REFERENCE.match(plain_text(element)) is not None


def classes_of(element: etree._Element) -> frozenset[str]:
    classes = element.get("class")
    if classes:
        return frozenset(classes.lower().split())
    return frozenset()


_SECTIONS_OF_A_TABLE = frozenset(("thead", "tbody", "tfoot"))
_COLUMNS_OF_A_TABLE = frozenset(("colgroup", "col"))
_LONGEST_CELL = 300  # Longer cells are prose, to be read cell by cell.
_MOST_LINES = 2  # Of a cell with a unit or a name below; more are verse or paragraphs.

TableRows = list[list[etree._Element]]


def data_rows(table: etree._Element) -> TableRows | None:
    """The rows of cells of a table with short cells and nothing beside them.

    None for a table to be read cell by cell: one with prose, with verse, with a table inside, or
    with words outside its cells.
    """
    if next(islice(elements_named(table, "table"), 1, None), None) is not None:
        # Before any cell is read: nested tables would be read once for each level
        return None
    rows: TableRows = []
    if not _add_rows(table, rows):
        return None
    cells = [cell for row in rows for cell in row if plain_text(cell)]
    if not cells or max(len(plain_text(cell)) for cell in cells) > _LONGEST_CELL:
        return None
    several = sum(map(_has_several_lines, cells))
    if several * 2 >= len(cells):
        return None
    return rows


def _add_rows(table: etree._Element, rows: TableRows) -> bool:
    """Add the rows of a table or of a section of it; False if anything else is inside."""
    if has_own_text(table):
        return False
    for child in table:
        name = local_name(child)
        if name == "tr":
            cells = [each for each in child if local_name(each)]
            if not _is_row(child, cells):
                return False
            rows.append(cells)
        elif name in _SECTIONS_OF_A_TABLE:
            if not _add_rows(child, rows):
                return False
        elif name and name != "caption":
            is_layout = name in _COLUMNS_OF_A_TABLE and not plain_text(child)
            if not is_layout:
                return False
    return True


def _is_row(row: etree._Element, cells: Sequence[etree._Element]) -> bool:
    """Whether an element has cells and nothing beside them."""
    return not has_own_text(row) and {local_name(cell) for cell in cells} <= {
        "td",
        "th",
    }


def has_own_text(element: etree._Element) -> bool:
    """Whether an element has words between its children."""
    texts = (element.text, *(child.tail for child in element))
    return any(text and not text.isspace() for text in texts)


def _has_several_lines(cell: etree._Element) -> bool:
    names = [local_name(each) for each in cell.iterdescendants()]
    paragraphs = names.count("p") + sum(name in HEADINGS for name in names)
    return paragraphs > 1 or names.count("br") >= _MOST_LINES


BULLET = "•"
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
)
_SMALL_ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_ROMAN_END = 4000  # The first number that Roman numerals cannot express
_LETTERS = 26
_BY_STYLE = {
    **dict.fromkeys(("lower-alpha", "lower-latin"), "a"),
    **dict.fromkeys(("upper-alpha", "upper-latin"), "A"),
    **{"lower-roman": "i", "upper-roman": "I", "decimal": "1"},
}
# Attribute with an item's marker, for formats that count differently from HTML.
MARKER_ATTRIBUTE = "data-marker"


def marker(
    parent: etree._Element, item: etree._Element, number: int, *, ordered: bool
) -> str:
    """The marker and a space; empty if the item has none."""
    own = item.get(MARKER_ATTRIBUTE)
    if own is not None:
        if not own:
            return ""
        return f"{own} "
    style = _STYLE.search(parent.get("style") or "")
    if style and style[1].lower() == "none":
        return ""
    if not ordered:
        return f"{BULLET} "
    kind = (item.get("type") or parent.get("type") or "").strip()
    if style and style[1].lower() in _BY_STYLE:
        kind = _BY_STYLE[style[1].lower()]
    return f"{format_number(number, kind)}. "


def format_number(number: int, kind: str) -> str:
    """A number in style "1", "a", "A", "i" or "I"; in digits if the style cannot express it."""
    text, rest = "", number
    if kind in ("a", "A") and number > 0:
        while rest:  # After z: aa, ab, as HTML counts
            rest, letter = divmod(rest - 1, _LETTERS)
            text = chr(ord(kind) + letter) + text
        return text
    if kind in ("i", "I") and 0 < number < _ROMAN_END:
        for worth, sign in (*_ROMAN, *_SMALL_ROMAN):
            text += sign * (rest // worth)
            rest %= worth
        if kind == "i":
            return text
        return text.upper()
    return str(number)


_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)
_DESCRIBING = frozenset(("title", "desc"))
_LINES_OF_A_DRAWING = frozenset(("text", "g", "a")) | BLOCKS
_NEAR_ELEMENTS = 40  # Whose words are beside a picture; a whole page has more
_DESCRIPTIONS = ("alt", "aria-label", "title")


@dataclass(frozen=True, slots=True)
class Picture:
    source: str
    words: str  # The author's description; empty for decoration


def picture_of(element: etree._Element) -> Picture:
    """An <img>, an SVG <image>, or an <object> that shows one."""
    keys = ("src", "data", _XLINK_HREF, "xlink:href", "href")
    source = next(filter(None, map(element.get, keys)), "").strip()
    is_inside = source.lower().startswith("data:")
    return Picture("" if is_inside else source, _description(element))


def is_decoration(element: etree._Element) -> bool:
    """Whether a picture is decorative.

    An empty description, and words beside it or a decorative role.
    """
    parent = element.getparent()
    if element.get("alt") != "" or parent is None:
        return False
    if element.get("role") in ("presentation", "none"):
        return True
    near = islice(parent.iterdescendants(), _NEAR_ELEMENTS)
    texts = (text for each in near for text in (each.text, each.tail))
    return any((text or "").strip() for text in (parent.text, *texts))


def is_picture_object(element: etree._Element) -> bool:
    """Whether an <object> shows a picture and has no fallback text."""
    return element.get("type", "").startswith("image/") and not plain_text(element)


def svg_pictures(element: etree._Element) -> list[Picture]:
    """The images in an <svg>, or the drawing itself. The first image gets the description."""
    titles = [
        plain_text(each) for each in element.iter() if local_name(each) in _DESCRIBING
    ]
    images = [
        picture_of(each) for each in element.iter() if local_name(each) == "image"
    ]
    described = _description(element) or (images[0].words if images else "")
    parts = [*dict.fromkeys(filter(None, (described, *titles)))]
    words = join_title(parts) if parts else ""
    if not images:
        if not words:
            return []
        return [Picture("", words)]
    images[0] = Picture(images[0].source, words)
    return images


def drawn_text(element: etree._Element) -> str:
    """The words in a drawing, without its description and its scripts."""
    return text_without(element, _DESCRIBING | SCRIPTS, _LINES_OF_A_DRAWING)


def _description(element: etree._Element) -> str:
    """The author's description; a file name inserted by a tool is none."""
    description = next(filter(None, map(element.get, _DESCRIPTIONS)), "")
    words = " ".join(description.split())
    if _FILE_NAME.fullmatch(words):
        return ""
    return words
