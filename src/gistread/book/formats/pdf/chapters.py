"""Finds a PDF's chapters by its outline, else by its headings, and the paragraph at a position."""

import re
from collections import Counter
from collections.abc import Sequence

from gistread.book.builder import ChapterStart
from gistread.book.formats.outline import outline
from gistread.book.formats.pdf.layout import PageLayout
from gistread.book.formats.pdf.pages import OutlineEntry, PagePosition
from gistread.book.formats.pdf.paragraphs import Block
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.model import ParagraphKind

_NOT_A_LETTER = re.compile(r"[\W_]+")
_ABOVE_POINTS = 4.0
_CHAPTER_SIZES = 3
_NUMBERING_LETTERS = 12  # As in "Chapter XIV" before a title
_LEAST_SHARE_OF_SOUND_ENTRIES = 0.5


class PositionIndex:
    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        # By page, for each line: top, column edges, block, and whether it is the block's first.
        self._on_page: dict[int, list[tuple[float, float, float, int, bool]]] = {}
        self._letters: dict[int, str] = {}
        for index, block in enumerate(blocks):
            for number, line in enumerate(block.lines):
                left, right = min(block.left, line.left), max(block.right, line.right)
                row = (line.baseline + line.size, left, right, index, number == 0)
                self._on_page.setdefault(line.page, []).append(row)

    def block_at(self, place: PagePosition) -> int | None:
        """The block at a position: the first line at or below it; None if no text follows."""
        if place.page < 0:
            return None
        rows = self._on_page.get(place.page)
        if not rows:
            later = min((page for page in self._on_page if page > place.page), default=None)
            return None if later is None else self._on_page[later][0][3]
        if place.y is None:
            return next((row[3] for row in rows if row[4]), rows[0][3])
        below = [row for row in rows if row[0] <= place.y + _ABOVE_POINTS] or rows[-1:]
        if place.x is not None:
            below = [row for row in below if row[1] - 20 <= place.x <= row[2]] or below
        return max(below, key=lambda row: row[0])[3]

    def heading_at(self, place: PagePosition, title: str) -> int | None:
        """The block where the chapter `title` starts: by its words, otherwise by position."""
        wanted = letters(title)
        on_page = dict.fromkeys(row[3] for row in self._on_page.get(place.page, ()))
        nearest = self.block_at(place)
        reads_so = [(rank, index) for index in on_page if (rank := self._reads(index, wanted)) is not None]
        if reads_so:
            return min(reads_so, key=lambda one: (one[0], abs(one[1] - (one[1] if nearest is None else nearest))))[1]
        if nearest is None or nearest not in on_page or self._page_of(nearest) == place.page:
            return nearest
        # The position is inside a paragraph from the previous page.
        return next((index for index in on_page if index > nearest and self._page_of(index) == place.page), nearest)

    def _page_of(self, index: int) -> int:
        return self._blocks[index].lines[0].page

    def _reads(self, index: int, wanted: str) -> int | None:
        """How well a block matches a title: 0 is best, None is not at all."""
        text = self._letters.get(index)
        if text is None:
            text = self._letters[index] = letters(self._blocks[index].text[:300])
        if text == wanted:
            return 0 if text else None
        if len(wanted) < 3 or len(text) < 3:
            return None
        if (text.endswith(wanted) or wanted.endswith(text)) and abs(len(text) - len(wanted)) <= _NUMBERING_LETTERS:
            return 1
        is_heading = self._blocks[index].kind is ParagraphKind.HEADING
        return 2 if is_heading and (wanted in text or text in wanted) else None


def letters(text: str) -> str:
    return _NOT_A_LETTER.sub("", text).casefold()


def by_outline(entries: Sequence[OutlineEntry], places: PositionIndex) -> list[ChapterStart]:
    """Chapters of the document's outline, in text order; empty if it is useless."""
    found: dict[tuple[int, str], ChapterStart] = {}
    for entry in entries:
        block = places.heading_at(entry.place, entry.title) if entry.place and entry.title.strip() else None
        if block is not None:
            found.setdefault((block, entry.title), ChapterStart(block, entry.title, entry.level))
    if len(found) < 2 or len(found) < _LEAST_SHARE_OF_SOUND_ENTRIES * len(entries):
        return []
    return sorted(found.values(), key=lambda chapter: (chapter.index, chapter.level))


def by_headings(blocks: Sequence[Block], texts: Sequence[str], layout: PageLayout) -> list[ChapterStart]:
    """Chapters by the words of headings (Chapter 1), otherwise by size."""
    as_text = [
        TextBlock(
            (text,),
            ParagraphKind.TEXT if block.kind is ParagraphKind.HEADING else block.kind,
            2 if block.kind is ParagraphKind.HEADING else 1,
        )
        for block, text in zip(blocks, texts, strict=True)
    ]
    chapters = list(outline(as_text).chapters)
    is_heading = [block.kind is ParagraphKind.HEADING for block in blocks]
    sized = _by_size(blocks, texts)
    if len(chapters) >= 2 and sum(is_heading[one.index] for one in chapters) >= 0.5 * min(
        len(chapters), len(sized) or 1
    ):
        return chapters
    return sized if len(sized) >= 2 else chapters


def _by_size(blocks: Sequence[Block], texts: Sequence[str]) -> list[ChapterStart]:
    headings = [
        (index, (round(block.lines[0].size), block.lines[0].runs[0].font.is_bold))
        for index, block in enumerate(blocks)
        if block.kind is ParagraphKind.HEADING
    ]
    if not headings:
        return []
    first_page = blocks[headings[0][0]].lines[0].page
    counts = Counter(rank for _, rank in headings)
    # The document's title is the largest, and only on its first page.
    on_first = Counter(rank for index, rank in headings if blocks[index].lines[0].page == first_page)
    ranks = [rank for rank in sorted(counts, reverse=True) if counts[rank] > on_first[rank] or counts[rank] > 1]
    if len(ranks) > 1 and counts[ranks[0]] == on_first[ranks[0]]:
        ranks = ranks[1:]
    levels = {rank: level for level, rank in enumerate(ranks[:_CHAPTER_SIZES], 1)}
    found: list[ChapterStart] = []
    for index, rank in headings:
        if rank not in levels or not any(map(str.isalnum, texts[index])):
            continue
        if found and found[-1].index == index - 1 and levels[rank] == found[-1].level and len(found[-1].title) < 30:
            found[-1] = ChapterStart(found[-1].index, f"{found[-1].title}. {texts[index]}", found[-1].level)
        else:
            found.append(ChapterStart(index, texts[index], levels[rank]))
    return found
