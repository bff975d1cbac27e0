"""Finds the parts of a Word document by relationships: paths and namespaces differ between programs."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.archive import Archive, ArchiveError, normalise_path
from gistread.book.formats.elements.markup import elements_named, local_name, parse_entry, parse_xml, plain_text
from gistread.book.formats.elements.single_document import Metadata
from gistread.book.formats.encoding import decode_declared
from gistread.book.normalise import language_tag

_CORE = "docProps/core.xml"
_DOCUMENT = "word/document.xml"
# Formatting, proofing marks and printer breaks: most of the tags, and no text.
_NOISE = re.compile(
    r"<w:(?:rFonts|sz|szCs|color|proofErr|lastRenderedPageBreak|kern|spacing|bCs|iCs|noProof|position|w|shd|highlight"
    r"|ind|jc|keepNext|keepLines|widowControl|contextualSpacing|autoSpaceDE|autoSpaceDN|adjustRightInd|snapToGrid"
    r"|textAlignment|webHidden|cs|effect|bdr|tcW|tcBorders|vAlign|permStart|permEnd)(?:\s[^<>]*)?/>"
)
_MOST_TAGS = 3_000_000


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
    path = next((r.target for r in _relations(archive, "").values() if r.kind == "officedocument"), _DOCUMENT)
    try:
        return _part(archive, path)
    except ArchiveError as error:
        raise ArchiveError(f"its text {path} {error}") from error


def related_part(archive: Archive, main: DocxPart, kind: str) -> DocxPart | None:
    """The styles, numbering or notes of the document; None if missing or unreadable."""
    path = next((r.target for r in main.relations.values() if r.kind == kind and not r.external), None)
    if path is None:
        return None
    try:
        return _part(archive, path)
    except ArchiveError:
        return None


def metadata_of(archive: Archive) -> Metadata:
    path = next((r.target for r in _relations(archive, "").values() if r.kind == "core-properties"), _CORE)
    root = parse_entry(archive, path)
    if root is None:
        return Metadata()
    properties = {local_name(element): plain_text(element) for element in root}
    title = properties.get("title", "")
    return Metadata(
        # A title left by printing to a file.
        title="" if title.lower().startswith("microsoft word -") else title,
        authors=tuple(dict.fromkeys(filter(None, (name.strip() for name in properties.get("creator", "").split(";"))))),
        language=language_tag(properties.get("language", "")),
        identifiers=tuple(filter(None, (properties.get("identifier", ""),))),
    )


def _part(archive: Archive, path: str) -> DocxPart:
    decoded = decode_declared(archive.read(path))
    text = _NOISE.sub("", decoded.text) if decoded else ""
    if text.count("<") > _MOST_TAGS:
        raise ArchiveError("has more tags than any book")
    tree = parse_xml(text, most_tags=_MOST_TAGS)
    if tree is None:
        raise ArchiveError("is not XML")
    return DocxPart(tree.root, _relations(archive, path), tree.repaired, tree.lost)


def _relations(archive: Archive, path: str) -> dict[str, Relation]:
    folder, name = posixpath.split(path)
    root = parse_entry(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    found = {}
    for element in elements_named(root, "relationship"):
        target, external = element.get("Target", ""), element.get("TargetMode", "").lower() == "external"
        if not external:
            target = normalise_path(target if target.startswith("/") else posixpath.join(folder, target))
        kind = element.get("Type", "").rpartition("/")[2].lower()
        found[element.get("Id", "")] = Relation(kind, target, external)
    return found
