"""Reads a PDF page from PDFium.

Characters with their places, lines in any direction, links, comments and strings.
"""

import ctypes
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unicodedata import combining, normalize

import pypdfium2.raw as pdfium

from gistread.book.formats.pdf.pages import EAST_ASIAN, RIGHT_TO_LEFT, rotate_box

_MOST_CHARACTERS = 400_000  # Per page
_FONT_NAME_BYTES = 512

_Box = tuple[float, float, float, float]  # Left, bottom, right, top


class PageCharacters:
    """The text of one page, with buffers for PDFium's results."""

    def __init__(self, page: Any, text: Any) -> None:
        self.text = text
        count = pdfium.FPDFText_CountChars(text)
        self.count = min(count, _MOST_CHARACTERS)
        self.cut = max(0, count - self.count)  # Characters beyond the limit
        self.guessed = 0  # Characters that their font does not identify
        self.characters = self._characters()
        self.inserted: dict[int, str] = {}  # By index of the character before
        self._box = tuple(ctypes.c_double() for _ in range(4))
        self._origin = (ctypes.c_double(), ctypes.c_double())
        self._area = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._own_matrix = pdfium.FS_MATRIX()
        objects = (
            pdfium.FPDFPage_GetObject(page, index)
            for index in range(pdfium.FPDFPage_CountObjects(page))
        )
        self._has_forms = any(
            pdfium.FPDFPageObj_GetType(each) == pdfium.FPDF_PAGEOBJ_FORM for each in objects
        )
        self._name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
        self._flags = ctypes.c_int()

    def _characters(self) -> str:
        """One character for each of PDFium's, so that indices agree."""
        if self.count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (self.count + 1))()
        written = pdfium.FPDFText_GetText(self.text, 0, self.count, buffer)
        text = bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "surrogatepass")
        if len(text) == self.count:
            return name_tex_ligatures(text)
        codes = (pdfium.FPDFText_GetUnicode(self.text, index) for index in range(self.count))
        return "".join(chr(code) if 0 < code < 0x110000 else " " for code in codes)

    def note_guess(self, start: int, stop: int) -> None:
        """Count characters of one font as guessed if PDFium cannot map the first to Unicode."""
        if pdfium.FPDFText_HasUnicodeMapError(self.text, start) == 1:
            self.guessed += stop - start

    def text_object(self, index: int) -> int:
        return _address(pdfium.FPDFText_GetTextObject(self.text, index))

    def is_visible(self, index: int) -> bool:
        """Whether a character is drawn, unlike the text layer of a scan."""
        drawn = pdfium.FPDFText_GetTextObject(self.text, index)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(drawn)
        return bool(mode != pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)

    def font_object(self, index: int) -> int:
        return _address(pdfium.FPDFTextObj_GetFont(pdfium.FPDFText_GetTextObject(self.text, index)))

    def box(self, index: int) -> _Box:
        left, right, bottom, top = self._box
        pdfium.FPDFText_GetCharBox(self.text, index, left, right, bottom, top)
        return self._on_page(index, (left.value, bottom.value, right.value, top.value))

    def advance(self, index: int, turn: int) -> tuple[float, float]:
        """Where a character and the next one start along the line."""
        area = self._area
        pdfium.FPDFText_GetLooseCharBox(self.text, index, area)
        return rotate_box(
            self._on_page(index, (area.left, area.bottom, area.right, area.top)), turn
        )[0::2]

    def replace(self, changed: Mapping[int, str]) -> None:
        """Replace characters by their indices."""
        characters = list(self.characters)
        for index, character in changed.items():
            characters[index] = character
        self.characters = "".join(characters)

    def origin(self, index: int) -> tuple[float, float]:
        x, y = self._reported_origin(index)
        return self._on_page(index, (x, y, x, y))[:2]

    def _reported_origin(self, index: int) -> tuple[float, float]:
        pdfium.FPDFText_GetCharOrigin(self.text, index, *self._origin)
        return self._origin[0].value, self._origin[1].value

    def _on_page(self, index: int, box: _Box) -> _Box:
        """The box of a character on the page.

        With /ActualText in a form, PDFium gives it in the form's frame.
        """
        if not self._has_forms:
            return box
        page, form = self._matrix, self._own_matrix
        pdfium.FPDFText_GetMatrix(self.text, index, page)
        pdfium.FPDFPageObj_GetMatrix(pdfium.FPDFText_GetTextObject(self.text, index), form)
        x, y = self._reported_origin(index)
        is_in_form = math.hypot(x - form.e, y - form.f) < 0.01 < math.hypot(x - page.e, y - page.f)
        scale = form.a * form.d - form.b * form.c
        if not (is_in_form and scale):
            return box
        corners = []
        for x, y in (box[:2], box[2:]):
            x, y = x - form.e, y - form.f
            along, up = (form.d * x - form.c * y) / scale, (form.a * y - form.b * x) / scale
            corners.append(
                (page.a * along + page.c * up + page.e, page.b * along + page.d * up + page.f)
            )
        (x1, y1), (x2, y2) = corners
        return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)

    def size_and_turn(self, index: int) -> tuple[float, int]:
        matrix = self._matrix
        pdfium.FPDFText_GetMatrix(self.text, index, matrix)
        size = pdfium.FPDFText_GetFontSize(self.text, index) * math.hypot(matrix.c, matrix.d)
        angle = math.degrees(math.atan2(matrix.b, matrix.a))
        quarters = round(angle / 90)
        return abs(size), quarters % 4 if abs(angle - quarters * 90) < 3 else -1

    def scale_and_turn(self, index: int) -> tuple[float, int]:
        """Points per em along the line, and the turn."""
        size, turn = self.size_and_turn(index)
        stretch = math.hypot(self._matrix.a, self._matrix.b) / (
            math.hypot(self._matrix.c, self._matrix.d) or 1
        )
        return size * stretch, turn

    def font(self, index: int) -> tuple[bytes, int, int]:
        """Name, descriptor flags, weight."""
        written = pdfium.FPDFText_GetFontInfo(
            self.text, index, self._name, _FONT_NAME_BYTES, self._flags
        )
        name = self._name.raw[: max(0, min(written, _FONT_NAME_BYTES) - 1)]
        return name, self._flags.value, pdfium.FPDFText_GetFontWeight(self.text, index)


