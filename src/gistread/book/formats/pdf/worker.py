"""The PDFium process: reads a PDF on standard input, writes JSON lines: the document's record, then
one per page.

PDFium is C++ and reads untrusted files: here it may crash, hang or use up memory without harm (see
`process.py`).

A run is `[text, left, right, baseline, size, font, turn]`: words in one font on one baseline.
Positions are points from the lower left corner, in a frame turned by `turn` quarters so that text
runs left to right; -1 is any other angle. A run may end with `HYPHEN`, or with a space if white
space follows.
"""

import ctypes
import io
import re
import string
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import groupby, islice, pairwise
from statistics import median
from typing import Any, BinaryIO

import orjson
import pypdfium2
import pypdfium2.raw as pdfium

from gistread.book.formats.pdf.characters import (
    COMMENT_KINDS,
    DRAWN_KINDS,
    LIGATURE_WIDTH_RATIO,
    PageCharacters,
    annotation_kinds,
    composed,
    links_of,
    lost_letter,
    place_of,
    right_to_left_line,
    utf16_text,
    vertical_line,
)
from gistread.book.formats.pdf.layers import RunRecord, drawn_once
from gistread.book.formats.pdf.pages import HYPHEN, rotate_box
from gistread.system import limit_memory

_LINE = re.compile(r"[^\r\n\ufffe\x02]+[\ufffe\x02]?")
_WORD = re.compile(r"\S+")
_LAST_HYPHEN = re.compile("\u00ad?[\u00ad\u2010]$")
_ACCENT = re.compile("[`´¨ˆ˜¯˘˙ˇ¸˚˝]")
_DROPPED = "\0"  # Replaces a character merged into another one, so that indices stay valid
_BLANK = string.whitespace + _DROPPED
# Characters without a meaning or a shape, to which some fonts map all their letters; hyphenation
# uses a few.
_NAMELESS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060\udb80-\udbff\ue000-\uf8ff\ufdd0-\ufdef\ufeff\ufffd-\uffff]"
)
_NEAR_CHARACTERS = 120  # An accent on a capital may follow its line
_LEAST_SPACE_EMS = 0.1
_LOW_LETTERS = frozenset("acemnorsuvwxz")
_DISTILLED = re.compile(
    "Ghostscript|Distiller"
)  # From PostScript, where some spaces are only distances
_MOST_ENTRIES = 20_000
_WIDE_GAP_EMS = 1.3
_CLOSE_EMS = 0.55  # Average advance of running text, spaces included, is less
_METADATA = ("Title", "Author")


def read(stream: BinaryIO, first_page: int) -> Iterator[dict[str, Any]]:
    """The document's record, then the records of pages from `first_page` on."""
    try:
        document = pypdfium2.PdfDocument(stream)
    except pypdfium2.PdfiumError as error:
        locked = getattr(error, "err_code", None) in (
            pdfium.FPDF_ERR_PASSWORD,
            pdfium.FPDF_ERR_SECURITY,
        )
        yield {"error": "locked" if locked else "damaged"}
        return
    if document.get_formtype():
        document.init_forms()  # Draws form values without an appearance
    yield {
        "pages": len(document),
        "metadata": {key: _metadata(document, key) for key in _METADATA},
        "language": utf16_text(
            lambda buffer, size: pdfium.FPDFCatalog_GetLanguage(
                document.raw, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size
            )
        ),
        "outline": list(_outline(document)),
    }
    fonts: dict[tuple[bytes, int, int], int] = {}
    narrow_f: dict[int, float] = {}
    lines_to_try = sys.maxsize if _DISTILLED.search(_metadata(document, "Producer")) else 12
    for number in range(first_page, len(document)):
        known = len(fonts)
        try:
            page = document[number]
            links = list(links_of(document, page))
            kinds = Counter(annotation_kinds(page))
            if kinds.keys() & DRAWN_KINDS and pdfium.FPDFPage_Flatten(
                page.raw, pdfium.FLAT_NORMALDISPLAY
            ):
                page.close()
                page = document[number]
        except pypdfium2.PdfiumError:
            yield {"page": number, "error": "damaged"}
            continue
        text = page.get_textpage()
        characters = PageCharacters(page.raw, text.raw)
        nameless = sum(1 for _ in _NAMELESS.finditer(characters.characters))
        _compose_accents(characters)
        _measure_spaces(characters, lines_to_try)
        _find_lost_letters(characters, narrow_f)
        starts: list[int] = []
        every = list(_runs(characters, fonts, starts))
        runs = drawn_once(every, starts, characters.is_visible)
        if len(runs) < 3:
            pictures = page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,), max_depth=2)
        else:
            pictures = ()
        yield {
            "page": number,
            "runs": runs,
            "fonts": [
                [name.decode("utf-8", "replace"), flags, weight]
                for name, flags, weight in list(fonts)[known:]
            ],
            "links": links if runs else [],
            "has_pictures": any(True for _ in pictures),
            "comments": sum(kinds[kind] for kind in COMMENT_KINDS),
            "guessed": characters.guessed,
            "nameless": nameless,
            "cut": characters.cut,
        }
        text.close()
        page.close()


