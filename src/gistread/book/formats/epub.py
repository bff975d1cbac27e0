"""Turns an EPUB into a Book.

Notices name unreadable parts; encrypted and empty EPUBs are rejected.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby, islice
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
    mark_as_navigation,
    parse,
    split_at_empty_lines,
)
from gistread.book.formats.elements.paragraphs import ParsedParagraph
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
_MOST_SHEETS = 20  # Of a page
_CHAPTER_LEVELS = 3  # Deeper headings stay inside chapters
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
        for path in dict.fromkeys(
            self.archive.find(path) or path for path in package.spine
        ):
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
            if path in package.contents_pages:
                mark_as_navigation(tree.root)
            yield (
                path,
                read_document(tree.root, package.language, sheets(path, tree.root)),
            )

    def damaged(self) -> str:
        """A sentence about a page that could not be read well; empty if there is none."""
        if self.failed:
            return one_line(self.failed[0])
        if not self.repaired:
            return ""
        return f"{self.repaired[0]} is damaged."

    def notices(self, package: Package) -> Iterator[str]:
        lines = [*package.notices, *self.failed]
        if len(lines) > _MOST_NOTICES:
            others = len(lines) - _MOST_NOTICES + 1
            lines = [*lines[:-others], f"{others} more files could not be read."]
        yield from lines
        if self.repaired:
            if len(self.repaired) == 1:
                files = "1 file is"
            else:
                files = f"{len(self.repaired)} files are"
            yield f"{files} not well-formed ({self.repaired[0]}); read as a browser would."


def read_epub(archive: Archive, name: str, *, has_contents: bool = True) -> Book:
    """The book in an open archive; `name` is used in messages. Raises BookError.

    `has_contents`: its table of contents is the author's; without one, headings are chapters.
    """
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
    if not has_contents:
        package = replace(package, contents=())
    pages = _Pages(archive)
    documents = dict(pages.documents(package))
    builder = BookBuilder()
    places = _Places(archive)
    linked = LinkedDocuments(
        _mark_other_languages(documents, package.language),
        places.locate,
        places.picture,
    )
    resolve = assemble(builder, linked, _chapters(archive, package, documents))
    has_words = any(document.has_words for document in documents.values())
    if not (has_words and builder.characters):  # Words may be only controls
        reason = pages.damaged() or "It may contain only pictures."
        raise BookError(f"{name} is an EPUB without readable text. {reason}")
    languages = (
        package.language,
        *(document.language for document in documents.values()),
    )
    return builder.build(
        title=package.title or PurePath(name).stem,
        authors=package.authors,
        language=next(filter(None, languages), ""),
        source_format="epub",
        notices=(
            *pages.notices(package),
            *left_out_notices(_left_out(archive, package, documents)),
            *_outside_notice(pages, package),
        ),
        identifiers=package.identifiers,
        cover=package.cover,
        resolve=resolve,
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the links and pictures of pages lead."""

    archive: Archive

    def locate(self, path: str, href: str) -> tuple[str, str] | None:
        target, fragment = resolve_reference(href, posixpath.dirname(path))
        if not target:
            if not fragment:
                return None
            return path, fragment
        return self.archive.find(target) or target, fragment

    def picture(self, path: str, source: str) -> str:
        target, _ = resolve_reference(source, posixpath.dirname(path))
        if not target:
            return source
        return self.archive.find(target) or target


def _left_out(
    archive: Archive, package: Package, documents: Mapping[str, XhtmlDocument]
) -> Counter[str]:
    left_out = sum((each.left_out for each in documents.values()), Counter())
    pages = {archive.find(path) or path for path in package.spine}
    left_out["repeated text file(s)"] = len(package.spine) - len(pages)
    return left_out


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


def _outside_notice(pages: _Pages, package: Package) -> Iterator[str]:
    """A sentence about the pages that the reading order leaves out."""
    words_of = {path: _words_of(pages, path) for path in package.unlisted}
    outside = [path for path, words in words_of.items() if words]
    if not outside:
        return
    words = sum(words_of.values())
    counted = f"{words:,} word" if words == 1 else f"{words:,} words"
    path = outside[0]
    if len(outside) == 1:
        yield f"1 text file outside the reading order was left out: {path} ({counted})."
    else:
        files = f"{len(outside):,} text files outside the reading order were left out"
        yield f"{files}: {path} and others ({counted})."


