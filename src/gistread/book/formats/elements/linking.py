"""Where the links of a book's documents lead, and which of them are the references of notes.

Books say what a note is in many ways, and most say nothing: so a link is the reference of a note if one of the two says
so, if what it leads to leads back to it, or if that begins with the same number. What is a note becomes a paragraph of
that kind, so that it need not interrupt reading. Knows nothing of archives: a format says which place a `href` means.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from gistread.book import inline
from gistread.book.formats.elements.paragraphs import ParsedParagraph
from gistread.book.formats.elements.xhtml import XhtmlDocument
from gistread.book.model import ParagraphKind


@dataclass(frozen=True, slots=True)
class DocumentAnchor:
    """A place among the documents, which may not be there."""

    path: str
    fragment: str = ""


Locate = Callable[[str, str], DocumentAnchor | None]
"""What a `href` means in the document of this path: a place in the book, or None where it leads out of it."""
Find = Callable[[str, str], str]
"""What the source of a picture means in the document of this path."""


@dataclass(frozen=True, slots=True)
class ParagraphRange:
    """Pieces of one document, from `first` up to but without `last`; `last` is None for a place that is no note."""

    path: str
    first: int
    last: int | None = None


@dataclass(frozen=True, slots=True)
class LinkedDocuments:
    """The documents as they go into the book, and what their links mean."""

    documents: Mapping[str, XhtmlDocument]
    """By path, in reading order. The `href` of a mark is a key of `targets`, or an address out of the book."""
    targets: Mapping[str, ParagraphRange]


# What a reference looks like: a number, a letter, a few signs, in brackets or bare.
_SIGN = r"(\d{1,4}|[*†‡§¶‖#]{1,4}|[a-z]{1,2}|[ivxlc]{1,6})"
_REFERENCE = re.compile(rf"[\[({{]?(?:(?:note|fn|n)\.? ?)?{_SIGN}[\])}}]?\.?", re.IGNORECASE)
_NUMBERED = re.compile(rf"[^\w*†‡§¶‖#]*{_SIGN}(?!\w)", re.IGNORECASE)
_BRACKETS = frozenset("[({")
_BECOME_NOTES = frozenset((ParagraphKind.TEXT, ParagraphKind.LIST, ParagraphKind.QUOTE, ParagraphKind.VERSE))
# An element with an id that holds more than this is a section, and no note.
_LONGEST_NOTE_PIECES = 40
# Characters of a paragraph beside the link: less is a list of links, as in a table of contents.
_LEAST_AROUND = 3


def as_written(path: str, source: str) -> str:
    """The source of a picture that is kept beside the book."""
    return source


def resolve_links(documents: Mapping[str, XhtmlDocument], locate: Locate, find: Find = as_written) -> LinkedDocuments:
    """Find out where every link leads and every picture is. The documents are those of one book, in reading order."""
    return _Linker(documents, locate, find).run()


def own_anchor(path: str, href: str) -> DocumentAnchor | None:
    """`Locate` for a book of one document: "#here" leads to a place in it, all else leads out."""
    return DocumentAnchor(path, unquote(href[1:])) if href.startswith("#") else None


@dataclass(frozen=True, slots=True)
class _Link:
    """One link that leads to a place in the book."""

    path: str
    piece: int
    mark: int
    words: str
    around: str
    """The text of its paragraph."""
    start: int
    end: int
    """Of its words, in that text."""
    target: ParagraphRange
    fragment: str


@dataclass(slots=True)
class _Linker:
    documents: Mapping[str, XhtmlDocument]
    locate: Locate
    find: Find
    _order: dict[str, int] = field(init=False)
    _links: dict[tuple[str, int, int], _Link] = field(default_factory=dict)
    """By path, piece and mark."""
    _by_piece: dict[tuple[str, int], list[_Link]] = field(default_factory=dict)
    _dead: set[tuple[str, int, int]] = field(default_factory=set)
    _declared: dict[str, dict[int, tuple[int, int]]] = field(init=False)
    """Of each piece that stands in an element that says it is a note, the pieces of the innermost."""

    def __post_init__(self) -> None:
        self._order = {path: number for number, path in enumerate(self.documents)}
        self._declared = {path: _innermost(document.notes) for path, document in self.documents.items()}

    def run(self) -> LinkedDocuments:
        for path, document in self.documents.items():
            for index, piece in enumerate(document.pieces):
                if any(mark.href for mark in piece.marks):
                    self._collect(path, index, piece)
        notes = self._notes()
        targets: dict[str, ParagraphRange] = {}
        documents = {}
        note_pieces: dict[str, set[int]] = {}
        for note in set(notes.values()):
            note_pieces.setdefault(note.path, set()).update(range(note.first, note.last or note.first))
        for path, document in self.documents.items():
            pieces = [
                self._rewritten(path, index, piece, notes, targets) if piece.marks else piece
                for index, piece in enumerate(document.pieces)
            ]
            for index in note_pieces.get(path, ()):
                if pieces[index].kind in _BECOME_NOTES:
                    pieces[index] = replace(pieces[index], kind=ParagraphKind.NOTE, level=0)
            documents[path] = replace(document, pieces=tuple(pieces))
        return LinkedDocuments(documents, targets)

    def _collect(self, path: str, index: int, piece: ParsedParagraph) -> None:
        text, covered = inline.take_out(piece.text)
        for mark, start, end in covered:
            href = piece.marks[mark].href
            place = self.locate(path, href) if href else None
            if place is None:
                continue
            key = (path, index, mark)
            target = self._target(path, place)
            if target is None:
                self._dead.add(key)
                continue
            link = _Link(path, index, mark, text[start:end].strip(), text, start, end, target, place.fragment)
            self._links[key] = link
            self._by_piece.setdefault((path, index), []).append(link)

    def _target(self, path: str, place: DocumentAnchor) -> ParagraphRange | None:
        document = self.documents.get(place.path)
        if document is None:
            return None
        if place.fragment in document.anchors:
            return ParagraphRange(place.path, document.anchors[place.fragment])
        # To the beginning of a file, also for want of the place in it; in the same file a browser would stay.
        return ParagraphRange(place.path, 0) if place.path != path or place.fragment.lower() in ("", "top") else None

    def _notes(self) -> dict[tuple[str, int, int], ParagraphRange]:
        """Of each link that is the reference of a note, that note."""
        found = {}
        starts = {(link.target.path, link.target.first) for link in self._links.values() if _is_reference(link)}
        for key, link in self._links.items():
            note = self._range(link, starts)
            if note is not None and self._is_note(link, note):
                found[key] = note
        return found

    def _range(self, link: _Link, starts: set[tuple[str, int]]) -> ParagraphRange | None:
        """The note that a link would lead to: the element that is called so, or the one with the id, or a paragraph."""
        if not link.fragment:
            return None
        path, first = link.target.path, link.target.first
        document = self.documents[path]
        if first >= len(document.pieces) or document.pieces[first].kind is ParagraphKind.HEADING:
            return None
        last = document.ends.get(link.fragment, 0)
        declared = self._declared[path].get(first)
        if declared:
            first, last = declared
        if first + 1 < last and document.pieces[first].kind is ParagraphKind.BREAK:
            # A rule above the notes of a page.
            first += 1
        if declared:
            return ParagraphRange(path, first, last)
        if first < last <= first + _LONGEST_NOTE_PIECES and not _is_bare(document.pieces[first:last]):
            return ParagraphRange(path, first, last)
        return ParagraphRange(path, first, self._goes_on(document, path, first, starts))

    def _goes_on(self, document: XhtmlDocument, path: str, first: int, starts: set[tuple[str, int]]) -> int:
        """Where a note ends of which only the first paragraph is known: at the next, if there is nothing but notes."""
        for index in range(first + 1, min(len(document.pieces), first + _LONGEST_NOTE_PIECES)):
            if (path, index) in starts:
                return index
            if document.pieces[index].kind in (ParagraphKind.HEADING, ParagraphKind.BREAK):
                break
            if any(_is_reference(link) and self._follows(link) for link in self._by_piece.get((path, index), ())):
                break
        return first + (2 if _is_bare(document.pieces[first : first + 1]) and first + 1 < len(document.pieces) else 1)

    def _is_note(self, link: _Link, note: ParagraphRange) -> bool:
        mark = self.documents[link.path].pieces[link.piece].marks[link.mark]
        last = note.last or note.first
        if link.path == note.path and note.first <= link.piece < last:
            return False
        declared = note.first in self._declared[note.path]
        if mark.is_note:
            return declared or self._follows(link)
        if not _is_reference(link):
            return False
        if declared:
            return link.piece not in self._declared[link.path]
        if not self._follows(link) or len(link.around) - len(link.words) < _LEAST_AROUND:
            return False
        return self._leads_back(link, note) or self._has_its_number(link, note)

    def _follows(self, link: _Link) -> bool:
        """Whether the link leads onwards."""
        target = link.target
        return (self._order[target.path], target.first) > (self._order[link.path], link.piece)

    def _leads_back(self, link: _Link, note: ParagraphRange) -> bool:
        """Whether the note begins or ends with a link to the paragraph that refers to it."""
        return any(
            back.target == ParagraphRange(link.path, link.piece)
            and bool(back.fragment)
            and (back.start <= _LEAST_AROUND or back.end >= len(back.around) - _LEAST_AROUND)
            for index in range(note.first, note.last or note.first)
            for back in self._by_piece.get((note.path, index), ())
        )

    def _has_its_number(self, link: _Link, note: ParagraphRange) -> bool:
        """Whether the note begins with the sign of a reference that clings to the word before it."""
        before = link.around[link.start - 1 : link.start]
        if not before or (before.isspace() and link.words[:1] not in _BRACKETS):
            return False
        own = _REFERENCE.fullmatch(link.words)
        other = _NUMBERED.match(self.documents[note.path].pieces[note.first].words)
        return bool(own and other and own[1].lower() == other[1].lower())

    def _rewritten(
        self,
        path: str,
        index: int,
        piece: ParsedParagraph,
        notes: Mapping[tuple[str, int, int], ParagraphRange],
        targets: dict[str, ParagraphRange],
    ) -> ParsedParagraph:
        marks = list(piece.marks)
        brackets: dict[int, str] = {}
        for number, mark in enumerate(piece.marks):
            key = (path, index, number)
            if mark.image:
                marks[number] = replace(mark, image=self.find(path, mark.image))
            link, note = self._links.get(key), notes.get(key)
            if link is None:
                if key in self._dead:
                    marks[number] = replace(mark, href="", is_note=False)
                elif mark.is_note:
                    marks[number] = replace(mark, is_note=False)
                continue
            target = note or link.target
            name = f"{target.path}#{target.first}" + (f"-{target.last}" if note else "")
            targets[name] = target
            marks[number] = replace(mark, href=name, is_note=note is not None)
            if note and link.words[:1] not in _BRACKETS and " " not in link.words:
                # Bare, it would grow into the word before it.
                opening, closing = inline.opening(number), inline.closing(number)
                brackets[ord(opening)] = opening + "["
                brackets[ord(closing)] = "]" + closing
        return replace(piece, text=piece.text.translate(brackets) if brackets else piece.text, marks=tuple(marks))


def _is_reference(link: _Link) -> bool:
    return bool(_REFERENCE.fullmatch(link.words))


def _is_bare(pieces: Sequence[ParsedParagraph]) -> bool:
    """Whether there is nothing but the number of a note."""
    return all(_REFERENCE.fullmatch(piece.words.strip()) for piece in pieces)


def _innermost(notes: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for note in sorted(notes, key=lambda each: each[0] - each[1]):
        found.update(dict.fromkeys(range(*note), note))
    return found
