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
_CONTENTS_TYPE = "application/x-dtbncx+xml"  # The table of contents of EPUB 2
_DEEPEST_CONTENTS = 12
_MOST_ENTRIES = 20_000
_MOST_FALLBACKS = 10


@dataclass(frozen=True, slots=True)
class ContentsEntry:
    """An entry of the table of contents, which leads to `path#fragment`."""

    title: str
    path: str
    fragment: str
    level: int


@dataclass(frozen=True, slots=True)
class Package:
    """What the package file of an EPUB states."""

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
    """A file that the manifest lists."""

    path: str
    media_type: str
    properties: frozenset[str]
    fallback: str  # Id of the item to read instead of it

    @property
    def is_text(self) -> bool:
        return self.media_type in _TEXT_TYPES or self.path.lower().endswith(_TEXT_NAMES)

    @property
    def is_navigation(self) -> bool:
        return "nav" in self.properties


def read_package(archive: Archive) -> Package:
    """Read the package that META-INF/container.xml names. Raises ArchiveError."""
    path, others = _package_path(archive)
    root = _package_root(archive, path)
    folder = posixpath.dirname(path)
    manifest = _manifest(root, folder)
    items = manifest.by_id
    notices = list(left_out_notices({"other edition(s) in the file": others}))
    spine = _spine(root, items, notices)
    if not spine:
        raise ArchiveError("its package lists no text")
    contents = _contents(archive, root, items)
    # The only table of contents, on a page, is read as text.
    contents_pages: frozenset[str] = frozenset()
    if contents:
        contents_pages = _contents_pages(archive, root, folder)
    return Package(
        title=_title(root),
        authors=_authors(root),
        language=_language(root),
        identifiers=_identifiers(root),
        cover=_cover(archive, root, items, folder),
        spine=spine,
        contents=contents,
        contents_pages=contents_pages,
        unlisted=_unlisted(archive, manifest, spine),
        notices=tuple(notices),
    )


def spine_paths(archive: Archive) -> tuple[str, ...]:
    """The paths of all items that the spine names, also of pictures. Raises ArchiveError."""
    path, _ = _package_path(archive)
    root = _package_root(archive, path)
    items = _manifest(root, posixpath.dirname(path)).by_id
    references = islice(root.iterfind(".//spine//itemref"), _MOST_ENTRIES)
    ids = [reference.get("idref", "") for reference in references]
    return tuple(items[name].path for name in ids if name in items)


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
    if tree is None or tree.is_repaired:
        return
    items = _manifest(tree.root, posixpath.dirname(path)).by_id
    for reference in tree.root.iterfind(".//spine//itemref"):
        item = items.get(reference.get("idref", ""))
        if item is None or not item.is_text:
            continue
        page = archive.find(item.path)
        if page:
            yield page, reference


def _title(root: etree._Element) -> str:
    """The main title, else the first one."""
    titles = _metadata(root, "title")
    types = _refined(root, "title-type")
    for title in titles:
        if types.get(title.get("id", "")) == "main":
            return plain_text(title)
    return plain_text(titles[0]) if titles else ""


def _authors(root: etree._Element) -> tuple[str, ...]:
    """The creators who are authors by their role; all creators if there are no such."""
    creators = _metadata(root, "creator")
    roles = _refined(root, "role")
    authors: list[etree._Element] = []
    for creator in creators:
        own_role = creator.get("role", "")
        role = roles.get(creator.get("id", ""), own_role)
        if role in ("", "aut"):
            authors.append(creator)
    names = map(plain_text, authors or creators)
    return tuple(dict.fromkeys(names))


def _language(root: etree._Element) -> str:
    """The first valid language; empty if there is none."""
    for element in _metadata(root, "language"):
        language = language_tag(plain_text(element))
        if language:
            return language
    return ""


def _identifiers(root: etree._Element) -> tuple[str, ...]:
    """All identifiers, the unique one first."""
    unique_id = root.get("unique-identifier", "")
    identifiers = _metadata(root, "identifier")
    identifiers.sort(key=lambda element: element.get("id", "") != unique_id)
    return tuple(dict.fromkeys(map(plain_text, identifiers)))


@dataclass(frozen=True, slots=True)
class _Manifest:
    items: tuple[_Item, ...]
    by_id: dict[str, _Item]  # A page before other files with the same id


def _manifest(root: etree._Element, folder: str) -> _Manifest:
    items: list[_Item] = []
    by_id: dict[str, _Item] = {}
    for element in root.iterfind(".//manifest//item"):
        path, _ = resolve_reference(element.get("href", ""), folder)
        item = _Item(
            path=path,
            media_type=element.get("media-type", "").strip().lower(),
            properties=frozenset(element.get("properties", "").split()),
            fallback=element.get("fallback", ""),
        )
        items.append(item)
        item_id = element.get("id", "")
        known = by_id.get(item_id)
        if known is None or (item.is_text and not known.is_text):
            by_id[item_id] = item
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
        if is_obfuscated_font:
            continue
        for reference in data.iter("cipherreference"):
            address = unquote(reference.get("uri", ""))
            paths.add(normalise_path(address))
    return frozenset(paths)


