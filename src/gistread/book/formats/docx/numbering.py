"""Computes the numbers and bullets of Word's lists; documents do not store them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lxml import etree

from gistread.book.formats.docx.styles import attribute, child
from gistread.book.formats.elements.list_markers import BULLET, format_number
from gistread.book.formats.elements.markup import local_name

_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
# Bullets that are kept; symbol fonts use private characters that have no meaning elsewhere.
_OWN_BULLETS = frozenset("-–—*·◦▪‣")
_FORMATS = {"lowerletter": "a", "upperletter": "A", "lowerroman": "i", "upperroman": "I"}


@dataclass(frozen=True, slots=True)
class _Level:
    style: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class _List:
    family: str  # Lists of one family share their counters
    levels: Mapping[int, _Level]
    restarts: frozenset[int]  # Levels at which this list restarts

    def level(self, level: int) -> _Level:
        return self.levels.get(level, _Level("bullet", "", 1))


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
        before = counts[level]
        own = found.level(level)
        counts[level] = own.start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if own.style == "bullet":
            return own.text if own.text in _OWN_BULLETS else BULLET
        if own.style == "none":
            return ""

        def number(place: re.Match[str]) -> str:
            level = int(place[1]) - 1
            count, own = counts[level], found.level(level)
            return format_number(own.start if count is None else count, _FORMATS.get(own.style, "1"))

        return _PLACE.sub(number, own.text).strip()


def read_numbering(root: etree._Element | None) -> Numbering:
    if root is None:
        return Numbering()
    families = {attribute(e, "abstractnumid") or "": e for e in root if local_name(e) == "abstractnum"}
    by_style = {
        attribute(child(e, "stylelink")): name for name, e in families.items() if child(e, "stylelink") is not None
    }
    lists = {}
    for element in root:
        if local_name(element) != "num":
            continue
        family = attribute(child(element, "abstractnumid")) or ""
        linked = attribute(child(families.get(family), "numstylelink"))
        family = by_style.get(linked, family) if linked else family
        levels = _levels(families.get(family))
        restarts = set()
        for override in element:
            if local_name(override) != "lvloverride":
                continue
            level = _integer(attribute(override, "ilvl"))
            levels |= _levels(override)
            start = attribute(child(override, "startoverride"))
            if start is not None:
                restarts.add(level)
                if level in levels:
                    levels[level] = replace(levels[level], start=_integer(start))
        lists[attribute(element, "numid") or ""] = _List(family, levels, frozenset(restarts))
    return Numbering(lists)


def _levels(element: etree._Element | None) -> dict[int, _Level]:
    return {
        _integer(attribute(level, "ilvl")): _Level(
            (attribute(child(level, "numfmt")) or "decimal").lower(),
            attribute(child(level, "lvltext")) or "",
            _integer(attribute(child(level, "start")), 1),
        )
        for level in (element if element is not None else ())
        if local_name(level) == "lvl"
    }


def _integer(text: str | None, default: int = 0) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,9}", text) else default
