"""Reads links, comments, positions and strings of a PDF from PDFium."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2.raw as pdfium

_MOST_ANNOTATIONS = 2_000  # Per page
_MOST_STRING_BYTES = 2**16
_EMPTY_STRING_BYTES = 2  # Its terminator
_MOST_ADDRESS_BYTES = 2048

# Form fields, typed text and stamps: their text is part of the page.
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
_VIEWS_WITH_TOP = (pdfium.PDFDEST_VIEW_FITH, pdfium.PDFDEST_VIEW_FITBH)
_VIEW_NUMBERS = 4  # At most


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
    size = min(get(None, 0), _MOST_STRING_BYTES)
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
            edges = (box.left, box.bottom, box.right, box.top)
            yield [*(round(edge, 2) for edge in edges), target]


def _target(document: Any, link: Any) -> str | list[Any] | None:
    """The URL or [page, x, y] that a link leads to."""
    destination = pdfium.FPDFLink_GetDest(document.raw, link)
    if destination:
        return place_of(document, destination)
    action = pdfium.FPDFLink_GetAction(link)
    kind = pdfium.FPDFAction_GetType(action) if action else None
    if kind == pdfium.PDFACTION_URI:
        return _address(document, action)
    if kind == pdfium.PDFACTION_GOTO:
        destination = pdfium.FPDFAction_GetDest(document.raw, action)
        if not destination:
            return None
        return place_of(document, destination)
    return None


def _address(document: Any, action: Any) -> str:
    """The URL of an action."""
    buffer = ctypes.create_string_buffer(_MOST_ADDRESS_BYTES)
    written = pdfium.FPDFAction_GetURIPath(
        document.raw, action, buffer, _MOST_ADDRESS_BYTES
    )
    length = max(0, min(written, _MOST_ADDRESS_BYTES) - 1)
    return buffer.raw[:length].decode("utf-8", "replace")


def place_of(document: Any, destination: Any) -> list[Any] | None:
    """[page, x, y] of a destination, with None for unset coordinates; None if it has no page."""
    page = pdfium.FPDFDest_GetDestPageIndex(document.raw, destination)
    if page < 0:
        return None
    has_x, x = ctypes.c_int(), ctypes.c_float()
    has_y, y = ctypes.c_int(), ctypes.c_float()
    has_zoom, zoom = ctypes.c_int(), ctypes.c_float()
    has_location = pdfium.FPDFDest_GetLocationInPage(
        destination, has_x, has_y, has_zoom, x, y, zoom
    )
    if has_location:
        return [
            page,
            round(x.value, 2) if has_x.value else None,
            round(y.value, 2) if has_y.value else None,
        ]
    # The view of a "fit width" destination has its y.
    count = ctypes.c_ulong()
    numbers = (ctypes.c_float * _VIEW_NUMBERS)()
    view = pdfium.FPDFDest_GetView(destination, count, numbers)
    has_top = view in _VIEWS_WITH_TOP and count.value >= 1
    return [page, None, round(numbers[0], 2) if has_top else None]
