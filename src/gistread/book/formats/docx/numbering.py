"""Computes the numbers and bullets of Word's lists; documents do not store them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lxml import etree

from gistread.book.formats.docx.styles import value
from gistread.book.formats.elements.list_markers import BULLET, format_number

_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
# Bullets that are kept; symbol fonts use private characters that have no meaning elsewhere.
_OWN_BULLETS = frozenset("-–—*·◦▪‣")
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
            return own.text if own.text in _OWN_BULLETS else BULLET
        if own.style == "none":
            return ""

        def number(place: re.Match[str]) -> str:
            index = int(place[1]) - 1
            count, own = counts[index], found.levels.get(index, _Level())
            return format_number(own.start if count is None else count, _FORMATS.get(own.style, "1"))

        return _PLACE.sub(number, own.text).strip()


def read_numbering(root: etree._Element | None) -> Numbering:
    if root is None:
        return Numbering()
    families = {e.get("abstractnumid", ""): e for e in root.iterfind("abstractnum")}
    by_style = {value(e, "stylelink"): name for name, e in families.items() if e.find("stylelink") is not None}
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
                levels[level] = replace(levels.get(level, _Level()), start=_integer(start.get("val")))
        lists[element.get("numid", "")] = _List(family, levels, frozenset(restarts))
    return Numbering(lists)


def _levels(element: etree._Element | None) -> dict[int, _Level]:
    return {
        _integer(level.get("ilvl")): _Level(
            (value(level, "numfmt") or "decimal").lower(), value(level, "lvltext"), _integer(value(level, "start"), 1)
        )
        for level in (() if element is None else element.iterfind("lvl"))
    }


def _integer(text: str | None, default: int = 0) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else default
