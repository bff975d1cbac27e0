"""Reads an EPUB's package: spine, metadata and table of contents (navigation document or NCX)."""

import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from urllib.parse import unquote, urlsplit

from lxml import etree

from gistread.book.builder import left_out_notices
from gistread.book.formats.archive import Archive, ArchiveError, normalise_path
from gistread.book.formats.elements.markup import (
    local_name,
    parse,
    parse_entry,
    parse_recovering,
    plain_text,
)
from gistread.book.formats.elements.semantics import picture_of
from gistread.book.normalise import language_tag

# Fonts may be obfuscated in any EPUB; the text stays readable.
_FONT_OBFUSCATION = frozenset(
    ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
)
_TEXT_TYPES = frozenset(
    (
        "application/xhtml+xml",
        "text/html",
        "text/x-oeb1-document",
        "application/x-dtbook+xml",
        "image/svg+xml",
    )
)
_PAGE_TYPES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
_TEXT_NAMES = (".xhtml", ".html", ".htm")
_PICTURE_NAMES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg")
_DEEPEST_CONTENTS = 12
_MOST_ENTRIES = 20_000
_MOST_FALLBACKS = 10


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    title: str
    path: str
    fragment: str
    level: int


@dataclass(frozen=True, slots=True)
class Package:
    title: str
    authors: tuple[str, ...]
    language: str
    identifiers: tuple[str, ...]  # The unique one first
    cover: str
    spine: tuple[str, ...]  # Paths of the text files in reading order, possibly repeated
    contents: tuple[ContentsEntry, ...]
    unlisted: tuple[str, ...]  # Paths of pages that are neither in the spine nor navigation
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    path: str
    media_type: str
    properties: frozenset[str]
    fallback: str


def read_package(archive: Archive) -> Package:
    """Read the package that META-INF/container.xml names. Raises ArchiveError."""
    path, others = _package_path(archive)
    try:
        root = parse_recovering(archive.read(path))
    except ArchiveError as error:
        raise ArchiveError(f"its package file {path} {error}") from error
    if root is None:
        raise ArchiveError(f"its package file {path} is not XML")
    listed = _manifest(root, posixpath.dirname(path))
    items = listed.by_id
    notices = [*left_out_notices({"other edition(s) in the file": others})]
    spine = _spine(root, items, notices)
    if not spine:
        raise ArchiveError("its package lists no text")
    titles, types = _metadata(root, "title"), _refined(root, "title-type")
    main = [title for title in titles if types.get(title.get("id", "")) == "main"]
    creators, roles = _metadata(root, "creator"), _refined(root, "role")
    authors = [
        each
        for each in creators
        if roles.get(each.get("id", ""), each.get("role", "")) in ("", "aut")
    ]
    unique = root.get("unique-identifier", "")
    identifiers = sorted(
        _metadata(root, "identifier"), key=lambda element: element.get("id", "") != unique
    )
    return Package(
        title=plain_text((main or titles)[0]) if titles else "",
        authors=tuple(dict.fromkeys(map(plain_text, authors or creators))),
        language=next(
            filter(None, (language_tag(plain_text(each)) for each in _metadata(root, "language"))),
            "",
        ),
        identifiers=tuple(dict.fromkeys(map(plain_text, identifiers))),
        cover=_cover(archive, root, items, posixpath.dirname(path)),
        spine=spine,
        contents=_contents(archive, root, items),
        unlisted=_unlisted(archive, listed, spine),
        notices=tuple(notices),
    )


@dataclass(frozen=True, slots=True)
class _Manifest:
    items: tuple[_Item, ...]
    by_id: dict[str, _Item]  # A page before other files with the same id


def _manifest(root: etree._Element, folder: str) -> _Manifest:
    items: list[_Item] = []
    by_id: dict[str, _Item] = {}
    for element in root.iterfind(".//manifest//item"):
        item = _Item(
            resolve_reference(element.get("href", ""), folder)[0],
            element.get("media-type", "").strip().lower(),
            frozenset(element.get("properties", "").split()),
            element.get("fallback", ""),
        )
        items.append(item)
        name = element.get("id", "")
        if name not in by_id or (_is_text(item) and not _is_text(by_id[name])):
            by_id[name] = item
    return _Manifest(tuple(items), by_id)


