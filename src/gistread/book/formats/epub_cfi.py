"""EPUB Canonical Fragment Identifiers: places of a book as paths into the EPUB's own files.

https://www.w3.org/TR/epub-cfi/. The text of a book is not that of its file: spaces are joined, page
numbers left out, bullets added. A place is therefore found by its letters and those around it. It
has no identifier if the file lacks its letters in this order. A few more letters inside, such as a
page number, are allowed.

The range of an identifier lies in one document, which is named before the first comma. Of a place
that continues in the next document, the part in the first is named.
"""

import io
import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

import regex
from lxml import etree

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.elements.markup import local_name, parse
from gistread.book.formats.epub_package import spine_references
from gistread.errors import BookError

# Letters before and after a place that tell it from other places with the same words, the most
# telling first. One side alone helps where the other stands beside a number that the file lacks.
_CONTEXTS = (
    *((256, 256), (256, 0), (0, 256)),
    *((64, 64), (64, 0), (0, 64)),
    *((16, 16), (16, 0), (0, 16)),
    (0, 0),
)
_MOST_OCCURRENCES = 1_000  # Of words that say nothing about their place
# General categories of letters and digits; the order of accents differs
_LETTERS = "LN"
# By which each end of a place is found that has other letters inside
_EDGE_LETTERS = (16, 8, 4, 2)
_MOST_INSERTED = 24  # Letters that one form has inside a place, and the other has not
_MOST_EDGE = 20  # Signs before the first letter of a place, and behind its last
_WITHOUT_TEXT = frozenset(("script", "style"))
_SPACES = r"[\s\p{M}]*"  # Space and accents
_ACCENTS = regex.compile(r"\p{M}*")
_RESERVED = re.compile(r"[\^\[\](),;=]")
_ASSERTION = re.compile(r"\[(?:\^.|[^\]^])*\]")
_IDENTIFIER = re.compile(r"epubcfi\((.+)\)", re.DOTALL)
_PATH = re.compile(r"((?:/\d+)+)!((?:/\d+)*)(?::(\d+))?")


@dataclass(frozen=True)
class _Letters:
    """A text with its letters and digits, to compare it with another form of it."""

    raw: str

    @cached_property
    def text(self) -> str:
        return "".join(map(self._letters.__getitem__, self.raw))

    @cached_property
    def offsets(self) -> "array[int]":
        """Where each of the letters stands in the raw text."""
        letters = self._letters
        return array(
            "I", (at for at, sign in enumerate(self.raw) for _ in letters[sign])
        )

    @cached_property
    def _letters(self) -> dict[str, str]:
        return {sign: _letters_of(sign) for sign in set(self.raw)}

    def counterpart(
        self, start: int, end: int, other: "_Letters"
    ) -> tuple[int, int] | None:
        """Where `raw[start:end]` stands in the other form; None if it is not there."""
        first = bisect_left(self.offsets, start)
        behind = bisect_left(self.offsets, end)
        letters = self._same_letters(first, behind, other)
        letters = letters or self._letters_with_insertions(first, behind, other)
        if letters is None:
            return None
        before = self.raw[start : self.offsets[first]]
        after = self.raw[self.offsets[behind - 1] + 1 : end]
        return (
            _start_with(before, other.raw, other.offsets[letters[0]]),
            _end_with(after, other.raw, other.offsets[letters[1] - 1] + 1),
        )

    def _same_letters(
        self, first: int, behind: int, other: "_Letters"
    ) -> tuple[int, int] | None:
        """The range in `other.text` of `text[first:behind]`."""
        at = _find(self.text, first, behind, other.text)
        return None if at is None else (at, at + behind - first)

    def _letters_with_insertions(
        self, first: int, behind: int, other: "_Letters"
    ) -> tuple[int, int] | None:
        """As `_same_letters`, where one of the texts has a few letters more inside."""
        start = _find_edge(self.text, first, behind, other.text, from_end=False)
        end = _find_edge(self.text, first, behind, other.text, from_end=True)
        if start is None or end is None or start >= end:
            return None
        shorter, longer = sorted(
            (self.text[first:behind], other.text[start:end]), key=len
        )
        is_inserted = 0 < len(longer) - len(shorter) <= _MOST_INSERTED
        if is_inserted and _has_in_order(longer, shorter):
            return start, end
        return None


def _letters_of(sign: str) -> str:
    decomposed = unicodedata.normalize("NFD", sign)
    return "".join(
        part for part in decomposed if unicodedata.category(part)[0] in _LETTERS
    )


def _has_in_order(longer: str, shorter: str) -> bool:
    """Whether a text has the letters of another in their order, perhaps with others between them.

    >>> _has_in_order("upon12apage", "uponapage")
    True
    """
    letters = iter(longer)
    return all(letter in letters for letter in shorter)


