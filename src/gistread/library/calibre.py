"""The metadata that Calibre keeps beside each book of its library (`metadata.opf`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from gistread.book.normalise import clean_line

METADATA = "metadata.opf"
_DC = "{http://purl.org/dc/elements/1.1/}"
_OPF = "{http://www.idpf.org/2007/opf}"
_MOST_BYTES = 2_000_000
# Of the formats of one book the first is read
_BEST = (".epub", ".fb2", ".fbz", ".docx", ".html", ".htm", ".md", ".txt", ".pdf")


@dataclass(frozen=True, slots=True)
class CalibreMetadata:
    title: str
    authors: tuple[str, ...]
    tags: tuple[str, ...]  # The name of its series first


def best_format(names: Sequence[str]) -> list[str]:
    """Of the files of a folder of Calibre's library, the one to read.

    >>> best_format(["Emma.pdf", "Emma.epub"])
    ['Emma.epub']
    """
    by_suffix = {Path(name).suffix.lower(): name for name in reversed(names)}
    for suffix in _BEST:
        if suffix in by_suffix:
            return [by_suffix[suffix]]
    return list(names)


def metadata_beside(path: Path) -> CalibreMetadata | None:
    """What Calibre knows about a book; None if it does not have it, or its file is damaged."""
    file = path.with_name(METADATA)
    try:
        if file.stat().st_size > _MOST_BYTES:
            return None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
        root = etree.fromstring(file.read_bytes(), parser)
    except (OSError, etree.XMLSyntaxError):
        return None
    title = clean_line(root.findtext(f".//{_DC}title") or "")
    if not title:
        return None
    series = [
        meta.get("content", "")
        for meta in root.iterfind(f".//{_OPF}meta")
        if meta.get("name") == "calibre:series"
    ]
    authors = _clean(_texts(root, "creator"))
    tags = _clean([*series, *_texts(root, "subject")])
    return CalibreMetadata(title, tuple(authors), tuple(dict.fromkeys(tags)))


def _texts(root: etree._Element, name: str) -> list[str]:
    """The texts of the elements of the Dublin Core with this name."""
    return [element.text or "" for element in root.iterfind(f".//{_DC}{name}")]


def _clean(texts: Iterable[str]) -> list[str]:
    return list(filter(None, map(clean_line, texts)))
