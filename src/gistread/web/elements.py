"""Finds the interactive elements of a page, with selectors and accessible names as browsers compute them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from gistread.book.formats.elements.markup import local_name
from gistread.web.model import Element, Operation
from gistread.web.tree import children, visible_text

_CLICK, _TYPE, _SELECT = (Operation.CLICK,), (Operation.TYPE, Operation.CLICK), (Operation.SELECT,)

_CLICKED_INPUTS = {
    "submit": "button",
    "button": "button",
    "reset": "button",
    "image": "button",
    "checkbox": "checkbox",
    "radio": "radio button",
    "file": "file chooser",
}
_ROLES = {
    "button": "button",
    "link": "link",
    "checkbox": "checkbox",
    "radio": "radio button",
    "switch": "switch",
    "tab": "tab",
    "option": "option",
    "menuitem": "menu item",
    "menuitemcheckbox": "menu item",
    "menuitemradio": "menu item",
    "treeitem": "item",
}
_TYPED_ROLES = {"textbox": "text field", "searchbox": "search field", "combobox": "text field"}
_ATTRIBUTES = ("id", "name", "type", "href", "value")
_MAX_NAME = 120
_MAX_VALUE = 200
_MAX_OPTIONS = 60  # Most options of a list; a list of countries has two hundred

_PLAIN_ID = re.compile(r"[A-Za-z_][\w-]*\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class FoundElement:
    node: etree._Element
    element: Element
    leaf: bool  # Contains no other interactive element, so its text is its name


def find_elements(root: etree._Element) -> dict[etree._Element, FoundElement]:
    selectors = _Selectors(root)
    found: dict[etree._Element, FoundElement] = {}
    for node, depth in _walk(root, 0):
        kind = _kind(node)
        if kind is None or _is_disabled(node):
            continue
        role, operations = kind
        leaf = not any(_kind(inside) for inside, _ in _walk(node, depth, itself=False))
        element = Element(
            index=len(found) + 1,
            tag=local_name(node),
            role=role,
            name=_shorten(selectors.name(node, leaf), _MAX_NAME),
            attributes=tuple(
                (key, _shorten(value, _MAX_VALUE))
                for key in _ATTRIBUTES
                # Text typed into a saved page is private.
                if (value := node.get(key)) and not (key == "value" and Operation.TYPE in operations)
            ),
            xpath=selectors.xpath(node),
            css=selectors.css(node),
            operations=operations,
            options=_options(node),
        )
        found[node] = FoundElement(node, element, leaf)
    return found


def _walk(node: etree._Element, depth: int, *, itself: bool = True) -> Iterator[tuple[etree._Element, int]]:
    stack = [(node, depth)] if itself else [(child, depth + 1) for child in reversed(list(children(node, depth)))]
    while stack:
        one, at = stack.pop()
        yield one, at
        stack.extend((child, at + 1) for child in reversed(list(children(one, at))))


def _kind(node: etree._Element) -> tuple[str, tuple[Operation, ...]] | None:
    tag, role = local_name(node), (node.get("role") or "").strip().lower()
    if tag == "input":
        kind = (node.get("type") or "text").strip().lower()
        if kind in _CLICKED_INPUTS:
            return _CLICKED_INPUTS[kind], _CLICK
        return ("search field" if kind == "search" else "text field" if kind == "text" else f"{kind} field"), _TYPE
    if tag == "textarea" or (node.get("contenteditable") or "false").strip().lower() in ("", "true", "plaintext-only"):
        return "text field", _TYPE
    if tag == "select":
        return ("list", _SELECT) if _options(node) else None
    if role in _TYPED_ROLES:
        return _TYPED_ROLES[role], _TYPE
    if tag == "button":
        return _ROLES.get(role, "button"), _CLICK
    if tag in ("a", "area") and node.get("href") is not None:
        return _ROLES.get(role, "link"), _CLICK
    if role in _ROLES:
        return _ROLES[role], _CLICK
    if tag == "summary":
        return "button", _CLICK
    if node.get("onclick") is not None or (node.get("tabindex") or "").strip().isdecimal():
        return "button", _CLICK
    return None


def _is_disabled(node: etree._Element) -> bool:
    if node.get("disabled") is not None or (node.get("aria-disabled") or "").strip().lower() == "true":
        return True
    return any(local_name(above) == "fieldset" and above.get("disabled") is not None for above in node.iterancestors())


def _options(node: etree._Element) -> tuple[str, ...]:
    if local_name(node) != "select":
        return ()
    names = (
        _shorten(one.get("label") or visible_text(one), _MAX_NAME)
        for one in node.iter("option")
        if one.get("disabled") is None and one.get("hidden") is None
    )
    return tuple(dict.fromkeys(name for name in names if name))[:_MAX_OPTIONS]


def _shorten(text: str, most: int) -> str:
    text = " ".join(text.split()).replace('"', "'")
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


class _Selectors:
    def __init__(self, root: etree._Element) -> None:
        self._root = root
        self._by_id: dict[str, list[etree._Element]] = {}
        self._labels: dict[str, list[etree._Element]] = {}
        self._positions: dict[etree._Element, int] = {}
        for node in root.iter(etree.Element):
            if one := (node.get("id") or ""):
                self._by_id.setdefault(one, []).append(node)
            if local_name(node) == "label" and (one := node.get("for") or ""):
                self._labels.setdefault(one, []).append(node)

    def name(self, node: etree._Element, leaf: bool) -> str:
        return next((name for name in self._names(node, leaf) if name.strip()), "")

    def _names(self, node: etree._Element, leaf: bool) -> Iterator[str]:
        tag, kind = local_name(node), (node.get("type") or "").strip().lower()
        referred = (self._by_id.get(one, ()) for one in (node.get("aria-labelledby") or "").split())
        yield " ".join(visible_text(one) for nodes in referred for one in nodes[:1])
        yield node.get("aria-label") or ""
        if tag in ("input", "textarea", "select"):
            yield " ".join(visible_text(label) for label in self._labels.get(node.get("id") or "", ()))
            around = next((above for above in node.iterancestors() if local_name(above) == "label"), None)
            yield "" if around is None else visible_text(around, without=node)
            if kind in ("submit", "button", "reset"):
                yield node.get("value") or kind
            yield node.get("alt") or ""
        elif leaf:
            yield visible_text(node)
            yield node.get("alt") or ""
        for key in ("title", "placeholder", "name"):
            yield node.get(key) or ""
        if tag == "a":
            yield (node.get("href") or "").partition("?")[0]

    def xpath(self, node: etree._Element) -> str:
        begin, steps = self._steps(node, "'")
        head = f"//*[@id='{begin}']" if begin else ""
        strict = head + "".join(f"/{_xpath_step(one)}[{self._position(one)}]" for one in steps)
        if not any(_lacks_a_body(one) for one in steps):
            return strict
        lenient = head + "".join(
            f"{'//' if _lacks_a_body(one) else '/'}{_xpath_step(one)}[{self._position(one)}]" for one in steps
        )
        return lenient if self._root.xpath(lenient) == [node] else strict

    def css(self, node: etree._Element) -> str:
        begin, steps = self._steps(node, '"')
        selector = "" if not begin else f"#{begin}" if _PLAIN_ID.match(begin) else f'[id="{begin}"]'
        lenient = "//" in self.xpath(node).removeprefix("//")
        for one in steps:
            joint = "" if not selector else " " if lenient and _lacks_a_body(one) else " > "
            selector += f"{joint}{self._css_step(one)}"
        return selector

    def _steps(self, node: etree._Element, quote: str) -> tuple[str, list[etree._Element]]:
        steps: list[etree._Element] = []
        for one in (node, *node.iterancestors()):
            name = one.get("id") or ""
            if name and len(self._by_id[name]) == 1 and quote not in name and "\\" not in name and name.isprintable():
                return name, steps[::-1]
            steps.append(one)
        return "", steps[::-1]

    def _css_step(self, node: etree._Element) -> str:
        parent = node.getparent()
        if parent is None:
            return _tag_of(node)
        if _PLAIN_ID.match(_tag_of(node)):
            return f"{_tag_of(node)}:nth-of-type({self._position(node)})"
        return f":nth-child({1 + list(parent.iterchildren(etree.Element)).index(node)})"

    def _position(self, node: etree._Element) -> int:
        if node not in self._positions:
            counted: Counter[str] = Counter()
            parent = node.getparent()
            for one in (node,) if parent is None else parent.iterchildren(etree.Element):
                counted[_tag_of(one)] += 1
                self._positions[one] = counted[_tag_of(one)]
        return self._positions[node]


def _lacks_a_body(node: etree._Element) -> bool:
    parent = node.getparent()
    return local_name(node) == "tr" and parent is not None and local_name(parent) == "table"


def _xpath_step(node: etree._Element) -> str:
    return _tag_of(node) if _PLAIN_ID.match(_tag_of(node)) else f"*[name()='{_tag_of(node)}']"


def _tag_of(node: etree._Element) -> str:
    return str(node.tag)
