"""Reads what XHTML elements are (blocks, notes, verse, figures), the markers of lists, and sources
of pictures.
"""

import re
import tomllib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lxml import etree

from gistread.book.formats.elements.markup import elements_named, local_name, plain_text
from gistread.book.normalise import join_title, word_set

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ELEMENTS, _TYPES, _CLASSES = (
    {kind: word_set(words) for kind, words in _TABLES[table].items()}
    for table in ("elements", "types", "classes")
)
BLOCKS, SKIPPED, CONTROLS = (_ELEMENTS[name] for name in ("blocks", "skipped", "controls"))
NOTES_TYPES, NON_TEXT_TYPES = _TYPES["notes"], _TYPES["non_text"]
HEADINGS = {f"h{n}": n for n in range(1, 7)}
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_REFERENCE = re.compile(r"[\d*†‡§]{1,4}$")

Types = frozenset[str]  # The values of `epub:type` and `role`


def types_of(element: etree._Element) -> Types:
    """The types of an element, of XML or of repaired HTML."""
    named = element.get(EPUB_TYPE) or element.get("epub:type") or ""
    role = element.get("role") or ""
    return frozenset((*named.split(), role)) if named or role else frozenset()


def is_hidden(element: etree._Element) -> bool:
    """Whether the element is invisible or not book text.

    Page and line numbers, licences, an equation drawn twice.
    """
    return is_invisible(element) or bool(classes_of(element) & _CLASSES["furniture"])


def is_invisible(element: etree._Element) -> bool:
    """Whether the element's own attributes hide it."""
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style") or ""))


def is_verse(element: etree._Element, types: Types) -> bool:
    is_named_so = bool(types & _TYPES["verse"] or classes_of(element) & _CLASSES["verse"])
    return is_named_so or local_name(element) == "linegroup"


def is_note(element: etree._Element, types: Types) -> bool:
    return bool(types & _TYPES["note"]) or bool(classes_of(element) & _CLASSES["note"])


def holds_notes(element: etree._Element, types: Types) -> bool:
    return bool(types & NOTES_TYPES or classes_of(element) & (_CLASSES["note"] | _CLASSES["notes"]))


def is_figure(element: etree._Element, name: str) -> bool:
    return name == "figure" or (name == "div" and bool(classes_of(element) & _CLASSES["figure"]))


def is_caption(element: etree._Element, name: str) -> bool:
    """Whether a block is a picture's caption. A table's caption is text."""
    return name == "figcaption" or (
        name in ("p", "div") and bool(classes_of(element) & _CLASSES["caption"])
    )


def is_reference(element: etree._Element, name: str, types: Types) -> bool:
    """Whether <a> or <sup> is a note reference, which needs brackets to stand apart from the word
    before it.
    """
    if (
        "noteref" in types
        or "doc-noteref" in types
        or (name == "a" and classes_of(element) & _CLASSES["reference"])
    ):
        # Chinese publishers use a picture.
        return bool(plain_text(element)) or any(
            local_name(each) == "img" for each in element.iter()
        )
    inner = "sup" if name == "a" else "a"
    if not any(
        local_name(child) == inner and (child.get("href") or element.get("href"))
        for child in element
    ):
        return False
    return bool(_REFERENCE.match(plain_text(element)))


def classes_of(element: etree._Element) -> frozenset[str]:
    classes = element.get("class")
    return frozenset(classes.lower().split()) if classes else frozenset()


def is_data_table(table: etree._Element) -> bool:
    """Whether a table has only short cells, some with words, and no nested table."""
    if next(islice(elements_named(table, "table"), 1, None), None) is not None:
        return False  # Before any cell is read: nested tables would be read once for each level
    cells = [plain_text(each) for each in table.iter() if local_name(each) in ("td", "th")]
    # Longer cells are prose, to be read cell by cell.
    return any(cells) and max(map(len, cells)) <= 300


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
_BY_STYLE = {
    **dict.fromkeys(("lower-alpha", "lower-latin"), "a"),
    **dict.fromkeys(("upper-alpha", "upper-latin"), "A"),
    **{"lower-roman": "i", "upper-roman": "I", "decimal": "1"},
}
MARKER_ATTRIBUTE = (
    "data-marker"  # Attribute with an item's marker, for formats that count differently from HTML
)


def marker(parent: etree._Element, item: etree._Element, number: int, *, ordered: bool) -> str:
    """The marker and a space; empty if the item has none."""
    own = item.get(MARKER_ATTRIBUTE)
    if own is not None:
        return f"{own} " if own else ""
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
            rest, letter = divmod(rest - 1, 26)
            text = chr(ord(kind) + letter) + text
        return text
    if kind in ("i", "I") and 0 < number < 4000:
        for worth, sign in (*_ROMAN, *_SMALL_ROMAN):
            text += sign * (rest // worth)
            rest %= worth
        return text if kind == "i" else text.upper()
    return str(number)


_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)
_DESCRIPTIONS = ("alt", "aria-label", "title")


@dataclass(frozen=True, slots=True)
class Picture:
    source: str
    words: str  # The author's description; empty for decoration


def picture_of(element: etree._Element) -> Picture:
    """An <img>, an SVG <image>, or an <object> that shows one."""
    keys = ("src", "data", _XLINK_HREF, "xlink:href", "href")
    source = next(filter(None, map(element.get, keys)), "")
    return Picture(
        "" if source.lstrip()[:5].lower() == "data:" else source.strip(), _description(element)
    )


def is_decoration(element: etree._Element) -> bool:
    """Whether a picture is decorative.

    An empty description, and words beside it or a decorative role.
    """
    parent = element.getparent()
    if element.get("alt") != "" or parent is None:
        return False
    if element.get("role") in ("presentation", "none"):
        return True
    near = islice(parent.iterdescendants(), 40)  # Words beside it, not of a whole page
    return any(
        (text or "").strip()
        for text in (parent.text, *(part for each in near for part in (each.text, each.tail)))
    )


def is_picture_object(element: etree._Element) -> bool:
    """Whether an <object> shows a picture and has no fallback text."""
    return element.get("type", "").startswith("image/") and not plain_text(element)


def svg_pictures(element: etree._Element) -> list[Picture]:
    """The images in an <svg>, or the drawing itself. The first image gets the description."""
    titles = (plain_text(each) for each in element.iter() if local_name(each) in ("title", "desc"))
    words = _description(element) or join_title([*dict.fromkeys(filter(None, titles))] or [""])
    images = [picture_of(each) for each in element.iter() if local_name(each) == "image"]
    if not images:
        return [Picture("", words)] if words else []
    if not images[0].words:
        images[0] = Picture(images[0].source, words)
    return images


def drawn_text(element: etree._Element) -> str:
    drawn = (each for each in element.iter() if local_name(each) in ("text", "foreignobject"))
    return " ".join(filter(None, map(plain_text, drawn)))


def _description(element: etree._Element) -> str:
    """The author's description; a file name inserted by a tool is none."""
    words = next(
        (" ".join(words.split()) for name in _DESCRIPTIONS if (words := element.get(name))), ""
    )
    return "" if _FILE_NAME.fullmatch(words) else words
