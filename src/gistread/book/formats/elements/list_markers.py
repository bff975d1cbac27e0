"""Computes list markers from HTML attributes: bullets, numbers, letters."""

import re

from lxml import etree

BULLET = "•"
_LETTERS = 26
_ROMAN_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN_SIGNS = ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i")
_LARGEST_ROMAN = 3999
_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_BY_STYLE = {
    **dict.fromkeys(("lower-alpha", "lower-latin"), "a"),
    **dict.fromkeys(("upper-alpha", "upper-latin"), "A"),
    **{"lower-roman": "i", "upper-roman": "I", "decimal": "1"},
}
MARKER_ATTRIBUTE = "data-marker"  # Attribute with an item's marker, for formats that count differently from HTML


def marker(parent: etree._Element, item: etree._Element, number: int, *, ordered: bool) -> str:
    """The marker and a space; empty if the item has none."""
    own = item.get(MARKER_ATTRIBUTE)
    if own is not None:
        return f"{own} " if own else ""
    style = _STYLE.search(parent.get("style") or "")
    if style and style[1].lower() == "none":
        return ""
    if not ordered:
        return f"{BULLET} "
    kind = (item.get("type") or parent.get("type") or "").strip()
    if style and style[1].lower() in _BY_STYLE:
        kind = _BY_STYLE[style[1].lower()]
    return f"{format_number(number, kind)}. "


def format_number(number: int, kind: str) -> str:
    """A number in style "1", "a", "A", "i" or "I"; in digits if the style cannot express it."""
    if kind in ("a", "A") and number > 0:
        # After z: aa, ab, as HTML counts.
        text, rest = "", number
        while rest:
            rest, letter = divmod(rest - 1, _LETTERS)
            text = chr(ord(kind) + letter) + text
        return text
    if kind in ("i", "I") and 0 < number <= _LARGEST_ROMAN:
        text, rest = "", number
        for worth, sign in zip(_ROMAN_VALUES, _ROMAN_SIGNS, strict=True):
            text += sign * (rest // worth)
            rest %= worth
        return text if kind == "i" else text.upper()
    return str(number)