def _runs(
    page: PageCharacters, fonts: dict[tuple[bytes, int, int], int], starts: list[int]
) -> Iterator[RunRecord]:
    """The runs of a page; adds their fonts, and to `starts` the index of their first character."""
    for line in _LINE.finditer(page.characters):
        size, turn = page.size_and_turn(line.start())
        whole = right_to_left_line(page, line, size, turn) or vertical_line(page, line)
        parts = [] if whole else _split_by_object(page, *line.span())
        if whole:
            text, (left, baseline, right), turn = whole
            font = fonts.setdefault(page.font(line.start()), len(fonts))
            page.note_guess(*line.span())
            edges = (round(left, 2), round(right, 2))
            starts.append(line.start())
            yield (text, *edges, round(baseline, 2), round(size, 2), font, turn)
        for start, stop in parts:
            size, turn = page.size_and_turn(start)
            font = fonts.setdefault(page.font(start), len(fonts))
            page.note_guess(start, stop)
            for first, last in _split_at_gaps(page, start, stop, size, turn):
                run = _run(page, first, last, size, font, turn)
                if all(
                    abs(number) < 20_000 for number in run[1:5]
                ):  # PDF allows 14,400; drops NaN as well
                    starts.append(first)
                    yield run


def _find_lost_letters(page: PageCharacters, narrowest: dict[int, float]) -> None:
    """Restore the letter after each f that is much wider than others of its font: an unnamed
    ligature.

    `narrowest`: width in ems of the narrowest f so far, by font. Letters of a named ligature share
    an origin.
    """
    for match in re.finditer("f", page.characters):
        index = match.start()
        near = (other for other in (index - 1, index + 1) if 0 <= other < page.count)
        scale, turn = page.scale_and_turn(index)
        if (
            turn < 0
            or scale <= 0
            or any(page.origin(other) == page.origin(index) for other in near)
        ):
            continue
        left, _, right, _ = rotate_box(page.box(index), turn)
        font, width = page.font_object(index), (right - left) / scale
        narrowest[font] = min(width, narrowest.get(font, width))
        if width >= LIGATURE_WIDTH_RATIO * narrowest[font] and not _is_small_capital(
            page, index, turn
        ):
            page.inserted[index] = lost_letter(page.characters, index)


def _is_small_capital(page: PageCharacters, index: int, turn: int) -> bool:
    """Whether a letter beside this f that is usually lower is as high."""
    near = [
        other
        for other in (index - 1, index + 1)
        if page.characters[other : other + 1] in _LOW_LETTERS
    ]
    heights = [
        top - bottom
        for _, bottom, _, top in (rotate_box(page.box(each), turn) for each in (index, *near))
    ]
    return max(heights[1:], default=0) > 0.85 * heights[0]


def _compose_accents(page: PageCharacters) -> None:
    """Join each accent to the letter below it: old TeX fonts write them separately."""
    changed: dict[int, str] = {}
    for index in [match.start() for match in islice(_ACCENT.finditer(page.characters), 2_000)]:
        left, bottom, right, top = page.box(index)
        middle, height = (left + right) / 2, (bottom + top) / 2
        near = (index + 1, index + 2, *range(index - _NEAR_CHARACTERS, index + _NEAR_CHARACTERS))
        for other in (each for each in near if 0 <= each < page.count and each not in changed):
            letter = composed(page.characters[other], page.characters[index])
            if not letter:
                continue
            start, low, end, high = page.box(other)
            above = (height - (low + high) / 2) / (high - low or 1)
            if start <= middle <= end and (
                -1 < above < 0 if page.characters[index] == "¸" else 0 < above < 1.2
            ):
                changed |= {other: letter, index: _DROPPED}
                break
    page.replace(changed)


