"""Reads style, link target and language of inline XHTML elements, from names, attributes, style sheets and classes."""

import re
from collections.abc import Mapping

from lxml import etree

from gistread.book.formats.elements.stylesheets import INHERITED, StyleSheet, style_effect
from gistread.book.inline import InlineMark
from gistread.book.model import Style
from gistread.book.normalise import language_tag

_ELEMENTS = {
    Style.EMPHASIS: "em i cite dfn var",
    Style.STRONG: "strong b",
    Style.CODE: "code kbd samp tt",
    Style.UNDERLINE: "u ins",
    Style.STRIKE: "s del strike",
    Style.SUPERSCRIPT: "sup",
    Style.SUBSCRIPT: "sub",
}
# Marks of elements without attributes.
BY_NAME: Mapping[str, tuple[InlineMark, ...]] = {
    name: (InlineMark(style=style),) for style, names in _ELEMENTS.items() for name in names.split()
}

_CLASSES = {
    Style.EMPHASIS: "italic italics ital it i em emph emphasis",
    Style.STRONG: "bold strong b",
    Style.UNDERLINE: "underline underlined",
    Style.STRIKE: "strike strikethrough line-through",
    Style.SUPERSCRIPT: "super superscript sup",
    Style.SUBSCRIPT: "subscript",
    Style.SMALL_CAPITALS: "smcap smcaps smallcap smallcaps small-cap small-caps small_caps smallcapitals sc",
}
_BY_CLASS = {name: style for style, names in _CLASSES.items() for name in names.split()}
# Elements with a meaning: an upright <em> is emphasised by other means.
_SEMANTIC_ELEMENTS = frozenset(("em", "strong", "code", "ins", "del"))
_STYLED_BLOCKS = frozenset(("p", "div", "blockquote", "li", "td", "dd", "section", "aside"))
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# Scripts and data are not link targets.
_NO_TARGET = re.compile(r"(?:javascript|data|blob):|#?$", re.IGNORECASE)


def styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> tuple[InlineMark, ...]:
    own = BY_NAME.get(name, ())
    classes, style = element.get("class"), element.get("style")
    if not classes and not style:
        return own
    found = {mark.style for mark in own}
    if classes:
        found |= {_BY_CLASS[each] for each in classes.lower().split() if each in _BY_CLASS}
    found = _declared(found, name, classes, style, sheet)
    if name in _SEMANTIC_ELEMENTS:
        found |= {mark.style for mark in own}
    if name == "a":
        # Links are underlined anyway.
        found.discard(Style.UNDERLINE)
    return _marks(found)


def block_styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> tuple[InlineMark, ...]:
    """Styles that a block applies to all its words, in addition to those of its kind."""
    classes, style = element.get("class"), element.get("style")
    if name not in _STYLED_BLOCKS or not (style or (classes and sheet)):
        return ()
    return _marks(_declared(set(), name, classes, style, sheet) & INHERITED)


def _declared(
    found: set[Style | None], name: str, classes: str | None, style: str | None, sheet: StyleSheet
) -> set[Style | None]:
    meanings = [
        sheet[rule]
        for each in (classes.split() if classes and sheet else ())
        for rule in (f".{each}", f"{name}.{each}")
        if rule in sheet
    ]
    if style:
        meanings.append(style_effect(style))
    for meaning in meanings:
        found = found - meaning.undoes | meaning.adds
    return found


def _marks(styles: set[Style | None]) -> tuple[InlineMark, ...]:
    return tuple(InlineMark(style=each) for each in Style if each in styles)


def href_of(element: etree._Element, name: str) -> str:
    if name != "a":
        return ""
    href = (element.get("href") or "").strip()
    return "" if _NO_TARGET.match(href) else href


def language_of(element: etree._Element) -> str:
    """BCP 47 language that the element declares; empty if none."""
    # In HTML the prefix is part of the attribute's name.
    return language_tag(element.get(_XML_LANG) or element.get("lang") or element.get("xml:lang") or "")


def is_same_language(one: str, other: str) -> bool:
    return one.lower().partition("-")[0] == other.lower().partition("-")[0]
