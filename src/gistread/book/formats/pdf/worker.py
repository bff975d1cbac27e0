"""The PDFium process: reads a PDF on standard input and writes JSON lines to standard output.

The first line is the record of the document, the others one per page. PDFium is C++ and reads
untrusted files: here it may crash, hang or use up memory without harm (see `process.py`).
"""

import ctypes
import io
import re
import string
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice, pairwise
from statistics import median
from typing import Any, BinaryIO

import orjson
import pypdfium2
import pypdfium2.raw as pdfium

from gistread.book.formats.pdf.annotations import (
    COMMENT_KINDS,
    DRAWN_KINDS,
    annotation_kinds,
    links_of,
    place_of,
    utf16_text,
)
from gistread.book.formats.pdf.characters import FontKey, PageCharacters
from gistread.book.formats.pdf.directions import (
    WholeLine,
    right_to_left_line,
    vertical_line,
)
from gistread.book.formats.pdf.layers import drawn_once
from gistread.book.formats.pdf.ligatures import WIDTH_RATIO, composed, lost_letter
from gistread.book.formats.pdf.marks import join_vowels, place_marks
from gistread.book.formats.pdf.pages import (
    HYPHEN,
    Box,
    RunRecord,
    rotate_box,
    rotate_point,
)
from gistread.system import limit_memory

# A line, with PDFium's character for a hyphen at its end
_LINE = re.compile(r"[^\r\n\ufffe\x02]+[\ufffe\x02]?")
_WORD = re.compile(r"\S+")
_LAST_HYPHEN = re.compile("\u00ad?[\u00ad\u2010]$")
_ACCENT = re.compile("[`´¨ˆ˜¯˘˙ˇ¸˚˝]")
_CEDILLA = "¸"
# Replaces a character merged into another one, so that indices stay valid
_DROPPED = "\0"
_BLANK = string.whitespace + _DROPPED
# Characters without a meaning or a shape, to which some fonts map all their letters; hyphenation
# uses a few.
_NAMELESS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060"
    "\udb80-\udbff\ue000-\uf8ff\ufdd0-\ufdef\ufeff\ufffd-\uffff]"
)
_LOW_LETTERS = frozenset("acemnorsuvwxz")
# From PostScript, where some spaces are only distances
_DISTILLED = re.compile("Ghostscript|Distiller")
_METADATA = ("Title", "Author")

_MOST_ENTRIES = 20_000  # Of an outline
_MOST_DEPTH = 12  # Levels of an outline
_FEW_RUNS = 2  # A page with no more may be a picture
_PICTURE_DEPTH = 2  # Forms inside forms that are searched for pictures
_FARTHEST_POINTS = 20_000  # Possible positions of a run; PDF allows 14,400

_MOST_ACCENTS = 2_000  # Of a page
_NEAR_CHARACTERS = 120  # An accent on a capital may follow its line
_MOST_ABOVE = 1.2  # Between the middles of accent and letter, in heights of the letter
# Least height of a small capital, relative to an f
_SMALL_CAPITAL_HEIGHT = 0.85

_LINES_TO_TRY = 12  # Lines that show whether spaces are only distances
_LEAST_SPACE_EMS = 0.1
_NO_SPACE_SHARE = 0.7  # A space narrower than this share of the least space is dropped
_MOST_TIGHTENED_EMS = 0.03  # If letters are set closer, narrow spaces are spaces too
_WIDE_GAP_EMS = 1.3
_CLOSE_EMS = 0.55  # Average advance of running text, spaces included, is less


@dataclass(frozen=True, slots=True)
class _RunSetting:
    """The size, the number of the font and the turn of a run."""

    size: float
    font: int
    turn: int


def read(stream: BinaryIO, first_page: int) -> Iterator[dict[str, Any]]:
    """The document's record, then the records of pages from `first_page` on."""
    try:
        document = pypdfium2.PdfDocument(stream)
    except pypdfium2.PdfiumError as error:
        yield {"error": "locked" if _is_locked(error) else "damaged"}
        return
    if document.get_formtype():
        document.init_forms()  # Draws form values without an appearance
    yield {
        "pages": len(document),
        "metadata": {key: _metadata(document, key) for key in _METADATA},
        "language": utf16_text(partial(_write_language, document)),
        "outline": list(_outline(document)),
    }
    reader = _PageReader(document)
    for number in range(first_page, len(document)):
        yield reader.record(number)


def _is_locked(error: pypdfium2.PdfiumError) -> bool:
    code = getattr(error, "err_code", None)
    return code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)


def _metadata(document: Any, key: str) -> str:
    return utf16_text(partial(pdfium.FPDF_GetMetaText, document.raw, key.encode()))


def _write_language(document: Any, buffer: Any, size: int) -> int:
    characters = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
    return int(pdfium.FPDFCatalog_GetLanguage(document.raw, characters, size))


