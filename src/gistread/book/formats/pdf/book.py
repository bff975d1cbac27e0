"""Turns a PDF into a Book: pages to lines, lines to paragraphs, paragraphs to chapters."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import PurePath
from statistics import median_high
from typing import BinaryIO

from gistread.book.builder import (
    BookBuilder,
    ChapterStart,
    LinkTarget,
    by_paragraph,
    left_out_notices,
)
from gistread.book.formats.pdf.blocks import Block
from gistread.book.formats.pdf.chapters import by_headings, by_outline
from gistread.book.formats.pdf.footnotes import NoteIndex
from gistread.book.formats.pdf.furniture import find_furniture, without_line_numbers
from gistread.book.formats.pdf.layout import PageLayout, measure_layout
from gistread.book.formats.pdf.legibility import (
    FEWEST_LETTERS,
    count_letters,
    is_readable,
    is_scan,
    page_notices,
    readings_notice,
    seems_misread,
    text_of,
    unreadable_notice,
)
from gistread.book.formats.pdf.lines import Column, PageScan, columns, scan_page
from gistread.book.formats.pdf.pages import LinkArea, PdfDocument, PdfPage
from gistread.book.formats.pdf.paragraphs import split_into_blocks
from gistread.book.formats.pdf.positions import PositionIndex, position_of
from gistread.book.formats.pdf.process import read_document
from gistread.book.formats.pdf.segments import READING_RATIO
from gistread.book.formats.pdf.text import WordCounts, marked_text, plain_text_of
from gistread.book.inline import InlineMark
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import clean_line
from gistread.errors import BookError

_FRESH_COPY = "Get a fresh copy of the file."
_MORE_MEMORY = "Close other programs, or allow this one more (`ulimit -v`)."
_SAME_GUTTER_POINTS = 8
_USUAL_GUTTER_SHARE = 0.3  # Share of the pages that have it
# Characters; a longer paragraph at the start of a chapter is text
_LONGEST_CHAPTER_HEADING = 200
_MOST_BLOCKS_BEFORE_TITLE = 20
# "thesis-final.docx", "Microsoft Word - thesis"
_FILE_NAME = re.compile(
    r"\.(?:docx?|dvi|tex|indd|qxd|pdf|rtf|odt|txt|fm|p65)\W*$|^(?:untitled|microsoft word\b)",
    re.IGNORECASE,
)
# Between the names of authors: ";", "&", "and".
_BETWEEN_AUTHORS = re.compile(r"\s*;\s*|\s*&\s*|\s+and\s+")


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of all pages."""

    blocks: list[Block]
    layout: PageLayout
    words: WordCounts
    notices: tuple[str, ...]


def read_pdf(
    stream: BinaryIO, name: str, cancelled: Callable[[], bool] = lambda: False
) -> Book:
    """The book in a seekable stream; `name` is used in messages, `cancelled` is polled.

    Raises BookError.
    """
    try:
        document = read_document(stream, cancelled)
    except BookError as error:
        # Its message lacks the subject.
        raise BookError(f"{name} {error.message}", error.hint) from error
    except MemoryError as error:
        raise BookError(
            f"There is not enough memory to read {name}.", _MORE_MEMORY
        ) from error
    except OSError as error:
        raise BookError(
            f"{name} cannot be read: it is damaged or not a PDF.", _FRESH_COPY
        ) from error
    return _build(document, name)


def _build(document: PdfDocument, name: str) -> Book:
    """The book of the readable pages. Raises BookError if there is no text on them."""
    pages = document.pages
    letters = count_letters(pages)
    if is_scan(pages):
        raise _no_text_error(document, name)
    notices = list(page_notices(document))
    if not is_readable(pages):
        unreadable_pages = [page for page in pages if not is_readable([page])]
        notices.append(unreadable_notice(unreadable_pages))
        pages = [page for page in pages if is_readable([page])]
        letters = len(text_of(pages))
        if letters < FEWEST_LETTERS:
            raise _unreadable_error(name)
    if not letters:
        raise _no_text_error(document, name)
    text = _read_pages(without_line_numbers(pages), letters)
    return _assemble(document, text, name, (*notices, *text.notices))


def _read_pages(pages: Sequence[PdfPage], letters: int) -> _Text:
    """Arrange the text of pages into blocks. `letters`: how many letters the pages have."""
    scans = list(map(scan_page, pages))
    page_columns = list(_columns(pages, scans))
    layout = measure_layout(page_columns)
    lines = chain.from_iterable(column.lines for column in page_columns)
    parts = list(chain.from_iterable(line.parts for line in lines))
    small_parts = [part for part in parts if part.size < READING_RATIO * layout.size]
    left_out: Counter[str] = Counter()
    for page in pages:
        left_out += page.left_out
    return _Text(
        blocks=split_into_blocks(page_columns, layout),
        layout=layout,
        words=WordCounts(part.text for part in parts),
        notices=(
            *left_out_notices(left_out),
            *readings_notice(small_parts),
            *_misread_notices(pages, scans, letters),
        ),
    )


def _columns(pages: Sequence[PdfPage], scans: Sequence[PageScan]) -> Iterator[Column]:
    """The columns of all pages, without furniture."""
    usual_gutter = _usual_gutter([scan.gutter for scan in scans])
    furniture = find_furniture([scan.rows for scan in scans])
    for page, scan, page_furniture in zip(pages, scans, furniture, strict=True):
        has_own_gutter = scan.gutter is not None
        default_gutter = None if has_own_gutter else usual_gutter
        yield from columns(page, default_gutter, page_furniture)