def encrypted_paths(archive: Archive) -> frozenset[str]:
    """Paths of the encrypted files, without obfuscated fonts."""
    found = set()
    root = parse_entry(archive, "META-INF/encryption.xml")
    for data in () if root is None else root.iter("encrypteddata"):
        methods = {method.get("algorithm", "") for method in data.iter("encryptionmethod")}
        if not methods <= _FONT_OBFUSCATION or not methods:
            found |= {
                normalise_path(unquote(ref.get("uri", ""))) for ref in data.iter("cipherreference")
            }
    return frozenset(found)


def _package_path(archive: Archive) -> tuple[str, int]:
    """The path of the first package, and the number of others."""
    root = parse_entry(archive, "META-INF/container.xml")
    named = (each.get("full-path", "") for each in (() if root is None else root.iter("rootfile")))
    paths = [path for path in map(normalise_path, named) if archive.find(path)]
    if paths:
        return paths[0], len(set(paths)) - 1
    # Broken archives often still contain the package.
    packages = sorted(name for name in archive.names if name.lower().endswith(".opf"))
    if not packages:
        raise ArchiveError("it has no package file")
    return packages[0], 0


def resolve_reference(reference: str, folder: str) -> tuple[str, str]:
    """Path in the archive and fragment of a reference from `folder`.

    An empty path if it is external.
    """
    try:
        parts = urlsplit(reference.strip())
    except ValueError:
        return "", ""
    if parts.scheme or parts.netloc:
        return "", ""
    path = normalise_path(posixpath.join(folder, unquote(parts.path))) if parts.path else ""
    return path, unquote(parts.fragment)


def _is_text(item: _Item) -> bool:
    return item.media_type in _TEXT_TYPES or item.path.lower().endswith(_TEXT_NAMES)


def _spine(root: etree._Element, items: dict[str, _Item], notices: list[str]) -> tuple[str, ...]:
    paths: list[str] = []
    known: set[str] = set()
    for reference in islice(root.iterfind(".//spine//itemref"), _MOST_ENTRIES):
        item = items.get(reference.get("idref", ""))
        if item is None or not item.path:
            notices.append(
                f"The reading order names {reference.get('idref', '')!r}, which is not in the book."
            )
            continue
        path = _text_path(item, items)
        if path:
            if (
                path == item.path or path not in known
            ):  # Pictures may share the text that replaces them
                paths.append(path)
                known.add(path)
        else:
            notices.append(
                f"{item.path} is {item.media_type or 'of no known type'}, not text; it was left "
                "out."
            )
    if not paths:
        paths = [
            item.path for item in items.values() if _is_text(item) and "nav" not in item.properties
        ]
        if paths:
            notices.append(
                "The book gives no reading order; its files are in the order of its manifest."
            )
    return tuple(paths)


def _unlisted(archive: Archive, listed: "_Manifest", spine: tuple[str, ...]) -> tuple[str, ...]:
    """Pages of the archive that are neither read nor the table of contents."""
    pages = {item.path for item in listed.items if item.media_type in _PAGE_TYPES}
    pages |= {name for name in archive.names if name.lower().endswith(_TEXT_NAMES)}
    navigation = {item.path for item in listed.items if "nav" in item.properties}
    read = {archive.find(path) or path for path in (*spine, *navigation)}
    return tuple(sorted(path for path in pages if (archive.find(path) or path) not in read))


def _cover(archive: Archive, root: etree._Element, items: dict[str, _Item], folder: str) -> str:
    declared = [item for item in items.values() if "cover-image" in item.properties]
    named = [
        meta.get("content", "")
        for meta in root.iter("meta")
        if meta.get("name", "").lower() == "cover"
    ]
    for item in (*declared, *(items[name] for name in named[:1] if name in items)):
        path = archive.find(item.path)
        if path and item.media_type.startswith("image/"):
            return path
    for reference in root.iter("reference"):
        if reference.get("type", "").lower() in ("cover", "other.ms-coverimage-standard"):
            path = archive.find(resolve_reference(reference.get("href", ""), folder)[0])
            if path:
                if path.lower().endswith(_PICTURE_NAMES):
                    return path
                return _first_picture(archive, path)
    return ""