def _outline(document: Any) -> Iterator[list[Any]]:
    """[title, level from 1, place or None] of each entry."""
    for entry in islice(document.get_toc(max_depth=_MOST_DEPTH), _MOST_ENTRIES):
        title = utf16_text(partial(pdfium.FPDFBookmark_GetTitle, entry.raw))
        destination = entry.get_dest()
        place = place_of(document, destination.raw) if destination else None
        yield [title, entry.level + 1, place]


class _PageReader:
    """Reads pages in order, and remembers their fonts."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._fonts: dict[FontKey, int] = {}
        self._narrowest_f: dict[int, float] = {}  # Width in ems, by font object
        # Elsewhere, the first lines show whether the others lack spaces.
        is_distilled = _DISTILLED.search(_metadata(document, "Producer"))
        self._lines_to_try = sys.maxsize if is_distilled else _LINES_TO_TRY

    def record(self, number: int) -> dict[str, Any]:
        """The record of a page, with the fonts that it is the first to use."""
        known_fonts = len(self._fonts)
        try:
            page = self._document[number]
            links = list(links_of(self._document, page))
            kinds = Counter(annotation_kinds(page))
            has_drawn_text = not DRAWN_KINDS.isdisjoint(kinds)
            if has_drawn_text and _flatten(page):
                # Only a page that is opened anew has the text.
                page.close()
                page = self._document[number]
        except pypdfium2.PdfiumError:
            return {"page": number, "error": "damaged"}
        text = page.get_textpage()
        characters = PageCharacters(page.raw, text.raw)
        # Counted before mending, which replaces some of them.
        nameless = sum(1 for _ in _NAMELESS.finditer(characters.characters))
        self._mend(characters)
        runs = self._distinct_runs(characters)
        record = {
            "page": number,
            "runs": list(map(tuple, runs)),
            "fonts": list(self._font_records(known_fonts)),
            "links": links if runs else [],
            "has_pictures": len(runs) <= _FEW_RUNS and _has_pictures(page),
            "comments": sum(kinds[kind] for kind in COMMENT_KINDS),
            "guessed": characters.guessed,
            "nameless": nameless,
            "cut": characters.cut_count,
        }
        text.close()
        page.close()
        return record

    def _distinct_runs(self, page: PageCharacters) -> Sequence[RunRecord]:
        """The runs of a page; of text that is drawn twice, only one."""
        starts: list[int] = []
        runs: list[RunRecord] = []
        for start, run in self._runs(page):
            starts.append(start)
            runs.append(run)
        return drawn_once(runs, starts, page.is_visible)

    def _font_records(self, first: int) -> Iterator[list[Any]]:
        """[name, flags, weight] of each font from the number `first` on."""
        for font in islice(self._fonts, first, None):
            yield [font.name.decode("utf-8", "replace"), font.flags, font.weight]

    def _mend(self, characters: PageCharacters) -> None:
        """Mend what PDFium misreads: accents, vowel signs, spaces, letters that ligatures lost."""
        _compose_accents(characters)
        join_vowels(characters, _DROPPED)
        place_marks(characters, _DROPPED)
        _measure_spaces(characters, self._lines_to_try)
        _find_lost_letters(characters, self._narrowest_f)

    def _runs(self, page: PageCharacters) -> Iterator[tuple[int, RunRecord]]:
        """The runs of a page, each with the index of its first character."""
        for line in _LINE.finditer(page.characters):
            size, turn = page.size_and_turn(line.start())
            # The text of these lines has to be put in order as a whole.
            whole = right_to_left_line(page, line, size, turn)
            if whole is None:
                whole = vertical_line(page, line)
            if whole is not None:
                font = self._font(page, *line.span())
                yield line.start(), _whole_run(whole, size, font)
            else:
                yield from self._runs_of_line(page, *line.span())

    def _runs_of_line(
        self, page: PageCharacters, line_start: int, line_stop: int
    ) -> Iterator[tuple[int, RunRecord]]:
        for object_start, object_stop in _split_by_object(page, line_start, line_stop):
            size, turn = page.size_and_turn(object_start)
            font = self._font(page, object_start, object_stop)
            setting = _RunSetting(size, font, turn)
            for start, stop in _split_at_gaps(page, object_start, object_stop, setting):
                run = _run(page, start, stop, setting)
                if _is_near_page(run):
                    yield start, run

    def _font(self, page: PageCharacters, start: int, stop: int) -> int:
        """The number of the font of characters."""
        page.note_guess(start, stop)
        return self._fonts.setdefault(page.font(start), len(self._fonts))


def _flatten(page: Any) -> bool:
    """Make form fields and stamps part of the page; False if that fails."""
    return bool(pdfium.FPDFPage_Flatten(page.raw, pdfium.FLAT_NORMALDISPLAY))


def _has_pictures(page: Any) -> bool:
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE,)
    return any(True for _ in page.get_objects(filter=kinds, max_depth=_PICTURE_DEPTH))


def _is_near_page(run: RunRecord) -> bool:
    """Whether the numbers of a run are possible: finite and not huge."""
    numbers = (run.left, run.right, run.baseline, run.size)
    return all(abs(number) < _FARTHEST_POINTS for number in numbers)


def _compose_accents(page: PageCharacters) -> None:
    """Join each accent to the letter below it: old TeX fonts write them separately."""
    changed: dict[int, str] = {}
    for match in islice(_ACCENT.finditer(page.characters), _MOST_ACCENTS):
        accent = match.start()
        near = range(accent - _NEAR_CHARACTERS, accent + _NEAR_CHARACTERS)
        box = page.box(accent)
        is_cedilla = match[0] == _CEDILLA
        # Usually the letter follows at once.
        for index in (accent + 1, accent + 2, *near):
            if not 0 <= index < page.count or index in changed:
                continue
            letter = composed(page.characters[index], match[0])
            if letter and _is_accent_of(box, page.box(index), is_cedilla=is_cedilla):
                changed[index] = letter
                changed[accent] = _DROPPED
                break
    page.replace(changed)


def _is_accent_of(accent: Box, letter: Box, *, is_cedilla: bool) -> bool:
    """Whether an accent is above a letter, or a cedilla below it."""
    middle = (accent.left + accent.right) / 2
    if not letter.left <= middle <= letter.right:
        return False
    distance = (accent.bottom + accent.top) / 2 - (letter.bottom + letter.top) / 2
    distance_in_heights = distance / (letter.top - letter.bottom or 1)
    if is_cedilla:
        return -1 < distance_in_heights < 0
    return 0 < distance_in_heights < _MOST_ABOVE


def _measure_spaces(page: PageCharacters, lines_to_try: int) -> None:
    """Correct PDFium's spaces by distances, as in files without space characters."""
    dropped: dict[int, str] = {}
    for number, line in enumerate(_LINE.finditer(page.characters)):
        if number == lines_to_try and not page.inserted and not dropped:
            # The first lines need no mending: this file writes its spaces.
            return
        _measure_spaces_of_line(page, range(*line.span()), dropped)
    page.replace(dropped)


