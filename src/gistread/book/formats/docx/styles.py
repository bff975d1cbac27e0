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


class Role(Enum):
    TEXT = auto()
    TITLE = auto()
    HEADING = auto()
    QUOTE = auto()
    VERSE = auto()
    CODE = auto()
    CAPTION = auto()
    CONTENTS = auto()


_BY_NAME: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(r"(?:toc|contents|verzeichnis)\s*(?:\d|heading)|toc\d"), Role.CONTENTS),
    (re.compile(r"heading\s*[1-9]"), Role.HEADING),
    (re.compile(r"title|book title|document title"), Role.TITLE),
    (re.compile(r"(?:intense )?quot(?:e|ation|ations)(?: \w+)?|block\s?(?:text|quote)|epigraph"), Role.QUOTE),
    (re.compile(r"verse.*|poem.*|poetry.*|stanza.*|lyrics.*"), Role.VERSE),
    (re.compile(r"html preformatted|source\s?code|preformatted text|code(?: block)?|verbatim.*"), Role.CODE),
    (re.compile(r"(?:image |table |figure )?caption|illustration|figure"), Role.CAPTION),
)
_LEVEL = re.compile(r"heading\s*([1-9])")
_DEEPEST = 20
_BODY_LEVEL = 9
"""Outline level of body text."""


@dataclass(frozen=True, slots=True)
class Look:
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

    def over(self, below: "Look") -> "Look":
        """This look, completed by `below`."""
        said: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        said = {name: what for name, what in said.items() if what is not None}
        return replace(below, **{**said, "languages": {**below.languages, **self.languages}})


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: Role = Role.TEXT
    level: int = 0
    """Of a heading, from 1."""
    numbering: tuple[str, int] | None = None
    """List id, and level from 0."""


@dataclass(frozen=True, slots=True)
class Styles:
    paragraphs: Mapping[str, ParagraphStyle] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=dict)
    """Of character styles."""
    language: str = ""
    """Default language."""


def value(element: etree._Element | None, name: str = "val") -> str | None:
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


def is_on(properties: etree._Element, name: str) -> bool | None:
    """Value of an on/off property; None if absent."""
    found = child(properties, name)
    if found is None:
        return None
    return (value(found) or "true").lower() not in ("0", "false", "off", "none")


def look_of(properties: etree._Element | None) -> Look:
    """The look that run properties (`rPr`) define."""
    if properties is None or not len(properties):
        return Look()
    strike, double = is_on(properties, "strike"), is_on(properties, "dstrike")
    languages = child(properties, "lang")
    return Look(
        bold=is_on(properties, "b"),
        italic=is_on(properties, "i"),
        underline=is_on(properties, "u"),
        strike=double if strike is None else strike or bool(double),
        small_capitals=is_on(properties, "smallcaps"),
        hidden=is_on(properties, "vanish"),
        position=value(child(properties, "vertalign")),
        right_to_left=is_on(properties, "rtl"),
        languages={str(key).rpartition("}")[2]: str(text) for key, text in languages.attrib.items()}
        if languages is not None
        else {},
    )


def numbering_of(properties: etree._Element | None) -> tuple[str, int] | None:
    """List id and level in paragraph properties (`pPr`)."""
    numbers = child(properties, "numpr")
    if numbers is None:
        return None
    level = value(child(numbers, "ilvl")) or "0"
    return value(child(numbers, "numid")) or "", int(level) if level.isdecimal() else 0


def read_styles(root: etree._Element | None) -> Styles:
    """The styles of styles.xml with everything they inherit."""
    if root is None:
        return Styles()
    elements = {value(e, "styleid") or "": e for e in root if local_name(e) == "style"}
    paragraphs: dict[str, ParagraphStyle] = {}
    looks: dict[str, Look] = {}
    for name, element in elements.items():
        if value(element, "type") == "character":
            looks[name] = _look(_chain(element, elements))
        elif value(element, "type") in ("paragraph", None):
            paragraphs[name] = _paragraph(_chain(element, elements))
    defaults = look_of(child(root, "docdefaults", "rprdefault", "rpr"))
    return Styles(paragraphs, looks, defaults.languages.get("val", ""))


def _chain(element: etree._Element, elements: Mapping[str, etree._Element]) -> list[etree._Element]:
    """A style and its ancestors, the nearest first."""
    chain = [element]
    below = elements.get(value(child(element, "basedon")) or "")
    while below is not None and below not in chain and len(chain) < _DEEPEST:
        chain.append(below)
        below = elements.get(value(child(below, "basedon")) or "")
    return chain


def _look(chain: list[etree._Element]) -> Look:
    look = Look()
    for element in reversed(chain):
        look = look_of(child(element, "rpr")).over(look)
    name = (value(child(chain[0], "name")) or "").lower()
    if name == "hyperlink":
        # The underline of a link is not emphasis.
        return replace(look, underline=None)
    return (
        replace(look, code=True) if re.search(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b", name) else look
    )


def _paragraph(chain: list[etree._Element]) -> ParagraphStyle:
    role, level = Role.TEXT, 0
    for element in reversed(chain):
        name = (value(child(element, "name")) or "").lower()
        found = next((role for pattern, role in _BY_NAME if pattern.fullmatch(name)), None)
        outline = value(child(element, "ppr", "outlinelvl")) or ""
        if found:
            role = found
            numbered = _LEVEL.match(name)
            level = int(numbered[1]) if numbered else 0
        if outline.isdecimal() and role not in (Role.TITLE, Role.CONTENTS):
            role, level = (Role.HEADING, int(outline) + 1) if int(outline) < _BODY_LEVEL else (Role.TEXT, 0)
    numbering = next((n for n in (numbering_of(child(element, "ppr")) for element in chain) if n), None)
    if numbering and not numbering[0]:
        # A style may set the level and inherit the list.
        lists = (numbering_of(child(element, "ppr")) for element in chain)
        numbering = (next((n[0] for n in lists if n and n[0]), ""), numbering[1])
    return ParagraphStyle(role, level, numbering)