def _address(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


_LEFT_TO_RIGHT = re.compile(r"[^\W\u0590-\u08ff](?:[^\u0590-\u08ff]*[^\W\u0590-\u08ff])?")
_PRESENTATION_FORM = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]")
_MIRRORED_BRACKETS = str.maketrans("()[]{}«»", ")(][}{»«")
_LEAST_SPACE_EMS = 0.12
_LEAST_SHARE = 0.7
_DOWNWARD = 3

# Text, (left, baseline, right) in the frame of its turn, turn in quarters.
WholeLine = tuple[str, tuple[float, float, float], int]


def right_to_left_line(
    page: PageCharacters, line: re.Match[str], size: float, turn: int
) -> WholeLine | None:
    """A line of mostly Hebrew or Arabic letters, in the order of speech; None for other lines.

    PDFium reverses only some words of such lines, so the positions of the letters decide.
    """
    if turn < 0 or len(RIGHT_TO_LEFT.findall(line[0])) <= len(line[0]) / 3:
        return None
    # The letters of one ligature share a position; PDFium lists them backwards.
    indices = [
        index
        for index in range(line.end() - 1, line.start() - 1, -1)
        if page.characters[index].isprintable()
    ]
    letters = [_Letter(page.characters[index], *page.advance(index, turn)) for index in indices]
    bases = [each for each in letters if not each.text.isspace() and not combining(each.text)]
    bases.sort(key=lambda base: -base.middle)
    if not bases:
        return None
    for mark in letters:
        if combining(mark.text):
            min(bases, key=lambda base: abs(base.middle - mark.middle)).text += mark.text
    gaps = (before.left - after.right for before, after in pairwise(bases))
    spaces = ["", *(" " if gap > _LEAST_SPACE_EMS * size else "" for gap in gaps)]
    joined = "".join(space + base.text for space, base in zip(spaces, bases, strict=True))
    text = _LEFT_TO_RIGHT.sub(lambda found: found[0][::-1], joined)
    first = re.compile(r"[][(){}«»]").search(text)
    if first and first[0] in ")]}»":  # Printed as the mirrored sign
        text = text.translate(_MIRRORED_BRACKETS)
    x, y = page.origin(line.start())
    baseline = rotate_box((x, y, x, y), turn)[1]
    text = _PRESENTATION_FORM.sub(lambda found: normalize("NFKC", found[0]), text)
    return text, (min(base.left for base in bases), baseline, bases[0].right), turn