def _measure_spaces_of_line(
    page: PageCharacters, line: range, dropped: dict[int, str]
) -> None:
    """Insert the spaces that are missing in a line, and enter those of no width in `dropped`."""
    scale, turn = page.scale_and_turn(line.start)
    letters = [index for index in line if page.characters[index] not in (" ", _DROPPED)]
    gaps = _gaps(page, letters, turn)
    usual_gap = median(gaps or [0])
    least_space = _LEAST_SPACE_EMS * scale
    widest_non_space = _NO_SPACE_SHARE * least_space
    is_tight = usual_gap <= -_MOST_TIGHTENED_EMS * scale
    for (before, after), gap in zip(pairwise(letters), gaps, strict=True):
        excess = gap - max(0, usual_gap)
        characters_between = after - before - 1
        is_without_width = -least_space < excess < widest_non_space
        if characters_between == 0 and excess > least_space:
            page.inserted[before] = " "
        elif characters_between == 1 and is_without_width and not is_tight:
            dropped[before + 1] = _DROPPED


def _gaps(page: PageCharacters, letters: list[int], turn: int) -> list[float]:
    """Points between the end of each letter's advance and the next letter."""
    starts = [rotate_point(*page.origin(index), turn)[0] for index in letters]
    ends = (page.advance(index, turn)[1] for index in letters)
    return [start - end for start, end in zip(starts[1:], ends, strict=False)]


def _find_lost_letters(page: PageCharacters, narrowest: dict[int, float]) -> None:
    """Restore the letter after each f that is much wider than others of its font.

    Such an f is an unnamed ligature. `narrowest`: width in ems of the narrowest f so far, by font.
    """
    for match in re.finditer("f", page.characters):
        index = match.start()
        scale, turn = page.scale_and_turn(index)
        if turn < 0 or scale <= 0 or _shares_origin(page, index):
            continue
        box = rotate_box(page.box(index), turn)
        font = page.font_object(index)
        width = (box.right - box.left) / scale
        narrowest[font] = min(width, narrowest.get(font, width))
        is_wide = width >= WIDTH_RATIO * narrowest[font]
        if is_wide and not _is_small_capital(page, index, turn):
            page.inserted[index] = lost_letter(page.characters, index)


def _shares_origin(page: PageCharacters, index: int) -> bool:
    """Whether a character is part of a named ligature, whose letters share an origin."""
    origin = page.origin(index)
    for neighbour in (index - 1, index + 1):
        if 0 <= neighbour < page.count and page.origin(neighbour) == origin:
            return True
    return False


