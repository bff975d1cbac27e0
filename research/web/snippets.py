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
# Elements that begin and end a line
_STANDS_ALONE = BLOCKS | {
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
    root: etree._Element | None = None
    if decoded and "<" in decoded.text:
        root = parse_page(decoded.text.lstrip("\ufeff"))
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
    lines = _Writer(elements).lines_of(root)
    groups = _merge_small(list(_cut(lines, depth)))
    snippets = [_snippet(number, group) for number, group in enumerate(groups, start=1)]
    return WebPage(
        title=plain_text(next(elements_named(root, "title"), None)),
        elements=tuple(interactive.element for interactive in elements.values()),
        snippets=tuple(snippets),
    )


def _snippet(number: int, lines: Sequence[_Line]) -> Snippet:
    return Snippet(
        number,
        text="\n".join(line.text for line in lines),
        words=_words(lines),
        elements=tuple(index for line in lines for index in line.elements),
    )


def _cut(lines: Sequence[_Line], depth: int) -> Iterator[list[_Line]]:
    """Groups of lines in the same element at this depth, or deeper for a group that is too long."""
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
        has_deeper = any(len(group[0].path) > level for group in inside)
        if len(inside) > 1 and has_deeper:
            inside = _merge_small(inside, level + 1)
        for group in inside:
            if joined and _may_join(joined[-1], group):
                joined[-1] = [*joined[-1], *group]
            else:
                joined.append(group)
    return joined


def _may_join(first: Sequence[_Line], second: Sequence[_Line]) -> bool:
    """Whether one of two neighbours is small, and both fit a snippet."""
    first_words = _words(first)
    second_words = _words(second)
    is_small = min(first_words, second_words) < _MIN_WORDS
    return is_small and first_words + second_words <= _MAX_WORDS


def _words(lines: Sequence[_Line]) -> int:
    return sum(line.words for line in lines)


@dataclass(slots=True)
class _Writer:
    """Writes the visible text of a page as lines, with labels for interactive elements."""

    interactive: dict[etree._Element, FoundElement]
    lines: list[_Line] = field(default_factory=list)
    # Of the line that is being written
    _parts: list[str] = field(default_factory=list)
    _elements: list[int] = field(default_factory=list)
    _path: list[int] = field(default_factory=list)
    _nodes: int = 0  # Nodes written so far, which numbers them

    def lines_of(self, root: etree._Element) -> list[_Line]:
        self._write(root, 0)
        self._end_line()
        return self.lines

    def _write(self, node: etree._Element, depth: int) -> None:
        name = local_name(node)
        stands_alone = name in _STANDS_ALONE
        if stands_alone:
            self._end_line()
        self._nodes += 1
        self._path.append(self._nodes)
        self._parts.append(_mark_before(name))
        interactive = self.interactive.get(node)
        if interactive is not None:
            self._parts.append(f" {interactive.element.label} ")
            self._elements.append(interactive.element.index)
        elif name == "img":
            self._parts.append(f" {node.get('alt') or ''} ")
        # The label of a leaf has its text.
        if interactive is None or not interactive.leaf:
            self._write_inside(node, depth)
        if name in ("td", "th"):
            self._parts.append(" | ")
        if stands_alone or name == "br":
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
        """Add the line that was written, cut into several if it is long, and begin another."""
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
    """The mark with which a heading or an entry of a list begins."""
    if name in _HEADINGS:
        return "# "
    if name == "li":
        return "- "
    return ""
