"""Builds small Word documents."""

import io
import zipfile
from collections.abc import Mapping

from gistread.book.model import Book
from gistread.book.open import open_bytes

_W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"'
)
_TYPE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = (
    "<Relationships "
    'xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
)

STYLES = "".join(
    (
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name '
        f'w:val="{name}"/>{inside}</w:style>'
    )
    for name, inside in {
        "Normal": "",
        "Title": "",
        "heading 1": '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>',
        "heading 2": "",
        "My Chapter": '<w:basedOn w:val="heading1"/>',
        "Quote": "",
        "Source Code": "",
        "Verse": "",
        "caption": "",
        "toc 1": "",
        "List Bullet": '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>',
        "Loop": '<w:basedOn w:val="Loop"/>',
    }.items()
) + (
    '<w:style w:type="character" w:styleId="Emphasis"><w:name '
    'w:val="Emphasis"/><w:rPr><w:i/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="Hyperlink"><w:name '
    'w:val="Hyperlink"/><w:rPr><w:u/></w:rPr></w:style>'
)


def p(inside: str, style: str = "", properties: str = "") -> str:
    """A paragraph; text without markup becomes one run."""
    style = f'<w:pStyle w:val="{style}"/>' if style else ""
    runs = inside if inside.startswith("<") else r(inside)
    return f"<w:p><w:pPr>{style}{properties}</w:pPr>{runs}</w:p>"


def r(text: str, properties: str = "") -> str:
    return (
        f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
    )


def item(text: str, level: int = 0, name: str = "1") -> str:
    return p(
        text,
        properties=f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{name}"/></w:numPr>',
    )


def numbering(*levels: tuple[str, str]) -> str:
    """List 1 with (format, text) levels."""
    inside = "".join(
        (
            f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText '
            f'w:val="{text}"/></w:lvl>'
        )
        for n, (form, text) in enumerate(levels)
    )
    return (
        f'<w:abstractNum w:abstractNumId="7">{inside}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="7"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    )


def docx(
    body: str,
    *,
    parts: Mapping[str, str] | None = None,
    relations: Mapping[str, tuple[str, str]] | None = None,
    core: str = "",
    main: str = "word/document.xml",
) -> bytes:
    """A document with this body.

    `parts`: numbering, footnotes and so on; `relations`: (kind, target) by id.
    """
    parts = {"styles": STYLES, **(parts or {})}
    links = [
        f'<Relationship Id="p{kind}" Type="{_TYPE}/{kind}" Target="{kind}.xml"/>'
        for kind in parts
    ]
    for name, (kind, target) in (relations or {}).items():
        mode = ' TargetMode="External"' if "://" in target else ""
        links.append(
            f'<Relationship Id="{name}" Type="{_TYPE}/{kind}" Target="{target}"{mode}/>'
        )
    folder, _, name = main.rpartition("/")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(
            "_rels/.rels",
            _RELATIONS.format(
                f'<Relationship Id="r" Type="{_TYPE}/officeDocument" Target="/{main}"/>'
            ),
        )
        archive.writestr(
            main, f"<w:document {_W}><w:body>{body}<w:sectPr/></w:body></w:document>"
        )
        archive.writestr(
            f"{folder}/_rels/{name}.rels", _RELATIONS.format("".join(links))
        )
        for kind, inside in parts.items():
            archive.writestr(
                f"{folder}/{kind}.xml", f"<w:{kind} {_W}>{inside}</w:{kind}>"
            )
        if core:
            archive.writestr(
                "docProps/core.xml",
                f'<p xmlns:dc="http://purl.org/dc/elements/1.1/">{core}</p>',
            )
        archive.writestr("word/_", "")
    return buffer.getvalue()


def read(
    *body: str,
    parts: Mapping[str, str] | None = None,
    relations: Mapping[str, tuple[str, str]] | None = None,
) -> Book:
    return open_bytes(
        docx("".join(body), parts=parts, relations=relations), "rain.docx"
    )
