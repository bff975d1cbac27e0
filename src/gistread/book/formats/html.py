"""Reads HTML pages and web archives (MHTML): hand-written, saved by a browser, malformed.

Nothing is fetched from the network.
"""

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from email.message import Message
from itertools import islice

from lxml import etree

from gistread.book.builder import Metadata, left_out_notices
from gistread.book.formats.elements.inline_elements import language_of
from gistread.book.formats.elements.markup import (
    append_text_before,
    elements_named,
    local_name,
    parse_page,
    parse_xhtml,
    plain_text,
    split_at_empty_lines,
)
from gistread.book.formats.elements.omissions import SCRIPTS as SCRIPT_WORDS
from gistread.book.formats.elements.omissions import words_in
from gistread.book.formats.elements.semantics import (
    BLOCKS,
    EPUB_TYPE,
    HEADINGS,
    SCRIPTS,
    classes_of,
)
from gistread.book.formats.elements.single_document import book_from_tree
from gistread.book.formats.encoding import (
    Decoded,
    codec_of,
    decode_declared,
    encoding_notices,
)
from gistread.book.formats.text import read_text, strip_gutenberg
from gistread.book.model import Book
from gistread.book.normalise import language_tag, one_line, word_set
from gistread.errors import BookError
from gistread.words import count_words

# '<?xml', '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML', '<html xmlns='
_IS_XHTML = re.compile(
    r"(?:\s|<!--.*?-->)*(?:<\?xml\b|<!doctype[^>]*xhtml|<html\b[^>]*xmlns\s*=)",
    re.I | re.S,
)
EMBEDDED = "embedded:"  # Prefix of the sources of pictures inside the page itself
_DATA_SCHEME = "data:"
_CATALOGUE_TITLES = ("dc.title", "dcterms.title", "citation_title")
_OTHER_TITLES = ("og:title", "title")
_AUTHORS = (
    "dc.creator",
    "dcterms.creator",
    "citation_author",
    "author",
    "article:author",
    "book:author",
)
_LANGUAGES = (
    "dc.language",
    "dcterms.language",
    "citation_language",
    "content-language",
)
_COVER_RELATIONS = frozenset(("coverpage", "cover"))
_LONGEST_NAMES = 120
# A <pre> with this many characters, and with this share of the page, is a plain text.
_LEAST_PLAIN_TEXT = 2_000
_LEAST_PLAIN_SHARE = 0.8
_SPACES = re.compile(r"\s+")
_MENU_WORDS = "word(s) of menus and the like"
# "Chapter 1 - A Site": the site's name usually follows the separator.
_SITE = re.compile(r"\s+[|\-–—·:»]\s+")
# ", 1828-1910", " (1828-)"
_AUTHOR_DATES = re.compile(r",?\s*\(?\b\d{3,4}\??\s*[-–]\s*(?:\d{3,4}\??)?\)?\s*$")


def read_html(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data)
    if decoded is None:
        raise BookError(f"{name} is not an HTML page but unknown binary data.")
    return _read_page(decoded, name)


def _read_page(
    decoded: Decoded, name: str, left_out_elsewhere: Mapping[str, int] | None = None
) -> Book:
    """The book of a page. Raises BookError.

    `left_out_elsewhere`: counts of omissions outside the page.
    """
    root = _tree(decoded.text.lstrip("\ufeff"))
    if root is None:
        raise BookError(f"{name} cannot be read: it contains no HTML, or too much.")
    if _is_plain_text(root):
        return _read_plain_text(root, name)
    metadata = _metadata(root)
    # Before any is removed, so that they have the numbers by which `embedded_picture` finds them.
    for number, picture in enumerate(_embedded(root), start=1):
        picture.set("src", f"{EMBEDDED}{number}")
    menu_words = remove_boilerplate(root)
    mark_backlinks(root)
    split_at_empty_lines(root)
    left_out = Counter({_MENU_WORDS: menu_words})
    left_out.update(left_out_elsewhere or {})
    return book_from_tree(
        root,
        name,
        "html",
        metadata,
        notices=encoding_notices(decoded),
        left_out=left_out,
    )


def _metadata(root: etree._Element) -> Metadata:
    """What the page says of its book; first comes a header of Project Gutenberg."""
    meta = _meta(root)
    header = _gutenberg_header(root)
    return Metadata(
        title=header.title or _title(root, meta),
        authors=header.authors or _authors(meta),
        language=_language(root, meta) or header.language,
        cover=_cover(root),
    )