def _start_with(signs: str, text: str, start: int) -> int:
    """Where a place starts with those of the signs that stand just before it."""
    edge = _signs_of(signs)[-_MOST_EDGE:]
    window = text[max(0, start - 2 * _MOST_EDGE) : start]
    for length in range(len(edge), 0, -1):
        match = regex.search(f"{_spaced(edge[-length:])}$", window)
        if match is not None:
            return start - len(window) + int(match.start())
    return start


def _end_with(signs: str, text: str, end: int) -> int:
    """Where a place ends with those of the signs that stand just behind it."""
    edge = _signs_of(signs)[:_MOST_EDGE]
    for length in range(len(edge), 0, -1):
        pattern = _SPACES + _spaced(edge[:length]).removesuffix(_SPACES)
        match = regex.match(pattern, text, pos=end)
        if match is not None:
            return int(match.end())
    return int(_ACCENTS.match(text, end).end())


def _signs_of(text: str) -> str:
    return str(regex.sub(r"[\s\p{M}]", "", text))


def _spaced(signs: str) -> str:
    """A pattern of the signs, each with any space behind it."""
    return "".join(f"{regex.escape(sign)}{_SPACES}" for sign in signs)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The characters between two tags."""

    reference: str  # Of its document in the package: `/6/4[chapter-1]`
    steps: tuple[str, ...]  # In the document: `/4`, `/10[para05]`, `/1`
    start: int  # Where it begins in the joined text


class SourceText:
    """The text of an EPUB's documents, as they are written.

    >>> page = "<html><head/><body><p>Loomings</p><p id='p1'>Call me Ishmael.</p></body></html>"
    >>> source = SourceText([("/6/4", etree.fromstring(page))])
    >>> text = "Loomings. Call me Ishmael."
    >>> source.identifiers(text, [(18, 25)])
    ['epubcfi(/6/4!/4/4[p1],/1:8,/1:15)']
    >>> source.place("epubcfi(/6/4!/4/4/1:8)", text)
    (18, 19)
    """

    def __init__(self, documents: Iterable[tuple[str, etree._Element]]) -> None:
        """`documents`: the path to each in the package, and its root."""
        self._chunks: list[_Chunk] = []
        parts: list[str] = []
        length = 0
        for reference, root in documents:
            for steps, text in _chunks_of(root):
                self._chunks.append(_Chunk(reference, steps, length))
                parts.append(text)
                length += len(text)
        self._letters = _Letters("".join(parts))
        self._starts = [chunk.start for chunk in self._chunks]

    def identifiers(self, text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
        """The identifier of each `text[start:end]`; empty where the file has other words."""
        book = _Letters(text)
        places = (book.counterpart(start, end, self._letters) for start, end in spans)
        return [self._range(*place) if place else "" for place in places]

    def place(self, identifier: str, text: str) -> tuple[int, int] | None:
        """Start and end in `text` of what an identifier names; None if it cannot be found.

        Of an identifier without an end, the next letter.
        """
        offsets = [self._offset(path) for path in _paths(identifier)]
        known = [offset for offset in offsets if offset is not None]
        if not known or len(known) < len(offsets):
            return None
        start = known[0]
        letter = bisect_left(self._letters.offsets, start)
        if letter == len(self._letters.offsets):
            return None
        end = max(known[-1], self._letters.offsets[letter] + 1)
        return self._letters.counterpart(start, end, _Letters(text))

    def _range(self, start: int, end: int) -> str:
        """The identifier of a part of the joined text, cut at the end of its first document."""
        first = self._chunk_at(start)
        last = self._chunk_at(end - 1)
        if first.reference != last.reference:
            last, end = self._end_of_document(start)
        pairs = zip(first.steps[:-1], last.steps[:-1], strict=False)
        shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        parent = "".join(first.steps[:shared])
        ends = [
            f"{''.join(chunk.steps[shared:])}:{self._units(chunk, offset)}"
            for chunk, offset in ((first, start), (last, end))
        ]
        if not shared:  # A path does not end with an exclamation mark.
            ends = [f"!{path}" for path in ends]
            return f"epubcfi({first.reference},{','.join(ends)})"
        return f"epubcfi({first.reference}!{parent},{','.join(ends)})"

    def _end_of_document(self, start: int) -> tuple[_Chunk, int]:
        """The last chunk with words of the document at an offset, and the end of these words."""
        last = self._chunk_at(start)
        end = start
        numbers = range(bisect_right(self._starts, start) - 1, len(self._chunks))
        of_document = takewhile(
            lambda number: self._chunks[number].reference == last.reference, numbers
        )
        for number in of_document:
            chunk = self._chunks[number]
            words = self._letters.raw[chunk.start : self._end_of(number)].rstrip()
            if words:
                last, end = chunk, chunk.start + len(words)
        return last, end

    def _end_of(self, number: int) -> int:
        """Where a chunk ends in the joined text."""
        if number + 1 < len(self._starts):
            return self._starts[number + 1]
        return len(self._letters.raw)

    def _chunk_at(self, offset: int) -> _Chunk:
        return self._chunks[bisect_right(self._starts, offset) - 1]

    def _units(self, chunk: _Chunk, offset: int) -> int:
        """How many UTF-16 units of the chunk are before an offset."""
        return len(self._letters.raw[chunk.start : offset].encode("utf-16-le")) // 2

    def _offset(self, path: str) -> int | None:
        """Where a path leads in the joined text: to its element, or so many units into it."""
        parsed = _PATH.fullmatch(path)
        if parsed is None:
            return None
        reference, steps, units = parsed.groups()
        chunk = self._first_chunk(reference, steps)
        if chunk is None:
            return None
        number = self._chunks.index(chunk)
        written = self._letters.raw[chunk.start : self._end_of(number)].encode(
            "utf-16-le"
        )
        return chunk.start + len(
            written[: 2 * int(units or 0)].decode("utf-16-le", "ignore")
        )

    def _first_chunk(self, reference: str, steps: str) -> _Chunk | None:
        for chunk in self._chunks:
            if _ASSERTION.sub("", chunk.reference) == reference:
                written = _ASSERTION.sub("", "".join(chunk.steps))
                if f"{written}/".startswith(f"{steps}/"):
                    return chunk
        return None


def open_source(path: Path) -> SourceText:
    """Raises BookError."""
    try:
        return read_source(path.read_bytes())
    except OSError as error:
        raise BookError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ArchiveError as error:
        raise BookError(f"{path.name} cannot be read as an EPUB: {error}.") from error


def read_source(data: bytes) -> SourceText:
    """The well-formed documents of an EPUB, from its bytes. Raises ArchiveError."""
    return SourceText(_documents(Archive(io.BytesIO(data))))


def _documents(archive: Archive) -> Iterator[tuple[str, etree._Element]]:
    """Only well-formed ones: of others each program makes a tree of its own."""
    known: set[str] = set()
    for path, reference in spine_references(archive):
        if path in known:
            continue
        known.add(path)
        try:
            tree = parse(archive.read(path))
        except ArchiveError:
            continue
        if (
            tree is None
            or tree.repaired
            or any(True for _ in tree.root.iter(etree.Entity))
        ):
            continue
        yield "".join(_steps_to(reference)), tree.root


def _steps_to(element: etree._Element) -> list[str]:
    """The steps from the root of a file to an element in it."""
    parent = element.getparent()
    if parent is None:
        return []
    return [*_steps_to(parent), _step(element, parent.index(element))]


def _step(element: etree._Element, index: int) -> str:
    """Elements have even numbers, the characters around them odd ones."""
    name = _RESERVED.sub(r"^\g<0>", element.get("id", ""))
    assertion = f"[{name}]" if name else ""
    return f"/{2 * index + 2}{assertion}"


def _chunks_of(root: etree._Element) -> Iterator[tuple[tuple[str, ...], str]]:
    """The steps to each chunk of text, and its characters."""
    if local_name(root) != "html":
        yield from _chunks_in(root, ())
        return
    for index, child in enumerate(root):
        if local_name(child) == "body":
            yield from _chunks_in(child, (_step(child, index),))


def _chunks_in(
    element: etree._Element, steps: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if local_name(element) in _WITHOUT_TEXT:
        return
    if element.text:
        yield (*steps, "/1"), str(element.text)
    for index, child in enumerate(element):
        yield from _chunks_in(child, (*steps, _step(child, index)))
        if child.tail:
            number = 2 * (index + 1)  # Of the child
            yield (*steps, f"/{number + 1}"), str(child.tail)


def _find(text: str, start: int, end: int, other: str) -> int | None:
    """Where `text[start:end]` stands in another form of the text.

    Of several such places the one of the same rank, if both forms have equally many.
    """
    if start >= end:
        return None
    for before, after in _CONTEXTS:
        first = max(0, start - before)
        sought = text[first : end + after]
        here = _occurrences(sought, text)
        there = _occurrences(sought, other)
        is_same_number = 0 < len(here) == len(there) < _MOST_OCCURRENCES
        if is_same_number and first in here:
            return there[here.index(first)] + start - first
    return None


def _find_edge(
    text: str, start: int, end: int, other: str, *, from_end: bool
) -> int | None:
    """Where `text[start:end]` begins or ends in another form that has letters more inside."""
    for length in _EDGE_LETTERS:
        size = min(length, (end - start) // 2)
        first = end - size if from_end else start
        at = _find(text, first, first + size, other)
        if at is not None:
            return at + size if from_end else at
    return None


def _occurrences(sought: str, text: str) -> list[int]:
    places: list[int] = []
    at = text.find(sought)
    while at >= 0 and len(places) < _MOST_OCCURRENCES:
        places.append(at)
        at = text.find(sought, at + 1)
    return places


def _paths(identifier: str) -> list[str]:
    """The paths of a place, or of both ends of a range, without assertions."""
    written = _IDENTIFIER.fullmatch(identifier.strip())
    if written is None:
        return []
    parent, *ends = _ASSERTION.sub("", written[1]).split(",")
    return [parent + end for end in ends] or [parent]
