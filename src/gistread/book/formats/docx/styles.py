"""Reads a Word document's styles and lists. Style names are English in every language."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import islice

from lxml import etree

from gistread.book.formats.elements.semantics import BULLET, format_number


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
    (
        re.compile(r"(?:toc|contents|verzeichnis)\s*(?:\d|heading)|toc\d"),
        StyleRole.CONTENTS,
    ),
    (re.compile(r"heading\s*([1-9])"), StyleRole.HEADING),
    (re.compile(r"title|book title|document title"), StyleRole.TITLE),
    (
        re.compile(
            r"(?:intense )?quot(?:e|ation|ations)(?: \w+)?|block\s?(?:text|quote)|epigraph"
        ),
        StyleRole.QUOTE,
    ),
    (re.compile(r"verse.*|poem.*|poetry.*|stanza.*|lyrics.*"), StyleRole.VERSE),
    (
        re.compile(
            r"html preformatted|source\s?code|preformatted text|code(?: block)?|verbatim.*"
        ),
        StyleRole.CODE,
    ),
    (
        re.compile(r"(?:image |table |figure )?caption|illustration|figure"),
        StyleRole.CAPTION,
    ),
)
_CODE = re.compile(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b")
_OFF = ("0", "false", "off", "none")
_DEEPEST = 20
_MOST_STYLES = 4_079  # Word's own limit

RunFormat = Mapping[str, bool | str]
"""Formatting of a run by property, such as "b", "smallcaps" or "code"; a missing one is inherited.

"position" is "superscript", "subscript" or "baseline". Languages go by script: "lang val"
(western), "lang eastasia", "lang bidi".
"""
_SWITCHES = {
    name: name for name in ("b", "i", "u", "strike", "smallcaps", "vanish", "rtl")
} | {"dstrike": "strike"}


_BODY_LEVEL = 9  # The outline level of body text


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The list that a paragraph is in, by its id, and the level from 0."""

    name: str
    level: int


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: StyleRole = StyleRole.TEXT
    level: int = 0
    numbering: ListPlace | None = None

    def at_outline_level(self, level: str) -> "ParagraphStyle":
        """The style with an outline level, which makes a heading of text."""
        if not level.isdecimal() or self.role in (StyleRole.TITLE, StyleRole.CONTENTS):
            return self
        if int(level) < _BODY_LEVEL:
            return ParagraphStyle(StyleRole.HEADING, int(level) + 1, self.numbering)
        return ParagraphStyle(StyleRole.TEXT, 0, self.numbering)


@dataclass(frozen=True, slots=True)
class Styles:
    paragraphs: Mapping[str, ParagraphStyle] = field(default_factory=dict)
    looks: Mapping[str, RunFormat] = field(default_factory=dict)
    language: str = ""


def value(element: etree._Element | None, path: str) -> str:
    """The `val` of the descendant at a path; empty if there is none."""
    if element is None:
        return ""
    inner = element.find(path)
    if inner is None:
        return ""
    return inner.get("val", "")


def run_format_of(properties: etree._Element | None) -> RunFormat:
    look: dict[str, bool | str] = {}
    if properties is None:
        return look
    for element in properties:
        if element.tag in _SWITCHES:
            look[_SWITCHES[element.tag]] = element.get("val", "").lower() not in _OFF
        elif element.tag == "vertalign":
            look["position"] = element.get("val", "")
        elif element.tag == "lang":
            for script, language in element.attrib.items():
                look[f"lang {script!s}"] = str(language)
    return look


def numbering_of(
    properties: etree._Element | None, inherited: ListPlace | None
) -> ListPlace | None:
    """The list in paragraph properties (`pPr`), of which one without a name is inherited."""
    if properties is None:
        return inherited
    numbers = properties.find("numpr")
    if numbers is None:
        return inherited
    inherited_name = inherited.name if inherited else ""
    level = value(numbers, "ilvl")
    return ListPlace(
        name=value(numbers, "numid") or inherited_name,
        level=int(level) if level.isdecimal() else 0,
    )


def read_styles(root: etree._Element | None) -> Styles:
    if root is None:
        return Styles()
    elements = {
        e.get("styleid", ""): e for e in islice(root.iterfind("style"), _MOST_STYLES)
    }
    paragraphs: dict[str, ParagraphStyle] = {}
    looks: dict[str, RunFormat] = {}
    for name, element in elements.items():
        chain = _chain(element, elements)
        if element.get("type") == "character":
            looks[name] = _look(chain)
        elif element.get("type") in ("paragraph", None):
            paragraphs[name] = _paragraph(chain)
    defaults = run_format_of(root.find("docdefaults/rprdefault/rpr"))
    return Styles(paragraphs, looks, str(defaults.get("lang val", "")))


