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
from gistread.book.formats.elements.linking import LinkedDocuments, anchor_in_document, assemble
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
        return heading_candidate(
            self.index, TextBlock((one_line(self.text),), ParagraphKind.TEXT, 1)
        )


_BYLINE = re.compile(
    r"(?:by|von|par|de|di|av|от|translated|edited|illustrated|a novel|written)\b", re.IGNORECASE
)
_CHAPTER_LEVELS = 3  # Deeper headings stay inside chapters
# Number, title, subtitle and the like.
_MOST_TOGETHER = 4
_LONGEST_TITLE = 300


def find_chapters(
    headings: Sequence[HeadingParagraph], title: str, authors: Sequence[str]
) -> tuple[ChapterStart, ...]:
    """The chapters that these headings start, in order, without the book's `title` and `authors` at
    the start.
    """
    runs: list[list[HeadingParagraph]] = []
    for one in headings:
        if runs and runs[-1][-1].index + 1 == one.index:
            runs[-1].append(one)
        else:
            runs.append([one])
    if not runs:
        return ()
    # Sizes of headings that usually follow text, not a larger heading.
    under = Counter(
        one.size for run in runs for before, one in pairwise(run) if before.size < one.size
    )
    following = Counter(one.size for run in runs for one in run) - under
    alone = frozenset(size for size, count in following.items() if count >= under[size])
    if _is_title(runs, title):
        runs[0] = _without_title_page(runs[0], alone, frozenset(map(letters, authors)))
    groups = [group for run in runs if run for group in _groups(run, alone)]
    keys = _keys([group[0] for group in groups])
    levels = {key: level for level, key in enumerate(sorted(set(keys)), start=1)}
    return tuple(
        ChapterStart(group[0].index, _title(group), levels[key])
        for group, key in zip(groups, keys, strict=True)
        if levels[key] <= _CHAPTER_LEVELS
    )


def _is_title(runs: list[list[HeadingParagraph]], title: str) -> bool:
    """Whether the first run is the title page.

    The book's title, or the only heading of the largest size.
    """
    first = runs[0][0]
    if len(runs) < 2 or len(runs[0]) > 8:
        return False
    if letters(first.text) and letters(first.text) == letters(title):
        return True
    sizes = [one.size for run in runs for one in run]
    is_largest = first.size == min(sizes) and sizes.count(first.size) == 1
    return is_largest and first.index < 2 and first.candidate is None and len(sizes) > 2


def _without_title_page(
    run: list[HeadingParagraph], alone: frozenset[int], authors: frozenset[str]
) -> list[HeadingParagraph]:
    """The headings of the first run that follow title and authors and belong to a chapter."""
    is_name = False
    for at, one in enumerate(run[1:], start=1):
        byline = _BYLINE.match(one.text)
        if one.candidate:
            return run[at:]
        stands_alone = one.size in alone and one.size > run[0].size
        if stands_alone and not (byline or is_name or letters(one.text) in authors):
            return run[at:]
        # "By" with the name in a separate heading.
        is_name = byline is not None and byline.end() == len(one.text.rstrip())
    return []


def _groups(run: list[HeadingParagraph], alone: frozenset[int]) -> list[list[HeadingParagraph]]:
    groups = [[run[0]]]
    for one in run[1:]:
        before = groups[-1][0]
        deeper = one.size > before.size and one.size in alone
        wider = one.size < before.size
        if (
            deeper
            or wider
            or _starts_division(before.candidate, one.candidate)
            or len(groups[-1]) == _MOST_TOGETHER
        ):
            groups.append([one])
        else:
            groups[-1].append(one)
    return groups


def _starts_division(before: Candidate | None, one: Candidate | None) -> bool:
    """Whether `one` starts a division of its own, as CHAPTER I under BOOK ONE."""
    if before is None or one is None or one.number is None:
        return False
    return before.rank < one.rank or (before.rank is one.rank and before.family == one.family)


