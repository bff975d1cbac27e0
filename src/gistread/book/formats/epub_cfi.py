"""EPUB Canonical Fragment Identifiers: places of a book as paths into the EPUB's own files.

https://www.w3.org/TR/epub-cfi/. The text of a book is not that of its file: spaces are joined, page
numbers left out, bullets added. A place is therefore found by its letters and those around it. It
has no identifier if the file lacks its letters in this order. A few more letters inside, such as a
page number, are allowed.

The range of an identifier lies in one document, which is named before the first comma. If a place
continues in the next document, its identifier ends with the first document.
"""

import io
import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import regex
from lxml import etree

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.elements.markup import local_name, parse
from gistread.book.formats.epub_package import spine_references
from gistread.errors import BookError

# Numbers of letters before and after a place that distinguish it from others with the same words,
# longest first. One side alone helps where the other is beside a number that the file lacks.
_CONTEXTS = (
    *((256, 256), (256, 0), (0, 256)),
    *((64, 64), (64, 0), (0, 64)),
    *((16, 16), (16, 0), (0, 16)),
    (0, 0),
)
_MOST_OCCURRENCES = 1_000  # More frequent words do not identify a place
# General categories of letters and digits. Accents do not count: their order differs.
_LETTERS = "LN"
# Numbers of letters by which each end of a place is found if there are other letters inside
_EDGE_LETTERS = (16, 8, 4, 2)
_MOST_INSERTED = 24  # Letters inside a place that only one form has
_MOST_EDGE = 20  # Signs before the first letter of a place, and after its last
_WITHOUT_TEXT = frozenset(("script", "style"))
_SPACES = r"[\s\p{M}]*"  # Space and accents
_ACCENTS = regex.compile(r"\p{M}*")
# Characters that an identifier writes with "^" before them
_RESERVED = re.compile(r"[\^\[\](),;=]")
# "[chapter-1]", "[a^]b]"
_ASSERTION = re.compile(r"\[(?:\^.|[^\]^])*\]")
_IDENTIFIER = re.compile(r"epubcfi\((.+)\)", re.DOTALL)
# "/6/4" in the package, "/4/10/1" in the document, and the UTF-16 unit 3: "/6/4!/4/10/1:3"
_PATH = re.compile(r"((?:/\d+)+)!((?:/\d+)*)(?::(\d+))?")


@dataclass(frozen=True)
class _Letters:
    """A text with its letters and digits, to compare it with another form of it."""

    raw: str

    @cached_property
    def text(self) -> str:
        """The letters and digits only."""
        return "".join(map(self._letters.__getitem__, self.raw))

    @cached_property
    def offsets(self) -> "array[int]":
        """The offset of each letter in the raw text."""
        letters = self._letters
        # A sign such as "½" stands for several letters.
        offsets = (
            offset for offset, sign in enumerate(self.raw) for _ in letters[sign]
        )
        return array("I", offsets)

    @cached_property
    def _letters(self) -> dict[str, str]:
        """The letters of each sign in the raw text."""
        return {sign: _letters_of(sign) for sign in set(self.raw)}

    def counterpart(
        self, start: int, end: int, other: "_Letters"
    ) -> tuple[int, int] | None:
        """Where `raw[start:end]` stands in the other form; None if it is not there."""
        first_letter = bisect_left(self.offsets, start)
        end_letter = bisect_left(self.offsets, end)
        letters = self._same_letters(first_letter, end_letter, other)
        if letters is None:
            letters = self._letters_with_insertions(first_letter, end_letter, other)
        if letters is None:
            return None
        other_first, other_end = letters
        signs_before = self.raw[start : self.offsets[first_letter]]
        signs_after = self.raw[self.offsets[end_letter - 1] + 1 : end]
        letters_start = other.offsets[other_first]
        letters_end = other.offsets[other_end - 1] + 1
        return (
            _start_with(signs_before, other.raw, letters_start),
            _end_with(signs_after, other.raw, letters_end),
        )

    def _same_letters(
        self, first: int, end: int, other: "_Letters"
    ) -> tuple[int, int] | None:
        """The range in `other.text` of `text[first:end]`."""
        other_first = _find(self.text, first, end, other.text)
        if other_first is None:
            return None
        return other_first, other_first + end - first

    def _letters_with_insertions(
        self, first: int, end: int, other: "_Letters"
    ) -> tuple[int, int] | None:
        """As `_same_letters`, where one of the texts has a few letters more inside."""
        other_first = _find_edge(self.text, first, end, other.text, from_end=False)
        other_end = _find_edge(self.text, first, end, other.text, from_end=True)
        if other_first is None or other_end is None or other_first >= other_end:
            return None
        forms = (self.text[first:end], other.text[other_first:other_end])
        shorter, longer = sorted(forms, key=len)
        is_inserted = 0 < len(longer) - len(shorter) <= _MOST_INSERTED
        if is_inserted and _has_in_order(longer, shorter):
            return other_first, other_end
        return None


