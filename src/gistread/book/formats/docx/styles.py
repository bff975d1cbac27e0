"""Reads the effects of a Word document's styles on paragraphs and runs. Style names are English in every language."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from lxml import etree


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
    (re.compile(r"heading\s*([1-9])"), StyleRole.HEADING),
    (re.compile(r"title|book title|document title"), StyleRole.TITLE),
    (re.compile(r"(?:intense )?quot(?:e|ation|ations)(?: \w+)?|block\s?(?:text|quote)|epigraph"), StyleRole.QUOTE),
    (re.compile(r"verse.*|poem.*|poetry.*|stanza.*|lyrics.*"), StyleRole.VERSE),
    (re.compile(r"html preformatted|source\s?code|preformatted text|code(?: block)?|verbatim.*"), StyleRole.CODE),
    (re.compile(r"(?:image |table |figure )?caption|illustration|figure"), StyleRole.CAPTION),
)
_CODE = re.compile(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b")
_DEEPEST = 20
_BODY_LEVEL = 9  # Outline level of body text

RunFormat = Mapping[str, bool | str]
"""Formatting of a run by property, such as "b", "smallcaps" or "code"; a missing one is inherited.

"position" is "superscript", "subscript" or "baseline". Languages go by script: "lang val" (western), "lang eastasia",
"lang bidi".
"""
_SWITCHES = {name: name for name in ("b", "i", "u", "strike", "smallcaps", "vanish", "rtl")} | {"dstrike": "strike"}


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: StyleRole = StyleRole.TEXT
    level: int = 0
    numbering: tuple[str, int] | None = None  # List id, and level from 0

    def at_outline_level(self, level: str) -> "ParagraphStyle":
        """The style with an outline level, which makes a heading of text."""
        if not level.isdecimal() or self.role in (StyleRole.TITLE, StyleRole.CONTENTS):
            return self
        is_heading = int(level) < _BODY_LEVEL
        role = StyleRole.HEADING if is_heading else StyleRole.TEXT
        return ParagraphStyle(role, int(level) + 1 if is_heading else 0, self.numbering)


@dataclass(frozen=True, slots=True)
class Styles:
    paragraphs: Mapping[str, ParagraphStyle] = field(default_factory=dict)
    looks: Mapping[str, RunFormat] = field(default_factory=dict)
    language: str = ""


def value(element: etree._Element | None, path: str) -> str:
    """The `val` of the descendant at a path; empty if there is none."""
    found = None if element is None else element.find(path)
    return "" if found is None else found.get("val", "")


def run_format_of(properties: etree._Element | None) -> RunFormat:
    look: dict[str, bool | str] = {}
    for element in properties if properties is not None else ():
        if element.tag in _SWITCHES:
            look[_SWITCHES[element.tag]] = element.get("val", "").lower() not in ("0", "false", "off", "none")
        elif element.tag == "vertalign":
            look["position"] = element.get("val", "")
        elif element.tag == "lang":
            look |= {f"lang {script!s}": str(language) for script, language in element.attrib.items()}
    return look


def numbering_of(properties: etree._Element | None, inherited: tuple[str, int] | None) -> tuple[str, int] | None:
    """List id and level in paragraph properties (`pPr`). Setting only the level inherits the list."""
    numbers = None if properties is None else properties.find("numpr")
    if numbers is None:
        return inherited
    level = value(numbers, "ilvl")
    return value(numbers, "numid") or (inherited[0] if inherited else ""), int(level) if level.isdecimal() else 0


def read_styles(root: etree._Element | None) -> Styles:
    if root is None:
        return Styles()
    elements = {e.get("styleid", ""): e for e in root.iterfind("style")}
    paragraphs: dict[str, ParagraphStyle] = {}
    looks: dict[str, RunFormat] = {}
    for name, element in elements.items():
        chain: list[etree._Element] = []
        below: etree._Element | None = element
        while below is not None and below not in chain and len(chain) < _DEEPEST:
            chain.insert(0, below)
            below = elements.get(value(below, "basedon"))
        if element.get("type") == "character":
            looks[name] = _character_format(chain)
        elif element.get("type") in ("paragraph", None):
            paragraphs[name] = _paragraph(chain)
    defaults = run_format_of(root.find("docdefaults/rprdefault/rpr"))
    return Styles(paragraphs, looks, str(defaults.get("lang val", "")))


def _character_format(chain: list[etree._Element]) -> RunFormat:
    """The format of a style, given after those it is based on."""
    look: dict[str, bool | str] = {}
    for element in chain:
        look |= run_format_of(element.find("rpr"))
    name = value(chain[-1], "name").lower()
    if name == "hyperlink":
        # Links are underlined anyway.
        look.pop("u", None)
    elif _CODE.search(name):
        look["code"] = True
    return look


def _paragraph(chain: list[etree._Element]) -> ParagraphStyle:
    style = ParagraphStyle()
    for element in chain:
        name = value(element, "name").lower()
        found = next(((match, role) for pattern, role in _BY_NAME if (match := pattern.fullmatch(name))), None)
        if found:
            match, role = found
            style = ParagraphStyle(role, int(match[1]) if role is StyleRole.HEADING else 0, style.numbering)
        style = style.at_outline_level(value(element, "ppr/outlinelvl"))
        style = ParagraphStyle(style.role, style.level, numbering_of(element.find("ppr"), style.numbering))
    return style
