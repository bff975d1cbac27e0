"""Assembles a book from its documents.

Resolves links and detects note references in all their forms.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

# From the path of a document and an `href` in it: the path and the fragment that the link names,
# which may not exist. None if the link leads out of the book.
Locate = Callable[[str, str], tuple[str, str] | None]
# From the path of a document and the source of a picture in it: the picture's path in the book.
FindPicture = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class ParagraphRange:
    """Paragraphs `[first, end)` of a document; `end` is None unless they are a note."""

    path: str
    first: int
    end: int | None = None

    @property
    def indices(self) -> range:
        """The paragraphs of a note."""
        return range(self.first, self.end or self.first)


_LinkKey = tuple[str, int, int]  # Path, paragraph and mark
# The number, letter or signs of a note.
_SIGN = r"(\d{1,4}|[*†‡§¶‖#]{1,4}|[a-z]{1,2}|[ivxlc]{1,6})"
# The words of a note reference: "3", "[3]", "*", "(n. 3)"
_REFERENCE = re.compile(
    rf"[\[({{]?(?:(?:note|fn|n)\.? ?)?{_SIGN}[\])}}]?\.?", re.IGNORECASE
)
# The beginning of a note: "3. ", "[3] "
_NUMBERED = re.compile(rf"[^\w*†‡§¶‖#]*{_SIGN}(?!\w)", re.IGNORECASE)
_BRACKETS = frozenset("[({")
_NOTE_KINDS = frozenset(
    (ParagraphKind.TEXT, ParagraphKind.LIST, ParagraphKind.QUOTE, ParagraphKind.VERSE)
)
# Paragraphs. A longer element with an id is a section, not a note.
_LONGEST_NOTE = 40
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
    paragraph_text: str
    # Of its words in the paragraph
    start: int
    end: int
    target: ParagraphRange
    fragment: str

    @property
    def is_reference(self) -> bool:
        """Whether its words look like a reference to a note."""
        return bool(_REFERENCE.fullmatch(self.words))

    @property
    def is_at_edge(self) -> bool:
        """Whether it begins or ends its paragraph, but for a few characters."""
        characters_after = len(self.paragraph_text) - self.end
        return self.start <= _LEAST_AROUND or characters_after <= _LEAST_AROUND


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
        self._links_in: defaultdict[tuple[str, int], list[_Link]] = defaultdict(list)
        # Links to places in the book that do not exist.
        self._dead: set[_LinkKey] = set()
        for path, document in documents.items():
            for index, paragraph in enumerate(document.paragraphs):
                if any(mark.href for mark in paragraph.marks):
                    self._collect(path, index, paragraph)
        # By path and paragraph.
        self._declared_notes = {
            path: _innermost(document.notes) for path, document in documents.items()
        }
        self._notes = self._find_notes()
        # Where the links of `documents` lead; filled while they are resolved.
        self.targets: dict[str, ParagraphRange] = {}
        self.documents = self._resolve_documents()

    def _find_notes(self) -> dict[_LinkKey, ParagraphRange]:
        """The notes that links refer to."""
        # Where references lead: there a note begins.
        starts = {
            (link.target.path, link.target.first)
            for link in self._links.values()
            if link.is_reference
        }
        notes = {}
        for key, link in self._links.items():
            note = self._possible_note(link, starts)
            if note is not None and self._is_note(link, note):
                notes[key] = note
        return notes

    def _resolve_documents(self) -> dict[str, XhtmlDocument]:
        """The documents with the targets of their links; paragraphs of notes become notes."""
        note_paragraphs: defaultdict[str, set[int]] = defaultdict(set)
        for note in set(self._notes.values()):
            note_paragraphs[note.path].update(note.indices)
        return {
            path: self._resolved(path, note_paragraphs[path])
            for path in self._documents
        }

    def _resolved(self, path: str, note_paragraphs: Iterable[int]) -> XhtmlDocument:
        """A document with the targets of its links, and with these paragraphs as notes."""
        paragraphs = [
            self._with_targets(path, index, paragraph) if paragraph.marks else paragraph
            for index, paragraph in enumerate(self._documents[path].paragraphs)
        ]
        for index in note_paragraphs:
            paragraph = paragraphs[index]
            if paragraph.kind in _NOTE_KINDS:
                paragraphs[index] = replace(paragraph, kind=ParagraphKind.NOTE, level=0)
        return replace(self._documents[path], paragraphs=paragraphs)

    def _collect(self, path: str, index: int, paragraph: ParsedParagraph) -> None:
        """Enter the links of a paragraph."""
        text, ranges = inline.extract_marks(paragraph.text)
        for marked in ranges:
            href = paragraph.marks[marked.index].href
            place = self._locate(path, href) if href else None
            if place is None:
                continue
            key = (path, index, marked.index)
            target_path, fragment = place
            target = self._target(path, target_path, fragment)
            if target is None:
                self._dead.add(key)
                continue
            link = _Link(
                path=path,
                paragraph=index,
                mark=marked.index,
                words=text[marked.start : marked.end].strip(),
                paragraph_text=text,
                start=marked.start,
                end=marked.end,
                target=target,
                fragment=fragment,
            )
            self._links[key] = link
            self._links_in[path, index].append(link)

    def _target(
        self, path: str, target_path: str, fragment: str
    ) -> ParagraphRange | None:
        """Where a link in the document `path` leads; None if it leads nowhere."""
        document = self._documents.get(target_path)
        if document is None:
            return None
        if fragment in document.anchors:
            return ParagraphRange(target_path, document.anchors[fragment])
        # A missing anchor in another file means the file's start; in the same file, a browser stays
        # in place.
        if target_path != path or fragment.lower() in ("", "top"):
            return ParagraphRange(target_path, 0)
        return None

    def _possible_note(
        self, link: _Link, starts: set[tuple[str, int]]
    ) -> ParagraphRange | None:
        """The note that a link may lead to; None if there can be none.

        It is a declared note, else the element with the id if it is short, else the paragraphs up
        to the next note in `starts`.
        """
        if not link.fragment:
            return None
        path = link.target.path
        first = link.target.first
        document = self._documents[path]
        paragraphs = document.paragraphs
        if first >= len(paragraphs) or paragraphs[first].kind is ParagraphKind.HEADING:
            return None
        declared = self._declared_notes[path].get(first)
        if declared:
            first, end = declared
        else:
            end = document.ends.get(link.fragment, 0)
        if first + 1 < end and paragraphs[first].kind is ParagraphKind.BREAK:
            # A rule above the notes of a page.
            first += 1
        is_short_element = first < end <= first + _LONGEST_NOTE
        # An element with only the number stands before the words of its note.
        is_complete = is_short_element and not _is_only_number(paragraphs[first:end])
        if not declared and not is_complete:
            end = self._note_end(path, first, starts)
        return ParagraphRange(path, first, end)

    def _note_end(self, path: str, first: int, starts: set[tuple[str, int]]) -> int:
        """The end of an undeclared note: the start of the next one, else after a paragraph."""
        paragraphs = self._documents[path].paragraphs
        limit = min(len(paragraphs), first + _LONGEST_NOTE)
        for index in range(first + 1, limit):
            if (path, index) in starts:
                return index
            if paragraphs[index].kind in (ParagraphKind.HEADING, ParagraphKind.BREAK):
                break
            links = self._links_in.get((path, index), ())
            if any(link.is_reference and self._leads_forward(link) for link in links):
                # Text with references of its own is no note.
                break
        # The words of a note may follow its number as a paragraph of their own.
        is_number_alone = _is_only_number(paragraphs[first : first + 1])
        end = first + 2 if is_number_alone else first + 1
        return min(end, len(paragraphs))

    def _is_note(self, link: _Link, note: ParagraphRange) -> bool:
        """Whether a link is a reference to what may be a note."""
        mark = self._documents[link.path].paragraphs[link.paragraph].marks[link.mark]
        is_inside = link.path == note.path and link.paragraph in note.indices
        if is_inside:
            return False
        is_declared = note.first in self._declared_notes[note.path]
        if mark.is_note:
            return is_declared or self._leads_forward(link)
        if not link.is_reference:
            return False
        if is_declared:
            # A link from one note to another is no reference.
            return link.paragraph not in self._declared_notes[link.path]
        characters_around = len(link.paragraph_text) - len(link.words)
        if characters_around < _LEAST_AROUND or not self._leads_forward(link):
            return False
        return self._leads_back(link, note) or self._has_its_number(link, note)

    def _leads_forward(self, link: _Link) -> bool:
        """Whether a link leads to a later paragraph of the book."""
        target = link.target
        target_place = (self._order[target.path], target.first)
        return target_place > (self._order[link.path], link.paragraph)

    def _leads_back(self, link: _Link, note: ParagraphRange) -> bool:
        """Whether a note begins or ends with a link to the paragraph of its reference."""
        reference = ParagraphRange(link.path, link.paragraph)
        for index in note.indices:
            for back_link in self._links_in.get((note.path, index), ()):
                leads_to_reference = (
                    back_link.target == reference and back_link.fragment
                )
                if leads_to_reference and back_link.is_at_edge:
                    return True
        return False

    def _has_its_number(self, link: _Link, note: ParagraphRange) -> bool:
        """Whether the note begins with the sign of the reference.

        The reference must stand right after a word, or in brackets.
        """
        before = link.paragraph_text[link.start - 1 : link.start]
        is_bare = link.words[:1] not in _BRACKETS
        if not before or (before.isspace() and is_bare):
            return False
        note_words = self._documents[note.path].paragraphs[note.first].words
        reference = _REFERENCE.fullmatch(link.words)
        numbered = _NUMBERED.match(note_words)
        if reference is None or numbered is None:
            return False
        return reference[1].lower() == numbered[1].lower()

    def _with_targets(
        self, path: str, index: int, paragraph: ParsedParagraph
    ) -> ParsedParagraph:
        """A paragraph whose marks have keys of `targets`, and with brackets around references."""
        marks: list[InlineMark] = []
        brackets: dict[int, str] = {}
        for number, mark in enumerate(paragraph.marks):
            key = (path, index, number)
            marks.append(self._with_target(key, mark))
            if key in self._notes and needs_brackets(self._links[key].words):
                # Brackets separate a bare number from the word before it.
                opening = inline.opening(number)
                closing = inline.closing(number)
                brackets[ord(opening)] = opening + "["
                brackets[ord(closing)] = "]" + closing
        text = paragraph.text
        if brackets:
            text = text.translate(brackets)
        return replace(paragraph, text=text, marks=tuple(marks))

    def _with_target(self, key: _LinkKey, mark: InlineMark) -> InlineMark:
        """A mark with the key of its target, or the path of its picture."""
        link = self._links.get(key)
        note = self._notes.get(key)
        if link is not None:
            target = note or link.target
            name = f"{target.path}#{target.first}"
            if note:
                name += f"-{note.end}"
            self.targets[name] = target
            return replace(mark, href=name, is_note=note is not None)
        if key in self._dead:
            return replace(mark, href="", is_note=False)
        if mark.is_note:
            # The link leads out of the book.
            return replace(mark, is_note=False)
        if mark.image:
            path = key[0]
            return replace(mark, image=self._find(path, mark.image))
        return mark


def _innermost(notes: Iterable[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """For each paragraph inside a note: the range of the innermost one."""
    innermost: dict[int, tuple[int, int]] = {}
    for start, end in sorted(notes, key=lambda note: note[1] - note[0], reverse=True):
        for index in range(start, end):
            innermost[index] = (start, end)
    return innermost


def _is_only_number(paragraphs: Sequence[ParsedParagraph]) -> bool:
    """Whether paragraphs have only the sign of a note each: "3", "[*]"."""
    return all(
        _REFERENCE.fullmatch(paragraph.words.strip()) for paragraph in paragraphs
    )


def assemble(
    builder: BookBuilder,
    linked: LinkedDocuments,
    chapters: Mapping[str, Iterable[ChapterStart]],
) -> ResolveLink:
    """Add every document with its chapters to `builder`. Returns the link resolver for `build`."""
    assembly = _Assembly(builder, linked.targets)
    for path, document in linked.documents.items():
        assembly.add(path, document, chapters.get(path, ()))
    return assembly.resolve


@dataclass(slots=True)
class _Assembly:
    """Adds documents to a book, and remembers where their paragraphs are in its text."""

    builder: BookBuilder
    targets: Mapping[str, ParagraphRange]
    # By path: start and end of each paragraph in the book's text; last the document's end.
    _places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _last_start: int = 0  # Of the book's last paragraph
    _mark_count: int = 0

    def add(
        self, path: str, document: XhtmlDocument, chapters: Iterable[ChapterStart]
    ) -> None:
        """Add the paragraphs of a document, and the chapters that start at them."""
        chapters_at = by_paragraph(chapters)
        places: list[tuple[int, int]] = []
        for index, paragraph in enumerate(document.paragraphs):
            for chapter in chapters_at[index]:
                self.builder.chapter(chapter.title, chapter.level)
            start = self.builder.next_start
            self._add_paragraph(paragraph)
            places.append((start, self.builder.characters))
        document_end = self.builder.next_start
        places.append((document_end, document_end))
        self._places[path] = places

    def _add_paragraph(self, paragraph: ParsedParagraph) -> None:
        """Add a paragraph; without its marks if the book has too many."""
        start = self.builder.next_start
        self._mark_count += len(paragraph.marks)
        if self._mark_count > inline.MAX_MARKS_PER_BOOK:
            paragraph = replace(paragraph, text=paragraph.words, marks=())
        is_added = self.builder.add(
            paragraph.text,
            paragraph.kind,
            paragraph.level,
            keeps_lines=paragraph.keeps_lines,
            marks=paragraph.marks,
        )
        if is_added:
            self._last_start = start

    def resolve(self, mark: InlineMark) -> LinkTarget | None:
        """The place in the book to which a link leads; None if it leads out of it."""
        target = self.targets.get(mark.href)
        if target is None:
            return None
        places = self._places[target.path]
        first_start, _ = places[target.first]
        # The end of the book belongs to its last paragraph.
        start = min(first_start, self._last_start)
        if not target.end:
            return LinkTarget(start)
        _, end = places[target.end - 1]
        return LinkTarget(start, end if end > start else None)
