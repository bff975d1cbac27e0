"""Reads the characters of a PDF page, with their places, from PDFium."""

import ctypes
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

from gistread.book.formats.pdf.ligatures import name_tex_ligatures
from gistread.book.formats.pdf.pages import Box, rotate_box

_MOST_CHARACTERS = 400_000  # Per page
_END_OF_UNICODE = 0x110000
_FONT_NAME_BYTES = 512
_SAME_ORIGIN_POINTS = 0.01
_QUARTER_DEGREES = 90
_QUARTERS = 4
_MOST_SLANT_DEGREES = 3  # Of a line that counts as turned by a right angle


class FontKey(NamedTuple):
    """What a page states about a font."""

    name: bytes
    flags: int  # Of its descriptor
    weight: int


class PageCharacters:
    """The text of one page. Has buffers for PDFium's results, which are used again and again."""

    def __init__(self, page: Any, text: Any) -> None:
        """`page`, `text`: PDFium's handles of the page and of its text."""
        self.text = text
        count = pdfium.FPDFText_CountChars(text)
        self.count = min(count, _MOST_CHARACTERS)
        self.cut_count = max(0, count - self.count)  # Characters beyond the limit
        self.guessed = 0  # Characters that their font does not identify
        self.characters = self._characters()
        # By the index of the character before: text to insert, and marks from elsewhere.
        self.inserted: dict[int, str] = {}
        self.moved: dict[int, str] = {}
        self._box = tuple(ctypes.c_double() for _ in Box._fields)
        self._origin = (ctypes.c_double(), ctypes.c_double())
        self._area = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._own_matrix = pdfium.FS_MATRIX()
        self._has_forms = _has_forms(page)
        self._name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
        self._flags = ctypes.c_int()

    def _characters(self) -> str:
        """One character for each of PDFium's, so that indices agree."""
        if self.count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (self.count + 1))()
        written = pdfium.FPDFText_GetText(self.text, 0, self.count, buffer)
        without_terminator = max(0, written - 1)
        encoded = bytes(buffer)[: 2 * without_terminator]
        text = encoded.decode("utf-16-le", "surrogatepass")
        if len(text) == self.count:
            return name_tex_ligatures(text)
        # Some characters are not one unit of UTF-16.
        codes = [
            pdfium.FPDFText_GetUnicode(self.text, index) for index in range(self.count)
        ]
        return "".join(
            chr(code) if 0 < code < _END_OF_UNICODE else " " for code in codes
        )

    def note_guess(self, start: int, stop: int) -> None:
        """Count characters of one font as guessed if PDFium cannot map the first to Unicode."""
        if self.is_guessed(start):
            self.guessed += stop - start

    def is_guessed(self, index: int) -> bool:
        """Whether PDFium cannot map a character to Unicode."""
        return bool(pdfium.FPDFText_HasUnicodeMapError(self.text, index) == 1)

    def text_object(self, index: int) -> int:
        """The address of the object that draws a character, to compare it with others."""
        return _address(pdfium.FPDFText_GetTextObject(self.text, index))

    def is_visible(self, index: int) -> bool:
        """Whether a character is drawn, unlike the text layer of a scan."""
        drawn = pdfium.FPDFText_GetTextObject(self.text, index)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(drawn)
        return bool(mode != pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)

    def font_object(self, index: int) -> int:
        """The address of a character's font."""
        drawn = pdfium.FPDFText_GetTextObject(self.text, index)
        return _address(pdfium.FPDFTextObj_GetFont(drawn))

    def box(self, index: int) -> Box:
        """The edges of a character's shape."""
        left, right, bottom, top = self._box
        pdfium.FPDFText_GetCharBox(self.text, index, left, right, bottom, top)
        box = Box(left.value, bottom.value, right.value, top.value)
        return self._on_page(index, box)

    def advance(self, index: int, turn: int) -> tuple[float, float]:
        """Where a character and the next one start along the line."""
        area = self._area
        pdfium.FPDFText_GetLooseCharBox(self.text, index, area)
        box = self._on_page(index, Box(area.left, area.bottom, area.right, area.top))
        rotated = rotate_box(box, turn)
        return rotated.left, rotated.right

    def replace(self, changed: Mapping[int, str]) -> None:
        """Replace characters by their indices."""
        characters = list(self.characters)
        for index, character in changed.items():
            characters[index] = character
        self.characters = "".join(characters)

    def origin(self, index: int) -> tuple[float, float]:
        """The point on the baseline where a character starts."""
        x, y = self._reported_origin(index)
        if self._has_forms:
            # Tested here, too, since it is called for each character
            x, y, *_ = self._on_page(index, Box(x, y, x, y))
        return x, y

    def _reported_origin(self, index: int) -> tuple[float, float]:
        x, y = self._origin
        pdfium.FPDFText_GetCharOrigin(self.text, index, x, y)
        return x.value, y.value

    def _on_page(self, index: int, box: Box) -> Box:
        """The box of a character on the page.

        With /ActualText in a form, PDFium reports it in the form's frame.
        """
        if not self._has_forms:
            return box
        page = self._matrix
        form = self._own_matrix
        drawn = pdfium.FPDFText_GetTextObject(self.text, index)
        pdfium.FPDFText_GetMatrix(self.text, index, page)
        pdfium.FPDFPageObj_GetMatrix(drawn, form)
        x, y = self._reported_origin(index)
        from_form = math.hypot(x - form.e, y - form.f)
        from_page = math.hypot(x - page.e, y - page.f)
        is_in_form = from_form < _SAME_ORIGIN_POINTS < from_page
        if not is_in_form or not _determinant(form):
            return box
        x1, y1 = _moved(box.left, box.bottom, form, page)
        x2, y2 = _moved(box.right, box.top, form, page)
        return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))

    def size_and_turn(self, index: int) -> tuple[float, int]:
        """The size of a character in points, and by how many quarters it is turned.

        The turn is -1 at other angles.
        """
        matrix = self._matrix
        pdfium.FPDFText_GetMatrix(self.text, index, matrix)
        font_size = pdfium.FPDFText_GetFontSize(self.text, index)
        size = abs(font_size * math.hypot(matrix.c, matrix.d))
        angle = math.degrees(math.atan2(matrix.b, matrix.a))
        quarters = round(angle / _QUARTER_DEGREES)
        is_right_angle = abs(angle - quarters * _QUARTER_DEGREES) < _MOST_SLANT_DEGREES
        turn = quarters % _QUARTERS if is_right_angle else -1
        return size, turn

    def scale_and_turn(self, index: int) -> tuple[float, int]:
        """Points per em along the line, and the turn."""
        size, turn = self.size_and_turn(index)
        matrix = self._matrix
        width = math.hypot(matrix.a, matrix.b)
        height = math.hypot(matrix.c, matrix.d) or 1
        return size * (width / height), turn

    def font(self, index: int) -> FontKey:
        written = pdfium.FPDFText_GetFontInfo(
            self.text, index, self._name, _FONT_NAME_BYTES, self._flags
        )
        name_bytes = max(0, min(written, _FONT_NAME_BYTES) - 1)
        name = self._name.raw[:name_bytes]
        weight = pdfium.FPDFText_GetFontWeight(self.text, index)
        return FontKey(name, self._flags.value, weight)


def _has_forms(page: Any) -> bool:
    """Whether a page contains objects that have a frame of their own."""
    for index in range(pdfium.FPDFPage_CountObjects(page)):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_FORM:
            return True
    return False


def _determinant(matrix: Any) -> float:
    return float(matrix.a * matrix.d - matrix.b * matrix.c)


def _moved(x: float, y: float, form: Any, page: Any) -> tuple[float, float]:
    """A point in the frame of a form, converted to that of the page."""
    x -= form.e
    y -= form.f
    scale = _determinant(form)
    along = (form.d * x - form.c * y) / scale
    up = (form.a * y - form.b * x) / scale
    right = page.a * along + page.c * up + page.e
    above = page.b * along + page.d * up + page.f
    return right, above


def _address(pointer: Any) -> int:
    return ctypes.c_void_p.from_buffer(pointer).value or 0