def _first_picture(archive: Archive, path: str) -> str:
    try:
        tree = parse(archive.read(path))
    except ArchiveError:
        return ""
    pictures = tree.root.iter(etree.Element) if tree else ()
    source = next(
        (picture_of(each).source for each in pictures if local_name(each) in ("img", "image")), ""
    )
    if source:
        return archive.find(resolve_reference(source, posixpath.dirname(path))[0]) or ""
    return ""


def _text_path(item: _Item, items: dict[str, _Item]) -> str:
    choices = [item]
    while (fallback := items.get(choices[-1].fallback)) and len(
        choices
    ) < _MOST_FALLBACKS:  # They may be circular
        choices.append(fallback)
    texts = [each for each in choices if _is_text(each)]
    return next(
        (each.path for each in texts if "scripted" not in each.properties),
        texts[0].path if texts else "",
    )


def _contents(
    archive: Archive, root: etree._Element, items: dict[str, _Item]
) -> tuple[ContentsEntry, ...]:
    spine = root.find(".//spine")
    ncx = items.get(spine.get("toc", "")) if spine is not None else None
    navigation = [item for item in items.values() if "nav" in item.properties]
    older = [
        item
        for item in (ncx, *items.values())
        if item and item.media_type == "application/x-dtbncx+xml"
    ]
    for item in (*navigation[:1], *older[:1]):
        tree = parse_entry(archive, item.path)
        if tree is None:
            continue
        if "nav" in item.properties:
            navs = list(tree.iter("nav"))
            marked = [
                nav
                for nav in navs
                if "toc" in nav.get("type", "").split() or nav.get("role") == "doc-toc"
            ]
            lists = (child for nav in (marked or navs)[:1] for child in nav.iterfind("ol"))
            entries: Iterable[ContentsEntry] = chain.from_iterable(
                _navigation(each, item.path) for each in lists
            )
        else:
            top = tree.find(".//navmap")
            entries = _ncx(top, item.path) if top is not None else ()
        found = tuple(
            islice((entry for entry in entries if entry.title and entry.path), _MOST_ENTRIES)
        )
        if found:
            texts = {item.path: _text_path(item, items) or item.path for item in items.values()}
            return tuple(replace(entry, path=texts.get(entry.path, entry.path)) for entry in found)
    return ()


def _navigation(ordered: etree._Element, path: str, level: int = 1) -> Iterator[ContentsEntry]:
    for item in ordered:
        label = next((child for child in item if child.tag in ("a", "span")), None)
        inner = item.findall("ol")
        if label is not None:
            target = label.get("href", "")
            if not target and inner:
                # A heading without a target starts where its first entry starts.
                target = next((a.get("href", "") for a in inner[0].iter("a")), "")
            yield _entry(plain_text(label), target, path, level)
        if level < _DEEPEST_CONTENTS:
            for child in inner:
                yield from _navigation(child, path, level + 1)


def _ncx(parent: etree._Element, path: str, level: int = 1) -> Iterator[ContentsEntry]:
    for point in parent.iterfind("navpoint"):
        parts = {child.tag: child for child in reversed(point)}
        if {"navlabel", "content"} <= parts.keys():
            yield _entry(
                plain_text(parts["navlabel"]), parts["content"].get("src", ""), path, level
            )
        if level < _DEEPEST_CONTENTS:
            yield from _ncx(point, path, level + 1)


def _entry(title: str, reference: str, path: str, level: int) -> ContentsEntry:
    target, fragment = resolve_reference(reference, posixpath.dirname(path))
    return ContentsEntry(title, target or (path if fragment else ""), fragment, level)


def _metadata(root: etree._Element, name: str) -> list[etree._Element]:
    return [element for element in root.iterfind(f".//metadata//{name}") if plain_text(element)]


def _refined(root: etree._Element, name: str) -> dict[str, str]:
    """Values of `<meta refines="#id" property="name">` by id."""
    return {
        meta.get("refines", "").removeprefix("#"): plain_text(meta)
        for meta in _metadata(root, "meta")
        if meta.get("property") == name
    }
