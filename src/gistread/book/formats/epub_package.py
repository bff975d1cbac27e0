"""Reads an EPUB's package: spine, metadata and table of contents (navigation document or NCX)."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import unquote, urlsplit

from lxml import etree

from gistread.book.builder import left_out_notices
from gistread.book.formats.archive import Archive, ArchiveError, normalise_path
from gistread.book.formats.elements.markup import (
    each_named,
    local_name,
    parse,
    parse_declared,
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
_COVER_TYPES = ("cover", "other.ms-coverimage-standard")  # In the guide of EPUB 2
_CONTENTS_TYPE = "application/x-dtbncx+xml"  # Of the table of contents of EPUB 2
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
    # Paths of the text files in reading order, possibly repeated
    spine: tuple[str, ...]
    contents: tuple[ContentsEntry, ...]
    contents_pages: frozenset[str]  # Paths of pages that show the table of contents
    # Paths of pages that are neither in the spine nor navigation
    unlisted: tuple[str, ...]
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
    root = _package_root(archive, path)
    listed = _manifest(root, posixpath.dirname(path))
    items = listed.by_id
    notices = [*left_out_notices({"other edition(s) in the file": others})]
    spine = _spine(root, items, notices)
    if not spine:
        raise ArchiveError("its package lists no text")
    folder = posixpath.dirname(path)
    contents = _contents(archive, root, items)
    contents_pages: frozenset[str] = frozenset()
    if contents:
        contents_pages = _contents_pages(archive, root, folder)
    languages = (language_tag(plain_text(each)) for each in _metadata(root, "language"))
    return Package(
        title=_title(root),
        authors=_authors(root),
        language=next(filter(None, languages), ""),
        identifiers=_identifiers(root),
        cover=_cover(archive, root, items, folder),
        spine=spine,
        contents=contents,
        contents_pages=contents_pages,
        unlisted=_unlisted(archive, listed, spine),
        notices=tuple(notices),
    )


def spine_paths(archive: Archive) -> tuple[str, ...]:
    """The paths of all items that the spine names, also of pictures. Raises ArchiveError."""
    path, _ = _package_path(archive)
    root = _package_root(archive, path)
    items = _manifest(root, posixpath.dirname(path)).by_id
    references = islice(root.iterfind(".//spine//itemref"), _MOST_ENTRIES)
    named = (items.get(reference.get("idref", "")) for reference in references)
    return tuple(item.path for item in named if item is not None)


def _package_root(archive: Archive, path: str) -> etree._Element:
    """Raises ArchiveError."""
    try:
        root = parse_recovering(archive.read(path))
    except ArchiveError as error:
        raise ArchiveError(f"its package file {path} {error}") from error
    if root is None:
        raise ArchiveError(f"its package file {path} is not XML")
    return root


def spine_references(archive: Archive) -> Iterator[tuple[str, etree._Element]]:
    """The path of each page in reading order, and the element of the package that names it.

    Nothing if the package has to be repaired. Raises ArchiveError.
    """
    path, _ = _package_path(archive)
    tree = parse_declared(archive.read(path))
    if tree is None or tree.repaired:
        return
    items = _manifest(tree.root, posixpath.dirname(path)).by_id
    for reference in tree.root.iterfind(".//spine//itemref"):
        item = items.get(reference.get("idref", ""))
        page = archive.find(item.path) if item and _is_text(item) else None
        if page:
            yield page, reference


def _title(root: etree._Element) -> str:
    titles = _metadata(root, "title")
    types = _refined(root, "title-type")
    main = [title for title in titles if types.get(title.get("id", "")) == "main"]
    if not titles:
        return ""
    return plain_text((main or titles)[0])


def _authors(root: etree._Element) -> tuple[str, ...]:
    """The creators who are authors; all of them if none is."""
    creators = _metadata(root, "creator")
    roles = _refined(root, "role")
    authors = [
        creator
        for creator in creators
        if roles.get(creator.get("id", ""), creator.get("role", "")) in ("", "aut")
    ]
    return tuple(dict.fromkeys(map(plain_text, authors or creators)))


def _identifiers(root: etree._Element) -> tuple[str, ...]:
    unique = root.get("unique-identifier", "")
    identifiers = _metadata(root, "identifier")
    identifiers.sort(key=lambda element: element.get("id", "") != unique)
    return tuple(dict.fromkeys(map(plain_text, identifiers)))


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
    paths: set[str] = set()
    root = parse_entry(archive, "META-INF/encryption.xml")
    for data in each_named(root, "encrypteddata"):
        methods = {
            method.get("algorithm", "") for method in data.iter("encryptionmethod")
        }
        is_obfuscated_font = methods and methods <= _FONT_OBFUSCATION
        if not is_obfuscated_font:
            addresses = (each.get("uri", "") for each in data.iter("cipherreference"))
            paths |= {normalise_path(unquote(address)) for address in addresses}
    return frozenset(paths)


def _package_path(archive: Archive) -> tuple[str, int]:
    """The path of the first package, and the number of others."""
    root = parse_entry(archive, "META-INF/container.xml")
    named = (each.get("full-path", "") for each in each_named(root, "rootfile"))
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
    path = ""
    if parts.path:
        path = normalise_path(posixpath.join(folder, unquote(parts.path)))
    return path, unquote(parts.fragment)


def _is_text(item: _Item) -> bool:
    return item.media_type in _TEXT_TYPES or item.path.lower().endswith(_TEXT_NAMES)


def _spine(
    root: etree._Element, items: dict[str, _Item], notices: list[str]
) -> tuple[str, ...]:
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
        if not path:
            kind = item.media_type or "of no known type"
            notices.append(f"{item.path} is {kind}, not text; it was left out.")
        elif path == item.path or path not in known:
            # Pictures may share a text in their place
            paths.append(path)
            known.add(path)
    if paths:
        return tuple(paths)
    texts = (item for item in items.values() if _is_text(item))
    paths = [item.path for item in texts if "nav" not in item.properties]
    if paths:
        notices.append(
            "The book gives no reading order; its files are in the order of its manifest."
        )
    return tuple(paths)


def _unlisted(
    archive: Archive, listed: "_Manifest", spine: tuple[str, ...]
) -> tuple[str, ...]:
    """Pages of the archive that are neither read nor the table of contents."""
    pages = {item.path for item in listed.items if item.media_type in _PAGE_TYPES}
    pages |= {name for name in archive.names if name.lower().endswith(_TEXT_NAMES)}
    navigation = {item.path for item in listed.items if "nav" in item.properties}
    read = {archive.find(path) or path for path in (*spine, *navigation)}
    return tuple(
        sorted(path for path in pages if (archive.find(path) or path) not in read)
    )


def _cover(
    archive: Archive, root: etree._Element, items: dict[str, _Item], folder: str
) -> str:
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
        if reference.get("type", "").lower() in _COVER_TYPES:
            path = archive.find(resolve_reference(reference.get("href", ""), folder)[0])
            if path:
                is_picture = path.lower().endswith(_PICTURE_NAMES)
                if is_picture:
                    return path
                return _first_picture(archive, path)
    return ""


def _contents_pages(
    archive: Archive, root: etree._Element, folder: str
) -> frozenset[str]:
    """The pages that the guide of EPUB 2 calls the table of contents."""
    named = [
        each for each in root.iter("reference") if each.get("type", "").lower() == "toc"
    ]
    targets = (resolve_reference(each.get("href", ""), folder)[0] for each in named)
    return frozenset(filter(None, map(archive.find, targets)))


def _first_picture(archive: Archive, path: str) -> str:
    try:
        tree = parse(archive.read(path))
    except ArchiveError:
        return ""
    if tree is None:
        return ""
    elements = tree.root.iter(etree.Element)
    pictures = (each for each in elements if local_name(each) in ("img", "image"))
    source = next((picture_of(each).source for each in pictures), "")
    if source:
        return archive.find(resolve_reference(source, posixpath.dirname(path))[0]) or ""
    return ""


def _text_path(item: _Item, items: dict[str, _Item]) -> str:
    """The path of an item, or of the one that stands in for it if it is no plain text."""
    choices = [item]
    while len(choices) < _MOST_FALLBACKS:  # They may be circular
        fallback = items.get(choices[-1].fallback)
        if fallback is None:
            break
        choices.append(fallback)
    texts = [each for each in choices if _is_text(each)]
    without_scripts = [each for each in texts if "scripted" not in each.properties]
    best = without_scripts or texts
    if best:
        return best[0].path
    return ""


def _contents(
    archive: Archive, root: etree._Element, items: dict[str, _Item]
) -> tuple[ContentsEntry, ...]:
    """The navigation document's entries, else those of the NCX."""
    navigation = next(
        (item for item in items.values() if "nav" in item.properties), None
    )
    entries = _usable_entries(archive, navigation)
    if not entries:
        entries = _usable_entries(archive, _ncx_item(root, items))
    if not entries:
        return ()
    texts = {item.path: _text_path(item, items) or item.path for item in items.values()}
    return tuple(
        replace(entry, path=texts.get(entry.path, entry.path)) for entry in entries
    )


