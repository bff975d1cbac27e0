"""Tells what XHTML elements mean: blocks, notes, verse, figures.

Also reads the markers of lists and the sources of pictures.
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


def _word_sets(table: str) -> dict[str, frozenset[str]]:
    """The words of each kind in a table."""
    return {kind: word_set(words) for kind, words in _TABLES[table].items()}


_ELEMENTS = _word_sets("elements")
_TYPES = _word_sets("types")
_CLASSES = _word_sets("classes")
BLOCKS = _ELEMENTS["blocks"]
SCRIPTS = _ELEMENTS["scripts"]
CONTROLS = _ELEMENTS["controls"]
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
# "12", "**"
_REFERENCE = re.compile(r"[\d*†‡§]{1,4}$")
_REFERENCE_TYPES = frozenset(("noteref", "doc-noteref"))
# "fn12", "note.xii"
_NAMED_REFERENCE = re.compile(
    r"(?:(?:note|fn|n)\.?)?(?:\d{1,4}|[ivxlc]{1,6})", re.IGNORECASE
)
_NO_PHRASES = (
    BLOCKS | SCRIPTS | CONTROLS | {"svg", "math", "iframe", "nav", "img", "hr"}
)
# Letters of a reference that is a word of the sentence; "a", "bb" and "注" are signs.
_SHORTEST_WORD = 3
# Characters of an initial with its quotation marks.
LONGEST_INITIAL = 3
_WORDS_OF_ONE_LETTER = frozenset("aioyeàéuskvzвкиосуяа")

Types = frozenset[str]  # The values of `epub:type` and `role`


def types_of(element: etree._Element) -> Types:
    """The types of an element, of XML or of repaired HTML.

    Kindle books that Calibre converts have them without their namespace.
    """
    types = element.get(EPUB_TYPE) or element.get("epub:type") or element.get("type")
    role = element.get("role")
    if types:
        return frozenset((*types.split(), role or ""))
    if role:
        return frozenset((role,))
    return frozenset()


def is_invisible(element: etree._Element) -> bool:
    """Whether the element's own attributes hide it."""
    if element.get("hidden") is not None:
        return True
    return bool(_HIDDEN.search(element.get("style") or ""))


def is_verse(element: etree._Element, types: Types) -> bool:
    if types & _TYPES["verse"] or classes_of(element) & _CLASSES["verse"]:
        return True
    return local_name(element) == "linegroup"


def is_note(element: etree._Element, types: Types) -> bool:
    return bool(types & _TYPES["note"]) or bool(classes_of(element) & _CLASSES["note"])


def holds_notes(element: etree._Element, types: Types) -> bool:
    """Whether an element is a note or contains notes."""
    if types & NOTES_TYPES:
        return True
    classes = classes_of(element)
    return bool(classes & _CLASSES["note"]) or bool(classes & _CLASSES["notes"])


def is_inner_note(name: str, types: Types) -> bool:
    """Whether an element inside a paragraph is a note and not a reference to one."""
    return name not in ("a", "sup") and bool(types & _TYPES["note"])


def is_drop_cap(element: etree._Element) -> bool:
    return bool(classes_of(element) & _CLASSES["drop_cap"])


def is_phrase(element: etree._Element) -> bool:
    """Whether an element contains only words and phrases: no paragraph, script or drawing."""
    names = map(local_name, element.iterdescendants())
    return _NO_PHRASES.isdisjoint(names)


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
    letter_count = sum(map(str.isalpha, reference))
    is_sign = letter_count < _SHORTEST_WORD
    return is_sign or bool(_NAMED_REFERENCE.fullmatch(reference))


def is_figure(element: etree._Element, name: str) -> bool:
    if name == "div":
        return bool(classes_of(element) & _CLASSES["figure"])
    return name == "figure"


def is_caption(element: etree._Element, name: str) -> bool:
    """Whether a block is a picture's caption. A table's caption is text."""
    if name in ("p", "div"):
        return bool(classes_of(element) & _CLASSES["caption"])
    return name == "figcaption"


