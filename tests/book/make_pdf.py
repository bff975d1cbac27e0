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


def pdf(
    sheets: Sequence[Sheet],
    *,
    outline: Sequence[tuple[str, int, float]] = (),
    metadata: Mapping[str, str] | None = None,
    language: str = "",
    half_size: Sequence[Put] = (),
) -> bytes:
    """A PDF of these pages.

    `outline`: (title, page from 0, height). `half_size`: in a form on each page.
    """
    objects = _Objects()
    encoding = objects.add(
        "<< /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [1 /fi /fl 4 /g4 /g5 "
        "/g6] >>"
    )
    map_ = (
        "begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <03> "
        "<D83DDE00> endbfchar endcmap"
    )
    meanings = objects.add(f"<< /Length {len(map_)} >>\nstream\n{map_}\nendstream")
    described = f"/Encoding {encoding} 0 R /ToUnicode {meanings} 0 R"
    resources = " ".join(
        (
            f"/{name} "
            f"{objects.add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{font} {described} >>')} 0 R"
        )
        for name, font in FONTS.items()
    )
    picture = objects.add(
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace "
        b"/DeviceGray"
        b" /Length 1 >>\nstream\n\x80\nendstream"
    )
    form = "\n".join(map(_text, half_size))
    form_number = objects.add(
        f"<< /Type /XObject /Subtype /Form /BBox [0 0 {WIDTH} {HEIGHT}] /Resources << /Font << "
        f"{resources} >> >>"
        f" /Length {len(form)} >>\nstream\n{form}\nendstream"
    )
    first = len(objects.bodies) + 1
    each = [2 + len(sheet.links) + 2 * len(sheet.fields) for sheet in sheets]
    numbers = [first + sum(each[:index]) for index in range(len(sheets))]
    tree = first + sum(each)
    for sheet in sheets:
        drawn = "q 300 0 0 400 50 100 cm /Picture Do Q\n" if sheet.picture else ""
        drawn += "q 0.5 0 0 0.5 0 0 cm /Form Do Q\n" if half_size else ""
        content = (drawn + "\n".join(map(_text, sheet.puts))).encode("cp1252")
        after = len(objects.bodies) + 3 + len(sheet.links)
        annotated = [
            *range(after - len(sheet.links), after),
            *range(after, after + 2 * len(sheet.fields), 2),
        ]
        annotations = " ".join(f"{number} 0 R" for number in annotated)
        objects.add(
            f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Rotate "
            f"{sheet.rotate}"
            f" /Resources << /Font << {resources} >> /XObject << /Picture {picture} 0 R /Form "
            f"{form_number} 0 R >> >>"
            f" /Contents {len(objects.bodies) + 2} 0 R /Annots [{annotations}] >>"
        )
        objects.add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        for link in sheet.links:
            if link.address:
                where = f"/A << /S /URI /URI ({link.address}) >>"
            else:
                where = f"/Dest [{numbers[link.page]} 0 R /XYZ 0 {link.y} null]"
            objects.add(
                f"<< /Type /Annot /Subtype /Link /Rect [{link.left} {link.bottom} {link.right} "
                f"{link.top}] {where} >>"
            )
        for put in sheet.fields:
            box = f"[{put.x} {put.y} {put.x + 200} {put.y + 20}]"
            objects.add(
                f"<< /Type /Annot /Subtype /Widget /FT /Tx /F 4 /T (field) /V ({put.text}) /Rect "
                f"{box}"
                f" /AP << /N {len(objects.bodies) + 2} 0 R >> >>"
            )
            drawn = _text(put)
            objects.add(
                f"<< /Type /XObject /Subtype /Form /BBox {box} /Resources << /Font << "
                f"{resources} >> >>"
                f" /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"
            )
    assert (
        objects.add(
            f"<< /Type /Pages /Kids [{' '.join(f'{n} 0 R' for n in numbers)}] /Count "
            f"{len(sheets)} >>"
        )
        == tree
    )
    outlines = _outline(objects, outline, numbers) if outline else ""
    lang = f"/Lang ({language})" if language else ""
    fields = f"/AcroForm << /Fields [] /DA (/roman 10 Tf) /DR << /Font << {resources} >> >> >>"
    form = fields if any(sheet.fields for sheet in sheets) else ""
    root = objects.add(f"<< /Type /Catalog /Pages {tree} 0 R {outlines} {lang} {form} >>")
    entries = " ".join(f"/{key} ({_escaped(value)})" for key, value in (metadata or {}).items())
    return objects.file(root, objects.add(f"<< {entries} >>"))


def _outline(
    objects: _Objects, entries: Sequence[tuple[str, int, float]], pages: Sequence[int]
) -> str:
    first = len(objects.bodies) + 1
    root = first + len(entries)
    for index, (title, page, y) in enumerate(entries):
        following = f"/Next {first + index + 1} 0 R" if index + 1 < len(entries) else ""
        objects.add(
            f"<< /Title ({_escaped(title)}) /Parent {root} 0 R /Dest [{pages[page]} 0 R /XYZ 0 "
            f"{y} null] {following} >>"
        )
    objects.add(
        f"<< /Type /Outlines /First {first} 0 R /Last {root - 1} 0 R /Count {len(entries)} >>"
    )
    return f"/Outlines {root} 0 R"


def _text(put: Put) -> str:
    matrix = f"0 1 -1 0 {put.x} {put.y}" if put.turned else f"{put.stretch} 0 0 1 {put.x} {put.y}"
    mode = 3 if put.invisible else 0
    look = f"{put.tracking} Tc {mode} Tr /{put.font} {put.size} Tf"
    shown = f"BT {look} {matrix} Tm ({_escaped(put.text)}) Tj ET"
    actual = put.actual.encode("utf-16-be").hex()
    return f"/Span << /ActualText <FEFF{actual}> >> BDC {shown} EMC" if actual else shown


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
    return size * sum(ems.get(letter, 0.68 if letter.isupper() else 0.48) for letter in text)


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