def _usual_gutter(gutters: Sequence[float | None]) -> float | None:
    """The position between columns on many pages; None if they share none."""
    by_place: dict[int, list[float]] = {}
    for gutter in gutters:
        if gutter is not None:
            place = round(gutter / _SAME_GUTTER_POINTS)
            by_place.setdefault(place, []).append(gutter)
    most_common = max(by_place.values(), key=len, default=[])
    if len(most_common) <= _USUAL_GUTTER_SHARE * len(gutters):
        return None
    return median_high(most_common)


def _misread_notices(
    pages: Sequence[PdfPage], scans: Sequence[PageScan], letters: int
) -> Iterator[str]:
    """A sentence if many letters may be wrong, by their fonts or by the words."""
    guessed = sum(page.guessed for page in pages)
    if guessed:
        yield f"{guessed:,} letters may be misread: their fonts do not say which they are."
        return
    text = "".join(row.text for scan in scans for row in scan.rows)
    if letters > FEWEST_LETTERS and seems_misread(text):
        yield "Most words look misread: the fonts of the file may name the wrong letters."


def _unreadable_error(name: str) -> BookError:
    return BookError(
        f"{name} does not say which characters its fonts display, so its text cannot be extracted.",
        "Optical character recognition (OCR) can make a copy whose text can.",
    )


def _no_text_error(document: PdfDocument, name: str) -> BookError:
    if not document.pages:
        return BookError(
            f"{name} cannot be read: all of its pages are damaged.", _FRESH_COPY
        )
    if any(page.has_pictures for page in document.pages):
        return BookError(
            f"{name} contains only pictures of pages, no text.",
            "Optical character recognition (OCR) can make a copy with text; gistread reads that.",
        )
    return BookError(f"{name} contains no text.")


def _assemble(
    document: PdfDocument, text: _Text, name: str, notices: tuple[str, ...]
) -> Book:
    """Build the book from the blocks. Raises BookError if they contain only white space."""
    blocks = text.blocks
    plain_texts = [plain_text_of(block, text.words) for block in blocks]
    positions = PositionIndex(blocks)
    starts = by_outline(document, positions) or by_headings(blocks, plain_texts)
    builder = BookBuilder()
    ranges = _add_blocks(builder, document, text, plain_texts, starts)
    if not builder.characters:
        raise _no_text_error(document, name)
    return builder.build(
        title=_title(document, blocks, plain_texts) or PurePath(name).stem,
        authors=_authors(document),
        language=document.language.strip("\0 "),
        source_format="pdf",
        notices=notices,
        resolve=partial(
            _target_of, document=document, positions=positions, ranges=ranges
        ),
    )


def _add_blocks(
    builder: BookBuilder,
    document: PdfDocument,
    text: _Text,
    plain_texts: Sequence[str],
    starts: Sequence[ChapterStart],
) -> dict[int, LinkTarget]:
    """Add the blocks and chapters. Returns where each block is in the book, by its index."""
    chapters_at = by_paragraph(starts)
    areas = {page.number: page.areas for page in document.pages if page.areas}
    notes = NoteIndex(text.blocks)
    ranges: dict[int, LinkTarget] = {}
    chapter_level = 1
    for index, block in enumerate(text.blocks):
        chapters = chapters_at.get(index, ())
        for chapter in chapters:
            chapter_level = chapter.level
            builder.chapter(chapter.title, chapter_level)
        is_short = len(plain_texts[index]) < _LONGEST_CHAPTER_HEADING
        is_heading_of_chapter = chapters and is_short
        kind = ParagraphKind.HEADING if is_heading_of_chapter else block.kind
        level = chapter_level if kind is ParagraphKind.HEADING else 0
        links = _areas_on_pages_of(block, areas)
        content, marks = marked_text(block, text.layout, text.words, links, notes.href)
        start = builder.next_start
        is_added = builder.add(
            content, kind, level, keeps_lines=block.keeps_lines, marks=marks
        )
        if is_added:
            ranges[index] = LinkTarget(start, builder.characters)
    return ranges


def _authors(document: PdfDocument) -> tuple[str, ...]:
    names = _BETWEEN_AUTHORS.split(document.metadata.get("Author", ""))
    return tuple(filter(str.strip, names))


def _areas_on_pages_of(
    block: Block, areas: Mapping[int, Sequence[LinkArea]]
) -> list[LinkArea]:
    pages = {line.page for line in block.lines}
    return list(chain.from_iterable(areas.get(page, ()) for page in pages))


def _target_of(
    mark: InlineMark,
    document: PdfDocument,
    positions: PositionIndex,
    ranges: Mapping[int, LinkTarget],
) -> LinkTarget | None:
    """The note that a reference names, or the start of the paragraph that a link leads to."""
    if mark.is_note:
        return ranges.get(int(mark.href))
    position = position_of(mark.href)
    if position is None:
        return None
    block = positions.block_at(document.upright(position))
    if block is None or block not in ranges:
        return None
    return LinkTarget(ranges[block].start)


def _title(document: PdfDocument, blocks: Sequence[Block], texts: Sequence[str]) -> str:
    """The title in the metadata, unless it is a file name; else the largest early heading."""
    title = clean_line(document.metadata.get("Title", ""))
    has_letters = any(map(str.isalpha, title))
    if has_letters and not _FILE_NAME.search(title):
        return title
    first_page = blocks[0].first_line.page if blocks else 0
    headings: list[int] = []
    for index, block in enumerate(blocks[:_MOST_BLOCKS_BEFORE_TITLE]):
        is_early = block.first_line.page <= first_page + 1
        if is_early and block.kind is ParagraphKind.HEADING:
            headings.append(index)
    if not headings:
        return ""
    largest = max(headings, key=lambda index: blocks[index].first_line.size)
    return texts[largest]