def _letters_of(sign: str) -> str:
    """The letters and digits of a character, without accents; usually one or none."""
    parts = unicodedata.normalize("NFD", sign)
    return "".join(part for part in parts if unicodedata.category(part)[0] in _LETTERS)


def _has_in_order(longer: str, shorter: str) -> bool:
    """Whether a text has the letters of another in their order, perhaps with others between them.

    >>> _has_in_order("upon12apage", "uponapage")
    True
    """
    position = 0
    for letter in shorter:
        found_at = longer.find(letter, position)
        if found_at < 0:
            return False
        position = found_at + 1
    return True


def _start_with(signs: str, text: str, start: int) -> int:
    """The start of a place, before those of the signs that also precede `start` in the text."""
    edge_signs = _without_spaces(signs)[-_MOST_EDGE:]
    window = text[max(0, start - 2 * _MOST_EDGE) : start]
    for length in range(len(edge_signs), 0, -1):
        pattern = _spaced_pattern(edge_signs[-length:])
        match = regex.search(f"{pattern}$", window)
        if match is not None:
            return start - len(window) + int(match.start())
    return start


def _end_with(signs: str, text: str, end: int) -> int:
    """The end of a place, after those of the signs that also follow `end` in the text."""
    edge_signs = _without_spaces(signs)[:_MOST_EDGE]
    for length in range(len(edge_signs), 0, -1):
        pattern = _SPACES + _spaced_pattern(edge_signs[:length]).removesuffix(_SPACES)
        match = regex.match(pattern, text, pos=end)
        if match is not None:
            return int(match.end())
    return int(_ACCENTS.match(text, end).end())


def _without_spaces(text: str) -> str:
    """A text without white space and accents."""
    return str(regex.sub(r"[\s\p{M}]", "", text))


def _spaced_pattern(signs: str) -> str:
    """A pattern of the signs, each with any space after it."""
    return "".join(f"{regex.escape(sign)}{_SPACES}" for sign in signs)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The characters between two tags."""

    reference: str  # Of its document in the package: `/6/4[chapter-1]`
    steps: tuple[str, ...]  # In the document: `/4`, `/10[para05]`, `/1`
    start: int  # Where it begins in the joined text


class SourceText:
    """The text of an EPUB's documents as it stands in their files.

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
        """Start and end in `text` of the place that an identifier names; None if it is not found.

        An identifier of a single point names the next letter.
        """
        offsets: list[int] = []
        for path in _paths(identifier):
            offset = self._offset(path)
            if offset is None:
                return None
            offsets.append(offset)
        if not offsets:
            return None
        start = offsets[0]
        letter = bisect_left(self._letters.offsets, start)
        if letter == len(self._letters.offsets):
            return None
        end = max(offsets[-1], self._letters.offsets[letter] + 1)
        return self._letters.counterpart(start, end, _Letters(text))

    def _range(self, start: int, end: int) -> str:
        """The identifier of a part of the joined text, cut at the end of its first document."""
        first = self._chunks[self._number_at(start)]
        last = self._chunks[self._number_at(end - 1)]
        if first.reference != last.reference:
            last, end = self._end_of_document(start)
        # The last step of each leads to its characters, not to an element around both.
        shared = _shared_length(first.steps[:-1], last.steps[:-1])
        parent = "".join(first.steps[:shared])
        first_path = "".join(first.steps[shared:])
        last_path = "".join(last.steps[shared:])
        from_start = f"{first_path}:{self._units(first, start)}"
        to_end = f"{last_path}:{self._units(last, end)}"
        if not parent:
            # The part before the comma must not end with an exclamation mark.
            return f"epubcfi({first.reference},!{from_start},!{to_end})"
        return f"epubcfi({first.reference}!{parent},{from_start},{to_end})"

    def _end_of_document(self, start: int) -> tuple[_Chunk, int]:
        """The last chunk with words of the document at an offset, and the end of these words."""
        first_number = self._number_at(start)
        last = self._chunks[first_number]
        reference = last.reference
        end = start
        for number in range(first_number, len(self._chunks)):
            chunk = self._chunks[number]
            if chunk.reference != reference:
                break
            words = self._raw_text(number).rstrip()
            if words:
                last = chunk
                end = chunk.start + len(words)
        return last, end

    def _raw_text(self, number: int) -> str:
        """The characters of a chunk."""
        start = self._starts[number]
        if number + 1 < len(self._starts):
            return self._letters.raw[start : self._starts[number + 1]]
        return self._letters.raw[start:]

    def _number_at(self, offset: int) -> int:
        """The number of the chunk at an offset."""
        return bisect_right(self._starts, offset) - 1

    def _units(self, chunk: _Chunk, offset: int) -> int:
        """How many UTF-16 units of the chunk are before an offset."""
        before = self._letters.raw[chunk.start : offset]
        return len(before.encode("utf-16-le")) // 2

    def _offset(self, path: str) -> int | None:
        """The offset in the joined text where a path leads; None if it leads nowhere."""
        parsed = _PATH.fullmatch(path)
        if parsed is None:
            return None
        reference, steps, units = parsed.groups()
        number = self._first_chunk(reference, steps)
        if number is None:
            return None
        encoded = self._raw_text(number).encode("utf-16-le")
        bytes_before = encoded[: 2 * int(units or 0)]
        before = bytes_before.decode("utf-16-le", "ignore")
        return self._starts[number] + len(before)

    def _first_chunk(self, reference: str, steps: str) -> int | None:
        """The number of the first chunk at or below a path."""
        for number, chunk in enumerate(self._chunks):
            if _ASSERTION.sub("", chunk.reference) == reference:
                path = _ASSERTION.sub("", "".join(chunk.steps))
                if f"{path}/".startswith(f"{steps}/"):
                    return number
        return None


