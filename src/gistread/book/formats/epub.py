"""Turns an EPUB into a Book.

Notices name unreadable parts; encrypted and empty EPUBs are rejected.
"""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
_MOST_MISPLACED = 0.2  # Share of the nested entries of a table of contents


@dataclass(slots=True)
class _Pages:
    """The pages of an archive, parsed until they have more tags than any book."""

    archive: Archive
    failures: list[str] = field(default_factory=list)  # Sentences for the user
    repaired_paths: list[str] = field(default_factory=list)
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
        """The path and the content of each page in reading order."""
        sheets = _SheetReader(self.archive)
        paths = [self.archive.find(path) or path for path in package.spine]
        # EPUB 3.3, 3.4.12: no item stands in the spine twice.
        distinct_paths = dict.fromkeys(paths)
        for path in distinct_paths:
            try:
                tree = self.parse(path)
            except ArchiveError as error:
                self.failures.append(f"{path} {error}; it was left out.")
                continue
            if tree is None:
                self.failures.append(f"{path} is not XHTML; it was left out.")
                continue
            if tree.is_repaired:
                self.repaired_paths.append(path)
            split_at_empty_lines(tree.root)
            if path in package.contents_pages:
                mark_as_navigation(tree.root)
            sheet = sheets.of_page(path, tree.root)
            yield path, read_document(tree.root, package.language, sheet)

    def first_damage(self) -> str:
        """A sentence about a page that could not be read well; empty if there is none."""
        if self.failures:
            return one_line(self.failures[0])
        if not self.repaired_paths:
            return ""
        return f"{self.repaired_paths[0]} is damaged."

    def notices(self, package: Package) -> Iterator[str]:
        """Sentences about the package and its pages, for the user."""
        lines = [*package.notices, *self.failures]
        if len(lines) > _MOST_NOTICES:
            shown = _MOST_NOTICES - 1
            yield from lines[:shown]
            yield f"{len(lines) - shown} more files could not be read."
        else:
            yield from lines
        if self.repaired_paths:
            count = len(self.repaired_paths)
            files = "1 file is" if count == 1 else f"{count} files are"
            example = self.repaired_paths[0]
            yield f"{files} not well-formed ({example}); read as a browser would."


