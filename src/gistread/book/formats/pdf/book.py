"""Turns a PDF into a Book: pages to lines, lines to paragraphs, paragraphs to chapters."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import BinaryIO

from gistread.book.builder import (
    BookBuilder,
    ChapterStart,
    LinkTarget,
    by_paragraph,
    left_out_notices,
)
from gistread.book.formats.elements.single_document import HeadingParagraph, find_chapters
from gistread.book.formats.outline import outline
from gistread.book.formats.pdf.blocks import Block
from gistread.book.formats.pdf.furniture import find_furniture, without_line_numbers
from gistread.book.formats.pdf.layout import PageLayout, measure_layout
from gistread.book.formats.pdf.lines import TextLine, columns, find_gutter, rows
from gistread.book.formats.pdf.pages import PagePosition, PdfDocument, PdfPage, TextRun
from gistread.book.formats.pdf.paragraphs import split_into_blocks
from gistread.book.formats.pdf.process import read_document
from gistread.book.formats.pdf.segments import READING_RATIO
from gistread.book.formats.pdf.text import WordCounts, marked_text, plain_text_of
from gistread.book.formats.text_blocks import TextBlock
from gistread.book.inline import InlineMark
from gistread.book.model import Book, ParagraphKind
from gistread.book.normalise import clean_line, letters
from gistread.errors import BookError
from gistread.units import ranges


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
        below = [row for row in rows if row[0] <= place.y + 4.0] or rows[-1:]
        if place.x is not None:
            below = [row for row in below if row[1] - 20 <= place.x <= row[2]] or below
        return max(below, key=lambda row: row[0])[3]

    def heading_at(self, place: PagePosition, title: str) -> int | None:
        """The block where the chapter `title` starts: by its words, otherwise by position."""
        wanted = letters(title)
        on_page = dict.fromkeys(row[3] for row in self._on_page.get(place.page, ()))
        nearest = self.block_at(place)
        reads_so = [
            (rank, index) for index in on_page if (rank := self._reads(index, wanted)) is not None
        ]
        if reads_so:
            return min(
                reads_so,
                key=lambda one: (one[0], abs(one[1] - (one[1] if nearest is None else nearest))),
            )[1]
        if nearest is None or nearest not in on_page or self._page_of(nearest) == place.page:
            return nearest
        # The position is inside a paragraph from the previous page.
        return next(
            (index for index in on_page if index > nearest and self._page_of(index) == place.page),
            nearest,
        )

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
        # One of them may have a number, as "Chapter XIV".
        if (text.endswith(wanted) or wanted.endswith(text)) and abs(len(text) - len(wanted)) <= 12:
            return 1
        is_heading = self._blocks[index].kind is ParagraphKind.HEADING
        return 2 if is_heading and (wanted in text or text in wanted) else None


def by_outline(document: PdfDocument, places: PositionIndex) -> list[ChapterStart]:
    """Chapters of the document's outline, in text order; empty if it is useless."""
    found: dict[tuple[int, str], ChapterStart] = {}
    for title, level, place in document.outline:
        if place and title.strip():
            block = places.heading_at(document.upright(place), title)
            if block is not None:
                found.setdefault((block, title), ChapterStart(block, title, level))
    if len(found) < 2 or len(found) < 0.5 * len(document.outline):
        return []
    return sorted(found.values(), key=lambda chapter: (chapter.index, chapter.level))


def by_headings(blocks: Sequence[Block], texts: Sequence[str]) -> list[ChapterStart]:
    """Chapters by the words of headings (Chapter 1), otherwise by size."""
    is_heading = [block.kind is ParagraphKind.HEADING for block in blocks]
    as_text = [
        TextBlock((text,), ParagraphKind.TEXT, 2) if heading else TextBlock((text,), block.kind, 1)
        for block, text, heading in zip(blocks, texts, is_heading, strict=True)
    ]
    chapters = list(outline(as_text).chapters)
    sized = _by_size(blocks, texts)
    least = 0.5 * min(len(chapters), len(sized) or 1)
    if len(chapters) >= 2 and sum(is_heading[chapter.index] for chapter in chapters) >= least:
        return chapters
    return sized if len(sized) >= 2 else chapters


def _by_size(blocks: Sequence[Block], texts: Sequence[str]) -> list[ChapterStart]:
    headings = [
        (index, (round(block.lines[0].size), block.lines[0].runs[0].font.is_bold))
        for index, block in enumerate(blocks)
        if block.kind is ParagraphKind.HEADING
    ]
    sizes = sorted({rank for _, rank in headings}, reverse=True)
    named = [
        HeadingParagraph(index, texts[index], sizes.index(rank) + 1)
        for index, rank in headings
        if any(map(str.isalnum, texts[index]))
    ]
    return list(find_chapters(named, "", ()))


