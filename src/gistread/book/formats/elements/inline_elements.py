"""Reads style, link target and language of XHTML elements.

They follow from names, attributes, style sheets and classes.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lxml import etree

from gistread.book.inline import InlineMark, Marks
from gistread.book.model import Style
from gistread.book.normalise import language_tag

MOST_CHARACTERS = 1_000_000  # Larger style sheets are ignored

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
# Selectors: ".verse", "p.verse"; "p".
_CLASS_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?\.(-?[_a-z][\w-]*)", re.IGNORECASE)
_ELEMENT_SELECTOR = re.compile(r"[a-z][a-z0-9]*", re.IGNORECASE)
# Declarations: "white-space: pre-wrap", "float: left".
_WHITE_SPACE = re.compile(r"(?:^|;)\s*white-space\s*:\s*([a-z-]+)", re.IGNORECASE)
_KEEPS_LINES = frozenset(("pre", "pre-wrap", "pre-line", "break-spaces"))
_FLOATS = re.compile(r"(?:^|;)\s*float\s*:\s*left", re.IGNORECASE)
_TABLES = tomllib.loads(Path(__file__).with_name("styles.toml").read_text("utf-8"))


def _declaration_patterns(patterns: Mapping[str, str]) -> dict[Style, re.Pattern[str]]:
    """For each style the pattern of a declaration: `font-style: italic` for emphasis."""
    return {
        Style(style): re.compile(rf"(?:^|;)\s*(?:{pattern})", re.IGNORECASE)
        for style, pattern in patterns.items()
    }


_ADDED = _declaration_patterns(_TABLES["added"])
_UNDONE = _declaration_patterns(_TABLES["undone"])
# Marks of elements without attributes.
BY_NAME: Mapping[str, Marks] = {
    name: (InlineMark(style=Style(style)),)
    for style, names in _TABLES["elements"].items()
    for name in names.split()
}
_BY_CLASS = {
    name: Style(style)
    for style, names in _TABLES["classes"].items()
    for name in names.split()
}

# Styles that a block passes to its words.
INHERITED = frozenset((Style.EMPHASIS, Style.STRONG, Style.SMALL_CAPITALS))


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """Styles that declarations add, and those they remove."""

    adds: frozenset[Style] = frozenset()
    undoes: frozenset[Style] = frozenset()
    keeps_lines: bool | None = None  # Whether line feeds are shown, if declared
    # Stands at the left of the text that follows, as an initial does
    floats: bool = False


# By selector: `.name` for a class, `span.name` for a class of one element; for an element, such as
# `p`, only `keeps_lines`.
StyleSheet = Mapping[str, StyleEffect]


@lru_cache(1024)
def style_effect(declarations: str) -> StyleEffect:
    """The effect of declarations such as `font-style: italic; float: left`."""
    white_space = _WHITE_SPACE.search(declarations)
    keeps_lines = None
    if white_space:
        keeps_lines = white_space[1].lower() in _KEEPS_LINES
    return StyleEffect(
        adds=_matching_styles(_ADDED, declarations),
        undoes=_matching_styles(_UNDONE, declarations),
        keeps_lines=keeps_lines,
        floats=bool(_FLOATS.search(declarations)),
    )


def _matching_styles(
    patterns: Mapping[Style, re.Pattern[str]], declarations: str
) -> frozenset[Style]:
    """The styles whose pattern occurs in the declarations."""
    return frozenset(
        style for style, pattern in patterns.items() if pattern.search(declarations)
    )


def read_sheet(text: str) -> StyleSheet:
    """The rules of a style sheet for classes and elements, so far as they affect text.

    >>> read_sheet("p.verse { white-space: pre }")["p.verse"].keeps_lines
    True
    """
    if len(text) > MOST_CHARACTERS:
        return {}
    rules: list[StyleSheet] = []
    for rule in _COMMENT.sub("", text).split("}"):
        before, _, declarations = rule.rpartition("{")
        effect = style_effect(declarations) if before else StyleEffect()
        if effect == StyleEffect():
            continue
        # An `@import ...;` or the start of an `@media` block may precede the selectors.
        in_media = before.rpartition("{")[2]
        after_import = in_media.rpartition(";")[2]
        selectors = after_import.split(",")
        rules += [_rule(selector.strip(), effect) for selector in selectors]
    return merge_sheets(rules)


def _rule(selector: str, effect: StyleEffect) -> StyleSheet:
    """A style sheet of one rule; empty if its selector is of another kind."""
    match = _CLASS_SELECTOR.fullmatch(selector)
    if match:
        element, class_name = match.groups(default="")
        return {f"{element.lower()}.{class_name}": effect}
    if effect.keeps_lines is not None and _ELEMENT_SELECTOR.fullmatch(selector):
        return {selector.lower(): StyleEffect(keeps_lines=effect.keeps_lines)}
    return {}


def merge_sheets(sheets: Iterable[StyleSheet]) -> StyleSheet:
    """The rules of all sheets; later ones override earlier ones."""
    merged: dict[str, StyleEffect] = {}
    for sheet in sheets:
        for name, later in sheet.items():
            earlier = merged.get(name, StyleEffect())
            keeps_lines = later.keeps_lines
            if keeps_lines is None:
                keeps_lines = earlier.keeps_lines
            merged[name] = StyleEffect(
                adds=(earlier.adds - later.undoes) | later.adds,
                undoes=(earlier.undoes - later.adds) | later.undoes,
                keeps_lines=keeps_lines,
                floats=earlier.floats or later.floats,
            )
    return merged


# Elements that keep their style whatever is declared: an upright <em> is still emphasised.
_SEMANTIC_ELEMENTS = frozenset(("em", "strong", "code", "ins", "del"))
_STYLED_BLOCKS = frozenset(
    ("p", "div", "blockquote", "li", "td", "dd", "section", "aside")
)
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# Scripts and data are not link targets.
_NO_TARGET = re.compile(r"(?:javascript|data|blob):|#?$", re.IGNORECASE)


def styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> Marks:
    """Styles of an element inside a paragraph, by name, class and declarations."""
    own_marks = BY_NAME.get(name, ())
    classes = element.get("class")
    if not classes and not element.get("style"):
        return own_marks
    own_styles = {mark.style for mark in own_marks}
    styles = set(own_styles)
    for class_name in (classes or "").lower().split():
        if class_name in _BY_CLASS:
            styles.add(_BY_CLASS[class_name])
    styles = _with_declared(styles, element, name, sheet)
    if name in _SEMANTIC_ELEMENTS:
        styles |= own_styles
    if name == "a":
        # Links are underlined anyway.
        styles.discard(Style.UNDERLINE)
    return _marks(styles)


def block_styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> Marks:
    """Styles that a block applies to all its words, in addition to those of its kind."""
    has_rules = bool(sheet) and element.get("class")
    may_declare = element.get("style") or has_rules
    if name not in _STYLED_BLOCKS or not may_declare:
        return ()
    return _marks(_with_declared(set(), element, name, sheet) & INHERITED)


def keeps_lines(element: etree._Element, name: str, sheet: StyleSheet) -> bool | None:
    """Whether the line feeds of an element are shown; None if it declares nothing."""
    for effect in reversed(_effects(element, name, sheet)):
        if effect.keeps_lines is not None:
            return effect.keeps_lines
    return None


def floats(element: etree._Element, name: str, sheet: StyleSheet) -> bool:
    """Whether an element stands at the left of the text that follows."""
    return any(effect.floats for effect in _effects(element, name, sheet))


def _effects(
    element: etree._Element, name: str, sheet: StyleSheet
) -> list[StyleEffect]:
    """What the style sheet and the element's own style declare, in order."""
    effects = []
    if sheet:
        if name in sheet:
            effects.append(sheet[name])
        for class_name in (element.get("class") or "").split():
            selectors = (f".{class_name}", f"{name}.{class_name}")
            effects += [sheet[selector] for selector in selectors if selector in sheet]
    style = element.get("style")
    if style:
        effects.append(style_effect(style))
    return effects


def _with_declared(
    styles: set[Style | None], element: etree._Element, name: str, sheet: StyleSheet
) -> set[Style | None]:
    """The styles after what the style sheet and the element itself add and undo."""
    for effect in _effects(element, name, sheet):
        styles = (styles - effect.undoes) | effect.adds
    return styles


def _marks(styles: set[Style | None]) -> Marks:
    return tuple(InlineMark(style=style) for style in Style if style in styles)


def href_of(element: etree._Element, name: str) -> str:
    """The address of a link; empty for other elements, scripts and embedded data."""
    if name != "a":
        return ""
    href = (element.get("href") or "").strip()
    if _NO_TARGET.match(href):
        return ""
    return href


def language_of(element: etree._Element) -> str:
    """BCP 47 language that the element declares; empty if none."""
    # In HTML the prefix is part of the attribute's name.
    declared = element.get(_XML_LANG) or element.get("lang") or element.get("xml:lang")
    return language_tag(declared or "")


def is_same_language(language: str, other: str) -> bool:
    """Whether two tags name one language, perhaps of different countries."""
    return language.lower().partition("-")[0] == other.lower().partition("-")[0]
