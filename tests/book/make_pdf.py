"""Builds small PDFs from text at given positions, with standard fonts."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gistread.book.formats.pdf.book import read_pdf
from gistread.book.model import Book

FONTS = {
    "roman": "Times-Roman",
    "bold": "Times-Bold",
    "italic": "Times-Italic",
    "fixed": "Courier",
    "sans": "Helvetica",
}
WIDTH, HEIGHT = 400, 600


@dataclass(frozen=True)
class Put:
    """Text at a position, in points from the lower left.

    Characters 1 to 3: fi, fl, a smile; 4 to 6: no meaning.
    """

    x: float
    y: float
    text: str
    size: float = 10
    font: str = "roman"
    turned: bool = False
    """Rotated by 90 degrees."""
    stretch: float = 1
    """Horizontal scale."""
    tracking: float = 0
    """Points after each character."""
    actual: str = ""
    """What the characters stand for, as /ActualText."""
    invisible: bool = False
    """In the text layer of a scan."""


@dataclass(frozen=True)
class LinkTo:
    """A link area with a target page (from 0) and height on it, or a URL."""

    left: float
    bottom: float
    right: float
    top: float
    page: int = 0
    y: float = 0
    address: str = ""


@dataclass(frozen=True)
class Sheet:
    puts: Sequence[Put] = ()
    links: Sequence[LinkTo] = ()
    rotate: int = 0
    picture: bool = False
    fields: Sequence[Put] = ()
    """Texts of form fields."""


@dataclass
class _Objects:
    bodies: list[bytes] = field(default_factory=list)

    def add(self, body: str | bytes) -> int:
        self.bodies.append(body if isinstance(body, bytes) else body.encode("latin-1"))
        return len(self.bodies)

    def file(self, root: int, info: int) -> bytes:
        out = io.BytesIO()
        out.write(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
        places = []
        for number, body in enumerate(self.bodies, 1):
            places.append(out.tell())
            out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
        start = out.tell()
        out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
        out.writelines(b"%010d 00000 n \n" % place for place in places)
        trailer = (
            f"trailer\n<< /Size {len(places) + 1} /Root {root} 0 R /Info {info} 0 R "
            f">>\nstartxref\n{start}\n%%EOF\n"
        )
        out.write(trailer.encode())
        return out.getvalue()


@dataclass(frozen=True)
class Entry:
    """A title in the outline, with a page (from 0) and a height on it."""

    title: str
    page: int
    y: float


def pdf(
    sheets: Sequence[Sheet],
    *,
    outline: Sequence[Entry] = (),
    metadata: Mapping[str, str] | None = None,
    language: str = "",
    half_size: Sequence[Put] = (),
) -> bytes:
    """A PDF of these pages. `half_size`: in a form on each page."""
    objects = _Objects()
    shared = _add_shared(objects, half_size)
    first = len(objects.bodies) + 1
    # A page, its content, its links, and two objects for each of its fields
    sizes = [2 + len(sheet.links) + 2 * len(sheet.fields) for sheet in sheets]
    pages = [first + sum(sizes[:index]) for index in range(len(sheets))]
    tree = first + sum(sizes)
    for sheet in sheets:
        _add_page(objects, sheet, shared, tree)
        for link in sheet.links:
            _add_link(objects, link, pages)
        for put in sheet.fields:
            _add_field(objects, put, shared)
    kids = _references(pages)
    tree_added = objects.add(f"<< /Type /Pages /Kids [{kids}] /Count {len(sheets)} >>")
    assert tree_added == tree
    outlines = _outline(objects, outline, pages) if outline else ""
    lang = f"/Lang ({language})" if language else ""
    form = _form_of_fields(shared) if any(sheet.fields for sheet in sheets) else ""
    root = objects.add(
        f"<< /Type /Catalog /Pages {tree} 0 R {outlines} {lang} {form} >>"
    )
    return objects.file(root, _add_information(objects, metadata or {}))


@dataclass(frozen=True)
class _Shared:
    """What all pages refer to: the entries of a font dictionary, and numbers of objects."""

    fonts: str
    picture: int
    form: int
    draws_form: bool


def _add_shared(objects: _Objects, half_size: Sequence[Put]) -> _Shared:
    fonts = _add_fonts(objects)
    picture = objects.add(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace "
        b"/DeviceGray"
        b" /Length 1 >>\nstream\n\x80\nendstream"
    )
    content = "\n".join(map(_text, half_size))
    form = objects.add(
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 {WIDTH} {HEIGHT}] /Resources << /Font << "
        f"{fonts} >> >>"
        f" /Length {len(content)} >>\nstream\n{content}\nendstream"
    )
    return _Shared(fonts, picture, form, draws_form=bool(half_size))


def _add_fonts(objects: _Objects) -> str:
    encoding = objects.add(
        "<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [1 /fi /fl 4 /g4 /g5 "
        "/g6] >>"
    )
    meanings = (
        "begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <03> "
        "<D83DDE00> endbfchar endcmap"
    )
    to_unicode = objects.add(
        f"<< /Length {len(meanings)} >>\nstream\n{meanings}\nendstream"
    )
    described = f"/Encoding {encoding} 0 R /ToUnicode {to_unicode} 0 R"
    fonts = []
    for name, font in FONTS.items():
        number = objects.add(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} {described} >>"
        )
        fonts.append(f"/{name} {number} 0 R")
    return " ".join(fonts)


def _add_page(objects: _Objects, sheet: Sheet, shared: _Shared, tree: int) -> None:
    """Its links and fields must be added next."""
    drawn = "q 300 0 0 400 50 100 cm /Picture Do Q\n" if sheet.picture else ""
    drawn += "q 0.5 0 0 0.5 0 0 cm /Form Do Q\n" if shared.draws_form else ""
    content = (drawn + "\n".join(map(_text, sheet.puts))).encode("cp1252")
    links = len(objects.bodies) + 3
    fields = links + len(sheet.links)
    end = fields + 2 * len(sheet.fields)
    annotations = _references([*range(links, fields), *range(fields, end, 2)])
    objects.add(
        f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Rotate "
        f"{sheet.rotate}"
        f" /Resources << /Font << {shared.fonts} >> /XObject << /Picture {shared.picture} 0 R "
        f"/Form {shared.form} 0 R >> >>"
        f" /Contents {len(objects.bodies) + 2} 0 R /Annots [{annotations}] >>"
    )
    objects.add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))


def _add_link(objects: _Objects, link: LinkTo, pages: Sequence[int]) -> None:
    if link.address:
        where = f"/A << /S /URI /URI ({link.address}) >>"
    else:
        where = f"/Dest [{pages[link.page]} 0 R /XYZ 0 {link.y} null]"
    box = f"[{link.left} {link.bottom} {link.right} {link.top}]"
    objects.add(f"<< /Type /Annot /Subtype /Link /Rect {box} {where} >>")


def _add_field(objects: _Objects, put: Put, shared: _Shared) -> None:
    """A field and its appearance."""
    box = f"[{put.x} {put.y} {put.x + 200} {put.y + 20}]"
    objects.add(
        f"<< /Type /Annot /Subtype /Widget /FT /Tx /F 4 /T (field) /V ({put.text}) /Rect {box}"
        f" /AP << /N {len(objects.bodies) + 2} 0 R >> >>"
    )
    content = _text(put)
    objects.add(
        f"<< /Type /XObject /Subtype /Form /BBox {box} /Resources << /Font << {shared.fonts} >> >>"
        f" /Length {len(content)} >>\nstream\n{content}\nendstream"
    )


def _add_information(objects: _Objects, metadata: Mapping[str, str]) -> int:
    entries = " ".join(f"/{key} ({_escaped(value)})" for key, value in metadata.items())
    return objects.add(f"<< {entries} >>")


def _form_of_fields(shared: _Shared) -> str:
    resources = f"/DR << /Font << {shared.fonts} >> >>"
    return f"/AcroForm << /Fields [] /DA (/roman 10 Tf) {resources} >>"


def _references(numbers: Sequence[int]) -> str:
    return " ".join(f"{number} 0 R" for number in numbers)


def _outline(objects: _Objects, entries: Sequence[Entry], pages: Sequence[int]) -> str:
    first = len(objects.bodies) + 1
    root = first + len(entries)
    for number, entry in enumerate(entries, first):
        following = f"/Next {number + 1} 0 R" if number + 1 < root else ""
        objects.add(
            f"<< /Title ({_escaped(entry.title)}) /Parent {root} 0 R "
            f"/Dest [{pages[entry.page]} 0 R /XYZ 0 {entry.y} null] {following} >>"
        )
    objects.add(
        f"<< /Type /Outlines /First {first} 0 R /Last {root - 1} 0 R /Count {len(entries)} >>"
    )
    return f"/Outlines {root} 0 R"


def _text(put: Put) -> str:
    if put.turned:
        matrix = f"0 1 -1 0 {put.x} {put.y}"
    else:
        matrix = f"{put.stretch} 0 0 1 {put.x} {put.y}"
    mode = 3 if put.invisible else 0
    look = f"{put.tracking} Tc {mode} Tr /{put.font} {put.size} Tf"
    shown = f"BT {look} {matrix} Tm ({_escaped(put.text)}) Tj ET"
    actual = put.actual.encode("utf-16-be").hex()
    return (
        f"/Span << /ActualText <FEFF{actual}> >> BDC {shown} EMC" if actual else shown
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def read(*sheets: Sheet, **how: Any) -> Book:
    """Read a book of these pages."""
    return read_pdf(io.BytesIO(pdf(sheets, **how)), "book.pdf")


def width_of(text: str, size: float) -> float:
    """Approximate width of text in Times, in points."""
    ems = {
        **dict.fromkeys("iljt.,;:'!|", 0.28),
        **dict.fromkeys("mwMW", 0.78),
        " ": 0.25,
        "f": 0.33,
        "r": 0.33,
        "s": 0.39,
    }
    return size * sum(
        ems.get(letter, 0.68 if letter.isupper() else 0.48) for letter in text
    )


def column(
    text: str,
    *,
    x: float = 50,
    top: float = 540,
    width: float = 300,
    size: float = 10,
    indent: float = 12,
    lead: float = 12,
) -> list[Put]:
    """Wrap paragraphs, separated by line feeds, into lines with first-line indents."""
    puts: list[Put] = []
    y = top
    for paragraph in text.split("\n"):
        left, line = indent, ""
        for word in [*paragraph.split(), None]:
            longer = f"{line} {word}".strip()
            if word is not None and left + width_of(longer, size) <= width:
                line = longer
                continue
            puts.append(Put(x + left, y, line, size))
            y -= lead
            left, line = 0, word or ""
    return puts
