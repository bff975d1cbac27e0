"""Assembles a book from its documents.

Resolves links and detects note references in all their forms.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from gistread.book import inline
from gistread.book.builder import (
    BookBuilder,
    ChapterStart,
    LinkTarget,
    ResolveLink,
    by_paragraph,
)
from gistread.book.formats.elements.paragraphs import ParsedParagraph
from gistread.book.formats.elements.semantics import needs_brackets
from gistread.book.formats.elements.xhtml import XhtmlDocument
from gistread.book.inline import InlineMark
from gistread.book.model import ParagraphKind

# Path and fragment of an `href` in a document, which may not exist; None if it leads out of the
# book.
Locate = Callable[[str, str], tuple[str, str] | None]
FindPicture = Callable[[str, str], str]  # Resolves a picture's source in a document


@dataclass(frozen=True, slots=True)
class ParagraphRange:
    """Paragraphs `[first, last)` of a document; `last` is None unless they are a note."""

    path: str
    first: int
    last: int | None = None


_LinkKey = tuple[str, int, int]  # Path, paragraph and mark
# Forms of a note reference: a number, a letter or signs, bare or in brackets.
_SIGN = r"(\d{1,4}|[*†‡§¶‖#]{1,4}|[a-z]{1,2}|[ivxlc]{1,6})"
_REFERENCE = re.compile(
    rf"[\[({{]?(?:(?:note|fn|n)\.? ?)?{_SIGN}[\])}}]?\.?", re.IGNORECASE
)
_NUMBERED = re.compile(rf"[^\w*†‡§¶‖#]*{_SIGN}(?!\w)", re.IGNORECASE)
_BRACKETS = frozenset("[({")
_NOTE_KINDS = frozenset(
    (ParagraphKind.TEXT, ParagraphKind.LIST, ParagraphKind.QUOTE, ParagraphKind.VERSE)
)
# A longer element with an id is a section, not a note.
_LONGEST_NOTE_PIECES = 40
# Minimum of characters around a reference. Links with fewer form a list, as in a table of contents.
_LEAST_AROUND = 3


def anchor_in_document(path: str, href: str) -> tuple[str, str] | None:
    """`Locate` for a single document: "#here" is inside, even if the link names the file."""
    page, separator, fragment = href.partition("#")
    if separator and unquote(page) in ("", path):
        return (path, unquote(fragment))
    return None


@dataclass(frozen=True, slots=True)
class _Link:
    path: str
    paragraph: int
    mark: int
    words: str
    around: str
    start: int
    end: int  # End of its words in `around`
    target: ParagraphRange
    fragment: str


class LinkedDocuments:
    """A book's documents with links and pictures resolved.

    A mark's `href` is a key of `targets` or an external URL.
    """

    def __init__(
        self,
        documents: Mapping[str, XhtmlDocument],
        locate: Locate,
        find: FindPicture = lambda path, source: source,
    ) -> None:
        """`documents`: by path, in reading order."""
        self._documents = documents
        self._locate = locate
        self._find = find
        self._order = {path: number for number, path in enumerate(documents)}
        self._links: dict[_LinkKey, _Link] = {}
        self._by_piece: defaultdict[tuple[str, int], list[_Link]] = defaultdict(list)
        self._dead: set[_LinkKey] = set()
        # For paragraphs inside a declared note: the range of the innermost one.
        self._declared: defaultdict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
        for path, document in documents.items():
            for declared in sorted(document.notes, key=lambda each: each[0] - each[1]):
                self._declared[path].update(dict.fromkeys(range(*declared), declared))
            for index, paragraph in enumerate(document.paragraphs):
                if any(mark.href for mark in paragraph.marks):
                    self._collect(path, index, paragraph)
        self._notes = self._find_notes()
        note_paragraphs: defaultdict[str, set[int]] = defaultdict(set)
        for note in set(self._notes.values()):
            note_paragraphs[note.path].update(
                range(note.first, note.last or note.first)
            )
        self.targets: dict[str, ParagraphRange] = {}
        self.documents = {
            path: self._resolved(path, note_paragraphs[path]) for path in documents
        }

    def _find_notes(self) -> dict[_LinkKey, ParagraphRange]:
        """The notes that links refer to."""
        references = filter(_is_reference, self._links.values())
        starts = {(link.target.path, link.target.first) for link in references}
        notes = {}
        for key, link in self._links.items():
            note = self._range(link, starts)
            if note is not None and self._is_note(link, note):
                notes[key] = note
        return notes

    def _resolved(self, path: str, note_paragraphs: Iterable[int]) -> XhtmlDocument:
        paragraphs = [
            self._rewrite(path, index, paragraph) if paragraph.marks else paragraph
            for index, paragraph in enumerate(self._documents[path].paragraphs)
        ]
        for index in note_paragraphs:
            if paragraphs[index].kind in _NOTE_KINDS:
                paragraphs[index] = replace(
                    paragraphs[index], kind=ParagraphKind.NOTE, level=0
                )
        return replace(self._documents[path], paragraphs=paragraphs)

    def _collect(self, path: str, index: int, paragraph: ParsedParagraph) -> None:
        text, ranges = inline.extract_marks(paragraph.text)
        for marked in ranges:
            href = paragraph.marks[marked.index].href
            place = self._locate(path, href) if href else None
            if place is None:
                continue
            key = (path, index, marked.index)
            target = self._target(path, *place)
            if target is None:
                self._dead.add(key)
                continue
            link = _Link(
                path=path,
                paragraph=index,
                mark=marked.index,
                words=text[marked.start : marked.end].strip(),
                around=text,
                start=marked.start,
                end=marked.end,
                target=target,
                fragment=place[1],
            )
            self._links[key] = link
            self._by_piece[path, index].append(link)

    def _target(self, path: str, target: str, fragment: str) -> ParagraphRange | None:
        document = self._documents.get(target)
        if document is None:
            return None
        if fragment in document.anchors:
            return ParagraphRange(target, document.anchors[fragment])
        # A missing anchor in another file means the file's start; in the same file, a browser stays
        # in place.
        if target != path or fragment.lower() in ("", "top"):
            return ParagraphRange(target, 0)
        return None

    def _range(
        self, link: _Link, starts: set[tuple[str, int]]
    ) -> ParagraphRange | None:
        """The note that a link may lead to.

        The declared note, the element with the id, or one paragraph.
        """
        if not link.fragment:
            return None
        path, first = link.target.path, link.target.first
        paragraphs = self._documents[path].paragraphs
        if first >= len(paragraphs) or paragraphs[first].kind is ParagraphKind.HEADING:
            return None
        last = self._documents[path].ends.get(link.fragment, 0)
        declared = self._declared[path].get(first)
        if declared:
            first, last = declared
        if first + 1 < last and paragraphs[first].kind is ParagraphKind.BREAK:
            # A rule above the notes of a page.
            first += 1
        is_element = (
            first < last <= first + _LONGEST_NOTE_PIECES
            and not _is_only_number(paragraphs[first:last])
        )
        if not (declared or is_element):
            last = self._note_end(path, first, starts)
        return ParagraphRange(path, first, last)

    def _note_end(self, path: str, first: int, starts: set[tuple[str, int]]) -> int:
        paragraphs = self._documents[path].paragraphs
        for index in range(
            first + 1, min(len(paragraphs), first + _LONGEST_NOTE_PIECES)
        ):
            if (path, index) in starts:
                return index
            if paragraphs[index].kind in (ParagraphKind.HEADING, ParagraphKind.BREAK):
                break
            if any(
                _is_reference(link) and self._follows(link)
                for link in self._by_piece.get((path, index), ())
            ):
                break
        return min(
            first + 1 + _is_only_number(paragraphs[first : first + 1]), len(paragraphs)
        )

    def _is_note(self, link: _Link, note: ParagraphRange) -> bool:
        mark = self._documents[link.path].paragraphs[link.paragraph].marks[link.mark]
        last = note.last or note.first
        if link.path == note.path and note.first <= link.paragraph < last:
            return False
        declared = note.first in self._declared[note.path]
        if mark.is_note:
            return declared or self._follows(link)
        if not _is_reference(link):
            return False
        if declared:
            return link.paragraph not in self._declared[link.path]
        if (
            not self._follows(link)
            or len(link.around) - len(link.words) < _LEAST_AROUND
        ):
            return False
        return self._leads_back(link, note) or self._has_its_number(link, note)

    def _follows(self, link: _Link) -> bool:
        target = link.target
        return (self._order[target.path], target.first) > (
            self._order[link.path],
            link.paragraph,
        )

    def _leads_back(self, link: _Link, note: ParagraphRange) -> bool:
        return any(
            back.target == ParagraphRange(link.path, link.paragraph)
            and bool(back.fragment)
            and (
                back.start <= _LEAST_AROUND
                or back.end >= len(back.around) - _LEAST_AROUND
            )
            for index in range(note.first, note.last or note.first)
            for back in self._by_piece.get((note.path, index), ())
        )

    def _has_its_number(self, link: _Link, note: ParagraphRange) -> bool:
        """Whether the note begins with the reference's sign, attached to the word before it."""
        before = link.around[link.start - 1 : link.start]
        if not before or (before.isspace() and link.words[:1] not in _BRACKETS):
            return False
        own = _REFERENCE.fullmatch(link.words)
        other = _NUMBERED.match(self._documents[note.path].paragraphs[note.first].words)
        return bool(own and other and own[1].lower() == other[1].lower())

    def _rewrite(
        self, path: str, index: int, paragraph: ParsedParagraph
    ) -> ParsedParagraph:
        marks = list(paragraph.marks)
        brackets: dict[int, str] = {}
        for number, mark in enumerate(paragraph.marks):
            key = (path, index, number)
            if mark.image:
                marks[number] = replace(mark, image=self._find(path, mark.image))
            link = self._links.get(key)
            note = self._notes.get(key)
            if link is None:
                if key in self._dead:
                    marks[number] = replace(mark, href="", is_note=False)
                elif mark.is_note:
                    marks[number] = replace(mark, is_note=False)
                continue
            target = note or link.target
            end_of_note = f"-{target.last}" if note else ""
            name = f"{target.path}#{target.first}{end_of_note}"
            self.targets[name] = target
            marks[number] = replace(mark, href=name, is_note=note is not None)
            if note and needs_brackets(link.words):
                # Brackets separate a bare number from the word before it.
                opening, closing = inline.opening(number), inline.closing(number)
                brackets[ord(opening)] = opening + "["
                brackets[ord(closing)] = "]" + closing
        return replace(
            paragraph,
            text=paragraph.text.translate(brackets) if brackets else paragraph.text,
            marks=tuple(marks),
        )