def _is_small_capital(page: PageCharacters, index: int, turn: int) -> bool:
    """Whether a letter beside this f that is usually lower is as high."""
    least_height = _SMALL_CAPITAL_HEIGHT * _height(page, index, turn)
    for neighbour in (index - 1, index + 1):
        is_low_letter = page.characters[neighbour : neighbour + 1] in _LOW_LETTERS
        if is_low_letter and _height(page, neighbour, turn) > least_height:
            return True
    return False


def _height(page: PageCharacters, index: int, turn: int) -> float:
    box = rotate_box(page.box(index), turn)
    return box.top - box.bottom


def _split_by_object(
    page: PageCharacters, start: int, stop: int
) -> Iterator[tuple[int, int]]:
    """Split a line where another text object starts, by bisection: asking PDFium is slow."""
    text = page.characters[start:stop]
    start += len(text) - len(text.lstrip(_BLANK))
    stop -= len(text) - len(text.rstrip(_BLANK))
    if start >= stop:
        return
    if stop - start == 1 or page.text_object(start) == page.text_object(stop - 1):
        yield start, stop
        return
    middle = (start + stop) // 2
    parts = (
        *_split_by_object(page, start, middle),
        *_split_by_object(page, middle, stop),
    )
    # The middle may have cut an object in two.
    for _, group in groupby(parts, key=lambda part: page.text_object(part[0])):
        parts_of_object = list(group)
        first_start, _ = parts_of_object[0]
        _, last_stop = parts_of_object[-1]
        yield first_start, last_stop


def _split_at_gaps(
    page: PageCharacters, start: int, stop: int, setting: _RunSetting
) -> Iterator[tuple[int, int]]:
    """Split the characters of a text object where wide gaps are between its words."""
    turn = setting.turn
    right = rotate_box(page.box(stop - 1), turn).right
    width = right - rotate_box(page.box(start), turn).left
    if width <= (stop - start) * setting.size * _CLOSE_EMS:
        # Too narrow for a wide gap; measuring each word takes long.
        yield start, stop
        return
    word_end = stop
    for word in _WORD.finditer(page.characters, start, stop):
        left = rotate_box(page.box(word.start()), turn).left
        if word.start() > start and left - right > _WIDE_GAP_EMS * setting.size:
            yield start, word_end
            start = word.start()
        word_end = word.end()
        right = rotate_box(page.box(word_end - 1), turn).right
    yield start, stop


def _run(
    page: PageCharacters, start: int, stop: int, setting: _RunSetting
) -> RunRecord:
    turn = setting.turn
    first = rotate_box(page.box(start), turn)
    last = rotate_box(page.box(stop - 1), turn)
    _, baseline = rotate_point(*page.origin(start), turn)
    return RunRecord(
        text=_run_text(page, start, stop),
        left=round(first.left, 2),
        right=round(max(first.right, last.right), 2),
        baseline=round(baseline, 2),
        size=round(setting.size, 2),
        font=setting.font,
        turn=turn,
    )


def _run_text(page: PageCharacters, start: int, stop: int) -> str:
    """The text of characters, with one space for white space, also after it."""
    text = page.characters[start:stop]
    if page.inserted or page.moved:
        text = "".join(
            letter + page.moved.get(index, "") + page.inserted.get(index, "")
            for index, letter in enumerate(text, start)
        )
    if not text.isascii():
        # Two of PDFium's characters may be halves of one.
        in_utf16 = text.encode("utf-16-le", "surrogatepass")
        text = in_utf16.decode("utf-16-le", "replace")
    text = text.replace(_DROPPED, "").replace("\x02", HYPHEN)
    text = " ".join(text.split())
    after = page.characters[stop : stop + 1]
    is_at_line_end = after in ("", "\r", "\n")
    if is_at_line_end:
        text = _LAST_HYPHEN.sub(HYPHEN, text)
    # Other soft hyphens are invisible.
    text = text.replace("\u00ad", "")
    return f"{text} " if after.isspace() else text


def _whole_run(line: WholeLine, size: float, font: int) -> RunRecord:
    return RunRecord(
        text=line.text,
        left=round(line.left, 2),
        right=round(line.right, 2),
        baseline=round(line.baseline, 2),
        size=round(size, 2),
        font=font,
        turn=line.turn,
    )


def main(first_page: int, memory_bytes: int) -> None:
    """Write the records of a PDF on standard input."""
    limit_memory(memory_bytes)
    stream = io.BufferedReader(io.FileIO(0, closefd=False))
    # An earlier worker may have read the same open file.
    stream.seek(0)
    for record in read(stream, first_page):
        sys.stdout.buffer.write(orjson.dumps(record) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
