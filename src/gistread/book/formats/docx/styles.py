"""Reads a Word document's styles and lists. Style names are English in every language."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import islice

from lxml import etree

from gistread.book.formats.elements.semantics import BULLET, format_number


class StyleRole(Enum):
    """What the paragraphs of a style are."""

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
# Names of character styles: "Source Code Char", "HTML Typewriter"
_CODE = re.compile(r"\b(?:code|verbatim|typewriter|html (?:code|sample))\b")
_OFF = ("0", "false", "off", "none")
_DEEPEST = 20
_MOST_STYLES = 4_079  # Word's own limit

# Formatting of a run by property, such as "b", "smallcaps" or "code"; a missing one is inherited.
# "position" is "superscript", "subscript" or "baseline". There is a language for each script:
# "lang val" (western), "lang eastasia", "lang bidi".
RunFormat = Mapping[str, bool | str]
# Properties that are on or off, by element.
_SWITCHES = {
    "b": "b",
    "i": "i",
    "u": "u",
    "strike": "strike",
    "dstrike": "strike",
    "smallcaps": "smallcaps",
    "vanish": "vanish",
    "rtl": "rtl",
}


_BODY_LEVEL = 9  # The outline level of body text


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The list that a paragraph is in, by its id, and the level from 0."""

    list_id: str
    level: int


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    role: StyleRole = StyleRole.TEXT
    level: int = 0
    numbering: ListPlace | None = None

    def at_outline_level(self, level: str) -> "ParagraphStyle":
        """The style with an outline level (counted from 0), which makes text a heading."""
        if not level.isdecimal() or self.role in (StyleRole.TITLE, StyleRole.CONTENTS):
            return self
        if int(level) < _BODY_LEVEL:
            return ParagraphStyle(StyleRole.HEADING, int(level) + 1, self.numbering)
        return ParagraphStyle(StyleRole.TEXT, 0, self.numbering)


@dataclass(frozen=True, slots=True)
class Styles:
    """The styles of paragraphs and of characters, by their ids."""

    paragraphs: Mapping[str, ParagraphStyle] = field(default_factory=dict)
    run_formats: Mapping[str, RunFormat] = field(default_factory=dict)
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
    """The formatting in run properties (`rPr`)."""
    formatting: dict[str, bool | str] = {}
    if properties is None:
        return formatting
    for element in properties:
        if element.tag in _SWITCHES:
            is_on = element.get("val", "").lower() not in _OFF
            formatting[_SWITCHES[element.tag]] = is_on
        elif element.tag == "vertalign":
            formatting["position"] = element.get("val", "")
        elif element.tag == "lang":
            for script, language in element.attrib.items():
                formatting[f"lang {script!s}"] = str(language)
    return formatting


def numbering_of(
    properties: etree._Element | None, inherited: ListPlace | None
) -> ListPlace | None:
    """The list in paragraph properties (`pPr`); the inherited one if they name none."""
    if properties is None:
        return inherited
    numbers = properties.find("numpr")
    if numbers is None:
        return inherited
    list_id = value(numbers, "numid")
    if not list_id and inherited:
        list_id = inherited.list_id
    written_level = value(numbers, "ilvl")
    level = int(written_level) if written_level.isdecimal() else 0
    return ListPlace(list_id, level)


def read_styles(root: etree._Element | None) -> Styles:
    """The styles of a document; none if `root` is None."""
    if root is None:
        return Styles()
    styles = islice(root.iterfind("style"), _MOST_STYLES)
    style_by_id = {style.get("styleid", ""): style for style in styles}
    paragraphs: dict[str, ParagraphStyle] = {}
    run_formats: dict[str, RunFormat] = {}
    for style_id, style in style_by_id.items():
        chain = _chain(style, style_by_id)
        kind = style.get("type", "paragraph")
        if kind == "character":
            run_formats[style_id] = _formatting(chain)
        elif kind == "paragraph":
            paragraphs[style_id] = _paragraph_style(chain)
    defaults = run_format_of(root.find("docdefaults/rprdefault/rpr"))
    return Styles(paragraphs, run_formats, str(defaults.get("lang val", "")))


def _chain(
    style: etree._Element, style_by_id: Mapping[str, etree._Element]
) -> list[etree._Element]:
    """The styles that a style is based on, the most general first, then the style itself."""
    chain: list[etree._Element] = []
    base: etree._Element | None = style
    while base is not None and base not in chain and len(chain) < _DEEPEST:
        chain.insert(0, base)
        base = style_by_id.get(value(base, "basedon"))
    return chain


def _formatting(chain: list[etree._Element]) -> RunFormat:
    """The formatting of a character style."""
    formatting: dict[str, bool | str] = {}
    for style in chain:
        formatting |= run_format_of(style.find("rpr"))
    name = value(chain[-1], "name").lower()
    if name == "hyperlink":
        formatting.pop("u", None)  # Links are underlined anyway
    elif _CODE.search(name):
        formatting["code"] = True
    return formatting