def _language(root: etree._Element, meta: dict[str, list[str]]) -> str:
    """The language that the page or its first <body> declares, else that of its metadata."""
    body = next(elements_named(root, "body"), None)
    elements = [root] if body is None else [root, body]
    in_elements = map(language_of, elements)
    in_meta = map(language_tag, _first_present(meta, _LANGUAGES))
    return next(filter(None, (*in_elements, *in_meta)), "")


def _authors(meta: dict[str, list[str]]) -> tuple[str, ...]:
    """The names of the authors in <meta> elements, in reading order."""
    names: list[str] = []
    for value in _first_present(meta, _AUTHORS):
        # Some pages name their author by a link or a handle.
        is_address = value.startswith(("http:", "https:", "@"))
        if not is_address and len(value) <= _LONGEST_NAMES:
            names += _names(value)
    return tuple(dict.fromkeys(names))


def _is_plain_text(root: etree._Element) -> bool:
    """Whether a page is mostly one <pre>: plain text with a few tags around it."""
    lengths = [
        sum(map(len, element.itertext())) for element in elements_named(root, "pre")
    ]
    longest = max(lengths, default=0)
    if longest < _LEAST_PLAIN_TEXT:
        return False
    return longest >= len(plain_text(root)) * _LEAST_PLAIN_SHARE


def _read_plain_text(root: etree._Element, name: str) -> Book:
    """The book of a page that is a plain text in HTML: paragraphs and chapters by its lines."""
    menu_words = remove_boilerplate(root)
    scripts = [element for element in root.iter() if local_name(element) in SCRIPTS]
    left_out = {SCRIPT_WORDS: sum(map(words_in, scripts)), _MENU_WORDS: menu_words}
    text = _plain_text(root)
    book = read_text(text.encode("utf-8", errors="replace"), name)
    notices = (*book.notices, *left_out_notices(left_out))
    return replace(book, source_format="html", notices=notices)


def _plain_text(root: etree._Element) -> str:
    """The words of a page in order, with the lines of each <pre> as they are."""
    parts: list[str] = []
    for child in root:
        if local_name(child) != "head":
            _add_plain_text(child, parts)
            parts.append("\n\n")
    return "".join(parts)


def _add_plain_text(element: etree._Element, parts: list[str]) -> None:
    """Add the words of an element and of those inside it, with empty lines around blocks."""
    name = local_name(element)
    if not name or name in SCRIPTS:
        return
    if name == "pre":
        parts += ["\n\n", *map(str, element.itertext()), "\n\n"]
        return
    gap = "\n\n" if name in BLOCKS or name == "br" else ""
    parts += [gap, _SPACES.sub(" ", element.text or "")]
    for child in element:
        _add_plain_text(child, parts)
        parts.append(_SPACES.sub(" ", child.tail or ""))
    parts.append(gap)


def _tree(text: str) -> etree._Element | None:
    """The tree of a page; None if it contains no HTML, or too much."""
    if _IS_XHTML.match(text):
        tree = parse_xhtml(text)
        if tree is None:
            return None
        return tree.root
    return parse_page(text)


def embedded_picture(data: bytes, source: str) -> str:
    """The `data:` URL of a picture inside the page `data`; empty if there is no such picture."""
    number = source.removeprefix(EMBEDDED)
    if not number.isdecimal():
        return ""
    decoded = decode_declared(data)
    if decoded is None:
        return ""
    root = _tree(decoded.text.lstrip("\ufeff"))
    if root is None:
        return ""
    pictures = _embedded(root)
    index = int(number) - 1
    if not 0 <= index < len(pictures):
        return ""
    return (pictures[index].get("src") or "").strip()


def _embedded(root: etree._Element) -> list[etree._Element]:
    """The pictures whose bytes are in the page."""
    return list(filter(_is_embedded, elements_named(root, "img")))


def _is_embedded(image: etree._Element) -> bool:
    source = (image.get("src") or "").lstrip()
    return source[: len(_DATA_SCHEME)].lower() == _DATA_SCHEME


_MOST_PARTS = 10_000
_PAGE_TYPES = frozenset(("text/html", "application/xhtml+xml"))


def read_mhtml(data: bytes, name: str) -> Book:
    """The page in the web archive `data`; `name` is used in messages. Raises BookError."""
    message = email.message_from_bytes(data, policy=email.policy.compat32)
    parts = islice(message.walk(), _MOST_PARTS)
    pages = [part for part in parts if part.get_content_type() in _PAGE_TYPES]
    # The first HTML part is the page; parts of frames follow it.
    decoded = _decoded(pages[0]) if pages else None
    if decoded is None:
        raise BookError(
            f"{name} is a saved page (MHTML) with no page of HTML in it.",
            "Save the page again, as HTML.",
        )
    words_of_frames = sum(map(_words_of_page, pages[1:]))
    return _read_page(decoded, name, {"word(s) of embedded pages": words_of_frames})