def _package_path(archive: Archive) -> tuple[str, int]:
    """The path of the first package, and the number of others."""
    root = parse_entry(archive, "META-INF/container.xml")
    paths: list[str] = []
    for rootfile in each_named(root, "rootfile"):
        path = normalise_path(rootfile.get("full-path", ""))
        if archive.find(path):
            paths.append(path)
    if paths:
        return paths[0], len(set(paths)) - 1
    # Broken archives often still contain the package.
    packages = sorted(name for name in archive.names if name.lower().endswith(".opf"))
    if not packages:
        raise ArchiveError("it has no package file")
    return packages[0], 0


def resolve_reference(reference: str, folder: str) -> tuple[str, str]:
    """Path in the archive and fragment of a reference from `folder`; empty if it is external.

    >>> resolve_reference("../notes.xhtml#n1", "OEBPS/text")
    ('OEBPS/notes.xhtml', 'n1')
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


def _spine(
    root: etree._Element, items: dict[str, _Item], notices: list[str]
) -> tuple[str, ...]:
    """The paths of the text files in reading order. Adds to `notices` what is left out."""
    paths: list[str] = []
    known: set[str] = set()
    for reference in islice(root.iterfind(".//spine//itemref"), _MOST_ENTRIES):
        item_id = reference.get("idref", "")
        item = items.get(item_id)
        if item is None or not item.path:
            notices.append(
                f"The reading order names {item_id!r}, which is not in the book."
            )
            continue
        path = _text_path(item, items)
        if not path:
            kind = item.media_type or "of no known type"
            notices.append(f"{item.path} is {kind}, not text; it was left out.")
        elif path == item.path or path not in known:
            # Several pictures may have the same text as their fallback.
            paths.append(path)
            known.add(path)
    return tuple(paths) or _in_order_of_manifest(items, notices)


def _in_order_of_manifest(
    items: dict[str, _Item], notices: list[str]
) -> tuple[str, ...]:
    """The paths of all text files, for a book without a reading order."""
    texts = [item for item in items.values() if item.is_text and not item.is_navigation]
    if texts:
        notices.append(
            "The book gives no reading order; its files are in the order of its manifest."
        )
    return tuple(item.path for item in texts)


def _unlisted(
    archive: Archive, manifest: _Manifest, spine: tuple[str, ...]
) -> tuple[str, ...]:
    """Pages of the archive that are neither read nor the table of contents."""

    def name_of(path: str) -> str:
        return archive.find(path) or path

    pages = {item.path for item in manifest.items if item.media_type in _PAGE_TYPES}
    pages |= {name for name in archive.names if name.lower().endswith(_TEXT_NAMES)}
    navigation = [item.path for item in manifest.items if item.is_navigation]
    known_names = {name_of(path) for path in (*spine, *navigation)}
    unlisted = [path for path in pages if name_of(path) not in known_names]
    return tuple(sorted(unlisted))


def _cover(
    archive: Archive, root: etree._Element, items: dict[str, _Item], folder: str
) -> str:
    """The path of the cover's picture; empty if there is none."""
    for item in _cover_items(root, items):
        path = archive.find(item.path)
        if path and item.media_type.startswith("image/"):
            return path
    for reference in root.iter("reference"):
        if reference.get("type", "").lower() not in _COVER_TYPES:
            continue
        target, _ = resolve_reference(reference.get("href", ""), folder)
        path = archive.find(target)
        if path:
            is_picture = path.lower().endswith(_PICTURE_NAMES)
            return path if is_picture else _first_picture(archive, path)
    return ""


def _cover_items(root: etree._Element, items: dict[str, _Item]) -> Iterator[_Item]:
    """The items that the package calls the cover: in EPUB 3 by a property, in 2 by a <meta>."""
    for item in items.values():
        if "cover-image" in item.properties:
            yield item
    for meta in root.iter("meta"):
        if meta.get("name", "").lower() == "cover":
            item_id = meta.get("content", "")
            if item_id in items:
                yield items[item_id]
            return


def _contents_pages(
    archive: Archive, root: etree._Element, folder: str
) -> frozenset[str]:
    """The pages that the guide of EPUB 2 calls the table of contents."""
    pages: set[str] = set()
    for reference in root.iter("reference"):
        if reference.get("type", "").lower() == "toc":
            target, _ = resolve_reference(reference.get("href", ""), folder)
            page = archive.find(target)
            if page:
                pages.add(page)
    return frozenset(pages)


def _first_picture(archive: Archive, path: str) -> str:
    """The path of the first picture of a page; empty if it has none."""
    try:
        tree = parse(archive.read(path))
    except ArchiveError:
        return ""
    if tree is None:
        return ""
    for element in tree.root.iter(etree.Element):
        if local_name(element) in ("img", "image"):
            source = picture_of(element).source
            if not source:
                return ""
            target, _ = resolve_reference(source, posixpath.dirname(path))
            return archive.find(target) or ""
    return ""


