"""Splits a web page along its elements into snippets of at most a short page.

As in ReadAgent, appendix D.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from lxml import etree

from gistread.book.formats.elements.markup import (
    elements_named,
    local_name,
    parse_page,
    plain_text,
)
from gistread.book.formats.elements.semantics import BLOCKS
from gistread.book.formats.encoding import decode_declared
from gistread.errors import BookError
from gistread.words import count_words
from research.web.elements import FoundElement, children, find_elements
from research.web.model import Snippet, WebPage

LIMIT_BYTES = 32 * 1024 * 1024
DEPTH = 6  # Default depth of the split; the paper takes the best of 5 to 7

_MAX_WORDS = 160
_MIN_WORDS = 30

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_STANDS_ALONE = BLOCKS | {
    *(
        "option",
        "summary",
        "caption",
        "tr",
        "thead",
        "tbody",
        "tfoot",
        "form",
        "nav",
        "main",
        "menu",
    ),
}


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    # The elements around it, from the root down, by their number in the page
    path: tuple[int, ...]
    elements: tuple[int, ...]
    words: int


def read_page(data: bytes, name: str, depth: int = DEPTH) -> WebPage:
    """The page in `data`, split at this depth; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data) if data.strip() else None
    if decoded and "<" in decoded.text:
        root = parse_page(decoded.text.lstrip("\ufeff"))
    else:
        root = None
    if root is None or not len(root):
        raise BookError(
            f"{name} is not an HTML page.", "Save the page from the browser, as HTML."
        )
    elements = find_elements(root)
    if not elements:
        raise BookError(
            f"{name} has no link, button or field.",
            "If scripts add them, save the page from a browser that shows it.",
        )
    groups = _merge_small(list(_cut(_Writer(elements).lines_of(root), depth)))
    return WebPage(
        title=plain_text(next(elements_named(root, "title"), None)),
        elements=tuple(interactive.element for interactive in elements.values()),
        snippets=tuple(
            _snippet(number, lines) for number, lines in enumerate(groups, start=1)
        ),
    )


def _snippet(number: int, lines: Sequence[_Line]) -> Snippet:
    return Snippet(
        number,
        "\n".join(line.text for line in lines),
        _words(lines),
        tuple(index for line in lines for index in line.elements),
    )


def _cut(lines: Sequence[_Line], depth: int) -> Iterator[list[_Line]]:
    for _, same in groupby(lines, key=lambda line: line.path[:depth]):
        group = list(same)
        if _words(group) <= _MAX_WORDS or len(group) == 1:
            yield group
        elif any(len(line.path) > depth for line in group):
            yield from _cut(group, depth + 1)
        else:
            middle = len(group) // 2
            yield from _cut(group[:middle], depth)
            yield from _cut(group[middle:], depth)


def _merge_small(groups: Sequence[list[_Line]], level: int = 1) -> list[list[_Line]]:
    """Join neighbours while one of them is small and both fit.

    Those with most elements in common are joined first.
    """
    joined: list[list[_Line]] = []
    for _, same in groupby(groups, key=lambda group: group[0].path[:level]):
        inside = list(same)
        deeper = len(inside) > 1 and any(len(group[0].path) > level for group in inside)
        for group in _merge_small(inside, level + 1) if deeper else inside:
            small = bool(joined) and min(_words(joined[-1]), _words(group)) < _MIN_WORDS
            if small and _words(joined[-1]) + _words(group) <= _MAX_WORDS:
                joined[-1] = [*joined[-1], *group]
            else:
                joined.append(group)
    return joined


def _words(lines: Sequence[_Line]) -> int:
    return sum(line.words for line in lines)


@dataclass(slots=True)
class _Writer:
    interactive: dict[etree._Element, FoundElement]
    lines: list[_Line] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _elements: list[int] = field(default_factory=list)
    _path: list[int] = field(default_factory=list)
    _seen: int = 0

    def lines_of(self, root: etree._Element) -> list[_Line]:
        self._write(root, 0)
        self._end_line()
        return self.lines

    def _write(self, node: etree._Element, depth: int) -> None:
        name = local_name(node)
        alone = name in _STANDS_ALONE
        if alone:
            self._end_line()
        self._seen += 1
        self._path.append(self._seen)
        self._parts.append(_mark_before(name))
        acted_on = self.interactive.get(node)
        if acted_on is not None:
            self._parts.append(f" {acted_on.element.label} ")
            self._elements.append(acted_on.element.index)
        elif name == "img":
            self._parts.append(f" {node.get('alt') or ''} ")
        if acted_on is None or not acted_on.leaf:
            self._write_inside(node, depth)
        if name in ("td", "th"):
            self._parts.append(" | ")
        if alone or name == "br":
            self._end_line()
        self._path.pop()

    def _write_inside(self, node: etree._Element, depth: int) -> None:
        self._parts.append(node.text or "")
        visible = set(children(node, depth))
        for child in node:
            if child in visible:
                self._write(child, depth + 1)
            self._parts.append(child.tail or "")

    def _end_line(self) -> None:
        text = " ".join("".join(self._parts).split()).strip(" |")
        elements = tuple(self._elements)
        self._parts.clear()
        self._elements.clear()
        if not text.strip("#- "):
            return
        path = tuple(self._path)
        words = text.split(" ")
        if elements or len(words) <= _MAX_WORDS:
            self.lines.append(_Line(text, path, elements, count_words(text)))
            return
        for start in range(0, len(words), _MAX_WORDS):
            piece = " ".join(words[start : start + _MAX_WORDS])
            self.lines.append(_Line(piece, path, (), count_words(piece)))


def _mark_before(name: str) -> str:
    """What a heading and an entry of a list begin with."""
    if name in _HEADINGS:
        return "# "
    return "- " if name == "li" else ""