_FRESH_COPY = "Get a fresh copy of the file."
_MORE_MEMORY = "Close other programs, or allow this one more (`ulimit -v`)."
_SCAN_LETTERS_PER_PAGE = 10  # With fewer, pages are pictures
_UNREADABLE_SHARE = 0.3
_FEWEST_LETTERS = 500
_LEAST_VOWELS = 0.22  # Languages in Latin letters have at least a third
_SAME_GUTTER_POINTS = 8
_FILE_NAME = re.compile(
    r"\.(?:docx?|dvi|tex|indd|qxd|pdf|rtf|odt|txt|fm|p65)\W*$|^(?:untitled|microsoft word\b)",
    re.IGNORECASE,
)
_PLACE = re.compile(r"#(\d+):(None|-?[\d.]+(?:e-?\d+)?):(None|-?[\d.]+(?:e-?\d+)?)")
_AUTHORS_APART = re.compile(r"\s*;\s*|\s*&\s*|\s+and\s+")


def read_pdf(stream: BinaryIO, name: str, cancelled: Callable[[], bool] = lambda: False) -> Book:
    """The book in a seekable stream; `name` is used in messages, `cancelled` is polled.

    Raises BookError.
    """
    try:
        document = read_document(stream, cancelled)
    except BookError as error:
        raise BookError(f"{name} {error.message}", error.hint) from error
    except MemoryError as error:
        raise BookError(f"There is not enough memory to read {name}.", _MORE_MEMORY) from error
    except OSError as error:
        raise BookError(
            f"{name} cannot be read: it is damaged or not a PDF.", _FRESH_COPY
        ) from error
    return _build(document, name)


def _build(document: PdfDocument, name: str) -> Book:
    pages, notices = document.pages, _notices(document)
    letters = sum(len(run.text.strip()) for page in pages for run in page.runs)
    is_scanned = sum(page.has_pictures for page in pages) >= 0.5 * len(pages)
    if is_scanned and letters < _SCAN_LETTERS_PER_PAGE * max(1, len(pages)):
        raise _no_text_error(document, name)
    if not _is_readable(pages):
        readable = {page.number for page in pages if _is_readable([page])}
        gone = [page.number for page in pages if page.number not in readable]
        pages = [page for page in pages if page.number in readable]
        letters = len(_text(pages))
        if letters < _FEWEST_LETTERS:
            raise BookError(
                f"{name} does not say which characters its fonts display, so its text cannot be "
                "extracted.",
                "Optical character recognition (OCR) can make a copy whose text can.",
            )
        were = "was" if len(gone) == 1 else "were"
        notices.append(
            f"{_page_list(gone)} {were} left out: the fonts do not say which characters they "
            "display."
        )
    if not letters:
        raise _no_text_error(document, name)
    pages = without_line_numbers(pages)
    page_rows = [rows(page) for page in pages]
    guessed = sum(page.guessed for page in pages)
    vowels = _share_of_vowels(
        "".join(line.text for rows_of_page in page_rows for line in rows_of_page)
    )
    gutters = [find_gutter(page) for page in pages]
    usual = _usual_gutter(gutters)
    found = [
        column
        for page, gutter, dropped in zip(pages, gutters, find_furniture(page_rows), strict=True)
        for column in columns(page, None if gutter is not None else usual, dropped)
    ]
    layout = measure_layout(found)
    paragraphs = split_into_blocks(found, layout)
    parts = [part for column in found for line in column.lines for part in line.parts]
    words = WordCounts(part.text for part in parts)
    notices += left_out_notices(sum((page.left_out for page in pages), Counter()))
    small = (part.text for part in parts if part.size < READING_RATIO * layout.size)
    if readings := sum(
        len(text.replace(" ", ""))
        for text in small
        if re.compile("[\u3041-\u30ff ]+").fullmatch(text)
    ):
        notices.append(
            f"{readings:,} characters of readings (ruby) stand behind their lines, not behind "
            "their words."
        )
    if guessed:
        notices.append(
            f"{guessed:,} letters may be misread: their fonts do not say which they are."
        )
    elif vowels is not None and vowels < _LEAST_VOWELS and letters > _FEWEST_LETTERS:
        notices.append("Most words look misread: the fonts of the file may name the wrong letters.")
    return _assemble(document, paragraphs, layout, words, name, tuple(notices))


def _text(pages: Sequence[PdfPage]) -> str:
    return "".join(run.text for page in pages for run in page.runs)


def _is_readable(pages: Sequence[PdfPage]) -> bool:
    """Whether the fonts of these pages say which characters they display."""
    text = _text(pages)
    # TeX's bitmap fonts do not name their letters, but encode them as ASCII.
    is_code = sum(page.guessed for page in pages) > _UNREADABLE_SHARE * len(text)
    is_nameless = sum(page.nameless for page in pages) > _UNREADABLE_SHARE * len(text)
    return not (is_nameless or (is_code and (_share_of_vowels(text) or 0) < _LEAST_VOWELS))