def _ncx_item(root: etree._Element, items: dict[str, _Item]) -> _Item | None:
    """The NCX that the spine names, or else the first one."""
    candidates = list(items.values())
    spine = root.find(".//spine")
    if spine is not None and (named := items.get(spine.get("toc", ""))):
        candidates.insert(0, named)
    return next(
        (item for item in candidates if item.media_type == _CONTENTS_TYPE), None
    )


def _usable_entries(archive: Archive, item: _Item | None) -> list[ContentsEntry]:
    """The entries of a table of contents that have a title and a target."""
    if item is None:
        return []
    tree = parse_entry(archive, item.path)
    if tree is None:
        return []
    read = _navigation_entries if "nav" in item.properties else _ncx_entries
    usable = (entry for entry in read(tree, item.path) if entry.title and entry.path)
    return list(islice(usable, _MOST_ENTRIES))


def _navigation_entries(tree: etree._Element, path: str) -> Iterator[ContentsEntry]:
    navs = list(tree.iter("nav"))
    contents = [nav for nav in navs if _is_table_of_contents(nav)]
    for nav in (contents or navs)[:1]:
        for ordered in nav.iterfind("ol"):
            yield from _navigation(ordered, path)


def _is_table_of_contents(nav: etree._Element) -> bool:
    return "toc" in nav.get("type", "").split() or nav.get("role") == "doc-toc"


def _ncx_entries(tree: etree._Element, path: str) -> Iterator[ContentsEntry]:
    top = tree.find(".//navmap")
    if top is not None:
        yield from _ncx(top, path)


def _navigation(
    ordered: etree._Element, path: str, level: int = 1
) -> Iterator[ContentsEntry]:
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
                plain_text(parts["navlabel"]),
                parts["content"].get("src", ""),
                path,
                level,
            )
        if level < _DEEPEST_CONTENTS:
            yield from _ncx(point, path, level + 1)


def _entry(title: str, reference: str, path: str, level: int) -> ContentsEntry:
    target, fragment = resolve_reference(reference, posixpath.dirname(path))
    return ContentsEntry(title, target or (path if fragment else ""), fragment, level)


def _metadata(root: etree._Element, name: str) -> list[etree._Element]:
    return [
        element
        for element in root.iterfind(f".//metadata//{name}")
        if plain_text(element)
    ]


def _refined(root: etree._Element, name: str) -> dict[str, str]:
    """Values of `<meta refines="#id" property="name">` by id."""
    return {
        meta.get("refines", "").removeprefix("#"): plain_text(meta)
        for meta in _metadata(root, "meta")
        if meta.get("property") == name
    }
