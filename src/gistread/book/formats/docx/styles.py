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
    (re.compile(r"(?:toc|contents|verzeichnis)\s*(?:\d|heading)|toc\d"), StyleRole.CONTENTS),
    (re.compile(r"heading\s*([1-9])"), StyleRole.HEADING),
    (re.compile(r"title|book title|document title"), StyleRole.TITLE),
    (
        re.compile(r"(?:intense )?quot(?:e|ation|ations)(?: \w+)?|block\s?(?:text|quote)|epigraph"),
        StyleRole.QUOTE,
    ),
    (re.compile(r"verse.*|poem.*|poetry.*|stanza.*|lyrics.*"), StyleRole.VERSE),
    (
        re.compile(r"html preformatted|source\s?code|preformatted text|code(?: block)?|verbatim.*"),
        StyleRole.CODE,
    ),
    (re.compile(r"(?:image |table |figure )?caption|illustration|figure"), StyleRole.CAPTION),
)
_CODE = re.compile(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b")
_DEEPEST = 20
_MOST_STYLES = 4_079  # Word's own limit

RunFormat = Mapping[str, bool | str]
"""Formatting of a run by property, such as "b", "smallcaps" or "code"; a missing one is inherited.

"position" is "superscript", "subscript" or "baseline". Languages go by script: "lang val"
(western), "lang eastasia", "lang bidi".
"""
_SWITCHES = {name: name for name in ("b", "i", "u", "strike", "smallcaps", "vanish", "rtl")} | {
    "dstrike": "strike"
}


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: StyleRole = StyleRole.TEXT
    level: int = 0
    numbering: tuple[str, int] | None = None  # List id, and level from 0

    def at_outline_level(self, level: str) -> "ParagraphStyle":
        """The style with an outline level, which makes a heading of text."""
        if not level.isdecimal() or self.role in (StyleRole.TITLE, StyleRole.CONTENTS):
            return self
        is_heading = int(level) < 9  # The level of body text
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
            look[_SWITCHES[element.tag]] = element.get("val", "").lower() not in (
                "0",
                "false",
                "off",
                "none",
            )
        elif element.tag == "vertalign":
            look["position"] = element.get("val", "")
        elif element.tag == "lang":
            look |= {
                f"lang {script!s}": str(language) for script, language in element.attrib.items()
            }
    return look


def numbering_of(
    properties: etree._Element | None, inherited: tuple[str, int] | None
) -> tuple[str, int] | None:
    """List id and level in paragraph properties (`pPr`).

    Setting only the level inherits the list.
    """
    numbers = None if properties is None else properties.find("numpr")
    if numbers is None:
        return inherited
    level = value(numbers, "ilvl")
    return value(numbers, "numid") or (inherited[0] if inherited else ""), int(
        level
    ) if level.isdecimal() else 0


def read_styles(root: etree._Element | None) -> Styles:
    if root is None:
        return Styles()
    elements = {e.get("styleid", ""): e for e in islice(root.iterfind("style"), _MOST_STYLES)}
    paragraphs: dict[str, ParagraphStyle] = {}
    looks: dict[str, RunFormat] = {}
    for name, element in elements.items():
        chain: list[etree._Element] = []  # The style, after those it is based on
        below: etree._Element | None = element
        while below is not None and below not in chain and len(chain) < _DEEPEST:
            chain.insert(0, below)
            below = elements.get(value(below, "basedon"))
        if element.get("type") == "character":
            look = {
                key: each for one in chain for key, each in run_format_of(one.find("rpr")).items()
            }
            own = value(element, "name").lower()
            if own == "hyperlink":
                look.pop("u", None)  # Links are underlined anyway
            elif _CODE.search(own):
                look["code"] = True
            looks[name] = look
        elif element.get("type") in ("paragraph", None):
            paragraphs[name] = _paragraph(chain)
    defaults = run_format_of(root.find("docdefaults/rprdefault/rpr"))
    return Styles(paragraphs, looks, str(defaults.get("lang val", "")))


def _paragraph(chain: list[etree._Element]) -> ParagraphStyle:
    style = ParagraphStyle()
    for element in chain:
        name = value(element, "name").lower()
        for pattern, role in _BY_NAME:
            if match := pattern.fullmatch(name):
                style = replace(
                    style, role=role, level=int(match[1]) if role is StyleRole.HEADING else 0
                )
                break
        style = style.at_outline_level(value(element, "ppr/outlinelvl"))
        style = replace(style, numbering=numbering_of(element.find("ppr"), style.numbering))
    return style


_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
_FORMATS = {"lowerletter": "a", "upperletter": "A", "lowerroman": "i", "upperroman": "I"}


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

    def next_marker(self, name: str, level: int) -> str:
        """The number or bullet of the list's next paragraph at this level; empty if it has none."""
        found = self.lists.get(name)
        if found is None:
            return ""
        level = min(max(level, 0), _LEVELS - 1)
        counts = self._counts.setdefault(found.family, [None] * _LEVELS)
        if level in found.restarts and (name, level) not in self._begun:
            counts[level] = None
        self._begun.add((name, level))
        before, own = counts[level], found.levels.get(level, _Level())
        counts[level] = own.start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.style == "bullet":
            # Symbol fonts use private characters that have no meaning elsewhere.
            return own.text if own.text in tuple("-–—*·◦▪‣") else BULLET
        if own.style == "none":
            return ""

        def number(place: re.Match[str]) -> str:
            index = int(place[1]) - 1
            count, own = counts[index], found.levels.get(index, _Level())
            return format_number(
                own.start if count is None else count, _FORMATS.get(own.style, "1")
            )

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
        levels, restarts = _levels(families.get(family)), set()
        for override in element.iterfind("lvloverride"):
            level = _integer(override.get("ilvl"))
            levels |= _levels(override)
            if (start := override.find("startoverride")) is not None:
                restarts.add(level)
                levels[level] = replace(
                    levels.get(level, _Level()), start=_integer(start.get("val"))
                )
        lists[element.get("numid", "")] = _List(family, levels, frozenset(restarts))
    return Numbering(lists)


def _levels(element: etree._Element | None) -> dict[int, _Level]:
    return {
        _integer(level.get("ilvl")): _Level(
            (value(level, "numfmt") or "decimal").lower(),
            value(level, "lvltext"),
            _integer(value(level, "start"), 1),
        )
        for level in (() if element is None else element.iterfind("lvl"))
    }


def _integer(text: str | None, default: int = 0) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else default
