"""Assembles XHTML documents into a book: paragraphs, chapters and resolved links."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gistread.book import inline
from gistread.book.builder import BookBuilder, LinkTarget, ResolveLink
from gistread.book.formats.elements.linking import LinkedDocuments
from gistread.book.formats.elements.xhtml import XhtmlDocument
from gistread.book.inline import InlineMark

Chapters = Callable[[str, XhtmlDocument], Mapping[int, Sequence[tuple[str, int]]]]
"""Chapters of the document at a path: (title, level) by index of their first paragraph."""


def assemble(builder: BookBuilder, linked: LinkedDocuments, chapters: Chapters) -> ResolveLink:
    """Add every document to `builder`. Returns the link resolver for `build`."""
    places: dict[str, list[tuple[int, int]]] = {}
    last_start = 0
    left = inline.MAX_MARKS_PER_BOOK
    for path, document in linked.documents.items():
        starts = chapters(path, document)
        places[path] = own = []
        for index, paragraph in enumerate(document.paragraphs):
            for title, level in starts.get(index, ()):
                builder.chapter(title, level)
            start = builder.next_start
            left -= len(paragraph.marks)
            if left < 0:
                paragraph = replace(paragraph, text=paragraph.words, marks=())
            if builder.add(
                paragraph.text, paragraph.kind, paragraph.level, lines=paragraph.lines, marks=paragraph.marks
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
