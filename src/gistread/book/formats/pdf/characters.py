"""Reads the characters of a PDF page from PDFium: letters, boxes, origins, sizes and fonts."""

import ctypes
import math
from collections.abc import Mapping
from typing import Any

import pypdfium2.raw as pdfium

from gistread.book.formats.pdf.pages import rotate_box
from gistread.book.formats.pdf.word_repair import name_tex_ligatures

_MOST_CHARACTERS = 400_000  # Per page
_FONT_NAME_BYTES = 512
_NEAR_POINTS = 0.01

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
        objects = (pdfium.FPDFPage_GetObject(page, index) for index in range(pdfium.FPDFPage_CountObjects(page)))
        self._has_forms = any(pdfium.FPDFPageObj_GetType(each) == pdfium.FPDF_PAGEOBJ_FORM for each in objects)
        self._name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
        self._flags = ctypes.c_int()

    def _characters(self) -> str:
        """One character for each of PDFium's, so that indices agree."""
        if self.count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (self.count + 1))()
        written = pdfium.FPDFText_GetText(self.text, 0, self.count, buffer)
        units = bytes(buffer)[: 2 * max(0, written - 1)]
        text = units.decode("utf-16-le", "surrogatepass")
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
        return rotate_box(self._on_page(index, (area.left, area.bottom, area.right, area.top)), turn)[0::2]

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
        """The box of a character on the page: with /ActualText in a form, PDFium gives it in the form's frame."""
        if not self._has_forms:
            return box
        page, form = self._matrix, self._own_matrix
        pdfium.FPDFText_GetMatrix(self.text, index, page)
        pdfium.FPDFPageObj_GetMatrix(pdfium.FPDFText_GetTextObject(self.text, index), form)
        x, y = self._reported_origin(index)
        is_in_form = math.hypot(x - form.e, y - form.f) < _NEAR_POINTS < math.hypot(x - page.e, y - page.f)
        scale = form.a * form.d - form.b * form.c
        if not (is_in_form and scale):
            return box
        corners = []
        for x, y in (box[:2], box[2:]):
            x, y = x - form.e, y - form.f
            along, up = (form.d * x - form.c * y) / scale, (form.a * y - form.b * x) / scale
            corners.append((page.a * along + page.c * up + page.e, page.b * along + page.d * up + page.f))
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
        stretch = math.hypot(self._matrix.a, self._matrix.b) / (math.hypot(self._matrix.c, self._matrix.d) or 1)
        return size * stretch, turn

    def font(self, index: int) -> tuple[bytes, int, int]:
        """Name, descriptor flags, weight."""
        written = pdfium.FPDFText_GetFontInfo(self.text, index, self._name, _FONT_NAME_BYTES, self._flags)
        name = self._name.raw[: max(0, min(written, _FONT_NAME_BYTES) - 1)]
        return name, self._flags.value, pdfium.FPDFText_GetFontWeight(self.text, index)


def _address(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0
