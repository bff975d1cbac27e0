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
    index: int
    text: str
    size: int  # 1 is the largest

    @cached_property
    def candidate(self) -> Candidate | None:
        """Its number and rank, by its words."""
        block = TextBlock((one_line(self.text),), ParagraphKind.TEXT, gap=1)
        return heading_candidate(self.index, block)


_BYLINE = re.compile(
    r"(?:by|von|par|de|di|av|от|translated|edited|illustrated|a novel|written)\b",
    re.IGNORECASE,
)
_CHAPTER_LEVELS = 3  # Deeper headings stay inside chapters
# Number, title, subtitle and the like.
_MOST_TOGETHER = 4
_LONGEST_TITLE = 300
_MOST_ON_TITLE_PAGE = 8  # Headings
_FIRST_PARAGRAPHS = 3  # Where a heading may be the book's title


def find_chapters(
    headings: Sequence[HeadingParagraph], title: str, authors: Sequence[str]
) -> tuple[ChapterStart, ...]:
    """The chapters that these headings start, in order.

    Without the book's `title` and `authors` at the start.
    """
    runs = _runs(headings)
    if not runs:
        return ()
    alone = _sizes_over_text(runs)
    if _is_title(runs, title):
        runs[0] = _without_title_page(runs[0], alone, frozenset(map(letters, authors)))
    groups = [group for run in runs if run for group in _groups(run, alone)]
    ranks = _ranks([group[0] for group in groups])
    levels = {rank: level for level, rank in enumerate(sorted(set(ranks)), start=1)}
    return tuple(
        ChapterStart(group[0].index, _title(group), levels[rank])
        for group, rank in zip(groups, ranks, strict=True)
        if levels[rank] <= _CHAPTER_LEVELS
    )


def _runs(headings: Sequence[HeadingParagraph]) -> list[list[HeadingParagraph]]:
    """The headings without text between them."""
    runs: list[list[HeadingParagraph]] = []
    for heading in headings:
        if runs and runs[-1][-1].index + 1 == heading.index:
            runs[-1].append(heading)
        else:
            runs.append([heading])
    return runs


def _sizes_over_text(runs: list[list[HeadingParagraph]]) -> frozenset[int]:
    """Sizes of which at least half of the headings follow text and not a larger heading."""
    all_sizes = Counter(heading.size for run in runs for heading in run)
    below_larger = Counter(
        heading.size
        for run in runs
        for before, heading in pairwise(run)
        if before.size < heading.size
    )
    return frozenset(
        size for size, count in all_sizes.items() if count >= 2 * below_larger[size]
    )


def _is_title(runs: list[list[HeadingParagraph]], title: str) -> bool:
    """Whether the first run is the title page.

    The book's title, or the only heading of the largest size.
    """
    first = runs[0][0]
    if len(runs) < 2 or len(runs[0]) > _MOST_ON_TITLE_PAGE:
        return False
    if letters(first.text) and letters(first.text) == letters(title):
        return True
    sizes = [heading.size for run in runs for heading in run]
    is_largest = first.size == min(sizes) and sizes.count(first.size) == 1
    return is_largest and first.index < 2 and first.candidate is None and len(sizes) > 2


def _without_title_page(
    run: list[HeadingParagraph], alone: frozenset[int], authors: frozenset[str]
) -> list[HeadingParagraph]:
    """The headings of the first run that follow title and authors and belong to a chapter."""
    is_name = False
    for at, heading in enumerate(run[1:], start=1):
        byline = _BYLINE.match(heading.text)
        if heading.candidate:
            return run[at:]
        stands_alone = heading.size in alone and heading.size > run[0].size
        if stands_alone and not (byline or is_name or letters(heading.text) in authors):
            return run[at:]
        # "By" with the name in a separate heading.
        is_name = byline is not None and byline.end() == len(heading.text.rstrip())
    return []


def _groups(
    run: list[HeadingParagraph], alone: frozenset[int]
) -> list[list[HeadingParagraph]]:
    """The headings of a run by the chapter that they start."""
    groups = [[run[0]]]
    for heading in run[1:]:
        if len(groups[-1]) < _MOST_TOGETHER and _continues(
            groups[-1][0], heading, alone
        ):
            groups[-1].append(heading)
        else:
            groups.append([heading])
    return groups


def _continues(
    first: HeadingParagraph, heading: HeadingParagraph, alone: frozenset[int]
) -> bool:
    """Whether a heading is a title or subtitle of the chapter that `first` starts."""
    is_larger = heading.size < first.size
    is_smaller = heading.size > first.size
    if is_larger or (is_smaller and heading.size in alone):
        return False
    return not _starts_division(first.candidate, heading.candidate)