def is_reference(element: etree._Element, name: str, types: Types) -> bool:
    """Whether <a> or <sup> is a note reference, to be set apart from the word before it."""
    has_class = name == "a" and classes_of(element) & _CLASSES["reference"]
    if has_class or types & _REFERENCE_TYPES:
        # Chinese publishers use a picture.
        names = map(local_name, element.iter())
        return bool(plain_text(element)) or "img" in names
    # A raised link: `<a href="#n1"><sup>1</sup></a>` or `<sup><a href="#n1">1</a></sup>`.
    inner_name = "sup" if name == "a" else "a"
    inner_elements = [child for child in element if local_name(child) == inner_name]
    is_raised_link = any(
        inner.get("href") or element.get("href") for inner in inner_elements
    )
    return is_raised_link and bool(_REFERENCE.match(plain_text(element)))


def classes_of(element: etree._Element) -> frozenset[str]:
    classes = element.get("class")
    if classes:
        return frozenset(classes.lower().split())
    return frozenset()


_SECTIONS_OF_A_TABLE = frozenset(("thead", "tbody", "tfoot"))
_COLUMNS_OF_A_TABLE = frozenset(("colgroup", "col"))
_LONGEST_CELL = 300  # Characters; longer cells are prose, to be read cell by cell.
# A cell may have one line end, before a unit or a name; more make verse or paragraphs.
_LEAST_LINE_ENDS_OF_PROSE = 2

TableRows = list[list[etree._Element]]


def data_rows(table: etree._Element) -> TableRows | None:
    """The rows of cells of a table with short cells and nothing beside them.

    None for a table to be read cell by cell: one with prose, with verse, with a table inside, or
    with words outside its cells.
    """
    tables = elements_named(table, "table")
    next(tables, None)  # The table itself
    if next(tables, None) is not None:
        # Before any cell is read: nested tables would be read once for each level
        return None
    rows: TableRows = []
    if not _add_rows(table, rows):
        return None
    cells = [cell for row in rows for cell in row if plain_text(cell)]
    if not cells or max(len(plain_text(cell)) for cell in cells) > _LONGEST_CELL:
        return None
    cells_of_several_lines = sum(map(_has_several_lines, cells))
    if cells_of_several_lines * 2 >= len(cells):
        return None
    return rows


def _add_rows(table: etree._Element, rows: TableRows) -> bool:
    """Add the rows of a table or of a section of it; False if anything else is inside."""
    if has_own_text(table):
        return False
    for child in table:
        name = local_name(child)
        if name == "tr":
            cells = [cell for cell in child if local_name(cell)]
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
    """Whether a row has only cells and no text between them."""
    if has_own_text(row):
        return False
    return all(local_name(cell) in ("td", "th") for cell in cells)


def has_own_text(element: etree._Element) -> bool:
    """Whether an element has words between its children."""
    texts = (element.text, *(child.tail for child in element))
    return any(text and not text.isspace() for text in texts)


def _has_several_lines(cell: etree._Element) -> bool:
    names = [local_name(inner) for inner in cell.iterdescendants()]
    paragraphs = sum(name == "p" or name in HEADINGS for name in names)
    return paragraphs > 1 or names.count("br") >= _LEAST_LINE_ENDS_OF_PROSE


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
# "list-style-type: lower-roman"
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_ROMAN_END = 4000  # The first number that Roman numerals cannot express
_LETTERS = 26
_TYPE_BY_STYLE = {
    **dict.fromkeys(("lower-alpha", "lower-latin"), "a"),
    **dict.fromkeys(("upper-alpha", "upper-latin"), "A"),
    **{"lower-roman": "i", "upper-roman": "I", "decimal": "1"},
}
# Attribute with an item's marker, for formats that count differently from HTML.
MARKER_ATTRIBUTE = "data-marker"


def marker(
    parent: etree._Element, item: etree._Element, number: int, *, ordered: bool
) -> str:
    """The marker of a list item and a space, such as "iv. "; empty if the item has none."""
    own_marker = item.get(MARKER_ATTRIBUTE)
    if own_marker is not None:
        return f"{own_marker} " if own_marker else ""
    declaration = _LIST_STYLE.search(parent.get("style") or "")
    style = declaration[1].lower() if declaration else ""
    if style == "none":
        return ""
    if not ordered:
        return f"{BULLET} "
    kind = (item.get("type") or parent.get("type") or "").strip()
    return f"{format_number(number, _TYPE_BY_STYLE.get(style, kind))}. "


