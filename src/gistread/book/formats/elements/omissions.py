"""Decides which elements are not read, and counts what is left out.

A name, a class, a type or a role never decides alone: an element called a page number is left out
only if its words are one. Only scripts, templates and what the author hides are left out whatever
they hold. Each omission is counted, so that a notice can report it.
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

_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:pages?|pag|pgs?|pp?|seite|s|página|pagina|side|sivu|strona|str|стр|с|σελ|第)\W*)?"
    r"(?:\d{1,5}[a-z]?|(?P<roman>[ivxlc]{1,9}))\W*[页頁]?\W*",
    re.IGNORECASE,
)
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
_LONGEST_LINK = 40
"""Words of a link in a table of contents; a longer one is prose."""
_LONGEST_TITLE = 30
"""Words of the title of a page."""
_LEAST_LINKED = 0.7
"""Share of a list of links that stands in links and headings."""
_HIGHEST_PAGE = 300
"""Of pages with Roman numbers. Higher ones are more often words, such as "mix"."""


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
    if semantics.is_invisible(element) and not types & semantics.NOTES_TYPES:
        return Omission(HIDDEN, words_in(element))
    classes = semantics.classes_of(element)
    if classes.isdisjoint(_SUSPECT_CLASSES) and types.isdisjoint(_SUSPECT_TYPES):
        return None
    if types & semantics.PAGE_NUMBER_TYPES or classes & semantics.PAGE_NUMBER_CLASSES:
        return _number(element, PAGE_NUMBERS)
    if types & semantics.BACK_REFERENCE_TYPES:
        is_reference = _BACK_REFERENCE.fullmatch(plain_text(element))
        if not is_reference:
            return None
        return Omission(BACK_REFERENCES, _spoken_words(element))
    if classes & semantics.LINE_NUMBER_CLASSES:
        return _number(element, LINE_NUMBERS)
    if classes & semantics.LICENCE_CLASSES:
        is_licence = _LICENCE.search(plain_text(element))
        if not is_licence:
            return None
        return Omission(LICENCE, words_in(element))
    return _drawn_equation(element)


def is_list_of_links(element: etree._Element) -> bool:
    """Whether an element holds links and headings, such as a table of contents, and no prose."""
    total = words_in(element)
    linked = [words_in(link) for link in elements_named(element, "a")]
    if max(linked, default=0) > _LONGEST_LINK:
        return False
    titles = sum(
        words_in(each)
        for each in element.iter()
        if local_name(each) in semantics.HEADINGS
    )
    return bool(linked) and sum(linked) + titles >= total * _LEAST_LINKED


def is_page_number(text: str) -> bool:
    """Whether a text is the number of a page: "17", "[xi]", "Page 17"."""
    match = _PAGE_NUMBER.fullmatch(text)
    if match is None or not match["roman"]:
        return match is not None
    return 0 < (parse_roman(match["roman"].upper()) or 0) <= _HIGHEST_PAGE


def _number(element: etree._Element, kind: str) -> Omission | None:
    text = plain_text(element)
    if not text:
        pictures = ("img", "image", "svg")
        has_picture = any(local_name(each) in pictures for each in element.iter())
        if has_picture:
            return None
        return Omission(kind, 0)
    is_number = (
        is_page_number(text) if kind == PAGE_NUMBERS else _LINE_NUMBER.fullmatch(text)
    )
    if not is_number:
        return None
    return Omission(kind, 1)


def _spoken_words(element: etree._Element) -> int:
    """Words with letters or digits; an arrow is none."""
    text = plain_text(element)
    if not any(map(str.isalnum, text)):
        return 0
    return count_words(text)


def _is_text_button(element: etree._Element) -> bool:
    """Whether a button holds text of the book, such as a heading that opens its section."""
    if any(local_name(each) in semantics.BLOCKS for each in element.iterdescendants()):
        return True
    around = {local_name(each) for each in element.iterancestors()}
    return bool(around & (semantics.HEADINGS.keys() | {"summary", "dt"}))


def _head(element: etree._Element) -> Omission | None:
    """The head of a page; an element of this name elsewhere is text."""
    parent = element.getparent()
    is_head = (
        parent is not None
        and local_name(parent) == "html"
        and parent.getparent() is None
    )
    if not is_head:
        return None
    formal = (
        each for each in element if local_name(each) in semantics.SCRIPTS | {"title"}
    )
    return Omission(HIDDEN, max(0, words_in(element) - sum(map(words_in, formal))))


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
    words = words_in(element)
    # HTML parsers take the markup inside for text.
    is_title = not len(element) and (
        words <= _LONGEST_TITLE or "<" in (element.text or "")
    )
    if not is_title:
        return None
    return Omission(HIDDEN, words)


def _case(element: etree._Element) -> Omission | None:
    """One form of the content of `epub:switch`, whose default is read."""
    parent = element.getparent()
    if parent is None or local_name(parent) != "switch":
        return None
    defaults = [each for each in parent if local_name(each) == "default"]
    if not any(plain_text(each) or len(each) for each in defaults):
        return None
    return Omission(OTHER_FORM, words_in(element))


def _drawn_equation(element: etree._Element) -> Omission | None:
    """An equation drawn for the eye; its MathML beside it is read."""
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
SPECIAL_NAMES = _BY_NAME.keys() | semantics.SCRIPTS | semantics.CONTROLS
"""Names of elements that may be left out."""