def _keys(firsts: list[HeadingParagraph]) -> list[tuple[int, int]]:
    ranks = {
        (first.size, first.candidate.rank)
        for first in firsts
        if first.candidate and first.candidate.number is not None
    }
    keys: list[tuple[int, int]] = []
    inside = False
    for one in firsts:
        below = 0
        if {(one.size, Rank.CONTAINER), (one.size, Rank.CHAPTER)} <= ranks:
            if one.candidate and one.candidate.rank in (Rank.CONTAINER, Rank.NAMED):
                inside = one.candidate.rank is Rank.CONTAINER
            else:
                below = int(inside)
        keys.append((one.size, below))
    return keys


def _title(group: list[HeadingParagraph]) -> str:
    parts = [one_line(one.text) for one in group]
    text = join_title(parts)
    return text if len(text) <= _LONGEST_TITLE else parts[0][:_LONGEST_TITLE]


# A chapter named by the format: the id where it starts, its title and its level.
Section = tuple[str, str, int]

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
    begin, end, framed = find_bounds([paragraph.words for paragraph in document.paragraphs])
    frame = [*document.paragraphs[:begin], *document.paragraphs[end:]]
    document.left_out[omissions.LICENCE] += sum(count_words(each.words) for each in frame)
    document = _section(document, begin, end)
    if not (document.paragraphs and document.has_words):
        raise BookError(f"{name} has no readable text.")
    title = framed.title or metadata.title
    links = LinkedDocuments({name: document}, anchor_in_document)
    document = links.documents[name]
    chapters = _chapters(document, sections, title, framed.authors or metadata.authors)
    builder = BookBuilder()
    resolve = assemble(builder, links, {name: chapters})
    if not builder.characters:  # only controls and spaces
        raise BookError(f"{name} has no readable text.")
    starts = {each.index for each in chapters}
    first = next(
        (n for n, each in enumerate(document.paragraphs[:3]) if each.kind is ParagraphKind.HEADING),
        None,
    )
    if not title and first is not None and (first not in starts or len(starts) == 1):
        title = document.paragraphs[first].words
    return builder.build(
        title=title or PurePath(name).stem,
        authors=framed.authors or metadata.authors,
        language=metadata.language or document.language or framed.language,
        source_format=source_format,
        notices=(*notices, *left_out_notices(document.left_out + Counter(left_out))),
        cover=metadata.cover,
        resolve=resolve,
    )


def _section(document: XhtmlDocument, first: int, end: int) -> XhtmlDocument:
    if (first, end) == (0, len(document.paragraphs)):
        return document
    return replace(
        document,
        paragraphs=document.paragraphs[first:end],
        anchors={name: at - first for name, at in document.anchors.items() if first <= at < end},
        ends={name: min(at, end) - first for name, at in document.ends.items() if first <= at},
        notes=tuple(
            (a - first, min(b, end) - first) for a, b in document.notes if first <= a < end
        ),
    )


def _chapters(
    document: XhtmlDocument, sections: Sequence[Section], title: str, authors: Sequence[str]
) -> list[ChapterStart]:
    paragraphs = document.paragraphs
    if sections:
        anchors = document.anchors
        return [
            ChapterStart(anchors[start], name, level)
            for start, name, level in sections
            if start in anchors
        ]
    headings = [
        HeadingParagraph(index, paragraph.words, paragraph.level)
        for index, paragraph in enumerate(paragraphs)
        if paragraph.kind is ParagraphKind.HEADING
    ]
    if headings:
        found = list(find_chapters(headings, title, authors))
    else:
        blocks = [
            TextBlock(tuple(paragraph.words.split("\n")), paragraph.kind, 2)
            for paragraph in paragraphs
        ]
        found = list(outline(blocks).chapters)
    # Notes at the end without a heading of their own are not part of the last chapter.
    first = len(paragraphs)
    while first and paragraphs[first - 1].kind in (ParagraphKind.NOTE, ParagraphKind.BREAK):
        first -= 1
    if 0 < first < len(paragraphs) and paragraphs[first - 1].kind is not ParagraphKind.HEADING:
        found.append(ChapterStart(first, _NOTES, 1))
    return found
