"""Finds the parts of a Word document by relationships: paths and namespaces differ between programs."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.archive import Archive, ArchiveError, normalise_path
from gistread.book.formats.elements.markup import has_too_many_tags, parse_entry, parse_xml, plain_text
from gistread.book.formats.elements.single_document import Metadata
from gistread.book.formats.encoding import decode_declared
from gistread.book.normalise import language_tag

# Formatting, proofing marks and printer breaks: most of the tags, and no text.
_NOISE = re.compile(
    r"<w:(?:rFonts|sz|szCs|color|proofErr|lastRenderedPageBreak|kern|spacing|bCs|iCs|noProof|position|w|shd|highlight"
    r"|ind|jc|keepNext|keepLines|widowControl|contextualSpacing|autoSpaceDE|autoSpaceDN|adjustRightInd|snapToGrid"
    r"|textAlignment|webHidden|cs|effect|bdr|tcW|tcBorders|vAlign|permStart|permEnd)(?:\s[^<>]*)?/>"
)


@dataclass(frozen=True, slots=True)
class Relation:
    kind: str  # Last segment of its type URL: "styles", "hyperlink", "image"
    target: str  # Path in the archive, or a URL
    external: bool


@dataclass(frozen=True, slots=True)
class DocxPart:
    root: etree._Element
    relations: Mapping[str, Relation] = field(default_factory=dict)  # By id
    repaired: bool = False  # The XML was not well-formed
    lost: int = 0  # Number of unreadable words


def main_part(archive: Archive) -> DocxPart:
    """The document itself. Raises ArchiveError, whose message completes a sentence."""
    path = _path_of(_relations(archive, ""), "officedocument") or "word/document.xml"
    try:
        return _part(archive, path)
    except ArchiveError as error:
        raise ArchiveError(f"its text {path} {error}") from error


def related_part(archive: Archive, main: DocxPart, kind: str) -> DocxPart | None:
    """The styles, numbering or notes of the document; None if missing or unreadable."""
    try:
        return _part(archive, _path_of(main.relations, kind))
    except ArchiveError:
        return None


def metadata_of(archive: Archive) -> Metadata:
    root = parse_entry(archive, _path_of(_relations(archive, ""), "core-properties") or "docProps/core.xml")
    if root is None:
        return Metadata()
    properties = {element.tag: plain_text(element) for element in root}
    title = properties.get("title", "")
    return Metadata(
        # A title left by printing to a file.
        title="" if title.lower().startswith("microsoft word -") else title,
        authors=tuple(dict.fromkeys(filter(None, (name.strip() for name in properties.get("creator", "").split(";"))))),
        language=language_tag(properties.get("language", "")),
    )


def _part(archive: Archive, path: str) -> DocxPart:
    decoded = decode_declared(archive.read(path))
    text = _NOISE.sub("", decoded.text) if decoded else ""
    if has_too_many_tags(text):
        raise ArchiveError("has more tags than any book")
    tree = parse_xml(text)
    if tree is None:
        raise ArchiveError("is not XML")
    return DocxPart(tree.root, _relations(archive, path), tree.repaired, tree.lost)


def _path_of(relations: Mapping[str, Relation], kind: str) -> str:
    return next((each.target for each in relations.values() if each.kind == kind and not each.external), "")


def _relations(archive: Archive, path: str) -> dict[str, Relation]:
    folder, name = posixpath.split(path)
    root = parse_entry(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    found = {}
    for element in () if root is None else root.iter("relationship"):
        target, external = element.get("target", ""), element.get("targetmode", "").lower() == "external"
        if not external:
            target = normalise_path(target if target.startswith("/") else posixpath.join(folder, target))
        kind = element.get("type", "").rpartition("/")[2].lower()
        found[element.get("id", "")] = Relation(kind, target, external)
    return found
