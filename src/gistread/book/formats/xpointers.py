"""KOReader's positions in an EPUB, and the text that they point into.

KOReader's engine writes `/body/DocFragment[3]/body/div/p[2]/text()[1].15`: the third item of the
spine, elements by name and number, a text node, and a character of it. A number is left out where
there is only one. White space counts as that engine keeps it: a run is one space, and white space
around blocks is no text node.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.elements.markup import local_name, parse
from gistread.book.formats.epub_package import spine_paths
from gistread.book.normalise import word_set

Step = tuple[str, int]  # The name of an element or `text()`, and its number from 1
# By spine item and path: the number of the first text node at or after an element or text node,
# then those of its second child and the following ones
_Places = dict[tuple[int, tuple[Step, ...]], list[int]]
_TEXT = "text()"
_DEEPEST, _MOST_PLACES = 40, 400_000  # Of any book; files are untrusted
_WHITE = " \t\r\n"  # A no-break space is a letter to that engine
_LONGEST_NODE = 8192  # Characters; a longer text is several nodes
_POINTER = re.compile(
    r"/body(?:\[1\])?/DocFragment(?:\[(\d{1,6})\])?(?:/body(?:\[1\])?)?"
    r"((?:/[^/.]+)*)(?:\.(\d{1,9}))?"
)
_STEP = re.compile(r"/(text\(\)|[\w:-]+)(?:\[(\d{1,9})\])?")
# Wrappers of that engine's own layout, which older versions name
_BOXES = word_set("autoboxing tabularbox rubybox mathbox floatbox inlinebox")
_BLOCKS = word_set(
    """address article aside audio blockquote body canvas caption center col colgroup dd details
    dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr
    html iframe legend li listing main map menu nav noscript ol optgroup output p plaintext pre
    search section select source summary table tbody td textarea tfoot th thead tr track ul video
    xmp"""
)
_INVISIBLE = word_set("area base link meta noembed param script style template title")
_WITHOUT_TEXT = word_set(
    "area audio base col colgroup embed head html img input link meta object param source svg table"
    " tbody tfoot thead tr track"
)
_KEEPS_SPACE = word_set("listing plaintext pre textarea xmp")


@dataclass(frozen=True, slots=True)
class _Node:
    """A text node; `text` is part of `SpineText.text` from `start` on."""

    start: int
    text: str
    written: str  # Its path as a pointer has it
    keeps_space: bool

    def written_offset(self, offset: int) -> int:
        """The number of characters that the engine keeps of the first `offset` ones."""
        return sum(self._kept()[:offset])

    def offset_of(self, written: int) -> int:
        """The offset of the kept character with this number; the end after the last one."""
        left = written
        for offset, is_kept in enumerate(self._kept()):
            if is_kept and left == 0:
                return offset
            left -= is_kept
        return len(self.text)

    def _kept(self) -> list[bool]:
        if self.keeps_space:
            return [True] * len(self.text)
        is_white = [character in _WHITE for character in self.text]
        after_white = [False, *is_white]
        return [
            not (white and before)
            for white, before in zip(is_white, after_white, strict=False)
        ]


@dataclass(slots=True)
class SpineText:
    """All text of an EPUB in the order of its spine, and the pointers into it."""

    text: str = ""
    _nodes: list[_Node] = field(default_factory=list)
    _places: _Places = field(default_factory=dict)
    # The first node of each spine item
    _fragments: list[int] = field(default_factory=list)

    def pointer_at(self, offset: int) -> str:
        """The pointer to a character of the text; empty for a text without words."""
        if not self._nodes:
            return ""
        number = max(
            0, bisect_right(self._nodes, offset, key=lambda node: node.start) - 1
        )
        node = self._nodes[number]
        fragment = bisect_right(self._fragments, number)
        within = node.written_offset(offset - node.start)
        return f"/body/DocFragment[{fragment}]/body{node.written}.{within}"

    def offset_of(self, pointer: str) -> int | None:
        """The offset that a pointer means; None if this book has no such element."""
        match = _POINTER.fullmatch(pointer)
        if match is None:
            return None
        steps = _steps_of(match[2])
        if steps is None:
            return None
        fragment, point = int(match[1] or 1), int(match[3] or 0)
        starts = self._places.get((fragment, steps))
        if steps and steps[-1][0] == _TEXT:
            if starts is not None:
                node = self._nodes[starts[0]]
                return node.start + node.offset_of(point)
            # The engine may have more nodes, parted by comments: go to the start of the paragraph.
            starts, point = self._places.get((fragment, steps[:-1])), 0
        if starts is None:
            return None
        # The start of a child
        return self._start_of(starts[min(point, len(starts) - 1)])

    def fragment_of(self, pointer: str) -> tuple[int, int] | None:
        """Start and end of the spine item that a pointer names; None if there is none."""
        match = _POINTER.fullmatch(pointer)
        if match is None:
            return None
        number = int(match[1] or 1)
        if not 1 <= number <= len(self._fragments):
            return None
        starts = [*self._fragments, len(self._nodes)]
        return self._start_of(starts[number - 1]), self._start_of(starts[number])

    def _start_of(self, number: int) -> int:
        if number < len(self._nodes):
            return self._nodes[number].start
        return len(self.text)


def read_spine_text(archive: Archive) -> SpineText:
    """Raises ArchiveError if this is no EPUB."""
    reader = _Reader()
    for path in spine_paths(archive):
        reader.add(_body_of(archive, path))
    return reader.result()


def _body_of(archive: Archive, path: str) -> etree._Element | None:
    """The body of a page; None for a picture, and for what cannot be read."""
    try:
        tree = parse(archive.read(path))
    except ArchiveError:
        return None
    if tree is None:
        return None
    return next((child for child in tree.root if local_name(child) == "body"), None)


def _steps_of(path: str) -> tuple[Step, ...] | None:
    """The steps below the body, without the boxes of a layout; None if this is no path."""
    steps = []
    rest = path
    while rest:
        match = _STEP.match(rest)
        if match is None:
            return None
        name = match[1] if match[1] == _TEXT else match[1].lower()
        if name not in _BOXES:
            steps.append((name, int(match[2] or 1)))
        rest = rest[match.end() :]
    return tuple(steps)


@dataclass(slots=True)
class _Reader:
    """Reads the bodies of a spine into text nodes."""

    nodes: list[_Node] = field(default_factory=list)
    places: _Places = field(default_factory=dict)
    fragments: list[int] = field(default_factory=list)
    characters: int = 0

    def result(self) -> SpineText:
        text = "".join(node.text for node in self.nodes)
        return SpineText(text, self.nodes, self.places, self.fragments)

    def add(self, body: etree._Element | None) -> None:
        """Read the next item of the spine; None: it has no text that can be read."""
        self.fragments.append(len(self.nodes))
        starts = self._starts(())
        if body is not None:
            self._read(body, (), "", starts, keeps_space=False)

    def _starts(self, path: tuple[Step, ...]) -> list[int]:
        """The list of an element or text node that begins here."""
        starts = self.places[len(self.fragments), path] = [len(self.nodes)]
        return starts

    def _read(
        self,
        element: etree._Element,
        path: tuple[Step, ...],
        written: str,
        starts: list[int],
        *,
        keeps_space: bool,
    ) -> None:
        """Read an element; `starts` gets the first text node of each of its children."""
        if len(path) > _DEEPEST or len(self.places) > _MOST_PLACES:
            return
        keeps_space = keeps_space or local_name(element) in _KEEPS_SPACE
        children = list(_children(element, keeps_space=keeps_space))
        names = [
            _TEXT if isinstance(child, str) else local_name(child) for child in children
        ]
        totals, so_far = Counter(names), Counter[str]()
        for name, child in zip(names, children, strict=True):
            so_far[name] += 1
            number = so_far[name]
            below = (*path, (name, number))
            below_written = f"{written}/{name}"
            if totals[name] > 1:
                below_written += f"[{number}]"
            if len(so_far) > 1 or number > 1:
                starts.append(len(self.nodes))
            below_starts = self._starts(below)
            if isinstance(child, str):
                self.nodes.append(
                    _Node(self.characters, child, below_written, keeps_space)
                )
                self.characters += len(child)
            else:
                self._read(
                    child, below, below_written, below_starts, keeps_space=keeps_space
                )


def _children(
    element: etree._Element, *, keeps_space: bool
) -> Iterator[etree._Element | str]:
    """The elements and text nodes in an element, as the engine has them."""
    children = list(_source_children(element))
    name = local_name(element)
    if name in _INVISIBLE:
        return
    for number, child in enumerate(children):
        if not isinstance(child, str):
            yield child
        elif name not in _WITHOUT_TEXT:
            is_white = not child.strip(_WHITE)
            if not is_white or keeps_space or not _is_dropped(name, children, number):
                yield from _pieces(_without_first_line_end(name, child, number))


def _source_children(element: etree._Element) -> Iterator[etree._Element | str]:
    if element.text:
        yield element.text
    for child in element:
        if local_name(child):
            yield child
        if child.tail:
            yield child.tail


def _is_dropped(
    name: str, children: Sequence[etree._Element | str], number: int
) -> bool:
    """Whether white space between the children of an element is no text node."""
    around = [
        children[at] for at in (number - 1, number + 1) if 0 <= at < len(children)
    ]
    near = {local_name(child) for child in around if not isinstance(child, str)}
    if name not in _BLOCKS:
        return not near.isdisjoint(_BLOCKS)
    if number == 0:
        return True
    is_at_edge = number == len(children) - 1 and _has_block(children)
    return is_at_edge or not near.isdisjoint(_BLOCKS | _INVISIBLE)


def _has_block(children: Iterable[etree._Element | str]) -> bool:
    return any(
        not isinstance(child, str) and local_name(child) in _BLOCKS
        for child in children
    )


def _without_first_line_end(name: str, text: str, number: int) -> str:
    """In preformatted text, a line end right after the tag is no part of it."""
    if number == 0 and name in ("pre", "textarea"):
        return text.removeprefix("\n")
    return text


def _pieces(text: str) -> Iterator[str]:
    """The nodes that a long text is cut into, after spaces."""
    while len(text) >= _LONGEST_NODE:
        window = text[:_LONGEST_NODE]
        cut = max(window.rfind(white) for white in " \n\r") + 1 or _LONGEST_NODE
        yield text[:cut]
        text = text[cut:]
    if text:
        yield text