def _shared_length(steps: Sequence[str], others: Sequence[str]) -> int:
    """How many steps two paths share at their beginning."""
    shared = 0
    for step, other in zip(steps, others, strict=False):
        if step != other:
            break
        shared += 1
    return shared


def open_source(path: Path) -> SourceText:
    """The text in the files of the EPUB at a path. Raises BookError."""
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
    """The path to each document in the package, and its root.

    Only well-formed documents: each program repairs others in its own way.
    """
    known: set[str] = set()
    for path, reference in spine_references(archive):
        if path in known:
            continue
        known.add(path)
        try:
            tree = parse(archive.read(path))
        except ArchiveError:
            continue
        if tree is None or tree.is_repaired:
            continue
        has_entities = next(tree.root.iter(etree.Entity), None) is not None
        if not has_entities:
            yield "".join(_steps_to(reference)), tree.root


def _steps_to(element: etree._Element) -> list[str]:
    """The steps from the root of a file to an element in it."""
    parent = element.getparent()
    if parent is None:
        return []
    return [*_steps_to(parent), _step(element, parent.index(element))]


def _step(element: etree._Element, index: int) -> str:
    """The step to a child: `/4[chapter-1]`.

    Elements have even numbers, the characters around them odd ones.
    """
    number = 2 * (index + 1)
    name = _RESERVED.sub(r"^\g<0>", element.get("id", ""))
    if not name:
        return f"/{number}"
    return f"/{number}[{name}]"


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
    """The steps to each chunk inside an element, and its characters.

    The step to the characters after the n-th child is 2n + 1.
    """
    if local_name(element) in _WITHOUT_TEXT:
        return
    if element.text:
        yield (*steps, "/1"), str(element.text)
    for index, child in enumerate(element):
        yield from _chunks_in(child, (*steps, _step(child, index)))
        if child.tail:
            number_of_child = 2 * (index + 1)
            yield (*steps, f"/{number_of_child + 1}"), str(child.tail)


def _find(text: str, start: int, end: int, other: str) -> int | None:
    """The start of `text[start:end]` in another form of the text; None if it is unclear.

    If both forms have these words equally often, the n-th place corresponds to the n-th.
    """
    if start >= end:
        return None
    for before, after in _CONTEXTS:
        first = max(0, start - before)
        words = text[first : end + after]
        places = _occurrences(words, text)
        other_places = _occurrences(words, other)
        is_same_number = 0 < len(places) == len(other_places) < _MOST_OCCURRENCES
        if is_same_number and first in places:
            other_first = other_places[places.index(first)]
            return other_first + start - first
    return None


def _find_edge(
    text: str, start: int, end: int, other: str, *, from_end: bool
) -> int | None:
    """Where `text[start:end]` begins or ends in another form that has more letters inside."""
    for most_letters in _EDGE_LETTERS:
        length = min(most_letters, (end - start) // 2)
        first = end - length if from_end else start
        other_first = _find(text, first, first + length, other)
        if other_first is not None:
            return other_first + length if from_end else other_first
    return None


def _occurrences(words: str, text: str) -> list[int]:
    """The offsets of words in a text; the first thousand."""
    places: list[int] = []
    place = text.find(words)
    while place >= 0 and len(places) < _MOST_OCCURRENCES:
        places.append(place)
        place = text.find(words, place + 1)
    return places


def _paths(identifier: str) -> list[str]:
    """The path of a point, or those of both ends of a range, without assertions.

    >>> _paths("epubcfi(/6/4!/4/10[para05],/1:3,/1:43)")
    ['/6/4!/4/10/1:3', '/6/4!/4/10/1:43']
    """
    match = _IDENTIFIER.fullmatch(identifier.strip())
    if match is None:
        return []
    without_assertions = _ASSERTION.sub("", match[1])
    parent, *ends = without_assertions.split(",")
    if not ends:
        return [parent]
    return [parent + end for end in ends]
