"""Reads style, link target and language of inline XHTML elements, from names, attributes, style sheets and classes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lxml import etree

from gistread.book.inline import InlineMark, Marks
from gistread.book.model import Style
from gistread.book.normalise import language_tag

MOST_CHARACTERS = 1_000_000  # Larger style sheets are ignored

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_OF_A_CLASS = re.compile(r"([a-z][a-z0-9]*)?\.(-?[_a-z][\w-]*)", re.IGNORECASE)
_ADDED = (
    (r"font-style\s*:\s*(?:italic|oblique)", Style.EMPHASIS),
    # Emphasis dots in Chinese and Japanese.
    (r"(?:-[a-z]+-)?text-emphasis(?:-style)?\s*:\s*(?!none)\S", Style.EMPHASIS),
    (r"font-weight\s*:\s*(?:bold|[6-9]00)", Style.STRONG),
    (r"text-decoration(?:-line)?\s*:[^;]*underline", Style.UNDERLINE),
    (r"text-decoration(?:-line)?\s*:[^;]*line-through", Style.STRIKE),
    (r"vertical-align\s*:\s*(?:super|text-top)", Style.SUPERSCRIPT),
    (r"vertical-align\s*:\s*sub\b", Style.SUBSCRIPT),
    (r"font-variant(?:-caps)?\s*:[^;]*small-caps", Style.SMALL_CAPITALS),
)
_UNDONE = (
    (r"font-style\s*:\s*normal", Style.EMPHASIS),
    (r"font-weight\s*:\s*(?:normal|[1-5]00)", Style.STRONG),
    (r"text-decoration(?:-line)?\s*:\s*none", Style.UNDERLINE),
    (r"vertical-align\s*:\s*baseline", Style.SUPERSCRIPT),
    (r"vertical-align\s*:\s*baseline", Style.SUBSCRIPT),
)

INHERITED = frozenset((Style.EMPHASIS, Style.STRONG, Style.SMALL_CAPITALS))  # Styles that a block passes to its words


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """Styles that declarations add, and those they remove."""

    adds: frozenset[Style] = frozenset()
    undoes: frozenset[Style] = frozenset()


StyleSheet = Mapping[str, StyleEffect]  # By class: `.name` for any element, `span.name` for one


def style_effect(declarations: str) -> StyleEffect:
    return StyleEffect(
        *(
            frozenset(s for pattern, s in table if re.search(rf"(?:^|;)\s*{pattern}", declarations, re.IGNORECASE))
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
            adds, undoes = earlier.adds - later.undoes | later.adds, earlier.undoes - later.adds | later.undoes
            found[name] = StyleEffect(adds, undoes)
    return found


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
BY_NAME: Mapping[str, Marks] = {
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
    return language_tag(element.get(_XML_LANG) or element.get("lang") or element.get("xml:lang") or "")


def is_same_language(one: str, other: str) -> bool:
    return one.lower().partition("-")[0] == other.lower().partition("-")[0]
