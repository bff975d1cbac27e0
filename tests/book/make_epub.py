"""Builds small EPUBs, valid or broken."""

import io
import zipfile
from collections.abc import Mapping

from gistread.book.model import Book
from gistread.book.open import open_bytes

_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles>
<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""

_PAGE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">
<head><title>T</title></head><body>{body}</body></html>"""


def page(body: str) -> str:
    return _PAGE.format(body=body)


def package(
    names: list[str],
    *,
    metadata: str = "",
    manifest: str = "",
    spine: str = "",
    toc: str = "",
) -> str:
    items = "".join(
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(names)
    )
    refs = "".join(f'<itemref idref="i{n}"/>' for n in range(len(names)))
    return f"""<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>A Book</dc:title>{metadata}</metadata>
<manifest>{items}{manifest}</manifest><spine{toc}>{refs}{spine}</spine></package>"""


def epub(files: Mapping[str, str | bytes], opf: str | None = None) -> bytes:
    """An archive with these files under OEBPS/ (a leading slash means the root).

    The .xhtml files are the spine.
    """
    if opf is None:
        opf = package([name for name in files if name.endswith(".xhtml")])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("OEBPS/content.opf", opf)
        for name, content in files.items():
            archive.writestr(
                name[1:] if name.startswith("/") else f"OEBPS/{name}", content
            )
    return buffer.getvalue()


def read_pages(*bodies: str) -> Book:
    """Read a book with these <body> contents, one file each."""
    files = {f"c{number}.xhtml": page(body) for number, body in enumerate(bodies)}
    return open_bytes(epub(files), "book.epub")
