"""Decides which elements are not read, and counts what is left out.

A name, a class, a type or a role never decides alone: an element called a page number is left out
only if its words are one. Only scripts, templates and elements that the author hides are left out
whatever they contain. Each omission is counted, so that a notice can report it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lxml import etree

from gistread.book.formats.elements import semantics
from gistread.book.formats.elements.markup import elements_named, local_name, plain_text
from gistread.book.formats.elements.semantics import Types
from gistread.book.numbers import parse_roman
from gistread.words import count_words

SCRIPTS = "word(s) of scripts"
HIDDEN = "hidden word(s)"
CONTROLS = "word(s) of buttons and fields"
NAVIGATION = "word(s) of navigation"
PAGE_NUMBERS = "page number(s)"
LINE_NUMBERS = "line number(s)"
NUMBERS = frozenset((PAGE_NUMBERS, LINE_NUMBERS))
BACK_REFERENCES = "word(s) of links back to the text"
LICENCE = "word(s) of the licence"
OTHER_FORM = "word(s) in another form"
UNREAD = "word(s) in damaged places"

# "17", "[xi]", "Page 17", "第17页"
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:pages?|pag|pgs?|pp?|seite|s|página|pagina|side|sivu|strona|str|стр|с|σελ|第)\W*)?"
    r"(?:\d{1,5}[a-z]?|(?P<roman>[ivxlc]{1,9}))\W*[页頁]?\W*",
    re.IGNORECASE,
)
# "[125]", "125b"
_LINE_NUMBER = re.compile(r"\W*\d{1,6}[a-z]?\W*", re.IGNORECASE)
_SUSPECT_TYPES = semantics.PAGE_NUMBER_TYPES | semantics.BACK_REFERENCE_TYPES
_SUSPECT_CLASSES = semantics.PAGE_NUMBER_CLASSES | semantics.FURNITURE_CLASSES
_NOTE_SIGN = r"(?:\d{1,4}[a-z]?|[a-z]|[ivxlc]{1,6})"
# An arrow, the number or letter of the note, or words such as "Back to text".
_BACK_REFERENCE = re.compile(
    rf"[\W_]*(?:{_NOTE_SIGN}(?:[\W_]+{_NOTE_SIGN}){{0,2}})?[\W_]*"
    r"|[\W_]*(?:back|return|jump|go back|zurück|retour|volver|назад)\b(?:[\W_]*\w+){0,4}[\W_]*",
    re.IGNORECASE,
)
_LICENCE = re.compile("Gutenberg", re.IGNORECASE)
# Words of a link in a table of contents; a longer one is prose.
_LONGEST_LINK = 40
# Words of the title of a page.
_LONGEST_TITLE = 30
# Share of the words in a list of links that are in links and headings.
_LEAST_LINKED = 0.7
# The highest Roman number of a page; higher ones are more often words, such as "mix".
_HIGHEST_PAGE = 300


@dataclass(frozen=True, slots=True)
class Omission:
    """What is left out, as `left_out_notices` names it, and how much of it.

    `Omission("page number(s)", 1)`
    """

    kind: str
    count: int


def words_in(element: etree._Element) -> int:
    """Words of an element; tags separate them."""
    return count_words(" ".join(map(str, element.itertext())))


def omission_by_name(element: etree._Element, name: str) -> Omission | None:
    """What an element with one of the `SPECIAL_NAMES` leaves out; None if it is read."""
    if name in semantics.SCRIPTS:
        return Omission(SCRIPTS, words_in(element))
    if name in semantics.CONTROLS:
        is_text = name == "button" and _is_text_button(element)
        if is_text:
            return None
        return Omission(CONTROLS, words_in(element))
    return _BY_NAME[name](element)


def omission_by_attributes(element: etree._Element, types: Types) -> Omission | None:
    """What an element leaves out for its type, role, class or style; None if it is read."""
    # Notes are hidden only because reading programs show them in a window.
    if semantics.is_invisible(element) and not types & semantics.NOTES_TYPES:
        return Omission(HIDDEN, words_in(element))
    classes = semantics.classes_of(element)
    is_suspect = classes & _SUSPECT_CLASSES or types & _SUSPECT_TYPES
    if not is_suspect:
        return None
    if types & semantics.PAGE_NUMBER_TYPES or classes & semantics.PAGE_NUMBER_CLASSES:
        return _omitted_number(element, PAGE_NUMBERS)
    if types & semantics.BACK_REFERENCE_TYPES:
        is_reference = _BACK_REFERENCE.fullmatch(plain_text(element))
        if not is_reference:
            return None
        return Omission(BACK_REFERENCES, _spoken_words(element))
    if classes & semantics.LINE_NUMBER_CLASSES:
        return _omitted_number(element, LINE_NUMBERS)
    if classes & semantics.LICENCE_CLASSES:
        is_licence = _LICENCE.search(plain_text(element))
        if not is_licence:
            return None
        return Omission(LICENCE, words_in(element))
    return _drawn_equation(element)


def is_list_of_links(element: etree._Element) -> bool:
    """Whether an element has only links and headings, as a table of contents, and no prose."""
    link_lengths = [words_in(link) for link in elements_named(element, "a")]
    if not link_lengths or max(link_lengths) > _LONGEST_LINK:
        return False
    heading_lengths = [
        words_in(inner)
        for inner in element.iter()
        if local_name(inner) in semantics.HEADINGS
    ]
    words_in_both = sum(link_lengths) + sum(heading_lengths)
    return words_in_both >= _LEAST_LINKED * words_in(element)


def is_page_number(text: str) -> bool:
    """Whether a text is the number of a page: "17", "[xi]", "Page 17"."""
    match = _PAGE_NUMBER.fullmatch(text)
    if match is None:
        return False
    if not match["roman"]:
        return True
    number = parse_roman(match["roman"].upper())
    return number is not None and number <= _HIGHEST_PAGE


def _omitted_number(element: etree._Element, kind: str) -> Omission | None:
    """An element that should contain a number of `kind`; None if it contains anything else."""
    text = plain_text(element)
    if not text:
        pictures = ("img", "image", "svg")
        has_picture = any(local_name(inner) in pictures for inner in element.iter())
        return None if has_picture else Omission(kind, 0)
    if kind == PAGE_NUMBERS:
        is_number = is_page_number(text)
    else:
        is_number = bool(_LINE_NUMBER.fullmatch(text))
    return Omission(kind, 1) if is_number else None


def _spoken_words(element: etree._Element) -> int:
    """Number of words; none without letters and digits, such as an arrow."""
    text = plain_text(element)
    if not any(map(str.isalnum, text)):
        return 0
    return count_words(text)


def _is_text_button(element: etree._Element) -> bool:
    """Whether a button contains text of the book, such as a heading that opens its section."""
    inner_names = map(local_name, element.iterdescendants())
    if any(name in semantics.BLOCKS for name in inner_names):
        return True
    outer_names = map(local_name, element.iterancestors())
    return any(
        name in semantics.HEADINGS or name in ("summary", "dt") for name in outer_names
    )


def _head(element: etree._Element) -> Omission | None:
    """The head of a page; an element of this name elsewhere is text.

    Its title and scripts do not count as hidden words.
    """
    parent = element.getparent()
    if parent is None or parent.getparent() is not None:
        return None
    if local_name(parent) != "html":
        return None
    hidden_words = words_in(element)
    for child in element:
        name = local_name(child)
        if name == "title" or name in semantics.SCRIPTS:
            hidden_words -= words_in(child)
    return Omission(HIDDEN, max(0, hidden_words))


def _template(element: etree._Element) -> Omission | None:
    """A template, unless a browser shows it as a declarative shadow root."""
    is_shown = element.get("shadowrootmode") or element.get("shadowroot")
    if is_shown:
        return None
    return Omission(HIDDEN, words_in(element))


def _navigation(element: etree._Element) -> Omission | None:
    if not is_list_of_links(element):
        return None
    return Omission(NAVIGATION, words_in(element))


def _ruby_bracket(element: etree._Element) -> Omission | None:
    """A bracket around the reading of ruby."""
    has_words = any(map(str.isalnum, plain_text(element)))
    if has_words:
        return None
    return Omission(OTHER_FORM, 0)


def _title(element: etree._Element) -> Omission | None:
    """The title of a page that a repaired page has outside its head; a longer one is text."""
    has_children = len(element) > 0
    if has_children:
        return None
    words = words_in(element)
    # HTML parsers read the page after an unclosed title as its text.
    has_markup = "<" in (element.text or "")
    if words <= _LONGEST_TITLE or has_markup:
        return Omission(HIDDEN, words)
    return None


def _case(element: etree._Element) -> Omission | None:
    """One form of the content of `epub:switch`, whose default is read."""
    parent = element.getparent()
    if parent is None or local_name(parent) != "switch":
        return None
    defaults = [child for child in parent if local_name(child) == "default"]
    has_default = any(plain_text(default) or len(default) for default in defaults)
    if not has_default:
        return None
    return Omission(OTHER_FORM, words_in(element))


def _drawn_equation(element: etree._Element) -> Omission | None:
    """An equation as a drawing; the MathML beside it is read."""
    parent = element.getparent()
    if parent is None or next(elements_named(parent, "math"), None) is None:
        return None
    return Omission(OTHER_FORM, words_in(element))


_BY_NAME: Mapping[str, Callable[[etree._Element], Omission | None]] = {
    "head": _head,
    "title": _title,
    "template": _template,
    "nav": _navigation,
    "case": _case,
    "rp": _ruby_bracket,
}
# Names of elements that may be left out.
SPECIAL_NAMES = _BY_NAME.keys() | semantics.SCRIPTS | semantics.CONTROLS