@dataclass(slots=True)
class _Letter:
    text: str
    left: float
    right: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def vertical_line(page: PageCharacters, line: re.Match[str]) -> WholeLine | None:
    """A vertical line of East Asian letters, turned on its side; None for other lines."""
    letters = [index for index in range(*line.span()) if not page.characters[index].isspace()]
    if len(letters) < 2 or not EAST_ASIAN.search(line[0]):
        return None
    boxes = [rotate_box(page.box(index), _DOWNWARD) for index in letters]
    heights = [top - bottom for _, bottom, _, top in boxes]
    below = sum(
        after[0] > before[2] - 1 and abs(after[1] + after[3] - before[1] - before[3]) < max(heights)
        for before, after in pairwise(boxes)
    )
    if below < _LEAST_SHARE * (len(letters) - 1):
        return None
    text = "".join(page.characters[index] for index in letters)
    return text, (boxes[0][0], min(bottom for _, bottom, *_ in boxes), boxes[-1][2]), _DOWNWARD


_MOST_ANNOTATIONS = 2_000  # Per page
_EMPTY_STRING_BYTES = 2  # Its terminator

# Form fields, typed text and stamps, which are part of the page.
DRAWN_KINDS = frozenset(
    (pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP)
)
COMMENT_KINDS = (
    pdfium.FPDF_ANNOT_TEXT,
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
    pdfium.FPDF_ANNOT_CARET,
    pdfium.FPDF_ANNOT_INK,
)


def annotation_kinds(page: Any) -> Iterator[int]:
    """The kinds of a page's annotations, without empty comments."""
    for index in range(min(_MOST_ANNOTATIONS, pdfium.FPDFPage_GetAnnotCount(page.raw))):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        length = pdfium.FPDFAnnot_GetStringValue(annotation, b"Contents", None, 0)
        if kind not in COMMENT_KINDS or length > _EMPTY_STRING_BYTES:
            yield kind
        pdfium.FPDFPage_CloseAnnot(annotation)


def utf16_text(get: Callable[[Any, int], int]) -> str:
    """A string that PDFium's `get(buffer, size)` writes; broken characters become U+FFFD."""
    size = min(get(None, 0), 2**16)
    if size <= _EMPTY_STRING_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(size)
    get(buffer, size)
    return buffer.raw[: size - _EMPTY_STRING_BYTES].decode("utf-16-le", "replace")


def links_of(document: Any, page: Any) -> Iterator[list[Any]]:
    """[left, bottom, right, top, target] of each link; the target is a URL or [page, x, y]."""
    link = pdfium.FPDF_LINK()
    position = ctypes.c_int()
    for _ in range(_MOST_ANNOTATIONS):
        if not pdfium.FPDFLink_Enumerate(page.raw, position, link):
            return
        box = pdfium.FS_RECTF()
        if not pdfium.FPDFLink_GetAnnotRect(link, box):
            continue
        target = _target(document, link)
        if target:
            yield [*(round(side, 2) for side in (box.left, box.bottom, box.right, box.top)), target]