def _usual_gutter(gutters: Sequence[float | None]) -> float | None:
    """The position between columns on many pages; None if they share none."""
    found = [x for x in gutters if x is not None]
    common = Counter(round(x / _SAME_GUTTER_POINTS) for x in found).most_common(1)
    if not common or common[0][1] <= 0.3 * len(gutters):
        return None
    near = sorted(x for x in found if round(x / _SAME_GUTTER_POINTS) == common[0][0])
    return near[len(near) // 2]


def _share_of_vowels(text: str) -> float | None:
    """Share of vowels among Latin letters; None if less than half of the text is Latin."""
    letters = re.compile("[a-z]").findall(text.lower())
    vowels = sum(letter in "aeiouy" for letter in letters)
    return vowels / len(letters) if 2 * len(letters) > len(text) else None


def _no_text_error(document: PdfDocument, name: str) -> BookError:
    if not document.pages:
        return BookError(f"{name} cannot be read: all of its pages are damaged.", _FRESH_COPY)
    if any(page.has_pictures for page in document.pages):
        return BookError(
            f"{name} contains only pictures of pages, no text.",
            "Optical character recognition (OCR) can make a copy with text; gistread reads that.",
        )
    return BookError(f"{name} contains no text.")


def _assemble(
    document: PdfDocument,
    paragraphs: list[Block],
    layout: PageLayout,
    words: WordCounts,
    name: str,
    notices: tuple[str, ...],
) -> Book:
    texts = [plain_text_of(block, words) for block in paragraphs]
    places = PositionIndex(paragraphs)
    starts = by_paragraph(by_outline(document, places) or by_headings(paragraphs, texts))
    areas = {page.number: page.areas for page in document.pages if page.areas}
    notes = _NoteIndex(paragraphs)
    builder = BookBuilder()
    bounds: dict[int, tuple[int, int]] = {}
    level = 1
    for index, block in enumerate(paragraphs):
        own_starts = starts.get(index, ())
        for chapter in own_starts:
            level = chapter.level
            builder.chapter(chapter.title, level)
        own_areas = [
            area for page in {line.page for line in block.lines} for area in areas.get(page, ())
        ]
        text, marks = marked_text(block, layout, words, own_areas, notes.href)
        start = builder.next_start
        kind = ParagraphKind.HEADING if own_starts and len(texts[index]) < 200 else block.kind
        if builder.add(
            text,
            kind,
            level if kind is ParagraphKind.HEADING else 0,
            lines=block.keeps_lines,
            marks=marks,
        ):
            bounds[index] = start, builder.characters
    if not builder.characters:
        raise _no_text_error(document, name)

    def resolve(mark: InlineMark) -> LinkTarget | None:
        if mark.is_note:
            return LinkTarget(*bounds[int(mark.href)]) if int(mark.href) in bounds else None
        place = _PLACE.fullmatch(mark.href)
        if place is None:
            return None
        x, y = (None if number == "None" else float(number) for number in place.groups()[1:])
        index = places.block_at(document.upright(PagePosition(int(place[1]), x, y)))
        return LinkTarget(bounds[index][0]) if index in bounds else None

    return builder.build(
        title=_title(document, paragraphs, texts) or PurePath(name).stem,
        authors=tuple(filter(str.strip, _AUTHORS_APART.split(document.metadata.get("Author", "")))),
        language=document.language.strip("\0 "),
        source_format="pdf",
        notices=notices,
        resolve=resolve,
    )


class _NoteIndex:
    def __init__(self, paragraphs: Sequence[Block]) -> None:
        found: dict[tuple[int, str], list[int]] = {}
        for index, block in enumerate(paragraphs):
            if block.kind is ParagraphKind.NOTE and block.label:
                found.setdefault((block.lines[0].page, block.label), []).append(index)
        self._notes = {key: indices[0] for key, indices in found.items() if len(indices) == 1}
        self._first_lines = {paragraphs[index].lines[0] for index in self._notes.values()}

    def href(self, line: TextLine, run: TextRun) -> str:
        if line in self._first_lines and run is line.runs[0]:
            return ""
        index = self._notes.get((line.page, run.text.strip()))
        return "" if index is None else str(index)


def _title(document: PdfDocument, paragraphs: Sequence[Block], texts: Sequence[str]) -> str:
    title = clean_line(document.metadata.get("Title", ""))
    if title and not _FILE_NAME.search(title) and any(map(str.isalpha, title)):
        return title
    first_page = paragraphs[0].lines[0].page if paragraphs else 0
    headings = [
        (block.lines[0].size, -index)
        for index, block in enumerate(paragraphs[:20])
        if block.kind is ParagraphKind.HEADING and block.lines[0].page <= first_page + 1
    ]
    return texts[-max(headings)[1]] if headings else ""


def _notices(document: PdfDocument) -> list[str]:
    notices = []
    if document.unread:
        were = "was" if len(set(document.unread)) == 1 else "were"
        notices.append(f"{_page_list(document.unread)} could not be read and {were} left out.")
    empty = [page.number for page in document.pages if not page.runs and page.has_pictures]
    if empty:
        have = "is a picture" if len(empty) == 1 else "are pictures"
        notices.append(f"{_page_list(empty)} {have} without text.")
    return notices


def _page_list(numbers: Sequence[int]) -> str:
    runs = ranges(numbers)
    named = ", ".join(str(a + 1) if a == b else f"{a + 1}–{b + 1}" for a, b in runs[:8])
    more = " and others" if len(runs) > 8 else ""
    return f"{'Page' if len(set(numbers)) == 1 else 'Pages'} {named}{more}"
