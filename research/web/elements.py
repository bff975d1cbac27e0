"""The visible parts of a saved page and its interactive elements, by name and XPath."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from gistread.book.formats.elements.markup import local_name
from research.web.model import Element, Operation

_INVISIBLE = frozenset(
    (
        "audio base canvas embed head iframe link meta noscript object script source style svg "
        "template track video"
    ).split()
)
# `display: none`, `visibility:hidden`
_HIDDEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE
)
_DEEPEST = 200  # Deeper nesting comes from unclosed elements or attacks and is ignored

_CLICK = (Operation.CLICK,)
_TYPE = (Operation.TYPE, Operation.CLICK)
_SELECT = (Operation.SELECT,)
# Roles for people, by the type of an input
_INPUTS = {
    "checkbox": "checkbox",
    "radio": "radio button",
    "file": "file chooser",
    "submit": "button",
    "button": "button",
    "reset": "button",
    "image": "button",
}
# Roles for people, by the attribute `role`
_ROLES = {
    "button": "button",
    "link": "link",
    "checkbox": "checkbox",
    "radio": "radio button",
    "switch": "switch",
    "tab": "tab",
    "option": "option",
    "menuitem": "menu item",
    "treeitem": "item",
}
_TYPED_ROLES = {
    "textbox": "text field",
    "searchbox": "search field",
    "combobox": "text field",
}
_ATTRIBUTES = ("id", "name", "type", "href", "value")
_LONGEST = 120
_MAX_OPTIONS = 60  # Most options of a list; a list of countries has two hundred


@dataclass(frozen=True, slots=True)
class FoundElement:
    element: Element
    leaf: bool  # Contains no other interactive element, so its text is its name


def find_elements(root: etree._Element) -> dict[etree._Element, FoundElement]:
    """The visible interactive elements of a page, by their nodes, in the order of the page."""
    labels = {node.get("for"): node for node in root.iter("label") if node.get("for")}
    tree = root.getroottree()
    elements: dict[etree._Element, FoundElement] = {}
    for node, depth in _walk(root, 0):
        kind = _kind(node)
        if kind is None or _is_disabled(node):
            continue
        role, operations = kind
        inside = [below for below, _ in _walk(node, depth) if below is not node]
        leaf = not any(map(_kind, inside))
        names = _names(node, labels, leaf)
        name = next((name for name in names if name.strip()), "")
        element = Element(
            index=len(elements) + 1,
            tag=local_name(node),
            role=role,
            name=_shorten(name),
            attributes=tuple(_attributes(node, operations)),
            xpath=tree.getpath(node),
            operations=operations,
            options=_options(node),
        )
        elements[node] = FoundElement(element, leaf)
    return elements


def _attributes(
    node: etree._Element, operations: tuple[Operation, ...]
) -> Iterator[tuple[str, str]]:
    for key in _ATTRIBUTES:
        value = node.get(key)
        # Text typed into a saved page is private.
        is_typed = key == "value" and Operation.TYPE in operations
        if value and not is_typed:
            yield key, _shorten(value)


def children(element: etree._Element, depth: int) -> Iterator[etree._Element]:
    """The visible children of an element at this depth."""
    if depth >= _DEEPEST:
        return
    is_closed = local_name(element) == "details" and element.get("open") is None
    for child in element:
        is_folded = is_closed and local_name(child) != "summary"
        if _is_visible(child) and not is_folded:
            yield child


def _is_visible(element: etree._Element) -> bool:
    name = local_name(element)
    if not name or name in _INVISIBLE or element.get("hidden") is not None:
        return False
    if _attribute(element, "aria-hidden") == "true":
        return False
    if name == "input" and _attribute(element, "type") == "hidden":
        return False
    if name == "dialog" and element.get("open") is None:
        return False
    return not _HIDDEN_STYLE.search(element.get("style") or "")


def _attribute(element: etree._Element, name: str) -> str:
    return (element.get(name) or "").strip().lower()


def _walk(node: etree._Element, depth: int) -> Iterator[tuple[etree._Element, int]]:
    """A node and all visible nodes in it, with their depths."""
    yield node, depth
    for child in children(node, depth):
        yield from _walk(child, depth + 1)


def _visible_text(
    element: etree._Element, without: etree._Element | None = None
) -> str:
    """The visible text of an element in one line, with the alternative text of images."""
    parts: list[str] = []

    def collect(node: etree._Element, depth: int) -> None:
        if local_name(node) == "img":
            parts.append(node.get("alt") or "")
        parts.append(node.text or "")
        visible = set(children(node, depth))
        for child in node:
            if child in visible and child is not without:
                collect(child, depth + 1)
            parts.append(child.tail or "")

    collect(element, 0)
    return " ".join(" ".join(parts).split())


def _kind(node: etree._Element) -> tuple[str, tuple[Operation, ...]] | None:
    """The role for people and the operations of an interactive element; None for another."""
    tag = local_name(node)
    if tag == "input":
        kind = _attribute(node, "type") or "text"
        if kind in _INPUTS:
            return _INPUTS[kind], _CLICK
        return f"{kind} field", _TYPE
    if tag == "textarea" or _is_editable(node):
        return "text field", _TYPE
    if tag == "select":
        return ("list", _SELECT) if _options(node) else None
    return _kind_by_role(node, tag)


def _is_editable(node: etree._Element) -> bool:
    return (node.get("contenteditable") or "").lower() in ("true", "plaintext-only")


def _kind_by_role(
    node: etree._Element, tag: str
) -> tuple[str, tuple[Operation, ...]] | None:
    role = _attribute(node, "role")
    if role in _TYPED_ROLES:
        return _TYPED_ROLES[role], _TYPE
    if tag in ("a", "area") and node.get("href") is not None:
        return _ROLES.get(role, "link"), _CLICK
    if role in _ROLES:
        return _ROLES[role], _CLICK
    if tag in ("button", "summary"):
        return "button", _CLICK
    has_handler = node.get("onclick") is not None
    if has_handler or _attribute(node, "tabindex").isdecimal():
        return "button", _CLICK
    return None


def _is_disabled(node: etree._Element) -> bool:
    if node.get("disabled") is not None or _attribute(node, "aria-disabled") == "true":
        return True
    fieldsets = node.iterancestors("fieldset")
    return any(fieldset.get("disabled") is not None for fieldset in fieldsets)


def _options(node: etree._Element) -> tuple[str, ...]:
    """The options of a list, each once; none for another element."""
    if local_name(node) != "select":
        return ()
    names: dict[str, None] = {}
    for option in node.iter("option"):
        if option.get("disabled") is None and option.get("hidden") is None:
            name = _shorten(option.get("label") or _visible_text(option))
            if name:
                names[name] = None
    return tuple(names)[:_MAX_OPTIONS]


def _shorten(text: str) -> str:
    """A text on one line, cut if it is long."""
    text = " ".join(text.split()).replace('"', "'")
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 1].rstrip()}…"


def _names(
    node: etree._Element, labels: dict[str | None, etree._Element], leaf: bool
) -> Iterator[str]:
    """Names of an element, the best first, roughly as browsers compute accessible names."""
    yield node.get("aria-label") or ""
    if local_name(node) in ("input", "textarea", "select"):
        label = labels.get(node.get("id"))
        if label is not None:
            yield _visible_text(label)
        label_around = next(node.iterancestors("label"), None)
        if label_around is not None:
            yield _visible_text(label_around, without=node)
        kind = _attribute(node, "type")
        if kind in ("submit", "button", "reset"):
            yield node.get("value") or kind
    elif leaf:
        yield _visible_text(node)
    for key in ("alt", "title", "placeholder", "name", "href"):
        yield node.get(key) or ""
