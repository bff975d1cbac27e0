"""Reads the effects of a Word document's styles on paragraphs and runs. Style names are English in every language."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from lxml import etree

from gistread.book.formats.elements.markup import local_name


class StyleRole(Enum):
    TEXT = auto()
    TITLE = auto()
    HEADING = auto()
    QUOTE = auto()
    VERSE = auto()
    CODE = auto()
    CAPTION = auto()
    CONTENTS = auto()


_BY_NAME: tuple[tuple[re.Pattern[str], StyleRole], ...] = (
    (re.compile(r"(?:toc|contents|verzeichnis)\s*(?:\d|heading)|toc\d"), StyleRole.CONTENTS),
    (re.compile(r"heading\s*[1-9]"), StyleRole.HEADING),
    (re.compile(r"title|book title|document title"), StyleRole.TITLE),
    (re.compile(r"(?:intense )?quot(?:e|ation|ations)(?: \w+)?|block\s?(?:text|quote)|epigraph"), StyleRole.QUOTE),
    (re.compile(r"verse.*|poem.*|poetry.*|stanza.*|lyrics.*"), StyleRole.VERSE),
    (re.compile(r"html preformatted|source\s?code|preformatted text|code(?: block)?|verbatim.*"), StyleRole.CODE),
    (re.compile(r"(?:image |table |figure )?caption|illustration|figure"), StyleRole.CAPTION),
)
_LEVEL = re.compile(r"heading\s*([1-9])")
_DEEPEST = 20
BODY_LEVEL = 9  # Outline level of body text


RunFormat = Mapping[str, bool | str]
"""Formatting of a run by property, such as "b", "smallcaps" or "code"; a missing one is inherited.

"position" is "superscript", "subscript" or "baseline". Languages go by script: "lang val" (western), "lang eastAsia",
"lang bidi".
"""
_SWITCHES = frozenset(("b", "i", "u", "strike", "dstrike", "smallcaps", "vanish", "rtl"))


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: StyleRole = StyleRole.TEXT
    level: int = 0
    numbering: tuple[str, int] | None = None  # List id, and level from 0


@dataclass(frozen=True, slots=True)
class Styles:
    paragraphs: Mapping[str, ParagraphStyle] = field(default_factory=dict)
    looks: Mapping[str, RunFormat] = field(default_factory=dict)
    language: str = ""


def attribute(element: etree._Element | None, name: str = "val") -> str | None:
    """An attribute by its lower-case name without namespace."""
    if element is None:
        return None
    return next(
        (str(text) for key, text in element.attrib.items() if str(key).rpartition("}")[2].lower() == name), None
    )


def child(element: etree._Element | None, *path: str) -> etree._Element | None:
    """The descendant at a path of lower-case names, or None."""
    for name in path:
        if element is None:
            return None
        element = next((inner for inner in element if local_name(inner) == name), None)
    return element


def run_format_of(properties: etree._Element | None) -> RunFormat:
    look: dict[str, bool | str] = {}
    for element in properties if properties is not None else ():
        name = local_name(element)
        if name in _SWITCHES:
            look[name] = (attribute(element) or "true").lower() not in ("0", "false", "off", "none")
        elif name == "vertalign":
            look["position"] = attribute(element) or ""
        elif name == "lang":
            look |= {f"lang {str(key).rpartition('}')[2]}": str(text) for key, text in element.attrib.items()}
    if "dstrike" in look:
        look["strike"] = look.pop("dstrike") or look.get("strike", False)
    return look


def numbering_of(properties: etree._Element | None) -> tuple[str, int] | None:
    """List id and level in paragraph properties (`pPr`)."""
    numbers = child(properties, "numpr")
    if numbers is None:
        return None
    level = attribute(child(numbers, "ilvl")) or "0"
    return attribute(child(numbers, "numid")) or "", int(level) if level.isdecimal() else 0


def inherit_numbering(own: tuple[str, int] | None, below: tuple[str, int] | None) -> tuple[str, int] | None:
    """The own list and level. Setting only the level inherits the list."""
    return (own[0] or below[0], own[1]) if own and below else own or below


def read_styles(root: etree._Element | None) -> Styles:
    if root is None:
        return Styles()
    elements = {attribute(e, "styleid") or "": e for e in root if local_name(e) == "style"}
    paragraphs: dict[str, ParagraphStyle] = {}
    looks: dict[str, RunFormat] = {}
    for name, element in elements.items():
        if attribute(element, "type") == "character":
            looks[name] = _character_format(_chain(element, elements))
        elif attribute(element, "type") in ("paragraph", None):
            paragraphs[name] = _paragraph(_chain(element, elements))
    defaults = run_format_of(child(root, "docdefaults", "rprdefault", "rpr"))
    return Styles(paragraphs, looks, str(defaults.get("lang val", "")))


def _chain(element: etree._Element, elements: Mapping[str, etree._Element]) -> list[etree._Element]:
    chain: list[etree._Element] = []
    below: etree._Element | None = element
    while below is not None and below not in chain and len(chain) < _DEEPEST:
        chain.append(below)
        below = elements.get(attribute(child(below, "basedon")) or "")
    return chain


def _character_format(chain: list[etree._Element]) -> RunFormat:
    look: dict[str, bool | str] = {}
    for element in reversed(chain):
        look |= run_format_of(child(element, "rpr"))
    name = (attribute(child(chain[0], "name")) or "").lower()
    if name == "hyperlink":
        # Links are underlined anyway.
        look.pop("u", None)
    elif re.search(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b", name):
        look["code"] = True
    return look


def _paragraph(chain: list[etree._Element]) -> ParagraphStyle:
    role, level = StyleRole.TEXT, 0
    for element in reversed(chain):
        name = (attribute(child(element, "name")) or "").lower()
        found = next((role for pattern, role in _BY_NAME if pattern.fullmatch(name)), None)
        outline = attribute(child(element, "ppr", "outlinelvl")) or ""
        if found:
            role = found
            numbered = _LEVEL.match(name)
            level = int(numbered[1]) if numbered else 0
        if outline.isdecimal() and role not in (StyleRole.TITLE, StyleRole.CONTENTS):
            role, level = (StyleRole.HEADING, int(outline) + 1) if int(outline) < BODY_LEVEL else (StyleRole.TEXT, 0)
    numbering = None
    for element in chain:
        numbering = inherit_numbering(numbering, numbering_of(child(element, "ppr")))
    return ParagraphStyle(role, level, numbering)
