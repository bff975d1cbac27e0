"""Reads style, link target and language of inline XHTML elements, from names, attributes, style
sheets and classes.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from gistread.book.inline import InlineMark, Marks
from gistread.book.model import Style
from gistread.book.normalise import language_tag

MOST_CHARACTERS = 1_000_000  # Larger style sheets are ignored

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_OF_A_CLASS = re.compile(r"([a-z][a-z0-9]*)?\.(-?[_a-z][\w-]*)", re.IGNORECASE)
_TABLES = tomllib.loads(Path(__file__).with_name("styles.toml").read_text("utf-8"))
_ADDED, _UNDONE = (
    {
        Style(style): re.compile(rf"(?:^|;)\s*(?:{pattern})", re.IGNORECASE)
        for style, pattern in _TABLES[name].items()
    }
    for name in ("added", "undone")
)
# Marks of elements without attributes.
BY_NAME: Mapping[str, Marks] = {
    name: (InlineMark(style=Style(style)),)
    for style, names in _TABLES["elements"].items()
    for name in names.split()
}
_BY_CLASS = {
    name: Style(style) for style, names in _TABLES["classes"].items() for name in names.split()
}

INHERITED = frozenset(
    (Style.EMPHASIS, Style.STRONG, Style.SMALL_CAPITALS)
)  # Styles that a block passes to its words


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """Styles that declarations add, and those they remove."""

    adds: frozenset[Style] = frozenset()
    undoes: frozenset[Style] = frozenset()


StyleSheet = Mapping[str, StyleEffect]  # By class: `.name` for any element, `span.name` for one


def style_effect(declarations: str) -> StyleEffect:
    return StyleEffect(
        *(
            frozenset(s for s, pattern in table.items() if pattern.search(declarations))
            for table in (_ADDED, _UNDONE)
        )
    )


def read_sheet(text: str) -> StyleSheet:
    """The classes of a style sheet that affect text style."""
    if len(text) > MOST_CHARACTERS:
        return {}
    found: list[StyleSheet] = []
    for rule in _COMMENT.sub("", text).split("}"):
        before, _, declarations = rule.rpartition("{")
        meaning = style_effect(declarations) if before else StyleEffect()
        if meaning == StyleEffect():
            continue
        # An `@import ...;` or the start of an `@media` block may precede the selectors.
        for selector in before.rpartition("{")[2].rpartition(";")[2].split(","):
            match = _OF_A_CLASS.fullmatch(selector.strip())
            if match:
                found.append({f"{(match[1] or '').lower()}.{match[2]}": meaning})
    return merge_sheets(found)


def merge_sheets(sheets: Iterable[StyleSheet]) -> StyleSheet:
    found: dict[str, StyleEffect] = {}
    for sheet in sheets:
        for name, later in sheet.items():
            earlier = found.get(name, StyleEffect())
            adds, undoes = (
                earlier.adds - later.undoes | later.adds,
                earlier.undoes - later.adds | later.undoes,
            )
            found[name] = StyleEffect(adds, undoes)
    return found


# Elements with a meaning: an upright <em> is emphasised by other means.
_SEMANTIC_ELEMENTS = frozenset(("em", "strong", "code", "ins", "del"))
_STYLED_BLOCKS = frozenset(("p", "div", "blockquote", "li", "td", "dd", "section", "aside"))
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# Scripts and data are not link targets.
_NO_TARGET = re.compile(r"(?:javascript|data|blob):|#?$", re.IGNORECASE)


def styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> Marks:
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


def block_styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> Marks:
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


def _marks(styles: set[Style | None]) -> Marks:
    return tuple(InlineMark(style=each) for each in Style if each in styles)


def href_of(element: etree._Element, name: str) -> str:
    if name != "a":
        return ""
    href = (element.get("href") or "").strip()
    return "" if _NO_TARGET.match(href) else href


def language_of(element: etree._Element) -> str:
    """BCP 47 language that the element declares; empty if none."""
    # In HTML the prefix is part of the attribute's name.
    return language_tag(
        element.get(_XML_LANG) or element.get("lang") or element.get("xml:lang") or ""
    )


def is_same_language(one: str, other: str) -> bool:
    return one.lower().partition("-")[0] == other.lower().partition("-")[0]
