"""Builds a book from one XHTML tree, to which every marked-up format except EPUB is translated."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import PurePath
from types import MappingProxyType

from lxml import etree

from gistread.book.builder import BookBuilder, ChapterStart, Metadata, left_out_notices
from gistread.book.formats.elements import omissions
from gistread.book.formats.elements.linking import (
    LinkedDocuments,
    anchor_in_document,
    assemble,
)
from gistread.book.formats.elements.paragraphs import ParsedParagraph
from gistread.book.formats.elements.xhtml import XhtmlDocument, read_document
from gistread.book.formats.headings import Candidate, Rank, heading_candidate
from gistread.book.formats.outline import outline
from gistread.book.formats.text import find_bounds
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import join_title, letters, one_line
from gistread.errors import BookError
from gistread.words import count_words


@dataclass(frozen=True)
class HeadingParagraph:
    """A paragraph that the format marks as a heading."""

    index: int
    text: str
    size: int  # 1 is the largest

    @cached_property
    def candidate(self) -> Candidate | None:
        """Its number and rank, recognised by its words; None if it has none."""
        block = TextBlock((one_line(self.text),), ParagraphKind.TEXT, gap=1)
        return heading_candidate(self.index, block)


# "By Jane Austen", "A novel"
_BYLINE = re.compile(
    r"(?:by|von|par|de|di|av|от|translated|edited|illustrated|a novel|written)\b",
    re.IGNORECASE,
)
_CHAPTER_LEVELS = 3  # Deeper headings stay inside chapters
_MOST_TOGETHER = 4  # Headings of one chapter: number, title, subtitle and the like
_LONGEST_TITLE = 300
_MOST_ON_TITLE_PAGE = 8  # Headings
_FIRST_PARAGRAPHS = 3  # Among these a heading may be the book's title
_EMPTY_LINES_BETWEEN = 2  # As a plain text has them between blocks


def find_chapters(
    headings: Sequence[HeadingParagraph], title: str, authors: Sequence[str]
) -> tuple[ChapterStart, ...]:
    """The chapters that these headings start, in order.

    The book's `title` and `authors` at the start are no chapters.
    """
    runs = _runs(headings)
    if not runs:
        return ()
    sizes_over_text = _sizes_over_text(runs)
    if _is_title_page(runs, title):
        author_letters = frozenset(map(letters, authors))
        runs[0] = _without_title_page(runs[0], sizes_over_text, author_letters)
    groups: list[list[HeadingParagraph]] = []
    for run in runs:
        groups += _groups(run, sizes_over_text)
    # Headings of the highest rank are on level 1, those of the next one on level 2.
    ranks = _ranks([group[0] for group in groups])
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks)), start=1)}
    return tuple(
        ChapterStart(group[0].index, _title(group), levels[rank])
        for group, rank in zip(groups, ranks, strict=True)
        if levels[rank] <= _CHAPTER_LEVELS
    )


def _runs(headings: Sequence[HeadingParagraph]) -> list[list[HeadingParagraph]]:
    """The headings, in lists of those without text between them."""
    runs: list[list[HeadingParagraph]] = []
    for heading in headings:
        if runs and runs[-1][-1].index + 1 == heading.index:
            runs[-1].append(heading)
        else:
            runs.append([heading])
    return runs


def _sizes_over_text(runs: list[list[HeadingParagraph]]) -> frozenset[int]:
    """Sizes that head text: at most half of these headings are right below a larger one."""
    counts: Counter[int] = Counter()
    counts_below_larger: Counter[int] = Counter()
    for run in runs:
        counts.update(heading.size for heading in run)
        for previous, heading in pairwise(run):
            if previous.size < heading.size:
                counts_below_larger[heading.size] += 1
    return frozenset(
        size for size, count in counts.items() if 2 * counts_below_larger[size] <= count
    )


def _is_title_page(runs: list[list[HeadingParagraph]], title: str) -> bool:
    """Whether the first run is the title page.

    It begins with the book's title, or with the only heading of the largest size.
    """
    first = runs[0][0]
    has_text_below = len(runs) > 1
    if not has_text_below or len(runs[0]) > _MOST_ON_TITLE_PAGE:
        return False
    if letters(first.text) and letters(first.text) == letters(title):
        return True
    sizes = [heading.size for run in runs for heading in run]
    is_only_largest = first.size == min(sizes) and sizes.count(first.size) == 1
    is_numbered = first.candidate is not None
    is_at_start = first.index < 2  # After one other paragraph at most
    has_several_below = len(sizes) > 2
    return is_only_largest and is_at_start and has_several_below and not is_numbered


def _without_title_page(
    run: list[HeadingParagraph],
    sizes_over_text: frozenset[int],
    authors: frozenset[str],
) -> list[HeadingParagraph]:
    """The headings of the first run that follow title and authors and belong to a chapter.

    `authors`: only the letters of their names.
    """
    follows_by = False
    for index, heading in enumerate(run[1:], start=1):
        if heading.candidate:
            return run[index:]
        byline = _BYLINE.match(heading.text)
        names_author = byline or follows_by or letters(heading.text) in authors
        is_smaller = heading.size > run[0].size  # 1 is the largest
        heads_text = heading.size in sizes_over_text and is_smaller
        if heads_text and not names_author:
            return run[index:]
        # "By" alone: the name is the next heading.
        follows_by = byline is not None and byline[0] == heading.text.rstrip()
    return []


def _groups(
    run: list[HeadingParagraph], sizes_over_text: frozenset[int]
) -> list[list[HeadingParagraph]]:
    """The headings of a run by the chapter that they start."""
    groups: list[list[HeadingParagraph]] = []
    for heading in run:
        if groups and _continues(groups[-1], heading, sizes_over_text):
            groups[-1].append(heading)
        else:
            groups.append([heading])
    return groups


def _continues(
    group: list[HeadingParagraph],
    heading: HeadingParagraph,
    sizes_over_text: frozenset[int],
) -> bool:
    """Whether a heading is a title or subtitle of the chapter that a group starts."""
    if len(group) >= _MOST_TOGETHER:
        return False
    first = group[0]
    is_larger = heading.size < first.size
    is_smaller = heading.size > first.size
    if is_larger or (is_smaller and heading.size in sizes_over_text):
        return False
    return not _starts_division(first.candidate, heading.candidate)


def _starts_division(above: Candidate | None, heading: Candidate | None) -> bool:
    """Whether a heading starts a division of its own, as CHAPTER I under BOOK ONE."""
    if above is None or heading is None or heading.number is None:
        return False
    is_alike = above.rank is heading.rank and above.family == heading.family
    return is_alike or above.rank < heading.rank


def _ranks(firsts: list[HeadingParagraph]) -> list[tuple[int, int]]:
    """For each heading its size, and 1 if it is a chapter in a part of the same size, else 0."""
    numbered = {
        (first.size, first.candidate.rank)
        for first in firsts
        if first.candidate and first.candidate.number is not None
    }
    ranks: list[tuple[int, int]] = []
    is_in_part = False
    for heading in firsts:
        part = (heading.size, Rank.CONTAINER)
        chapter = (heading.size, Rank.CHAPTER)
        below_part = 0
        if part in numbered and chapter in numbered:
            rank = heading.candidate.rank if heading.candidate else None
            if rank in (Rank.CONTAINER, Rank.NAMED):
                is_in_part = rank is Rank.CONTAINER
            elif is_in_part:
                below_part = 1
        ranks.append((heading.size, below_part))
    return ranks


def _title(group: list[HeadingParagraph]) -> str:
    parts = [one_line(heading.text) for heading in group]
    text = join_title(parts)
    if len(text) <= _LONGEST_TITLE:
        return text
    return parts[0][:_LONGEST_TITLE]


@dataclass(frozen=True, slots=True)
class Section:
    """A chapter named by the format."""

    start: str  # The id of the element where it starts
    title: str
    level: int


_NOTES = "Notes"
_NOTE_KINDS = (ParagraphKind.NOTE, ParagraphKind.BREAK)


def book_from_tree(
    root: etree._Element,
    name: str,
    source_format: str,
    metadata: Metadata,
    *,
    sections: Sequence[Section] = (),
    notices: Sequence[str] = (),
    left_out: Mapping[str, int] = MappingProxyType({}),
) -> Book:
    """Build the book of a tree. Raises BookError.

    Chapters start at `sections`; at headings if there are none.
    """
    whole = read_document(root, metadata.language)
    bounds = find_bounds([paragraph.words for paragraph in whole.paragraphs])
    document = _without_licence(whole, bounds.first, bounds.end)
    if not document.paragraphs or not document.has_words:
        raise BookError(f"{name} has no readable text.")
    title = bounds.header.title or metadata.title
    authors = bounds.header.authors or metadata.authors
    links = LinkedDocuments({name: document}, anchor_in_document)
    document = links.documents[name]  # With its notes and references marked
    if sections:
        chapters = _named_chapters(document, sections)
    else:
        chapters = _chapters(document, title, authors)
    builder = BookBuilder()
    resolve = assemble(builder, links, {name: chapters})
    if not builder.characters:  # Only controls and spaces
        raise BookError(f"{name} has no readable text.")
    all_left_out = document.left_out + Counter(left_out)
    return builder.build(
        title=title or _title_above(document, chapters) or PurePath(name).stem,
        authors=authors,
        language=metadata.language or document.language or bounds.header.language,
        source_format=source_format,
        notices=(*notices, *left_out_notices(all_left_out)),
        cover=metadata.cover,
        resolve=resolve,
    )


def _title_above(document: XhtmlDocument, chapters: Sequence[ChapterStart]) -> str:
    """The first heading, unless it starts one of several chapters; else empty."""
    starts = {chapter.index for chapter in chapters}
    for index, paragraph in enumerate(document.paragraphs[:_FIRST_PARAGRAPHS]):
        if paragraph.kind is ParagraphKind.HEADING:
            is_title = index not in starts or len(starts) == 1
            return paragraph.words if is_title else ""
    return ""


def _without_licence(document: XhtmlDocument, first: int, end: int) -> XhtmlDocument:
    """The paragraphs `[first, end)`; those around them are a licence."""
    paragraphs = document.paragraphs
    if (first, end) == (0, len(paragraphs)):
        return document
    licence = (*paragraphs[:first], *paragraphs[end:])
    licence_words = sum(count_words(paragraph.words) for paragraph in licence)
    document.left_out[omissions.LICENCE] += licence_words
    anchors = {
        name: index - first
        for name, index in document.anchors.items()
        if first <= index < end
    }
    ends = {
        name: min(index, end) - first
        for name, index in document.ends.items()
        if first <= index
    }
    notes = [
        (note_start - first, min(note_end, end) - first)
        for note_start, note_end in document.notes
        if first <= note_start < end
    ]
    return replace(
        document,
        paragraphs=paragraphs[first:end],
        anchors=anchors,
        ends=ends,
        notes=tuple(notes),
    )


def _named_chapters(
    document: XhtmlDocument, sections: Sequence[Section]
) -> list[ChapterStart]:
    anchors = document.anchors
    return [
        ChapterStart(anchors[section.start], section.title, section.level)
        for section in sections
        if section.start in anchors
    ]


def _chapters(
    document: XhtmlDocument, title: str, authors: Sequence[str]
) -> list[ChapterStart]:
    """The chapters by headings, by plain lines that look like headings, and one of end notes."""
    paragraphs = document.paragraphs
    headings = [
        HeadingParagraph(index, paragraph.words, paragraph.level)
        for index, paragraph in enumerate(paragraphs)
        if paragraph.kind is ParagraphKind.HEADING
    ]
    if headings:
        chapters = list(find_chapters(headings, title, authors))
    else:
        chapters = list(outline(list(map(_text_block, paragraphs))).chapters)
    notes_start = _end_notes_start(paragraphs)
    if notes_start is not None:
        chapters.append(ChapterStart(notes_start, _NOTES, 1))
    return chapters


def _text_block(paragraph: ParsedParagraph) -> TextBlock:
    """A paragraph as a block of plain text with empty lines above it."""
    lines = paragraph.words.split("\n")
    return TextBlock(tuple(lines), paragraph.kind, gap=_EMPTY_LINES_BETWEEN)


def _end_notes_start(paragraphs: Sequence[ParsedParagraph]) -> int | None:
    """Where notes at the end begin that have no heading of their own; None if there are none."""
    start = len(paragraphs)
    while start and paragraphs[start - 1].kind in _NOTE_KINDS:
        start -= 1
    if start in (0, len(paragraphs)):
        return None
    if paragraphs[start - 1].kind is ParagraphKind.HEADING:
        return None
    return start