def _words_of_page(page: Message) -> int:
    """The number of words in a part of a web archive; 0 if it cannot be read."""
    decoded = _decoded(page)
    if decoded is None:
        return 0
    root = _tree(decoded.text)
    if root is None:
        return 0
    return words_in(root)


def _decoded(page: Message) -> Decoded | None:
    payload = page.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return None
    codec = codec_of(page.get_content_charset() or "")
    if codec:
        text = payload.decode(codec, errors="replace")
        return Decoded(text, codec, text.count("\ufffd"))
    return decode_declared(payload)


def _gutenberg_header(root: etree._Element) -> Metadata:
    """The metadata in the header of a page of Project Gutenberg."""
    header = next(root.iterfind(".//*[@id='pg-header']"), None)
    if header is None:
        return Metadata()
    blocks = [block for block in header.iter() if local_name(block) in ("p", "div")]
    text = "\n".join(map(plain_text, blocks))
    return strip_gutenberg(text).header


def _meta(root: etree._Element) -> dict[str, list[str]]:
    """The contents of <meta> elements by name in lower case."""
    values: dict[str, list[str]] = {}
    for element in elements_named(root, "meta"):
        keys = map(element.get, ("name", "property", "http-equiv"))
        key = next(filter(None, keys), "")
        value = one_line(element.get("content") or "")
        if key and value:
            values.setdefault(key.lower(), []).append(value)
    return values


def _first_present(meta: dict[str, list[str]], keys: Iterable[str]) -> list[str]:
    """The values of the first key that the page has; empty if it has none."""
    for key in keys:
        if key in meta:
            return meta[key]
    return []


def _title(root: etree._Element, meta: dict[str, list[str]]) -> str:
    """The title by a catalogue's <meta>, by <title> without the site's name, or another <meta>."""
    catalogue_titles = _first_present(meta, _CATALOGUE_TITLES)
    if catalogue_titles:
        return catalogue_titles[0]
    title = _title_element(root)
    if not title:
        other_titles = _first_present(meta, _OTHER_TITLES)
        title = other_titles[0] if other_titles else ""
    headings = [plain_text(heading) for heading in elements_named(root, "h1")]
    parts = _SITE.split(title)
    if len(headings) != 1 or len(parts) == 1:
        return title
    # If the heading repeats one end of the title, the other end is the site's name.
    heading = headings[0]
    return heading if heading in (parts[0], parts[-1]) else title


def _title_element(root: etree._Element) -> str:
    """The words of the first <title> that is not of a drawing."""
    for title in elements_named(root, "title"):
        outer_names = map(local_name, title.iterancestors())
        if "svg" not in outer_names:
            return plain_text(title)
    return ""


def _names(value: str) -> list[str]:
    """Names in reading order.

    >>> _names("Tolstoy, Leo, graf, 1828-1910"), _names("Ann Lee, Bob Roe")
    (['Leo Tolstoy'], ['Ann Lee', 'Bob Roe'])
    """
    if ";" in value:
        names: list[str] = []
        for part in value.split(";"):
            names += _names(part.strip())
        return names
    without_dates = _AUTHOR_DATES.sub("", value)
    parts = [part.strip() for part in without_dates.split(",") if part.strip()]
    if len(parts) > 1 and all(" " in part for part in parts):
        return parts
    if len(parts) in (2, 3):
        # A title such as "graf" may follow the first name.
        last_name, first_name, *_ = parts
        return [f"{first_name} {last_name}"]
    if parts:
        return [", ".join(parts)]
    return []


def _cover(root: etree._Element) -> str:
    """The address of the cover's picture; empty if the page has none."""
    for element in root.iter():
        name = local_name(element)
        if name == "link":
            relations = (element.get("rel") or "").lower().split()
            if not _COVER_RELATIONS.isdisjoint(relations):
                return element.get("href") or ""
        elif name == "img" and (element.get("id") or "").lower() in _COVER_RELATIONS:
            return element.get("src") or ""
    return ""