def format_number(number: int, kind: str) -> str:
    """A number in style "1", "a", "A", "i" or "I"; in digits if the style cannot express it."""
    if kind in ("a", "A") and number > 0:
        return _in_letters(number, kind)
    if kind in ("i", "I") and 0 < number < _ROMAN_END:
        roman = _in_roman(number)
        return roman if kind == "i" else roman.upper()
    return str(number)


def _in_letters(number: int, first_letter: str) -> str:
    """As HTML counts: after z comes aa, then ab."""
    letters = ""
    quotient = number
    while quotient:
        # Less one, since these numbers have no zero.
        quotient, letter = divmod(quotient - 1, _LETTERS)
        letters = chr(ord(first_letter) + letter) + letters
    return letters


def _in_roman(number: int) -> str:
    numeral = ""
    for value, sign in (*_ROMAN, *_SMALL_ROMAN):
        count, number = divmod(number, value)
        numeral += sign * count
    return numeral


_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
# "cover.jpeg"
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)
_DESCRIBING = frozenset(("title", "desc"))
_LINES_OF_A_DRAWING = frozenset(("text", "g", "a")) | BLOCKS
# Words in these first elements around a picture are beside it; a whole page has more elements.
_NEAR_ELEMENTS = 40
_DESCRIPTIONS = ("alt", "aria-label", "title")


@dataclass(frozen=True, slots=True)
class Picture:
    source: str
    words: str  # The author's description; empty for decoration


def picture_of(element: etree._Element) -> Picture:
    """An <img>, an SVG <image>, or an <object> that shows one."""
    keys = ("src", "data", _XLINK_HREF, "xlink:href", "href")
    source = next(filter(None, map(element.get, keys)), "").strip()
    if source.lower().startswith("data:"):
        # The address contains the picture itself, and may be megabytes long.
        source = ""
    return Picture(source, _description(element))


def is_decoration(element: etree._Element) -> bool:
    """Whether a picture is decorative.

    It has an empty description, and words beside it or a decorative role.
    """
    parent = element.getparent()
    # A missing description, unlike an empty one, says nothing.
    if element.get("alt") != "" or parent is None:
        return False
    if element.get("role") in ("presentation", "none"):
        return True
    texts = [parent.text]
    for neighbour in islice(parent.iterdescendants(), _NEAR_ELEMENTS):
        texts += (neighbour.text, neighbour.tail)
    return any(text and not text.isspace() for text in texts)


def is_picture_object(element: etree._Element) -> bool:
    """Whether an <object> shows a picture and has no fallback text."""
    return element.get("type", "").startswith("image/") and not plain_text(element)


def svg_pictures(element: etree._Element) -> list[Picture]:
    """The images in an <svg>, or the drawing itself. The first image gets the description."""
    titles: list[str] = []
    images: list[Picture] = []
    for inner in element.iter():
        name = local_name(inner)
        if name in _DESCRIBING:
            titles.append(plain_text(inner))
        elif name == "image":
            images.append(picture_of(inner))
    description = _description(element)
    if images and not description:
        description = images[0].words
    parts = list(dict.fromkeys(filter(None, (description, *titles))))
    words = join_title(parts) if parts else ""
    if images:
        images[0] = Picture(images[0].source, words)
        return images
    if words:
        return [Picture("", words)]
    return []


def drawn_text(element: etree._Element) -> str:
    """The words in a drawing, without its description and its scripts."""
    return text_without(element, _DESCRIBING | SCRIPTS, _LINES_OF_A_DRAWING)


def _description(element: etree._Element) -> str:
    """The author's description; empty if it is a file name that a tool inserted."""
    description = next(filter(None, map(element.get, _DESCRIPTIONS)), "")
    words = " ".join(description.split())
    if _FILE_NAME.fullmatch(words):
        return ""
    return words
