"""Marks the notes of a page, and what refers to them, the way EPUB marks its own.

HTML has no element for a footnote. Pandoc, Wikipedia, Project Gutenberg and Markdown each write them in a way of their
own; what they have in common is a short sign that leads to a block, from which another link leads back to it.
"""

import re
from collections.abc import Iterator

from lxml import etree

from gistread.book.formats.markup import local_name, plain_text
from gistread.book.formats.semantics import BLOCKS, HEADINGS, classes_of, types_of

EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"

_REFERENCE_CLASSES = frozenset(("footnote-ref", "fnref", "noteref", "fnanchor", "footnote-reference", "reference"))
_NOTE_CLASSES = frozenset(("footnote-item", "footnote", "footnotes", "endnote", "endnotes", "fn", "references"))
_NOTE_TYPES = frozenset(("footnotes", "endnotes", "doc-endnotes", "doc-footnote", "doc-endnote"))
_BACK_CLASSES = frozenset(("footnote-back", "footnote-backref", "mw-cite-backlink", "reversefootnote", "backlink"))
_ARROWS = re.compile(r"\(?[↩↑⤴⏎↵^←▲\ufe0e\ufe0f]+(?:\d+|[a-z])?\)?|\[?(?:back|return|zurück|retour)\]?", re.IGNORECASE)
_SIGN = re.compile(r"[\[({]?(?:(?:note|fn)?\s?\d{1,4}|[*†‡§¶#]{1,4}|[a-z]{1,2}|[ivxlc]{1,6})[\])}]?", re.IGNORECASE)
_LONGEST_NOTE_CHARACTERS = 20_000
_LINK_AROUND = frozenset(("sup", "span", "small", "b", "i", "em", "strong"))


def mark_notes(root: etree._Element) -> None:
    """Put `epub:type` on references, notes and the links back, where the page shows which is which."""
    places: dict[str, etree._Element] = {}
    links: list[etree._Element] = []
    rules: list[etree._Element] = []
    for element in root.iter():
        for place in _names(element):
            places.setdefault(place, element)
        if local_name(element) == "a" and "#" in (element.get("href") or ""):
            links.append(element)
        elif local_name(element) == "hr" and _is_over_notes(element):
            rules.append(element)
    for rule in rules:
        _take_out(rule)
    references: set[etree._Element] = set()
    for link in links:
        target = places.get(_fragment(link))
        note = _note_at(target) if target is not None and _looks_like_reference(link) else None
        if note is None or _is_label(link) or not (_says_so(note) or _leads_back(note, link)):
            continue
        references.add(link)
        _add_type(link, "noteref")
        _add_type(note, "footnote")
    for link in links:
        if link not in references and _is_way_back(link):
            _add_type(_with_what_is_around(link), "backlink")


def _is_over_notes(rule: etree._Element) -> bool:
    """Whether a rule parts the notes from the text; it is no scene break."""
    parent, after = rule.getparent(), rule.getnext()
    return any(
        element is not None and classes_of(element) & {"footnotes", "endnotes", "footnotes-sep"}
        for element in (rule, parent, after)
    )


def _take_out(rule: etree._Element) -> None:
    parent = rule.getparent()
    if parent is not None:
        # Its tail is white space: it stands between blocks.
        parent.remove(rule)


def _names(element: etree._Element) -> Iterator[str]:
    name = local_name(element)
    if name:
        for key in ("id", "name") if name == "a" else ("id",):
            value = element.get(key)
            if value:
                yield value


def _fragment(link: etree._Element) -> str:
    return (link.get("href") or "").partition("#")[2]


def _looks_like_reference(link: etree._Element) -> bool:
    text = plain_text(link)
    if not _SIGN.fullmatch(text):
        return False
    parent = link.getparent()
    around = classes_of(link) | (classes_of(parent) if parent is not None else frozenset())
    return bool(
        around & _REFERENCE_CLASSES
        or (parent is not None and local_name(parent) == "sup")
        or any(local_name(inner) == "sup" for inner in link)
        or not text.isalnum()
        or types_of(link) & {"noteref", "doc-noteref"}
    )


def _note_at(target: etree._Element) -> etree._Element | None:
    """The block that a reference leads to: itself, or around it; None where that is no note."""
    block: etree._Element | None = target
    while block is not None and local_name(block) not in BLOCKS:
        block = block.getparent()
    if block is None or local_name(block) in ("html", "body", "main", "article", "section", "table", *HEADINGS):
        return None
    parent = block.getparent()
    if local_name(block) == "p" and parent is not None and _is_note_by_class(parent):
        block = parent
    return block if len(plain_text(block)) <= _LONGEST_NOTE_CHARACTERS else None


def _is_note_by_class(element: etree._Element) -> bool:
    return local_name(element) in ("div", "aside", "li") and bool(classes_of(element) & {"footnote", "endnote", "fn"})


def _is_label(link: etree._Element) -> bool:
    """Whether nothing stands before the link in its block: the number of a note, that leads back to its reference."""
    at: etree._Element | None = link
    while at is not None and local_name(at) not in BLOCKS:
        before = at.getprevious()
        while before is not None:
            if (before.tail or "").strip() or plain_text(before):
                return False
            before = before.getprevious()
        at = at.getparent()
        if at is not None and (at.text or "").strip():
            return False
    return True


def _says_so(note: etree._Element) -> bool:
    """Whether the block, or what it stands in, is called a note."""
    return any(
        classes_of(element) & _NOTE_CLASSES or types_of(element) & _NOTE_TYPES
        for element in (note, *list(note.iterancestors())[:3])
    )


def _leads_back(note: etree._Element, link: etree._Element) -> bool:
    """Whether a link inside the note leads to where it is cited."""
    around = [link, *link.iter(), *list(link.iterancestors())[:2]]
    names = {
        name for element in around if local_name(element) not in BLOCKS or element is link for name in _names(element)
    }
    before = link.getprevious()
    if before is not None and not (before.tail or "").strip():
        names.update(_names(before))
    return any(_fragment(inner) in names for inner in note.iter() if local_name(inner) == "a")


def _is_way_back(link: etree._Element) -> bool:
    around = classes_of(link)
    parent = link.getparent()
    if parent is not None:
        around |= classes_of(parent) & {"mw-cite-backlink"}
    return bool(around & _BACK_CLASSES or _ARROWS.fullmatch(plain_text(link)))


def _with_what_is_around(link: etree._Element) -> etree._Element:
    """The link with the element that holds nothing else, or the arrow beside it."""
    parent = link.getparent()
    if parent is None or local_name(parent) not in _LINK_AROUND:
        return link
    if "mw-cite-backlink" in classes_of(parent) or plain_text(parent) == plain_text(link):
        return parent
    return link


def _add_type(element: etree._Element, name: str) -> None:
    known = element.get(EPUB_TYPE, "").split()
    if name not in known:
        element.set(EPUB_TYPE, " ".join([*known, name]))
