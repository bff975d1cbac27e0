"""Turns an EPUB into a Book.

Notices name unreadable parts; encrypted and empty EPUBs are rejected.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import PurePath

from lxml import etree

from gistread.book.builder import BookBuilder, ChapterStart, left_out_notices
from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.elements.inline_elements import (
    MOST_CHARACTERS,
    StyleSheet,
    is_same_language,
    merge_sheets,
    read_sheet,
)
from gistread.book.formats.elements.linking import LinkedDocuments, assemble
from gistread.book.formats.elements.markup import (
    Tree,
    is_too_dense,
    parse,
    split_at_empty_lines,
)
from gistread.book.formats.elements.xhtml import XhtmlDocument, in_head, read_document
from gistread.book.formats.epub_package import (
    ContentsEntry,
    Package,
    encrypted_paths,
    read_package,
    resolve_reference,
)
from gistread.book.inline import InlineMark
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import one_line
from gistread.errors import BookError
from gistread.words import count_words

_FRESH_COPY = "Get a fresh copy of the file."
_MOST_NOTICES = 6
_MOST_MISPLACED = 0.2  # Of the entries of a table of contents that are nested


@dataclass(slots=True)
class _Pages:
    """The pages of an archive, parsed until they have more tags than any book."""

    archive: Archive
    failed: list[str] = field(default_factory=list)  # Sentences for the user
    repaired: list[str] = field(default_factory=list)  # Paths
    _characters: int = 0
    _tags: int = 0

    def parse(self, path: str) -> Tree | None:
        """Raises ArchiveError."""
        data = self.archive.read(path)
        self._characters += len(data)
        self._tags += data.count(b"<")
        if is_too_dense(self._characters, self._tags):
            raise ArchiveError("and all after it exceed the limit of tags for a book")
        return parse(data)

    def documents(self, package: Package) -> Iterator[tuple[str, XhtmlDocument]]:
        sheets = _sheets(self.archive)
        # EPUB 3.3, 3.4.12: no item stands in the spine twice.
        for path in dict.fromkeys(self.archive.find(path) or path for path in package.spine):
            try:
                tree = self.parse(path)
            except ArchiveError as error:
                self.failed.append(f"{path} {error}; it was left out.")
                continue
            if tree is None:
                self.failed.append(f"{path} is not XHTML; it was left out.")
                continue
            if tree.repaired:
                self.repaired.append(path)
            split_at_empty_lines(tree.root)
            yield path, read_document(tree.root, package.language, sheets(path, tree.root))

    def notices(self, package: Package) -> Iterator[str]:
        lines = [*package.notices, *self.failed]
        if len(lines) > _MOST_NOTICES:
            lines = [
                *lines[: _MOST_NOTICES - 1],
                f"{len(lines) - _MOST_NOTICES + 1} more files could not be read.",
            ]
        yield from lines
        if self.repaired:
            files = "1 file is" if len(self.repaired) == 1 else f"{len(self.repaired)} files are"
            yield f"{files} not well-formed ({self.repaired[0]}); read as a browser would."


def read_epub(archive: Archive, name: str) -> Book:
    """The book in an open archive; `name` is used in messages. Raises BookError."""
    try:
        package = read_package(archive)
    except ArchiveError as error:
        raise BookError(
            f"{name} cannot be read as an EPUB: {one_line(str(error))}.", _FRESH_COPY
        ) from error
    if encrypted_paths(archive) & frozenset(package.spine):
        raise BookError(
            f"{name} is encrypted: it is protected by DRM and opens only in the shop's own reader.",
            "gistread reads EPUBs without DRM.",
        )
    pages = _Pages(archive)
    documents = dict(pages.documents(package))
    has_words = any(document.has_words for document in documents.values())
    documents = _mark_other_languages(documents, package.language)

    def place(path: str, href: str) -> tuple[str, str] | None:
        target, fragment = resolve_reference(href, posixpath.dirname(path))
        if not target and not fragment:
            return None
        return archive.find(target) or target if target else path, fragment

    def picture(path: str, source: str) -> str:
        target, _ = resolve_reference(source, posixpath.dirname(path))
        return archive.find(target) or target if target else source

    left_out = sum((each.left_out for each in documents.values()), Counter())
    outside = [(path, _words_of(pages, path)) for path in package.unlisted]
    outside = [(path, words) for path, words in outside if words]
    left_out["repeated text file(s)"] = len(package.spine) - len(
        {archive.find(path) or path for path in package.spine}
    )
    builder = BookBuilder()
    chapters = _chapters(archive, package, documents)
    resolve = assemble(builder, LinkedDocuments(documents, place, picture), chapters)
    if not (has_words and builder.characters):  # Words may be only controls
        damaged = [
            *map(one_line, pages.failed),
            *(f"{path} is damaged." for path in pages.repaired),
        ]
        reason = next(iter(damaged), "It may contain only pictures.")
        raise BookError(f"{name} is an EPUB without readable text. {reason}")
    return builder.build(
        title=package.title or PurePath(name).stem,
        authors=package.authors,
        language=package.language
        or next((each.language for each in documents.values() if each.language), ""),
        source_format="epub",
        notices=(
            *pages.notices(package),
            *left_out_notices(left_out),
            *_outside_notice(outside),
        ),
        identifiers=package.identifiers,
        cover=package.cover,
        resolve=resolve,
    )


def _words_of(pages: _Pages, path: str) -> int:
    """The number of words of a page that is not read; 0 if it cannot be parsed."""
    try:
        tree = pages.parse(path)
    except ArchiveError:
        return 0
    if tree is None:
        return 0
    document = read_document(tree.root)
    if not document.has_words:
        return 0
    read = sum(count_words(paragraph.words) for paragraph in document.paragraphs)
    return read + document.left_out.total()


def _outside_notice(outside: Sequence[tuple[str, int]]) -> Iterator[str]:
    """A sentence about the pages that the reading order leaves out."""
    if not outside:
        return
    words = sum(words for _, words in outside)
    counted = f"{words:,} word" if words == 1 else f"{words:,} words"
    path = outside[0][0]
    if len(outside) == 1:
        yield f"1 text file outside the reading order was left out: {path} ({counted})."
    else:
        files = f"{len(outside):,} text files outside the reading order were left out"
        yield f"{files}: {path} and others ({counted})."


def _sheets(archive: Archive) -> Callable[[str, etree._Element], StyleSheet]:
    @cache
    def sheet(path: str) -> StyleSheet:
        try:
            return read_sheet(archive.read(path, limit=MOST_CHARACTERS).decode("utf-8", "replace"))
        except ArchiveError:
            return {}

    @cache
    def together(*paths: str) -> StyleSheet:
        return merge_sheets(map(sheet, paths))

    def linked(path: str, root: etree._Element) -> StyleSheet:
        named = [
            link
            for link in in_head(root, "link")
            if "stylesheet" in (link.get("rel") or "").lower()
        ]
        paths = [
            resolve_reference(link.get("href") or "", posixpath.dirname(path))[0]
            for link in named[:20]
        ]
        return together(*filter(None, (archive.find(each) for each in paths if each)))

    return linked


def _mark_other_languages(
    documents: Mapping[str, XhtmlDocument], language: str
) -> dict[str, XhtmlDocument]:
    """Mark the pages of a bilingual book in the other language, unless most pages contradict the
    package.
    """
    others = {
        path
        for path, each in documents.items()
        if language and not is_same_language(each.language, language)
    }
    marked = dict(documents)
    if len(others) * 2 > len(documents):
        return marked
    for path in others:
        mark = InlineMark(language=marked[path].language)
        marked[path] = replace(
            marked[path], paragraphs=[each.under(mark) for each in marked[path].paragraphs]
        )
    return marked


def _chapters(
    archive: Archive, package: Package, documents: Mapping[str, XhtmlDocument]
) -> dict[str, list[ChapterStart]]:
    contents = [
        replace(entry, path=archive.find(entry.path) or entry.path) for entry in package.contents
    ]
    if _nests_out_of_order(contents, documents):
        contents = [replace(entry, level=1) for entry in contents]
    entries: dict[str, list[ContentsEntry]] = {}
    for entry in contents:
        entries.setdefault(entry.path, []).append(entry)
    level = 1
    found = {}
    for path, document in documents.items():
        found[path] = list(
            _chapter_starts(document, entries.get(path), level, has_contents=bool(package.contents))
        )
        level = sorted(found[path], key=lambda one: one.index)[-1].level if found[path] else level
    return found


def _nests_out_of_order(
    contents: Sequence[ContentsEntry], documents: Mapping[str, XhtmlDocument]
) -> bool:
    """Whether the table of contents nests by subject, not by place.

    In the order of the book, many entries would then stand under an entry that is not theirs.
    """
    order = {path: number for number, path in enumerate(documents)}
    placed = [
        (order[entry.path], documents[entry.path].anchors.get(entry.fragment, 0), number)
        for number, entry in enumerate(contents)
        if entry.path in order
    ]
    levels = [entry.level for entry in contents]
    declared = _parents(range(len(contents)), levels)
    by_place = _parents([number for _, _, number in sorted(placed)], levels)
    nested = [number for number in by_place if declared[number] is not None]
    misplaced = sum(by_place[number] != declared[number] for number in nested)
    return misplaced > len(nested) * _MOST_MISPLACED


def _parents(order: Iterable[int], levels: Sequence[int]) -> dict[int, int | None]:
    """For each entry in this order: the entry above it, the last one of a smaller level."""
    parents: dict[int, int | None] = {}
    above: list[int] = []
    for number in order:
        while above and levels[above[-1]] >= levels[number]:
            above.pop()
        parents[number] = above[-1] if above else None
        above.append(number)
    return parents


def _chapter_starts(
    document: XhtmlDocument, entries: list[ContentsEntry] | None, level: int, *, has_contents: bool
) -> Iterator[ChapterStart]:
    paragraphs = document.paragraphs
    if not paragraphs:
        return
    if entries:
        for entry in entries:
            if entry.fragment:
                index = min(len(paragraphs) - 1, document.anchors.get(entry.fragment, 0))
            else:
                index = 0
            yield ChapterStart(index, entry.title, entry.level)
    elif has_contents:
        # A file missing from the contents continues the previous chapter, unless it starts with a
        # heading.
        for heading in [each for each in paragraphs[:2] if each.kind is ParagraphKind.HEADING][:1]:
            yield ChapterStart(0, heading.words, level)
    else:
        # Consecutive headings are one.
        for is_heading, run in groupby(
            enumerate(paragraphs), key=lambda one: one[1].kind is ParagraphKind.HEADING
        ):
            index, first = next(run)
            if is_heading and first.level <= 3:
                yield ChapterStart(
                    index, ". ".join([first.words, *(each.words for _, each in run)]), first.level
                )
