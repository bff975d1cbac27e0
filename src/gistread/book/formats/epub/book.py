"""Turns an EPUB into a Book. Notices name what could not be read; encrypted and empty EPUBs are refused."""

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from lxml import etree

from gistread.book.builder import BookBuilder
from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.elements.assembly import assemble
from gistread.book.formats.elements.inline_elements import is_same_language
from gistread.book.formats.elements.linking import DocumentAnchor, resolve_links
from gistread.book.formats.elements.markup import parse
from gistread.book.formats.elements.paragraphs import ParsedParagraph
from gistread.book.formats.elements.stylesheets import MOST_CHARACTERS, StyleSheet, merge_sheets, read_sheet
from gistread.book.formats.elements.xhtml import XhtmlDocument, in_head, read_document
from gistread.book.formats.epub.package import (
    ContentsEntry,
    Package,
    PackageError,
    encrypted_paths,
    read_package,
    resolve_reference,
)
from gistread.book.inline import InlineMark
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import one_line
from gistread.errors import BookError

_FRESH_COPY = "Get a fresh copy of the file."
_MOST_NOTICES = 6
# Heading levels that start chapters if there is no table of contents.
_CHAPTER_HEADINGS = 3
_MOST_SHEETS = 20


@dataclass(slots=True)
class _Report:
    failed: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def reason(self) -> str:
        """Why nothing at all could be read."""
        if self.failed:
            return one_line(self.failed[0])
        return f"{self.repaired[0]} is damaged." if self.repaired else "It may contain only pictures."

    def notices(self, package: Package) -> tuple[str, ...]:
        lines = [*package.notices, *self.failed]
        if len(lines) > _MOST_NOTICES:
            lines = [*lines[: _MOST_NOTICES - 1], f"{len(lines) - _MOST_NOTICES + 1} more files could not be read."]
        if self.repaired:
            files = "1 file is" if len(self.repaired) == 1 else f"{len(self.repaired)} files are"
            lines.append(f"{files} not well-formed ({self.repaired[0]}); read as a browser would.")
        return tuple(lines)


def read_epub(archive: Archive, name: str) -> Book:
    """The book in an open archive; `name` is used in messages. Raises BookError."""
    try:
        package = read_package(archive)
    except PackageError as error:
        raise BookError(f"{name} cannot be read as an EPUB: {one_line(str(error))}.", _FRESH_COPY) from error
    if encrypted_paths(archive) & frozenset(package.spine):
        raise BookError(
            f"{name} is encrypted: it is protected by DRM and opens only in the shop's own reader.",
            "gistread reads EPUBs without DRM.",
        )
    report = _Report()
    documents = dict(_documents(archive, package, report))
    if not any(document.has_words for document in documents.values()):
        raise BookError(f"{name} is an EPUB without readable text. {report.reason}")
    documents = _mark_other_languages(documents, package.language)
    references = _ReferenceResolver(archive)
    builder = BookBuilder()
    starts = _chapters(archive, package, documents)
    resolve = assemble(
        builder, resolve_links(documents, references.place, references.picture), lambda path, document: starts[path]
    )
    if not builder.characters:  # its words are controls and spaces
        raise BookError(f"{name} is an EPUB without readable text. {report.reason}")
    return builder.build(
        title=package.title or PurePath(name).stem,
        authors=package.authors,
        language=package.language or next((each.language for each in documents.values() if each.language), ""),
        source_format="epub",
        notices=report.notices(package),
        identifiers=package.identifiers,
        cover=package.cover,
        resolve=resolve,
    )


@dataclass(frozen=True, slots=True)
class _ReferenceResolver:
    archive: Archive

    def place(self, path: str, href: str) -> DocumentAnchor | None:
        target, fragment = resolve_reference(href, posixpath.dirname(path))
        if not target and not fragment:
            return None
        return DocumentAnchor(self.archive.find(target) or target if target else path, fragment)

    def picture(self, path: str, source: str) -> str:
        target, _ = resolve_reference(source, posixpath.dirname(path))
        return self.archive.find(target) or target if target else source


