"""Finds the chapters of a PDF: in its outline, by the words of headings, or by their size."""

from collections.abc import Sequence

from gistread.book.builder import ChapterStart
from gistread.book.formats.elements.single_document import (
    HeadingParagraph,
    find_chapters,
)
from gistread.book.formats.outline import outline
from gistread.book.formats.pdf.blocks import Block
from gistread.book.formats.pdf.pages import PdfDocument
from gistread.book.formats.pdf.positions import PositionIndex
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import ParagraphKind

_FEWEST_CHAPTERS = 2
_LEAST_SHARE_PLACED = 0.5  # Share of an outline's entries that lead to text
# Chapters by words count if this share of them, or of those by size, start with a heading.
_LEAST_SHARE_OF_HEADINGS = 0.5


def by_outline(document: PdfDocument, positions: PositionIndex) -> list[ChapterStart]:
    """Chapters of the document's outline, in text order; empty if too few entries lead to text."""
    chapters: dict[tuple[int, str], ChapterStart] = {}
    for entry in document.outline:
        if not entry.place or not entry.title.strip():
            continue
        block = positions.heading_at(document.upright(entry.place), entry.title)
        if block is not None:
            start = ChapterStart(block, entry.title, entry.level)
            chapters.setdefault((block, entry.title), start)
    least = max(_FEWEST_CHAPTERS, _LEAST_SHARE_PLACED * len(document.outline))
    if len(chapters) < least:
        return []
    return sorted(chapters.values(), key=lambda chapter: (chapter.index, chapter.level))


def by_headings(blocks: Sequence[Block], texts: Sequence[str]) -> list[ChapterStart]:
    """Chapters by the words of headings (Chapter 1), otherwise by size."""
    plain_texts = list(map(_as_plain_text, blocks, texts))
    named = list(outline(plain_texts).chapters)
    sized = _by_size(blocks, texts)
    named_kinds = [blocks[chapter.index].kind for chapter in named]
    headings = named_kinds.count(ParagraphKind.HEADING)
    # Without headings by size, one is enough.
    least = _LEAST_SHARE_OF_HEADINGS * min(len(named), len(sized) or 1)
    if len(named) >= _FEWEST_CHAPTERS and headings >= least:
        return named
    return sized if len(sized) >= _FEWEST_CHAPTERS else named


def _as_plain_text(block: Block, text: str) -> TextBlock:
    """A paragraph as plain text has it: headings are text after two empty lines."""
    if block.kind is ParagraphKind.HEADING:
        return TextBlock((text,), ParagraphKind.TEXT, gap=2)
    return TextBlock((text,), block.kind, gap=1)


def _by_size(blocks: Sequence[Block], texts: Sequence[str]) -> list[ChapterStart]:
    """Chapters by the size of headings, bold ones above others of their size."""
    ranks: dict[int, tuple[int, bool]] = {}  # By block
    for index, block in enumerate(blocks):
        if block.kind is ParagraphKind.HEADING:
            line = block.first_line
            ranks[index] = (round(line.size), line.runs[0].font.is_bold)
    largest_first = sorted(set(ranks.values()), reverse=True)
    size_of_rank = {rank: size for size, rank in enumerate(largest_first, start=1)}
    headings = [
        HeadingParagraph(index, texts[index], size_of_rank[rank])
        for index, rank in ranks.items()
        if any(map(str.isalnum, texts[index]))
    ]
    return list(find_chapters(headings, title="", authors=()))