def _sheets(archive: Archive) -> Callable[[str, etree._Element], StyleSheet]:
    @cache
    def sheet(path: str) -> StyleSheet:
        try:
            return read_sheet(
                archive.read(path, limit=MOST_CHARACTERS).decode("utf-8", "replace")
            )
        except ArchiveError:
            return {}

    @cache
    def together(*paths: str) -> StyleSheet:
        return merge_sheets(map(sheet, paths))

    def linked(path: str, root: etree._Element) -> StyleSheet:
        links = in_head(root, "link")
        to_sheets = (
            link for link in links if "stylesheet" in (link.get("rel") or "").lower()
        )
        paths = []
        for link in islice(to_sheets, _MOST_SHEETS):
            sheet_path, _ = resolve_reference(
                link.get("href") or "", posixpath.dirname(path)
            )
            paths.append(archive.find(sheet_path) if sheet_path else None)
        return together(*filter(None, paths))

    return linked


def _mark_other_languages(
    documents: Mapping[str, XhtmlDocument], language: str
) -> dict[str, XhtmlDocument]:
    """Mark the pages of a bilingual book that are in the other language.

    If most pages contradict the package, none is marked.
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
        document = documents[path]
        mark = InlineMark(language=document.language)
        paragraphs = [paragraph.under(mark) for paragraph in document.paragraphs]
        marked[path] = replace(document, paragraphs=paragraphs)
    return marked


def _chapters(
    archive: Archive, package: Package, documents: Mapping[str, XhtmlDocument]
) -> dict[str, list[ChapterStart]]:
    contents = [
        replace(entry, path=archive.find(entry.path) or entry.path)
        for entry in package.contents
    ]
    if _nests_out_of_order(contents, documents):
        contents = [replace(entry, level=1) for entry in contents]
    entries: dict[str, list[ContentsEntry]] = {}
    for entry in contents:
        entries.setdefault(entry.path, []).append(entry)
    has_contents = bool(package.contents)
    level = 1
    chapters = {}
    for path, document in documents.items():
        starts = list(
            _chapter_starts(
                document, entries.get(path), level, has_contents=has_contents
            )
        )
        if starts:
            level = sorted(starts, key=lambda start: start.index)[-1].level
        chapters[path] = starts
    return chapters


def _nests_out_of_order(
    contents: Sequence[ContentsEntry], documents: Mapping[str, XhtmlDocument]
) -> bool:
    """Whether the table of contents nests by subject, not by place.

    In the order of the book, many entries would then stand under an entry that is not theirs.
    """
    order = {path: number for number, path in enumerate(documents)}
    placed = [
        (
            order[entry.path],
            documents[entry.path].anchors.get(entry.fragment, 0),
            number,
        )
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
    document: XhtmlDocument,
    entries: list[ContentsEntry] | None,
    level: int,
    *,
    has_contents: bool,
) -> Iterator[ChapterStart]:
    paragraphs = document.paragraphs
    if not paragraphs:
        return
    if entries:
        for entry in entries:
            index = document.anchors.get(entry.fragment, 0) if entry.fragment else 0
            yield ChapterStart(
                min(len(paragraphs) - 1, index), entry.title, entry.level
            )
    elif has_contents:
        # A file missing from the contents continues the previous chapter, unless it starts with a
        # heading.
        headings = (
            each for each in paragraphs[:2] if each.kind is ParagraphKind.HEADING
        )
        for heading in islice(headings, 1):
            yield ChapterStart(0, heading.words, level)
    else:
        yield from _by_headings(paragraphs)


def _by_headings(paragraphs: Sequence[ParsedParagraph]) -> Iterator[ChapterStart]:
    """A chapter for each heading; consecutive headings are one."""
    index = 0
    for kind, run in groupby(paragraphs, key=lambda paragraph: paragraph.kind):
        together = list(run)
        level = together[0].level
        if kind is ParagraphKind.HEADING and level <= _CHAPTER_LEVELS:
            title = ". ".join(heading.words for heading in together)
            yield ChapterStart(index, title, level)
        index += len(together)