def _is_reference(link: _Link) -> bool:
    return bool(_REFERENCE.fullmatch(link.words))


def _is_only_number(paragraphs: Sequence[ParsedParagraph]) -> bool:
    return all(
        _REFERENCE.fullmatch(paragraph.words.strip()) for paragraph in paragraphs
    )


def assemble(
    builder: BookBuilder,
    linked: LinkedDocuments,
    chapters: Mapping[str, Iterable[ChapterStart]],
) -> ResolveLink:
    """Add every document with its chapters to `builder`. Returns the link resolver for `build`."""
    places: dict[str, list[tuple[int, int]]] = {}
    last_start = 0
    left = inline.MAX_MARKS_PER_BOOK
    for path, document in linked.documents.items():
        starts = by_paragraph(chapters.get(path, ()))
        places[path] = own = []
        for index, paragraph in enumerate(document.paragraphs):
            for chapter in starts[index]:
                builder.chapter(chapter.title, chapter.level)
            start = builder.next_start
            left -= len(paragraph.marks)
            if left < 0:
                paragraph = replace(paragraph, text=paragraph.words, marks=())
            if builder.add(
                paragraph.text,
                paragraph.kind,
                paragraph.level,
                lines=paragraph.lines,
                marks=paragraph.marks,
            ):
                last_start = start
            own.append((start, builder.characters))
        own.append((builder.next_start, builder.next_start))

    def resolve(mark: InlineMark) -> LinkTarget | None:
        target = linked.targets.get(mark.href)
        if target is None:
            return None
        own = places[target.path]
        # The end of the book belongs to its last paragraph.
        start = min(own[target.first][0], last_start)
        end = own[target.last - 1][1] if target.last else None
        return LinkTarget(start, end if end and end > start else None)

    return resolve
