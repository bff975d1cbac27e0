"""Reads a Word document's styles: what each makes of a paragraph or run.

Styles inherit. Names count: Word stores those of its own styles in English in every language.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from typing import Any

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
_BODY_LEVEL = 9
"""Outline level of body text."""


@dataclass(frozen=True, slots=True)
class RunFormat:
    """Formatting of a run; None inherits."""

    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    strike: bool | None = None
    small_capitals: bool | None = None
    hidden: bool | None = None
    position: str | None = None
    """"superscript", "subscript" or "baseline"."""
    right_to_left: bool | None = None
    languages: Mapping[str, str] = field(default_factory=dict)
    """By script: "val" (western), "eastAsia", "bidi"."""
    code: bool | None = None

    def over(self, below: "RunFormat") -> "RunFormat":
        """This look, completed by `below`."""
        defined: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        defined = {name: what for name, what in defined.items() if what is not None}
        return replace(below, **{**defined, "languages": {**below.languages, **self.languages}})


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: StyleRole = StyleRole.TEXT
    level: int = 0
    numbering: tuple[str, int] | None = None
    """List id, and level from 0."""


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


def is_enabled(properties: etree._Element, name: str) -> bool | None:
    """Value of an on/off property; None if absent."""
    found = child(properties, name)
    if found is None:
        return None
    return (attribute(found) or "true").lower() not in ("0", "false", "off", "none")


def run_format_of(properties: etree._Element | None) -> RunFormat:
    """The look that run properties (`rPr`) define."""
    if properties is None or not len(properties):
        return RunFormat()
    strike, double = is_enabled(properties, "strike"), is_enabled(properties, "dstrike")
    languages = child(properties, "lang")
    return RunFormat(
        bold=is_enabled(properties, "b"),
        italic=is_enabled(properties, "i"),
        underline=is_enabled(properties, "u"),
        strike=double if strike is None else strike or bool(double),
        small_capitals=is_enabled(properties, "smallcaps"),
        hidden=is_enabled(properties, "vanish"),
        position=attribute(child(properties, "vertalign")),
        right_to_left=is_enabled(properties, "rtl"),
        languages={str(key).rpartition("}")[2]: str(text) for key, text in languages.attrib.items()}
        if languages is not None
        else {},
    )


def numbering_of(properties: etree._Element | None) -> tuple[str, int] | None:
    """List id and level in paragraph properties (`pPr`)."""
    numbers = child(properties, "numpr")
    if numbers is None:
        return None
    level = attribute(child(numbers, "ilvl")) or "0"
    return attribute(child(numbers, "numid")) or "", int(level) if level.isdecimal() else 0


def read_styles(root: etree._Element | None) -> Styles:
    """The styles of styles.xml with everything they inherit."""
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
    return Styles(paragraphs, looks, defaults.languages.get("val", ""))


def _chain(element: etree._Element, elements: Mapping[str, etree._Element]) -> list[etree._Element]:
    """A style and its ancestors, the nearest first."""
    chain = [element]
    below = elements.get(attribute(child(element, "basedon")) or "")
    while below is not None and below not in chain and len(chain) < _DEEPEST:
        chain.append(below)
        below = elements.get(attribute(child(below, "basedon")) or "")
    return chain


def _character_format(chain: list[etree._Element]) -> RunFormat:
    look = RunFormat()
    for element in reversed(chain):
        look = run_format_of(child(element, "rpr")).over(look)
    name = (attribute(child(chain[0], "name")) or "").lower()
    if name == "hyperlink":
        # The underline of a link is not emphasis.
        return replace(look, underline=None)
    return (
        replace(look, code=True) if re.search(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b", name) else look
    )


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
            role, level = (StyleRole.HEADING, int(outline) + 1) if int(outline) < _BODY_LEVEL else (StyleRole.TEXT, 0)
    numbering = next((n for n in (numbering_of(child(element, "ppr")) for element in chain) if n), None)
    if numbering and not numbering[0]:
        # A style may set the level and inherit the list.
        lists = (numbering_of(child(element, "ppr")) for element in chain)
        numbering = (next((n[0] for n in lists if n and n[0]), ""), numbering[1])
    return ParagraphStyle(role, level, numbering)