_ROLES = frozenset(
    ("navigation", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar")
)
# Class or id of a cookie notice: "cookie-banner", "onetrust"
_CONSENT = re.compile(
    r"(?:^|[-_ ])(?:cookies?|gdpr|ccpa|onetrust|didomi|cookiebot|usercentrics|truste|qc-cmp2?"
    r"|cmp(?=[-_ ]|$))"
    r"|cookie(?:-?(?:bar|banner|consent|notice|law|policy|popup|message|alert|overlay|modal))"
    r"|consent-?(?:banner|bar|popup)",
    re.IGNORECASE,
)
_NOT_PRINTED = word_set(
    """noprint no-print d-print-none hidden-print print-hidden
    skip-link skip-to-content skiplink screen-reader-skip
    mw-editsection mw-jump-link navbox catlinks printfooter
    vector-header-container vector-toc mw-indicators
    sharedaddy addtoany share-buttons social-share breadcrumb breadcrumbs site-footer site-header"""
)
_PERMALINKS = frozenset(("¶", "#", "§", "🔗", "⚓", "∞"))
_PERMALINK_CLASSES = frozenset(
    (
        "headerlink",
        "anchor",
        "permalink",
        "anchor-link",
        "anchorjs-link",
        "header-anchor",
    )
)
_BARS = frozenset(("header", "footer", "aside"))
_CANDIDATES = _BARS | {"nav", "noscript", "dialog", "canvas"}
_NEVER_REMOVED = frozenset(
    ("html", "body", "main", "article", "img", "br", "hr", "td", "th", "tr")
)

_PROSE_WORDS = 40  # A paragraph with more words outside links is prose
# Share of the words of the page: a larger element contains the text.
_LARGE_SHARE = 0.3
_MOST_HIDDEN_WORDS = 30  # In an aria-hidden element that is removed
_MOST_CONSENT_WORDS = 600
_WORDS_FOR_ONE_LINKED = 3  # In a bar of links, a larger share of the words is linked


@dataclass(slots=True)
class _Contents:
    """How much an element contains, with everything inside it."""

    words: int = 0
    linked_words: int = 0
    headings: int = 0
    main_headings: int = 0
    prose_paragraphs: int = 0

    def add(self, inner: "_Contents") -> None:
        self.words += inner.words
        self.linked_words += inner.linked_words
        self.headings += inner.headings
        self.main_headings += inner.main_headings
        self.prose_paragraphs += inner.prose_paragraphs

    def count_element(self, name: str) -> None:
        """Count the element itself, when all inside it is counted."""
        if name == "a":
            self.linked_words = self.words
        elif name == "p":
            if self.words - self.linked_words > _PROSE_WORDS:
                self.prose_paragraphs += 1
        elif name in HEADINGS:
            self.headings += 1
            if name == "h1":
                self.main_headings += 1


def remove_boilerplate(root: etree._Element) -> int:
    """Remove menus, cookie notices and the like. Returns the number of words removed."""
    *candidates, (_, page_contents) = _with_contents(root)
    page_words = page_contents.words
    for element, contents in candidates:
        if _is_boilerplate(element, contents, page_words):
            _remove(element)
        elif local_name(element) in ("nav", "noscript", "canvas"):
            # It contains the text, so it is read as a block.
            element.tag = "div"
    words_left = sum(count_words(str(text)) for text in root.itertext())
    return page_words - words_left


def _with_contents(
    root: etree._Element,
) -> Iterator[tuple[etree._Element, _Contents]]:
    """The elements that may be boilerplate, inner before outer, and last the root."""
    open_contents = [_Contents()]  # Around the root
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            open_contents.append(_Contents(words=count_words(element.text or "")))
            continue
        contents = open_contents.pop()
        name = local_name(element)
        contents.count_element(name)
        is_candidate = name in _CANDIDATES or element.attrib
        may_be_boilerplate = is_candidate and name not in _NEVER_REMOVED
        if may_be_boilerplate or element is root:
            yield element, contents
        outer = open_contents[-1]
        outer.add(contents)
        outer.words += count_words(element.tail or "")


def _is_boilerplate(
    element: etree._Element, contents: _Contents, page_words: int
) -> bool:
    """Whether an element is not of the text: a menu, a cookie notice, a sign of the page."""
    name = local_name(element)
    classes = classes_of(element)
    is_large = contents.words > page_words * _LARGE_SHARE
    if _is_permalink(element, name, classes):
        return True
    if name == "noscript" or _is_closed_dialog(element, name):
        return not is_large
    if _is_hidden_from_readers(element, name):
        return contents.words <= _MOST_HIDDEN_WORDS and not contents.headings
    if name == "nav" or _is_for_screen(element, classes):
        return not is_large and not contents.prose_paragraphs
    if _is_about_consent(element, classes):
        return not is_large and _is_notice(contents)
    return name in _BARS and _is_of_links(contents)


def _is_closed_dialog(element: etree._Element, name: str) -> bool:
    return name == "dialog" and element.get("open") is None


def _is_hidden_from_readers(element: etree._Element, name: str) -> bool:
    """Whether screen readers skip it, and not only because it is a picture."""
    return element.get("aria-hidden") == "true" and name not in ("img", "svg")


def _is_about_consent(element: etree._Element, classes: frozenset[str]) -> bool:
    """Whether an element has the id or a class of a cookie notice."""
    element_id = element.get("id") or ""
    names = " ".join((element_id, *classes))
    return bool(_CONSENT.search(names))


def _is_notice(contents: _Contents) -> bool:
    return contents.words <= _MOST_CONSENT_WORDS and not contents.main_headings


def _is_of_links(contents: _Contents) -> bool:
    """Whether it has hardly more than links."""
    if contents.headings or contents.prose_paragraphs:
        return False
    return contents.linked_words * _WORDS_FOR_ONE_LINKED > contents.words


def _is_for_screen(element: etree._Element, classes: frozenset[str]) -> bool:
    """Whether an element has the class "noprint" or the like, or the role of a menu or dialogue."""
    return bool(classes & _NOT_PRINTED) or element.get("role") in _ROLES


def _is_permalink(link: etree._Element, name: str, classes: frozenset[str]) -> bool:
    """Whether a link is the sign beside a heading that links to it."""
    if name != "a" or not (link.get("href") or "").startswith("#"):
        return False
    text = plain_text(link)
    if not text:
        return bool(classes & _PERMALINK_CLASSES)
    return text in _PERMALINKS


def _remove(element: etree._Element) -> None:
    """Remove an element, but leave the ids inside it, to which links may lead."""
    parent = element.getparent()
    if parent is None:
        return
    anchors = etree.Element("span")
    for inner in element.iter():
        for key in ("id", "name"):
            value = inner.get(key)
            if value:
                etree.SubElement(anchors, "span").set("id", value)
    tail = element.tail
    element.tail = None
    parent.replace(element, anchors)
    anchors.tail = tail


_BACK_CLASSES = frozenset(
    (
        "footnote-back",
        "footnote-backref",
        "mw-cite-backlink",
        "reversefootnote",
        "backlink",
    )
)
_NOTES_CLASSES = frozenset(("footnotes", "endnotes", "footnotes-sep"))
# The words of a back reference: "↩", "↑2", "[back]"
_ARROWS = re.compile(
    r"\(?[↩↑⤴⏎↵^←▲\ufe0e\ufe0f]+(?:\d+|[a-z])?\)?|\[?(?:back|return|zurück|retour)\]?",
    re.IGNORECASE,
)
_PHRASES = frozenset(("sup", "span", "small", "b", "i", "em", "strong"))


def mark_backlinks(root: etree._Element) -> None:
    """Mark back references as `backlink` and Markdown's references as `noteref`.

    Rules above notes are removed.
    """
    for element in list(root.iter()):
        name = local_name(element)
        parent = element.getparent()
        if name == "a" and "#" in (element.get("href") or ""):
            _mark_link(element)
        elif name == "hr" and parent is not None and _is_above_notes(element, parent):
            append_text_before(element, element.tail)
            parent.remove(element)
        elif name in _PHRASES and "mw-cite-backlink" in classes_of(element):
            element.set(EPUB_TYPE, "backlink")
            if parent is not None and local_name(parent) == "li":
                # The reference may be a letter although the list counts in digits.
                parent.set(EPUB_TYPE, "footnote")


def _mark_link(link: etree._Element) -> None:
    """Mark a link if it is a back reference or a reference of Markdown."""
    parent = link.getparent()
    if classes_of(link) & _BACK_CLASSES or _ARROWS.fullmatch(plain_text(link)):
        link.set(EPUB_TYPE, "backlink")
    elif parent is not None and "footnote-ref" in classes_of(parent):
        # Its words may be `1:1`: the second reference to note 1.
        link.set(EPUB_TYPE, "noteref")


def _is_above_notes(rule: etree._Element, parent: etree._Element) -> bool:
    """Whether the <hr>, the element around it or the next one has the class of notes."""
    classes = classes_of(rule) | classes_of(parent)
    following = rule.getnext()
    if following is not None:
        classes |= classes_of(following)
    return bool(classes & _NOTES_CLASSES)
