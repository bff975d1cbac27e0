"""Parses a saved page and finds its visible elements. Fetches nothing and runs no scripts."""

import re
from collections.abc import Iterator

from lxml import etree

from gistread.book.formats.elements.markup import local_name, parse_page
from gistread.book.formats.encoding import decode_declared
from gistread.errors import BookError

LIMIT_BYTES = 32 * 1024 * 1024

_INVISIBLE = frozenset(
    "audio base canvas embed head iframe link meta noscript object script source style svg template track video".split()  # noqa: SIM905
)
_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_DEEPEST = 200  # Deeper nesting comes from unclosed elements or attacks and is ignored


def tree_of(data: bytes, name: str) -> etree._Element:
    """The tree of the page in `data`. Raises BookError."""
    if len(data) > LIMIT_BYTES:
        raise BookError(f"{name} is larger than {LIMIT_BYTES // 2**20} MB, the limit for a web page.")
    if not data.strip():
        raise BookError(f"{name} is empty.")
    decoded = decode_declared(data)
    root = parse_page(decoded.text.lstrip("\ufeff")) if decoded and "<" in decoded.text else None
    if root is None or not any(True for _ in root.iterdescendants()):
        raise BookError(f"{name} is not an HTML page.", "Save the page from the browser, as HTML.")
    return root


def children(element: etree._Element, depth: int) -> Iterator[etree._Element]:
    if depth >= _DEEPEST:
        return
    closed = local_name(element) == "details" and element.get("open") is None
    for child in element:
        if is_visible(child) and not (closed and local_name(child) != "summary"):
            yield child


def is_visible(element: etree._Element) -> bool:
    name = local_name(element)
    if not name or name in _INVISIBLE:
        return False
    if element.get("hidden") is not None or (element.get("aria-hidden") or "").strip().lower() == "true":
        return False
    if name == "input" and (element.get("type") or "").strip().lower() == "hidden":
        return False
    if name == "dialog" and element.get("open") is None:
        return False
    return not _HIDDEN_STYLE.search(element.get("style") or "")


def visible_text(element: etree._Element, without: etree._Element | None = None) -> str:
    """The visible text of an element in one line, with the alternative text of images."""
    parts: list[str] = []
    _collect(element, 0, parts, without)
    return " ".join("".join(parts).split())


def _collect(element: etree._Element, depth: int, parts: list[str], without: etree._Element | None) -> None:
    if local_name(element) == "img":
        parts.append(f" {element.get('alt') or ''} ")
    parts.append(element.text or "")
    seen = set(children(element, depth))
    for child in element:
        if child in seen and child is not without:
            parts.append(" ")
            _collect(child, depth + 1, parts, without)
            parts.append(" ")
        parts.append(child.tail or "")
