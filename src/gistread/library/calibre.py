"""The metadata that Calibre keeps of its library, and beside each book (`metadata.opf`).

Calibre writes the file beside a book some time after a change, and only while its window is open.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from gistread.book.normalise import clean_line

METADATA = "metadata.opf"
_DC = "{http://purl.org/dc/elements/1.1/}"
_OPF = "{http://www.idpf.org/2007/opf}"
_MOST_BYTES = 2_000_000
_DATABASE = "metadata.db"
_AUTHORS = """SELECT link.book, name FROM books_authors_link AS link
    JOIN authors ON authors.id = link.author ORDER BY link.id"""
_SERIES = """SELECT link.book, name FROM books_series_link AS link
    JOIN series ON series.id = link.series"""
_TAGS = """SELECT link.book, name FROM books_tags_link AS link
    JOIN tags ON tags.id = link.tag ORDER BY link.id"""
# Suffixes by preference: of several files of a book, the first of these is read
_BEST = (
    ".epub",
    ".fb2",
    ".fbz",
    ".docx",
    ".html",
    ".htm",
    ".md",
    ".txt",
    ".azw3",
    ".mobi",
    ".azw",
    ".prc",
    ".pdf",
)


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


def metadata_of_library(folder: Path) -> Mapping[Path, CalibreMetadata]:
    """The metadata in Calibre's database, by the folder of each book.

    Empty if `folder` is not a library of Calibre, or its database is damaged.
    """
    file = folder / _DATABASE
    if not file.is_file():
        return {}
    try:
        # As immutable, so that nothing is written beside it
        address = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            authors = _names_by_book(database, _AUTHORS)
            series = _names_by_book(database, _SERIES)
            tags = _names_by_book(database, _TAGS)
            books = database.execute("SELECT id, title, path FROM books").fetchall()
    except sqlite3.Error:
        return {}
    metadata: dict[Path, CalibreMetadata] = {}
    for number, title, path in books:
        clean_title = clean_line(title)
        if not clean_title:
            continue
        # Calibre has "|" for a comma in a name.
        names = tuple(author.replace("|", ",") for author in authors[number])
        tags_once = tuple(dict.fromkeys([*series[number], *tags[number]]))
        metadata[folder / path] = CalibreMetadata(clean_title, names, tags_once)
    return metadata


def _names_by_book(database: sqlite3.Connection, query: str) -> dict[int, list[str]]:
    """The names of a query by the number of their book. Raises sqlite3.Error."""
    names: dict[int, list[str]] = defaultdict(list)
    for book, name in database.execute(query):
        names[book] += _clean([name])
    return names


def metadata_beside(path: Path) -> CalibreMetadata | None:
    """The metadata in Calibre's file beside a book; None without one, or if it is damaged."""
    file = path.with_name(METADATA)
    try:
        if file.stat().st_size > _MOST_BYTES:
            return None
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, huge_tree=False
        )
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
    """The texts on one line each, without empty ones."""
    return list(filter(None, map(clean_line, texts)))
