"""Resolves EPUB CFIs by the description of EPUB CFI 1.1, with nothing of gistread.

https://www.w3.org/TR/epub-cfi/: only what text ranges need.
"""

import html
import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote
from xml.dom import minidom

_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z]\w*;)")


@dataclass(frozen=True)
class Step:
    """`/4[id]`, with `indirect` after an exclamation mark."""

    number: int
    asserted: str = ""
    indirect: bool = False


@dataclass(frozen=True)
class Place:
    document: minidom.Document
    element: minidom.Element
    number: int  # Of the chunk of text in the element: 1, 3, 5 …
    units: int  # UTF-16 code units before the place in it


class Resolver:
    def __init__(self, source: Path | BinaryIO) -> None:
        self._zip = zipfile.ZipFile(source)
        self._documents: dict[str, minidom.Document] = {}
        container = self._document("META-INF/container.xml")
        rootfile = _named(container, "rootfile")[0]
        self._package = rootfile.getAttribute("full-path")

    def words(self, cfi: str) -> str:
        """The characters in the range."""
        start, end = (self._place(steps, units) for steps, units in parse(cfi))
        assert start.document is end.document
        text = ""
        is_inside = False
        for chunk in _chunks(_root(start.document)):
            units = chunk.text.encode("utf-16-le")
            is_first = (chunk.element, chunk.number) == (start.element, start.number)
            is_last = (chunk.element, chunk.number) == (end.element, end.number)
            is_inside = is_inside or is_first
            first = start.units if is_first else 0
            last = end.units if is_last else len(units) // 2
            if is_inside:
                assert first <= last <= len(units) // 2
                text += units[2 * first : 2 * last].decode("utf-16-le")
            if is_last:
                return text
        raise AssertionError(f"{cfi} leads to no text")

    def documents(self) -> Iterator[minidom.Element]:
        """The root of each document, in the order of the spine."""
        for reference in _named(self._document(self._package), "itemref"):
            yield _root(self._document(self._target(reference)))

    def _place(self, steps: list[Step], units: int) -> Place:
        path = self._package
        document = self._document(path)
        element = _root(document)
        for step in steps[:-1]:
            if step.indirect:
                path = self._target(element)
                document = self._document(path)
                element = _root(document)
            children = [
                child
                for child in element.childNodes
                if isinstance(child, minidom.Element)
            ]
            assert step.number % 2 == 0
            element = children[step.number // 2 - 1]
            assert step.asserted == element.getAttribute("id")
        assert steps[-1].number % 2 == 1
        return Place(document, element, steps[-1].number, units)

    def _target(self, reference: minidom.Element) -> str:
        assert reference.localName == "itemref"
        name = reference.getAttribute("idref")
        items = _named(self._document(self._package), "item")
        item = next(each for each in items if each.getAttribute("id") == name)
        folder = posixpath.dirname(self._package)
        return posixpath.normpath(
            posixpath.join(folder, unquote(item.getAttribute("href")))
        )

    def _document(self, path: str) -> minidom.Document:
        if path not in self._documents:
            data = self._zip.read(path)
            if b"&" in data:
                text = data.decode("utf-8-sig")
                data = _NAMED.sub(
                    lambda entity: html.unescape(f"&{entity[1]}"), text
                ).encode()
            self._documents[path] = minidom.parseString(data)
        return self._documents[path]


@dataclass(frozen=True)
class Chunk:
    """The characters between two tags, maybe none."""

    element: minidom.Element
    number: int  # In the element: 1, 3, 5 …
    text: str


def _chunks(element: minidom.Element) -> Iterator[Chunk]:
    number = 1
    text = ""
    for child in element.childNodes:
        if isinstance(child, minidom.Text):  # CDATA too
            text += child.data
        elif isinstance(child, minidom.Element):
            yield Chunk(element, number, text)
            yield from _chunks(child)
            number += 2
            text = ""
    yield Chunk(element, number, text)


def _root(document: minidom.Document) -> minidom.Element:
    assert document.documentElement is not None
    return document.documentElement


def _named(root: minidom.Document, name: str) -> list[minidom.Element]:
    return list(root.getElementsByTagNameNS("*", name))


def parse(cfi: str) -> list[tuple[list[Step], int]]:
    """Start and end of a range: its steps, and the character offset in the last."""
    assert cfi.startswith("epubcfi(")
    assert cfi.endswith(")")
    parts: list[list[Step]] = [[]]
    offsets: list[int] = [0]
    rest = cfi[len("epubcfi(") : -1]
    indirect = False
    while rest:
        sign, rest = rest[0], rest[1:]
        if sign == "!":
            indirect = True
        elif sign == ",":
            parts.append([])
            offsets.append(0)
        elif sign == ":":
            digits = re.match(r"\d+", rest)[0]
            rest = rest[len(digits) :]
            offsets[-1] = int(digits)
        else:
            assert sign == "/", f"{sign} in {cfi}"
            digits = re.match(r"\d+", rest)[0]
            asserted, rest = _assertion(rest[len(digits) :])
            parts[-1].append(Step(int(digits), asserted, indirect))
            indirect = False
    parent, first, last = parts
    return [(parent + first, offsets[1]), (parent + last, offsets[2])]


def _assertion(rest: str) -> tuple[str, str]:
    """What stands in brackets, with its circumflexes resolved, and what follows."""
    if not rest.startswith("["):
        return "", rest
    text = ""
    at = 1
    while rest[at] != "]":
        if rest[at] == "^":
            at += 1
        text += rest[at]
        at += 1
    return text, rest[at + 1 :]
