"""An independent, cruder EPUB reader, to compare words with."""

import posixpath
import re
import unicodedata
import zipfile
from pathlib import Path
from xml.etree import ElementTree

WORD = re.compile(r"\w+")

_INLINE_NAMES = (
    "a abbr b bdi bdo br cite code data dfn em i kbd mark q s small span "
    "strong sub sup time u var"
)
_INLINE = frozenset(_INLINE_NAMES.split())
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_UNREAD = frozenset(("head", "nav", "script", "style", "case"))
_INVISIBLE_ELEMENT = re.compile(
    r"'hidden'|display\s*:\s*none|'class': '(?:lnum|linenum|linenumber)\b|'pagebreak'"
)
_OPF = "{http://www.idpf.org/2007/opf}"
_TYPE = "{http://www.idpf.org/2007/ops}type"


def source_words(path: Path) -> tuple[list[str], frozenset[str]]:
    """The words of the spine's files in order, and those that describe pictures."""
    words: list[str] = []
    beside: set[str] = set()
    with zipfile.ZipFile(path) as archive:
        container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
        package = next(
            each.get("full-path", "")
            for each in container.iter()
            if each.tag.endswith("rootfile")
        )
        root = ElementTree.fromstring(archive.read(package))
        items = {item.get("id"): item for item in root.iter(f"{_OPF}item")}
        for reference in root.iter(f"{_OPF}itemref"):
            item = items[reference.get("idref")]
            while (
                item.get("fallback") in items
                and item.get("media-type") != "application/xhtml+xml"
            ):
                item = items[item.get("fallback")]
            name = posixpath.join(posixpath.dirname(package), item.get("href", ""))
            page = ElementTree.fromstring(archive.read(name))
            parts: list[str] = []
            _collect(page, parts, beside)
            words += WORD.findall(
                _INVISIBLE.sub("", unicodedata.normalize("NFC", "".join(parts)))
            )
    return words, frozenset(beside)


def _collect(element: ElementTree.Element, parts: list[str], beside: set[str]) -> None:
    name = element.tag.rpartition("}")[2]
    types = element.get(_TYPE, "").split()
    if name == "img":
        beside.update(WORD.findall(element.get("alt", "")))
    if (
        name in _UNREAD
        or "backlink" in types
        or _INVISIBLE_ELEMENT.search(f"{element.attrib}")
    ):
        return
    gap = "" if name in _INLINE - {"br"} and "noteref" not in types else " "
    parts += [gap, element.text or ""]
    for child in element:
        _collect(child, parts, beside)
        parts.append(child.tail or "")
    parts.append(gap)