def _text_path(item: _Item, items: dict[str, _Item]) -> str:
    """The path of an item, or of its fallback if it is not text; a page without scripts first."""
    choices = [item]
    while len(choices) < _MOST_FALLBACKS:  # They may be circular
        fallback = items.get(choices[-1].fallback)
        if fallback is None:
            break
        choices.append(fallback)
    texts = [choice for choice in choices if choice.is_text]
    without_scripts = [text for text in texts if "scripted" not in text.properties]
    best = without_scripts or texts
    return best[0].path if best else ""


def _contents(
    archive: Archive, root: etree._Element, items: dict[str, _Item]
) -> tuple[ContentsEntry, ...]:
    """The navigation document's entries, else those of the NCX."""
    navigation = next((item for item in items.values() if item.is_navigation), None)
    entries = _usable_entries(archive, navigation)
    if not entries:
        entries = _usable_entries(archive, _ncx_item(root, items))
    if not entries:
        return ()
    # An entry may lead to a picture whose fallback is read instead of it.
    read_instead: dict[str, str] = {}
    for item in items.values():
        read_instead[item.path] = _text_path(item, items) or item.path
    return tuple(
        replace(entry, path=read_instead.get(entry.path, entry.path))
        for entry in entries
    )


def _ncx_item(root: etree._Element, items: dict[str, _Item]) -> _Item | None:
    """The NCX that the spine names, or else the first one."""
    candidates = list(items.values())
    spine = root.find(".//spine")
    if spine is not None:
        named = items.get(spine.get("toc", ""))
        if named is not None:
            candidates.insert(0, named)
    for item in candidates:
        if item.media_type == _CONTENTS_TYPE:
            return item
    return None


def _usable_entries(archive: Archive, item: _Item | None) -> list[ContentsEntry]:
    """The entries of a table of contents that have a title and a target."""
    if item is None:
        return []
    tree = parse_entry(archive, item.path)
    if tree is None:
        return []
    read_entries = _navigation_entries if item.is_navigation else _ncx_entries
    entries = read_entries(tree, item.path)
    usable = (entry for entry in entries if entry.title and entry.path)
    return list(islice(usable, _MOST_ENTRIES))


def _navigation_entries(tree: etree._Element, path: str) -> Iterator[ContentsEntry]:
    """The entries of the <nav> that is the table of contents, else of the first one."""
    navs = list(tree.iter("nav"))
    if not navs:
        return
    contents = next(filter(_is_table_of_contents, navs), navs[0])
    for ordered_list in contents.iterfind("ol"):
        yield from _entries_of_list(ordered_list, path)


def _is_table_of_contents(nav: etree._Element) -> bool:
    return "toc" in nav.get("type", "").split() or nav.get("role") == "doc-toc"


def _ncx_entries(tree: etree._Element, path: str) -> Iterator[ContentsEntry]:
    navigation_map = tree.find(".//navmap")
    if navigation_map is not None:
        yield from _entries_of_points(navigation_map, path)


def _entries_of_list(
    ordered_list: etree._Element, path: str, level: int = 1
) -> Iterator[ContentsEntry]:
    """The entries of an <ol> and of the lists inside it."""
    for item in ordered_list:
        inner_lists = item.findall("ol")
        label = next((child for child in item if child.tag in ("a", "span")), None)
        if label is not None:
            target = label.get("href", "")
            if not target and inner_lists:
                # A heading without a target starts where its first entry starts.
                first_link = next(inner_lists[0].iter("a"), None)
                target = "" if first_link is None else first_link.get("href", "")
            yield _entry(plain_text(label), target, path, level)
        if level < _DEEPEST_CONTENTS:
            for inner_list in inner_lists:
                yield from _entries_of_list(inner_list, path, level + 1)


def _entries_of_points(
    parent: etree._Element, path: str, level: int = 1
) -> Iterator[ContentsEntry]:
    """The entries of the <navPoint> elements of an NCX, also of those inside others."""
    for point in parent.iterfind("navpoint"):
        label = point.find("navlabel")
        content = point.find("content")
        if label is not None and content is not None:
            yield _entry(plain_text(label), content.get("src", ""), path, level)
        if level < _DEEPEST_CONTENTS:
            yield from _entries_of_points(point, path, level + 1)


def _entry(title: str, reference: str, path: str, level: int) -> ContentsEntry:
    """An entry of the contents file `path`."""
    target, fragment = resolve_reference(reference, posixpath.dirname(path))
    if fragment and not target:
        target = path
    return ContentsEntry(title, target, fragment, level)


def _metadata(root: etree._Element, name: str) -> list[etree._Element]:
    """The elements of the metadata with this name that have text."""
    elements = root.iterfind(f".//metadata//{name}")
    return [element for element in elements if plain_text(element)]


def _refined(root: etree._Element, name: str) -> dict[str, str]:
    """Values of `<meta refines="#id" property="name">` by id."""
    return {
        meta.get("refines", "").removeprefix("#"): plain_text(meta)
        for meta in _metadata(root, "meta")
        if meta.get("property") == name
    }
