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
# More than any real book has; files are untrusted.
_DEEPEST = 40
_MOST_PLACES = 400_000
_WHITE = " \t\r\n"  # A no-break space is a letter to that engine
_LONGEST_NODE = 8192  # Characters; a longer text is several nodes
# "/body/DocFragment[3]/body" with the steps "/div/p[2]/text()" and the character ".15".
_POINTER = re.compile(
    r"/body(?:\[1\])?/DocFragment(?:\[(\d{1,6})\])?(?:/body(?:\[1\])?)?"
    r"((?:/[^/.]+)*)(?:\.(\d{1,9}))?"
)
# "/p[2]", "/text()"
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
        """How many of the first `offset` characters the engine keeps."""
        return sum(self._is_kept()[:offset])

    def offset_of(self, written: int) -> int:
        """The inverse of `written_offset`; the end of the text for a number beyond it."""
        kept_before = 0
        for offset, is_kept in enumerate(self._is_kept()):
            if is_kept and kept_before == written:
                return offset
            kept_before += is_kept
        return len(self.text)

    def _is_kept(self) -> list[bool]:
        """For each character whether the engine keeps it: of white space only the first one."""
        if self.keeps_space:
            return [True] * len(self.text)
        is_kept: list[bool] = []
        follows_white = False
        for character in self.text:
            is_white = character in _WHITE
            is_kept.append(not (is_white and follows_white))
            follows_white = is_white
        return is_kept


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
        following = bisect_right(self._nodes, offset, key=lambda node: node.start)
        number = max(0, following - 1)
        node = self._nodes[number]
        fragment = bisect_right(self._fragments, number)
        character = node.written_offset(offset - node.start)
        return f"/body/DocFragment[{fragment}]/body{node.written}.{character}"

    def offset_of(self, pointer: str) -> int | None:
        """The offset that a pointer means; None if this book has no such element."""
        match = _POINTER.fullmatch(pointer)
        if match is None:
            return None
        written_fragment, path, written_point = match.groups()
        fragment = int(written_fragment or 1)
        point = int(written_point or 0)
        steps = _steps_of(path)
        if steps is None:
            return None
        starts = self._places.get((fragment, steps))
        points_to_text = bool(steps) and steps[-1][0] == _TEXT
        if not points_to_text:
            return self._start_of_child(starts, point)
        if starts is not None:
            node = self._nodes[starts[0]]
            return node.start + node.offset_of(point)
        # The engine may have more nodes, parted by comments: go to the start of the paragraph.
        paragraph_starts = self._places.get((fragment, steps[:-1]))
        return self._start_of_child(paragraph_starts, 0)

    def _start_of_child(self, starts: list[int] | None, number: int) -> int | None:
        """The offset of a child, counted from 0, of an element; of its last one if it has fewer."""
        if starts is None:
            return None
        last = len(starts) - 1
        return self._start_of(starts[min(number, last)])

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
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return None
        name = match[1].lower()  # `text()` has no capitals
        number = int(match[2] or 1)
        if name not in _BOXES:
            steps.append((name, number))
        position = match.end()
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class _Child:
    """A child of an element, with its step in a path."""

    content: etree._Element | str
    step: Step
    written: str  # The step as a pointer has it: "/p[2]"


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
        """Read the next item of the spine; None if it has no text that can be read."""
        self.fragments.append(len(self.nodes))
        starts = self._starts(())
        if body is not None:
            self._read(body, (), "", starts, keeps_space=False)

    def _starts(self, path: tuple[Step, ...]) -> list[int]:
        """Enter an element or text node in `places`; the list there may be extended."""
        starts = [len(self.nodes)]
        self.places[len(self.fragments), path] = starts
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
        """Read an element; `starts` gets the first text node of each of its children.

        `written`: its path as a pointer has it.
        """
        if len(path) > _DEEPEST or len(self.places) > _MOST_PLACES:
            return
        keeps_space = keeps_space or local_name(element) in _KEEPS_SPACE
        children = _numbered_children(element, keeps_space=keeps_space)
        for index, child in enumerate(children):
            if index > 0:
                starts.append(len(self.nodes))
            child_path = (*path, child.step)
            child_written = written + child.written
            child_starts = self._starts(child_path)
            content = child.content
            if isinstance(content, str):
                node = _Node(self.characters, content, child_written, keeps_space)
                self.nodes.append(node)
                self.characters += len(content)
            else:
                self._read(
                    content,
                    child_path,
                    child_written,
                    child_starts,
                    keeps_space=keeps_space,
                )


def _numbered_children(
    element: etree._Element, *, keeps_space: bool
) -> Iterator[_Child]:
    """The children of an element, numbered among those of the same name."""
    children = list(_children(element, keeps_space=keeps_space))
    names = [
        _TEXT if isinstance(child, str) else local_name(child) for child in children
    ]
    totals = Counter(names)
    numbers = Counter[str]()
    for name, child in zip(names, children, strict=True):
        numbers[name] += 1
        number = numbers[name]
        written = f"/{name}[{number}]" if totals[name] > 1 else f"/{name}"
        yield _Child(child, (name, number), written)


def _children(
    element: etree._Element, *, keeps_space: bool
) -> Iterator[etree._Element | str]:
    """The elements and text nodes in an element, as the engine has them."""
    name = local_name(element)
    if name in _INVISIBLE:
        return
    children = list(_source_children(element))
    for index, child in enumerate(children):
        if not isinstance(child, str):
            yield child
            continue
        is_white = not child.strip(_WHITE)
        may_drop = is_white and not keeps_space
        is_dropped = may_drop and _is_dropped(name, children, index)
        if name not in _WITHOUT_TEXT and not is_dropped:
            yield from _pieces(_without_first_line_end(name, child, index))


def _source_children(element: etree._Element) -> Iterator[etree._Element | str]:
    if element.text:
        yield element.text
    for child in element:
        if local_name(child):
            yield child
        if child.tail:
            yield child.tail


def _is_dropped(
    name: str, children: Sequence[etree._Element | str], index: int
) -> bool:
    """Whether the engine drops the white space that is a child of an element.

    It drops what is around blocks, and at the beginning of a block. `name`: of the element.
    """
    before = children[index - 1 : index] if index else []
    after = children[index + 1 : index + 2]
    neighbours = {
        local_name(child) for child in (*before, *after) if not isinstance(child, str)
    }
    if name not in _BLOCKS:
        return bool(neighbours & _BLOCKS)
    if index == 0:
        return True
    is_last_of_blocks = index == len(children) - 1 and _has_block(children)
    return is_last_of_blocks or bool(neighbours & (_BLOCKS | _INVISIBLE))


def _has_block(children: Iterable[etree._Element | str]) -> bool:
    return any(
        not isinstance(child, str) and local_name(child) in _BLOCKS
        for child in children
    )


def _without_first_line_end(name: str, text: str, index: int) -> str:
    """In preformatted text, a line end right after the tag is no part of it."""
    if index == 0 and name in ("pre", "textarea"):
        return text.removeprefix("\n")
    return text


def _pieces(text: str) -> Iterator[str]:
    """The nodes that a long text is cut into, after spaces."""
    while len(text) >= _LONGEST_NODE:
        window = text[:_LONGEST_NODE]
        last_white = max(window.rfind(white) for white in " \n\r")
        cut = last_white + 1 if last_white >= 0 else _LONGEST_NODE
        yield text[:cut]
        text = text[cut:]
    if text:
        yield text