def _starts_division(above: Candidate | None, heading: Candidate | None) -> bool:
    """Whether a heading starts a division of its own, as CHAPTER I under BOOK ONE."""
    if above is None or heading is None or heading.number is None:
        return False
    is_alike = above.rank is heading.rank and above.family == heading.family
    return is_alike or above.rank < heading.rank


def _ranks(firsts: list[HeadingParagraph]) -> list[tuple[int, int]]:
    """Size, and 1 for a chapter under a part whose heading has the same size."""
    numbered = {
        (first.size, first.candidate.rank)
        for first in firsts
        if first.candidate and first.candidate.number is not None
    }
    ranks: list[tuple[int, int]] = []
    is_in_part = False
    for heading in firsts:
        below = 0
        if {(heading.size, Rank.CONTAINER), (heading.size, Rank.CHAPTER)} <= numbered:
            rank = heading.candidate.rank if heading.candidate else None
            if rank in (Rank.CONTAINER, Rank.NAMED):
                is_in_part = rank is Rank.CONTAINER
            else:
                below = int(is_in_part)
        ranks.append((heading.size, below))
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
    """Build the book of a tree.

    Chapters start at `sections`, else at headings. Raises BookError.
    """
    document = read_document(root, metadata.language)
    bounds = find_bounds([paragraph.words for paragraph in document.paragraphs])
    document = _between(document, bounds.first, bounds.end)
    if not (document.paragraphs and document.has_words):
        raise BookError(f"{name} has no readable text.")
    title = bounds.header.title or metadata.title
    authors = bounds.header.authors or metadata.authors
    links = LinkedDocuments({name: document}, anchor_in_document)
    document = links.documents[name]
    if sections:
        chapters = _named_chapters(document, sections)
    else:
        chapters = _chapters(document, title, authors)
    builder = BookBuilder()
    resolve = assemble(builder, links, {name: chapters})
    if not builder.characters:  # Only controls and spaces
        raise BookError(f"{name} has no readable text.")
    return builder.build(
        title=title or _title_above(document, chapters) or PurePath(name).stem,
        authors=authors,
        language=metadata.language or document.language or bounds.header.language,
        source_format=source_format,
        notices=(*notices, *left_out_notices(document.left_out + Counter(left_out))),
        cover=metadata.cover,
        resolve=resolve,
    )


def _title_above(document: XhtmlDocument, chapters: Sequence[ChapterStart]) -> str:
    """The first heading, if it starts no chapter or the only one; empty if there is none."""
    starts = {chapter.index for chapter in chapters}
    for index, paragraph in enumerate(document.paragraphs[:_FIRST_PARAGRAPHS]):
        if paragraph.kind is ParagraphKind.HEADING:
            is_title = index not in starts or len(starts) == 1
            if not is_title:
                return ""
            return paragraph.words
    return ""


def _between(document: XhtmlDocument, first: int, end: int) -> XhtmlDocument:
    """The paragraphs `[first, end)`; those around them are a licence."""
    paragraphs = document.paragraphs
    if (first, end) == (0, len(paragraphs)):
        return document
    licence = (*paragraphs[:first], *paragraphs[end:])
    document.left_out[omissions.LICENCE] += sum(
        count_words(each.words) for each in licence
    )
    anchors = {
        name: at - first for name, at in document.anchors.items() if first <= at < end
    }
    ends = {
        name: min(at, end) - first for name, at in document.ends.items() if first <= at
    }
    notes = (note for note in document.notes if first <= note[0] < end)
    return replace(
        document,
        paragraphs=paragraphs[first:end],
        anchors=anchors,
        ends=ends,
        notes=tuple((start - first, min(stop, end) - first) for start, stop in notes),
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
    paragraphs = document.paragraphs
    headings = [
        HeadingParagraph(index, paragraph.words, paragraph.level)
        for index, paragraph in enumerate(paragraphs)
        if paragraph.kind is ParagraphKind.HEADING
    ]
    if headings:
        chapters = list(find_chapters(headings, title, authors))
    else:
        blocks = [
            TextBlock(tuple(paragraph.words.split("\n")), paragraph.kind, gap=2)
            for paragraph in paragraphs
        ]
        chapters = list(outline(blocks).chapters)
    # Notes at the end without a heading of their own are not part of the last chapter.
    first = len(paragraphs)
    while first and paragraphs[first - 1].kind in (
        ParagraphKind.NOTE,
        ParagraphKind.BREAK,
    ):
        first -= 1
    if (
        0 < first < len(paragraphs)
        and paragraphs[first - 1].kind is not ParagraphKind.HEADING
    ):
        chapters.append(ChapterStart(first, _NOTES, 1))
    return chapters