def _target(document: Any, link: Any) -> str | list[Any] | None:
    destination = pdfium.FPDFLink_GetDest(document.raw, link)
    if not destination:
        action = pdfium.FPDFLink_GetAction(link)
        kind = pdfium.FPDFAction_GetType(action) if action else None
        if kind == pdfium.PDFACTION_URI:
            buffer = ctypes.create_string_buffer(2048)
            written = pdfium.FPDFAction_GetURIPath(document.raw, action, buffer, 2048)
            return buffer.raw[: max(0, min(written, 2048) - 1)].decode("utf-8", "replace")
        if kind == pdfium.PDFACTION_GOTO:
            destination = pdfium.FPDFAction_GetDest(document.raw, action)
        else:
            destination = None
    return place_of(document, destination) if destination else None


def place_of(document: Any, destination: Any) -> list[Any] | None:
    """[page, x, y] of a destination; None for unset coordinates."""
    page = pdfium.FPDFDest_GetDestPageIndex(document.raw, destination)
    if page < 0:
        return None
    has_x, has_y, has_zoom = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    x, y, zoom = ctypes.c_float(), ctypes.c_float(), ctypes.c_float()
    if pdfium.FPDFDest_GetLocationInPage(destination, has_x, has_y, has_zoom, x, y, zoom):
        return [
            page,
            round(x.value, 2) if has_x.value else None,
            round(y.value, 2) if has_y.value else None,
        ]
    # The view of a "fit width" destination has its y.
    count, numbers = ctypes.c_ulong(), (ctypes.c_float * 4)()
    view = pdfium.FPDFDest_GetView(destination, count, numbers)
    fits_width = view in (pdfium.PDFDEST_VIEW_FITH, pdfium.PDFDEST_VIEW_FITBH) and count.value >= 1
    return [page, None, round(numbers[0], 2) if fits_width else None]


LIGATURE_WIDTH_RATIO = 1.25  # Width of a ligature glyph relative to the narrowest f of its font

_AFTER_FL = frozenset("aouiyäöüáàâóòôúùûæœø")


def lost_letter(text: str, place: int) -> str:
    """The letter that a ligature lost after the f at `place`."""
    following = text[place + 1 : place + 3].casefold()
    begins_word = not text[place - 1 : place].isalpha()
    # fl precedes vowels, fi nearly all else: reflect, flee, flex, flesh, fled, but modifies,
    # modified.
    before_e = following in ("ec", "ee", "ex") or (begins_word and following in ("ed", "es"))
    return "l" if following[:1] in _AFTER_FL or before_e else "i"


# TeX's fonts have ligatures at the codes of control characters; bitmap fonts do not name them.
_TEX_LIGATURES = {
    start + index: ligature
    for start in (0x0B, 0x1B)
    for index, ligature in enumerate("\ufb00\ufb01\ufb02\ufb03\ufb04")
}
_CORK_PUNCTUATION = dict(enumerate("“”„«»–—", 0x10))
_OTHER_CONTROLS = re.compile("[\x01\x03-\x08]")


def name_tex_ligatures(text: str) -> str:
    """Replace control characters by the ligatures of TeX's fonts, each a single character."""
    if text.isprintable() or _OTHER_CONTROLS.search(text):
        return text
    is_cork = any("\x1b" <= character <= "\x1f" for character in text)
    named = text.translate(_TEX_LIGATURES | _CORK_PUNCTUATION if is_cork else _TEX_LIGATURES)
    return named.replace("\ufb02\n", "\r\n")


_COMBINING = dict(
    zip(
        "`´¨ˆ˜¯˘˙ˇ¸˚˝",
        "\u0300\u0301\u0308\u0302\u0303\u0304\u0306\u0307\u030c\u0327\u030a\u030b",
        strict=True,
    )
)


def composed(letter: str, accent: str) -> str:
    """The letter with the accent as one character; empty if Unicode has none."""
    base = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    both = unicodedata.normalize("NFC", base + _COMBINING[accent])
    return both if len(both) == 1 and letter.isalpha() else ""