def _paragraph_style(chain: list[etree._Element]) -> ParagraphStyle:
    """The last style of a chain: each one overrides those before."""
    style = ParagraphStyle()
    for element in chain:
        style = _named_style(style, value(element, "name").lower())
        style = style.at_outline_level(value(element, "ppr/outlinelvl"))
        numbering = numbering_of(element.find("ppr"), style.numbering)
        style = replace(style, numbering=numbering)
    return style


def _named_style(style: ParagraphStyle, name: str) -> ParagraphStyle:
    """The style with the role that a name states, such as "heading 2"."""
    for pattern, role in _BY_NAME:
        match = pattern.fullmatch(name)
        if match:
            level = int(match[1]) if role is StyleRole.HEADING else 0
            return replace(style, role=role, level=level)
    return style


# "%2" in "%1.%2.": the number of the second level.
_PLACEHOLDER = re.compile(r"%([1-9])")
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
    """How the items of a list are numbered on one level."""

    style: str = "bullet"
    text: str = ""  # With placeholders: "%1.%2."
    start: int = 1


@dataclass(frozen=True, slots=True)
class _List:
    family: str  # Lists of one family share their counters
    levels: Mapping[int, _Level]
    restarts: frozenset[int]  # Levels at which this list restarts

    def level(self, number: int) -> _Level:
        return self.levels.get(number, _Level())


@dataclass(slots=True)
class Numbering:
    """Counts the items of the lists of a document."""

    lists: Mapping[str, _List] = field(default_factory=dict)
    # By family: the last number on each level, None before the first.
    _counts: dict[str, list[int | None]] = field(default_factory=dict)
    # Lists and levels that have an item already.
    _begun: set[tuple[str, int]] = field(default_factory=set)

    def next_marker(self, place: ListPlace) -> str:
        """The number or bullet of the list's next paragraph at this level; empty if it has none."""
        numbered_list = self.lists.get(place.list_id)
        if numbered_list is None:
            return ""
        counts = self._counts.setdefault(numbered_list.family, [None] * _LEVELS)
        level_number = min(max(place.level, 0), _LEVELS - 1)
        level_of_list = (place.list_id, level_number)
        is_first = level_of_list not in self._begun
        self._begun.add(level_of_list)
        if is_first and level_number in numbered_list.restarts:
            counts[level_number] = None
        level = numbered_list.level(level_number)
        last_count = counts[level_number]
        counts[level_number] = level.start if last_count is None else last_count + 1
        # The levels inside this item count anew.
        for deeper in range(level_number + 1, _LEVELS):
            counts[deeper] = None
        return _marker(numbered_list, level, counts)


def _marker(numbered_list: _List, level: _Level, counts: Sequence[int | None]) -> str:
    """The marker of an item on a level, by the counts of all levels."""
    if level.style == "none":
        return ""
    if level.style == "bullet":
        # Symbol fonts use private characters that have no meaning elsewhere.
        return level.text if level.text in _BULLETS else BULLET

    def number(placeholder: re.Match[str]) -> str:
        index = int(placeholder[1]) - 1
        referred = numbered_list.level(index)
        count = counts[index]
        if count is None:
            # The level has no item so far.
            count = referred.start
        return format_number(count, _FORMATS.get(referred.style, "1"))

    return _PLACEHOLDER.sub(number, level.text).strip()


def read_numbering(root: etree._Element | None) -> Numbering:
    """The lists of a document; none if `root` is None."""
    if root is None:
        return Numbering()
    families: dict[str, etree._Element] = {}
    family_by_style: dict[str, str] = {}
    for element in root.iterfind("abstractnum"):
        family = element.get("abstractnumid", "")
        families[family] = element
        if element.find("stylelink") is not None:
            family_by_style[value(element, "stylelink")] = family
    lists: dict[str, _List] = {}
    for element in root.iterfind("num"):
        family = value(element, "abstractnumid")
        # A family may only name a style, which another family defines.
        linked_style = value(families.get(family), "numstylelink")
        if linked_style:
            family = family_by_style.get(linked_style, family)
        lists[element.get("numid", "")] = _list(element, family, families.get(family))
    return Numbering(lists)


def _list(
    element: etree._Element, family: str, definition: etree._Element | None
) -> _List:
    """A list (`num`) with the levels of its family (`abstractNum`) and its own changes."""
    levels = _levels(definition)
    restarts: set[int] = set()
    for override in element.iterfind("lvloverride"):
        number = _integer(override.get("ilvl"))
        levels |= _levels(override)
        start = override.find("startoverride")
        if start is not None:
            # It does not go on where another list of its family has ended.
            restarts.add(number)
            level = levels.get(number, _Level())
            levels[number] = replace(level, start=_integer(start.get("val")))
    return _List(family, levels, frozenset(restarts))


def _levels(element: etree._Element | None) -> dict[int, _Level]:
    """The levels in an element, by number."""
    if element is None:
        return {}
    levels: dict[int, _Level] = {}
    for level in element.iterfind("lvl"):
        levels[_integer(level.get("ilvl"))] = _Level(
            style=(value(level, "numfmt") or "decimal").lower(),
            text=value(level, "lvltext"),
            start=_integer(value(level, "start"), default=1),
        )
    return levels


def _integer(text: str | None, default: int = 0) -> int:
    if text and re.fullmatch(r"\d{1,9}", text):
        return int(text)
    return default