def _measure_spaces(page: PageCharacters, lines_to_try: int) -> None:
    """Correct PDFium's spaces by distances, as in files without space characters."""
    dropped: dict[int, str] = {}
    for number, line in enumerate(_LINE.finditer(page.characters)):
        if number == lines_to_try and not page.inserted and not dropped:
            return
        scale, turn = page.scale_and_turn(line.start())
        letters = [
            index for index in range(*line.span()) if page.characters[index] not in (" ", _DROPPED)
        ]
        starts = [rotate_box(2 * page.origin(index), turn)[0] for index in letters]
        gaps = [
            start - page.advance(index, turn)[1]
            for index, start in zip(letters, starts[1:], strict=False)
        ]
        usual, least = median(gaps or [0]), _LEAST_SPACE_EMS * scale
        for (before, after), gap in zip(pairwise(letters), gaps, strict=True):
            wider = gap - max(0, usual)
            if wider > least and after == before + 1:
                page.inserted[before] = " "
            elif -least < wider < 0.7 * least and after == before + 2 and usual > -0.03 * scale:
                dropped[before + 1] = _DROPPED
    page.replace(dropped)


def _split_by_object(page: PageCharacters, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Split a line where another text object starts, by bisection: asking PDFium is slow."""
    text = page.characters[start:stop]
    start, stop = (
        start + len(text) - len(text.lstrip(_BLANK)),
        stop - len(text) + len(text.rstrip(_BLANK)),
    )
    if start >= stop:
        return
    if stop - start == 1 or page.text_object(start) == page.text_object(stop - 1):
        yield start, stop
        return
    middle = (start + stop) // 2
    parts = (*_split_by_object(page, start, middle), *_split_by_object(page, middle, stop))
    for _, same in groupby(parts, key=lambda part: page.text_object(part[0])):
        together = list(same)
        yield together[0][0], together[-1][1]


def _split_at_gaps(
    page: PageCharacters, start: int, stop: int, size: float, turn: int
) -> Iterator[tuple[int, int]]:
    left, right, end = (
        rotate_box(page.box(start), turn)[0],
        rotate_box(page.box(stop - 1), turn)[2],
        stop,
    )
    if right - left <= (stop - start) * size * _CLOSE_EMS:
        yield start, stop
        return
    for match in _WORD.finditer(page.characters, start, stop):
        left = rotate_box(page.box(match.start()), turn)[0]
        if match.start() > start and left - right > _WIDE_GAP_EMS * size:
            yield start, end
            start = match.start()
        end = match.end()
        right = rotate_box(page.box(end - 1), turn)[2]
    yield start, stop


def _run(
    page: PageCharacters, start: int, stop: int, size: float, font: int, turn: int
) -> RunRecord:
    first = rotate_box(page.box(start), turn)
    last = rotate_box(page.box(stop - 1), turn)
    x, y = page.origin(start)
    baseline = rotate_box((x, y, x, y), turn)[1]
    text = page.characters[start:stop]
    if page.inserted:
        text = "".join(
            letter + page.inserted.get(index, "") for index, letter in enumerate(text, start)
        )
    if not text.isascii():  # Two of PDFium's characters may be halves of one
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = " ".join(text.replace(_DROPPED, "").replace("\x02", HYPHEN).split())
    after = page.characters[stop : stop + 1]
    if after in ("", "\r", "\n"):
        text = _LAST_HYPHEN.sub(HYPHEN, text)
    text = text.replace("\u00ad", "")
    if after.isspace():
        text += " "
    return (
        text,
        round(first[0], 2),
        round(max(first[2], last[2]), 2),
        round(baseline, 2),
        round(size, 2),
        font,
        turn,
    )


def _outline(document: Any) -> Iterator[list[Any]]:
    """[title, level from 1, place or None] of each entry."""
    for entry, _ in zip(document.get_toc(max_depth=12), range(_MOST_ENTRIES), strict=False):
        destination = entry.get_dest()
        place = place_of(document, destination.raw) if destination else None
        yield [utf16_text(partial(pdfium.FPDFBookmark_GetTitle, entry.raw)), entry.level + 1, place]


def _metadata(document: Any, key: str) -> str:
    return utf16_text(partial(pdfium.FPDF_GetMetaText, document.raw, key.encode()))


def main(first_page: int, memory_bytes: int) -> None:
    limit_memory(memory_bytes)
    stream = io.BufferedReader(io.FileIO(0, closefd=False))
    stream.seek(0)
    for record in read(stream, first_page):
        sys.stdout.buffer.write(orjson.dumps(record) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