def _chain(
    style: etree._Element, styles: Mapping[str, etree._Element]
) -> list[etree._Element]:
    """A style, after those it is based on."""
    chain: list[etree._Element] = []
    base: etree._Element | None = style
    while base is not None and base not in chain and len(chain) < _DEEPEST:
        chain.insert(0, base)
        base = styles.get(value(base, "basedon"))
    return chain


def _look(chain: list[etree._Element]) -> RunFormat:
    look: dict[str, bool | str] = {}
    for style in chain:
        look |= run_format_of(style.find("rpr"))
    name = value(chain[-1], "name").lower()
    if name == "hyperlink":
        look.pop("u", None)  # Links are underlined anyway
    elif _CODE.search(name):
        look["code"] = True
    return look


def _paragraph(chain: list[etree._Element]) -> ParagraphStyle:
    style = ParagraphStyle()
    for element in chain:
        name = value(element, "name").lower()
        for pattern, role in _BY_NAME:
            if match := pattern.fullmatch(name):
                level = int(match[1]) if role is StyleRole.HEADING else 0
                style = replace(style, role=role, level=level)
                break
        style = style.at_outline_level(value(element, "ppr/outlinelvl"))
        style = replace(
            style, numbering=numbering_of(element.find("ppr"), style.numbering)
        )
    return style


_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
_BULLETS = tuple("-–—*·◦▪‣")
_FORMATS = {
    "lowerletter": "a",
    "upperletter": "A",
    "lowerroman": "i",
    "upperroman": "I",
}


@dataclass(frozen=True, slots=True)
class _Level:
    style: str = "bullet"
    text: str = ""
    start: int = 1


@dataclass(frozen=True, slots=True)
class _List:
    family: str  # Lists of one family share their counters
    levels: Mapping[int, _Level]
    restarts: frozenset[int]  # Levels at which this list restarts


@dataclass(slots=True)
class Numbering:
    lists: Mapping[str, _List] = field(default_factory=dict)
    _counts: dict[str, list[int | None]] = field(default_factory=dict)
    _begun: set[tuple[str, int]] = field(default_factory=set)

    def next_marker(self, place: ListPlace) -> str:
        """The number or bullet of the list's next paragraph at this level; empty if it has none."""
        numbered = self.lists.get(place.name)
        if numbered is None:
            return ""
        level = min(max(place.level, 0), _LEVELS - 1)
        counts = self._counts.setdefault(numbered.family, [None] * _LEVELS)
        if level in numbered.restarts and (place.name, level) not in self._begun:
            counts[level] = None
        self._begun.add((place.name, level))
        own = numbered.levels.get(level, _Level())
        before = counts[level]
        counts[level] = own.start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.style == "bullet":
            # Symbol fonts use private characters that have no meaning elsewhere.
            if own.text not in _BULLETS:
                return BULLET
            return own.text
        if own.style == "none":
            return ""

        def number(reference: re.Match[str]) -> str:
            index = int(reference[1]) - 1
            level = numbered.levels.get(index, _Level())
            count = counts[index]
            style = _FORMATS.get(level.style, "1")
            return format_number(level.start if count is None else count, style)

        return _PLACE.sub(number, own.text).strip()


def read_numbering(root: etree._Element | None) -> Numbering:
    if root is None:
        return Numbering()
    families = {e.get("abstractnumid", ""): e for e in root.iterfind("abstractnum")}
    by_style = {
        value(e, "stylelink"): name
        for name, e in families.items()
        if e.find("stylelink") is not None
    }
    lists = {}
    for element in root.iterfind("num"):
        family = value(element, "abstractnumid")
        linked = value(families.get(family), "numstylelink")
        family = by_style.get(linked, family) if linked else family
        levels = _levels(families.get(family))
        restarts: set[int] = set()
        for override in element.iterfind("lvloverride"):
            level = _integer(override.get("ilvl"))
            levels |= _levels(override)
            start = override.find("startoverride")
            if start is not None:
                restarts.add(level)
                before = levels.get(level, _Level())
                levels[level] = replace(before, start=_integer(start.get("val")))
        lists[element.get("numid", "")] = _List(family, levels, frozenset(restarts))
    return Numbering(lists)


def _levels(element: etree._Element | None) -> dict[int, _Level]:
    if element is None:
        return {}
    return {
        _integer(level.get("ilvl")): _Level(
            (value(level, "numfmt") or "decimal").lower(),
            value(level, "lvltext"),
            _integer(value(level, "start"), 1),
        )
        for level in element.iterfind("lvl")
    }


def _integer(text: str | None, default: int = 0) -> int:
    if text and re.fullmatch(r"\d{1,9}", text):
        return int(text)
    return default