@dataclass(slots=True)
class _SheetCache:
    archive: Archive
    _read: dict[str, StyleSheet] = field(default_factory=dict)
    _together: dict[tuple[str, ...], StyleSheet] = field(default_factory=dict)

    def of(self, path: str, root: etree._Element) -> StyleSheet:
        """The style sheets that a document links to; unreadable ones are skipped."""
        named = [link for link in in_head(root, "link") if "stylesheet" in (link.get("rel") or "").lower()]
        paths = [resolve_reference(link.get("href") or "", posixpath.dirname(path))[0] for link in named[:_MOST_SHEETS]]
        key = tuple(filter(None, (self.archive.find(each) for each in paths if each)))
        if key not in self._together:
            self._together[key] = merge_sheets([self._sheet(each) for each in key])
        return self._together[key]

    def _sheet(self, path: str) -> StyleSheet:
        if path not in self._read:
            try:
                self._read[path] = read_sheet(self.archive.read(path, limit=MOST_CHARACTERS).decode("utf-8", "replace"))
            except ArchiveError:
                self._read[path] = {}
        return self._read[path]


def _mark_other_languages(documents: Mapping[str, XhtmlDocument], language: str) -> dict[str, XhtmlDocument]:
    """Mark the pages of a bilingual book that are in the other language.

    If most pages contradict the package, nothing is marked.
    """
    others = {path for path, each in documents.items() if language and not is_same_language(each.language, language)}
    if len(others) * 2 > len(documents):
        others = set()
    return {path: _mark_language(each) if path in others else each for path, each in documents.items()}


def _mark_language(document: XhtmlDocument) -> XhtmlDocument:
    mark = InlineMark(language=document.language)
    return replace(document, paragraphs=tuple(paragraph.under(mark) for paragraph in document.paragraphs))


def _chapters(
    archive: Archive, package: Package, documents: Mapping[str, XhtmlDocument]
) -> dict[str, dict[int, list[tuple[str, int]]]]:
    """By document and paragraph: (title, level) of the chapters that start there."""
    entries: dict[str, list[ContentsEntry]] = {}
    for entry in package.contents:
        entries.setdefault(archive.find(entry.path) or entry.path, []).append(entry)
    level = 1
    found = {}
    for path, document in documents.items():
        starts = dict(_chapter_starts(document, entries.get(path, []), level, has_contents=bool(package.contents)))
        if starts:
            level = starts[max(starts)][-1][1]
        found[path] = starts
    return found


def _documents(archive: Archive, package: Package, report: _Report) -> Iterator[tuple[str, XhtmlDocument]]:
    read: Counter[str] = Counter()
    sheets = _SheetCache(archive)
    for path in package.spine:
        try:
            tree = parse(archive.read(path))
        except ArchiveError as error:
            report.failed.append(f"{path} {error}; it was left out.")
            continue
        if tree is None:
            report.failed.append(f"{path} is not XHTML; it was left out.")
            continue
        if tree.repaired:
            report.repaired.append(path)
        name = archive.find(path) or path
        read[name] += 1
        document = read_document(tree.root, package.language, sheets.of(name, tree.root))
        # A file read twice is another part of the book; links lead to the first.
        yield name if read[name] == 1 else f"{name} ({read[name]})", document


def _chapter_starts(
    document: XhtmlDocument, entries: list[ContentsEntry], level: int, *, has_contents: bool
) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Index and (title, level) of the chapters that start in a document."""
    if not document.paragraphs:
        return
    if entries:
        at: dict[int, list[tuple[str, int]]] = {}
        last = len(document.paragraphs) - 1
        for entry in entries:
            index = min(last, document.anchors.get(entry.fragment, 0)) if entry.fragment else 0
            at.setdefault(index, []).append((entry.title, entry.level))
        yield from at.items()
    elif has_contents:
        # A file missing from the contents continues the chapter before it unless it starts with a heading.
        heading = next(
            (paragraph for paragraph in document.paragraphs[:2] if paragraph.kind is ParagraphKind.HEADING), None
        )
        if heading:
            yield 0, [(heading.words, level)]
    else:
        yield from _chapters_by_headings(document.paragraphs)


def _chapters_by_headings(paragraphs: tuple[ParsedParagraph, ...]) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Chapters by headings alone; consecutive headings are one."""
    index = 0
    while index < len(paragraphs):
        run = index
        while run < len(paragraphs) and paragraphs[run].kind is ParagraphKind.HEADING:
            run += 1
        if run > index and paragraphs[index].level <= _CHAPTER_HEADINGS:
            yield index, [(". ".join(paragraph.words for paragraph in paragraphs[index:run]), paragraphs[index].level)]
        index = max(run, index + 1)