def read_epub(archive: Archive, name: str, *, has_contents: bool = True) -> Book:
    """The book in an open archive; `name` is used in messages. Raises BookError.

    `has_contents`: its table of contents is the author's; without one, headings are chapters.
    """
    package = _read_package(archive, name)
    is_encrypted = not encrypted_paths(archive).isdisjoint(package.spine)
    if is_encrypted:
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
    # The words may consist of controls, which the builder drops.
    if not has_words or not builder.characters:
        reason = pages.first_damage() or "It may contain only pictures."
        raise BookError(f"{name} is an EPUB without readable text. {reason}")
    page_languages = [document.language for document in documents.values()]
    languages = filter(None, (package.language, *page_languages))
    return builder.build(
        title=package.title or PurePath(name).stem,
        authors=package.authors,
        language=next(languages, ""),
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


def _read_package(archive: Archive, name: str) -> Package:
    """Raises BookError."""
    try:
        return read_package(archive)
    except ArchiveError as error:
        message = f"{name} cannot be read as an EPUB: {one_line(str(error))}."
        raise BookError(message, _FRESH_COPY) from error


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the links and pictures of pages lead."""

    archive: Archive

    def locate(self, path: str, href: str) -> tuple[str, str] | None:
        """The page and the fragment that a link in the page `path` names; None if it is outside."""
        target, fragment = resolve_reference(href, posixpath.dirname(path))
        if target:
            return self.archive.find(target) or target, fragment
        if fragment:
            return path, fragment
        return None

    def picture(self, path: str, source: str) -> str:
        """The path of a picture in the page `path`."""
        target, _ = resolve_reference(source, posixpath.dirname(path))
        if not target:
            return source
        return self.archive.find(target) or target


def _left_out(
    archive: Archive, package: Package, documents: Mapping[str, XhtmlDocument]
) -> Counter[str]:
    """Counts of omitted content, as `left_out_notices` takes them."""
    left_out: Counter[str] = Counter()
    for document in documents.values():
        left_out += document.left_out
    pages = {archive.find(path) or path for path in package.spine}
    left_out["repeated text file(s)"] = len(package.spine) - len(pages)
    return left_out


def _words_of(pages: _Pages, path: str) -> int:
    """The number of words of a page outside the reading order; 0 if it cannot be parsed."""
    try:
        tree = pages.parse(path)
    except ArchiveError:
        return 0
    if tree is None:
        return 0
    document = read_document(tree.root)
    if not document.has_words:
        return 0
    words_read = sum(count_words(paragraph.words) for paragraph in document.paragraphs)
    return words_read + document.left_out.total()


def _outside_notice(pages: _Pages, package: Package) -> Iterator[str]:
    """A sentence about the pages that the reading order leaves out; none if there are none."""
    words_of = {path: _words_of(pages, path) for path in package.unlisted}
    outside = [path for path, words in words_of.items() if words]
    if not outside:
        return
    total = sum(words_of.values())
    words = "1 word" if total == 1 else f"{total:,} words"
    path = outside[0]
    if len(outside) == 1:
        yield f"1 text file outside the reading order was left out: {path} ({words})."
    else:
        files = f"{len(outside):,} text files outside the reading order were left out"
        yield f"{files}: {path} and others ({words})."


class _SheetReader:
    """Reads the style sheets of pages. Each sheet is read once, and each set merged once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._sheets: dict[str, StyleSheet] = {}
        self._merged: dict[tuple[str, ...], StyleSheet] = {}

    def of_page(self, path: str, root: etree._Element) -> StyleSheet:
        """The style sheets that a page links."""
        links = in_head(root, "link")
        sheet_links = (
            link for link in links if "stylesheet" in (link.get("rel") or "").lower()
        )
        sheet_paths: list[str] = []
        for link in islice(sheet_links, _MOST_SHEETS):
            href = link.get("href") or ""
            target, _ = resolve_reference(href, posixpath.dirname(path))
            sheet_path = self._archive.find(target) if target else None
            if sheet_path:
                sheet_paths.append(sheet_path)
        return self._merge(tuple(sheet_paths))

    def _merge(self, paths: tuple[str, ...]) -> StyleSheet:
        merged = self._merged.get(paths)
        if merged is None:
            merged = merge_sheets(map(self._read, paths))
            self._merged[paths] = merged
        return merged

    def _read(self, path: str) -> StyleSheet:
        sheet = self._sheets.get(path)
        if sheet is None:
            try:
                data = self._archive.read(path, limit=MOST_CHARACTERS)
                sheet = read_sheet(data.decode("utf-8", "replace"))
            except ArchiveError:
                sheet = {}
            self._sheets[path] = sheet
        return sheet


def _mark_other_languages(
    documents: Mapping[str, XhtmlDocument], language: str
) -> dict[str, XhtmlDocument]:
    """Mark the pages of a bilingual book that are in the other language.

    If most pages contradict the language of the package, none is marked.
    """
    if not language:
        return dict(documents)
    other_language_paths = [
        path
        for path, document in documents.items()
        if not is_same_language(document.language, language)
    ]
    marked = dict(documents)
    if len(other_language_paths) * 2 > len(documents):
        return marked
    for path in other_language_paths:
        document = documents[path]
        mark = InlineMark(language=document.language)
        paragraphs = [paragraph.under(mark) for paragraph in document.paragraphs]
        marked[path] = replace(document, paragraphs=paragraphs)
    return marked


def _chapters(
    archive: Archive, package: Package, documents: Mapping[str, XhtmlDocument]
) -> dict[str, list[ChapterStart]]:
    """The chapters of each page: by the table of contents if there is one, else by headings."""
    if not package.contents:
        return {
            path: list(_by_headings(document.paragraphs))
            for path, document in documents.items()
        }
    contents = [
        replace(entry, path=archive.find(entry.path) or entry.path)
        for entry in package.contents
    ]
    return _by_contents(contents, documents)


def _by_contents(
    contents: Sequence[ContentsEntry], documents: Mapping[str, XhtmlDocument]
) -> dict[str, list[ChapterStart]]:
    """The chapters of each page by the table of contents.

    A page that it lacks may begin a chapter, on the level of the chapter before.
    """
    if _nests_out_of_order(contents, documents):
        contents = [replace(entry, level=1) for entry in contents]
    entries_by_path: dict[str, list[ContentsEntry]] = {}
    for entry in contents:
        entries_by_path.setdefault(entry.path, []).append(entry)
    level = 1
    chapters: dict[str, list[ChapterStart]] = {}
    for path, document in documents.items():
        entries = entries_by_path.get(path)
        if entries:
            chapters[path] = _by_entries(document, entries)
        else:
            chapters[path] = _by_first_heading(document.paragraphs, level)
        # The contents may list the chapters of a page in another order.
        by_place = sorted(chapters[path], key=lambda start: start.index)
        if by_place:
            level = by_place[-1].level
    return chapters


def _nests_out_of_order(
    contents: Sequence[ContentsEntry], documents: Mapping[str, XhtmlDocument]
) -> bool:
    """Whether the table of contents nests by subject, not by place.

    In the order of the book, many entries would then stand under an entry that is not theirs.
    """
    page_numbers = {path: number for number, path in enumerate(documents)}
    places: dict[int, tuple[int, int]] = {}
    for number, entry in enumerate(contents):
        if entry.path in documents:
            paragraph = documents[entry.path].anchors.get(entry.fragment, 0)
            places[number] = (page_numbers[entry.path], paragraph)
    in_order_of_book = sorted(places, key=places.__getitem__)
    levels = [entry.level for entry in contents]
    declared_parents = _parents(range(len(contents)), levels)
    parents_by_place = _parents(in_order_of_book, levels)
    nested = [n for n in in_order_of_book if declared_parents[n] is not None]
    misplaced = sum(parents_by_place[n] != declared_parents[n] for n in nested)
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


def _by_entries(
    document: XhtmlDocument, entries: Iterable[ContentsEntry]
) -> list[ChapterStart]:
    """A chapter for each entry of the table of contents."""
    if not document.paragraphs:
        return []
    last = len(document.paragraphs) - 1
    starts: list[ChapterStart] = []
    for entry in entries:
        index = document.anchors.get(entry.fragment, 0)
        starts.append(ChapterStart(min(last, index), entry.title, entry.level))
    return starts


def _by_first_heading(
    paragraphs: Sequence[ParsedParagraph], level: int
) -> list[ChapterStart]:
    """A chapter for a page that the contents lack, if it begins with a heading.

    Other pages continue the previous chapter.
    """
    for paragraph in paragraphs[:2]:
        if paragraph.kind is ParagraphKind.HEADING:
            return [ChapterStart(0, paragraph.words, level)]
    return []


def _by_headings(paragraphs: Sequence[ParsedParagraph]) -> Iterator[ChapterStart]:
    """A chapter for each heading; consecutive headings start one chapter together."""
    index = 0
    for kind, run in groupby(paragraphs, key=lambda paragraph: paragraph.kind):
        same_kind = list(run)
        level = same_kind[0].level
        if kind is ParagraphKind.HEADING and level <= _CHAPTER_LEVELS:
            title = ". ".join(heading.words for heading in same_kind)
            yield ChapterStart(index, title, level)
        index += len(same_kind)
