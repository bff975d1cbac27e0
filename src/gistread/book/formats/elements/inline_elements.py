"""Reads style, link target and language of inline XHTML elements.

From their names, attributes, style sheets and classes.
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
_OF_A_CLASS = re.compile(r"([a-z][a-z0-9]*)?\.(-?[_a-z][\w-]*)", re.IGNORECASE)
_OF_AN_ELEMENT = re.compile(r"[a-z][a-z0-9]*", re.IGNORECASE)
_WHITE_SPACE = re.compile(r"(?:^|;)\s*white-space\s*:\s*([a-z-]+)", re.IGNORECASE)
_KEEPS_LINES = frozenset(("pre", "pre-wrap", "pre-line", "break-spaces"))
_FLOATS = re.compile(r"(?:^|;)\s*float\s*:\s*left", re.IGNORECASE)
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


# By class: `.name` for any element, `span.name` for one. By element, `p`, only `keeps_lines`.
StyleSheet = Mapping[str, StyleEffect]


@lru_cache(1024)
def style_effect(declarations: str) -> StyleEffect:
    added, undone = (
        frozenset(
            style for style, pattern in table.items() if pattern.search(declarations)
        )
        for table in (_ADDED, _UNDONE)
    )
    white_space = _WHITE_SPACE.search(declarations)
    keeps = white_space[1].lower() in _KEEPS_LINES if white_space else None
    return StyleEffect(added, undone, keeps, bool(_FLOATS.search(declarations)))


def read_sheet(text: str) -> StyleSheet:
    """The rules of a style sheet that affect text style, of a class or of an element."""
    if len(text) > MOST_CHARACTERS:
        return {}
    rules: list[StyleSheet] = []
    for rule in _COMMENT.sub("", text).split("}"):
        before, _, declarations = rule.rpartition("{")
        effect = style_effect(declarations) if before else StyleEffect()
        if effect == StyleEffect():
            continue
        # An `@import ...;` or the start of an `@media` block may precede the selectors.
        selectors = before.rpartition("{")[2].rpartition(";")[2].split(",")
        rules += [_rule(selector.strip(), effect) for selector in selectors]
    return merge_sheets(rules)


def _rule(selector: str, effect: StyleEffect) -> StyleSheet:
    """A style sheet of one rule; empty if its selector is of another kind."""
    match = _OF_A_CLASS.fullmatch(selector)
    if match:
        return {f"{(match[1] or '').lower()}.{match[2]}": effect}
    if effect.keeps_lines is not None and _OF_AN_ELEMENT.fullmatch(selector):
        return {selector.lower(): StyleEffect(keeps_lines=effect.keeps_lines)}
    return {}


def merge_sheets(sheets: Iterable[StyleSheet]) -> StyleSheet:
    merged: dict[str, StyleEffect] = {}
    for sheet in sheets:
        for name, later in sheet.items():
            earlier = merged.get(name, StyleEffect())
            keeps_lines = later.keeps_lines
            if keeps_lines is None:
                keeps_lines = earlier.keeps_lines
            merged[name] = StyleEffect(
                earlier.adds - later.undoes | later.adds,
                earlier.undoes - later.adds | later.undoes,
                keeps_lines,
                earlier.floats or later.floats,
            )
    return merged


# Elements with a meaning: an upright <em> is emphasised by other means.
_SEMANTIC_ELEMENTS = frozenset(("em", "strong", "code", "ins", "del"))
_STYLED_BLOCKS = frozenset(
    ("p", "div", "blockquote", "li", "td", "dd", "section", "aside")
)
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# Scripts and data are not link targets.
_NO_TARGET = re.compile(r"(?:javascript|data|blob):|#?$", re.IGNORECASE)


def styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> Marks:
    own = BY_NAME.get(name, ())
    classes, style = element.get("class"), element.get("style")
    if not classes and not style:
        return own
    styles = {mark.style for mark in own}
    if classes:
        named = classes.lower().split()
        styles |= {
            _BY_CLASS[class_name] for class_name in named if class_name in _BY_CLASS
        }
    styles = _declared(styles, element, name, sheet)
    if name in _SEMANTIC_ELEMENTS:
        styles |= {mark.style for mark in own}
    if name == "a":
        # Links are underlined anyway.
        styles.discard(Style.UNDERLINE)
    return _marks(styles)


def block_styles_of(element: etree._Element, name: str, sheet: StyleSheet) -> Marks:
    """Styles that a block applies to all its words, in addition to those of its kind."""
    classes, style = element.get("class"), element.get("style")
    if name not in _STYLED_BLOCKS or not (style or (classes and sheet)):
        return ()
    return _marks(_declared(set(), element, name, sheet) & INHERITED)


def keeps_lines(element: etree._Element, name: str, sheet: StyleSheet) -> bool | None:
    """Whether the line feeds of an element are shown; None if it declares nothing."""
    declared = [effect.keeps_lines for effect in _effects(element, name, sheet)]
    return next((keeps for keeps in reversed(declared) if keeps is not None), None)


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
        for each in (element.get("class") or "").split():
            rules = (f".{each}", f"{name}.{each}")
            effects += [sheet[rule] for rule in rules if rule in sheet]
    if style := element.get("style"):
        effects.append(style_effect(style))
    return effects


def _declared(
    styles: set[Style | None], element: etree._Element, name: str, sheet: StyleSheet
) -> set[Style | None]:
    """The styles after what the style sheet and the element itself add and undo."""
    for effect in _effects(element, name, sheet):
        styles = styles - effect.undoes | effect.adds
    return styles


def _marks(styles: set[Style | None]) -> Marks:
    return tuple(InlineMark(style=each) for each in Style if each in styles)


def href_of(element: etree._Element, name: str) -> str:
    if name != "a":
        return ""
    href = (element.get("href") or "").strip()
    if _NO_TARGET.match(href):
        return ""
    return href


def language_of(element: etree._Element) -> str:
    """BCP 47 language that the element declares; empty if none."""
    # In HTML the prefix is part of the attribute's name.
    declared = (element.get(name) for name in (_XML_LANG, "lang", "xml:lang"))
    return language_tag(next(filter(None, declared), ""))


def is_same_language(language: str, other: str) -> bool:
    """Whether two tags name one language, perhaps of different countries."""
    return language.lower().partition("-")[0] == other.lower().partition("-")[0]
