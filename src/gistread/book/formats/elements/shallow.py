"""Makes a tree shallow enough to be walked: what nests hundreds deep is an element that nobody closed, or an attack.

An element that goes leaves its text and its children in its place.
"""

import re
from collections.abc import Iterator

from lxml import etree

from gistread.book.formats.elements.markup import local_name
from gistread.book.formats.elements.semantics import BLOCKS

# A thousand <font> that were never closed nest; a quotation in a list in a section in a page has twenty levels.
_DEEPEST_INLINE = 60
_DEEPEST = 160
_NOT_OF_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def make_shallow(root: etree._Element) -> None:
    """Take out inline elements beyond 60 levels, then whatever is beyond 160."""
    deep = [element for element, depth in _depths(root) if depth > _DEEPEST_INLINE]
    if not deep:
        return
    for element in reversed(deep):
        if local_name(element) not in BLOCKS:
            _unwrap(element)
    for element in reversed([element for element, depth in _depths(root) if depth > _DEEPEST]):
        _unwrap(element)


def _depths(root: etree._Element) -> Iterator[tuple[etree._Element, int]]:
    """Every element with its depth, in document order."""
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            yield element, depth
            depth += 1
        else:
            depth -= 1


def _unwrap(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    _append_text(parent, before, element.text)
    children = list(element)
    at = parent.index(element)
    parent[at : at + 1] = children
    _append_text(parent, children[-1] if children else before, element.tail)


def _append_text(parent: etree._Element, before: etree._Element | None, text: str | None) -> None:
    if not text:
        return
    # The HTML parser lets controls through that a tree does not take back.
    if before is None:
        parent.text = _NOT_OF_XML.sub("", (parent.text or "") + text)
    else:
        before.tail = _NOT_OF_XML.sub("", (before.tail or "") + text)
