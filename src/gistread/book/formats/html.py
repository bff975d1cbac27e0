"""Reads HTML pages and web archives (MHTML): hand-written, saved by a browser, malformed.

Fetches nothing.
"""

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
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

_IS_XHTML = re.compile(
    r"(?:\s|<!--.*?-->)*(?:<\?xml\b|<!doctype[^>]*xhtml|<html\b[^>]*xmlns\s*=)",
    re.I | re.S,
)
EMBEDDED = "embedded:"  # Begins the sources of pictures that the page itself holds
_TITLES = ("dc.title", "dcterms.title", "citation_title", "og:title", "title")
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
_LEAST_PLAIN_TEXT = 2_000  # Characters of a page that is plain text
_LEAST_PLAIN_SHARE = 0.8
_SPACES = re.compile(r"\s+")
_MENU_WORDS = "word(s) of menus and the like"
# "Chapter 1 - A Site": the site's name usually follows the separator.
_SITE = re.compile(r"\s+[|\-–—·:»]\s+")
_AUTHOR_DATES = re.compile(r",?\s*\(?\b\d{3,4}\??\s*[-–]\s*(?:\d{3,4}\??)?\)?\s*$")


def read_html(data: bytes, name: str) -> Book:
    """The book in `data`; `name` is used in messages. Raises BookError."""
    decoded = decode_declared(data)
    if decoded is None:
        raise BookError(f"{name} is not an HTML page but unknown binary data.")
    return _read_page(decoded, name)


def _read_page(
    decoded: Decoded, name: str, others: Mapping[str, int] | None = None
) -> Book:
    """`others`: what is left out beside the page."""
    root = _tree(decoded.text.lstrip("\ufeff"))
    if root is None:
        raise BookError(f"{name} cannot be read: it contains no HTML, or too much.")
    if _is_plain_text(root):
        return _read_plain_text(root, name)
    metadata = _metadata(root)
    for number, picture in enumerate(_embedded(root), start=1):
        picture.set("src", f"{EMBEDDED}{number}")
    removed = remove_boilerplate(root)
    mark_backlinks(root)
    split_at_empty_lines(root)
    left_out = Counter({_MENU_WORDS: removed}) + Counter(dict(others or {}))
    return book_from_tree(
        root,
        name,
        "html",
        metadata,
        notices=encoding_notices(decoded),
        left_out=left_out,
    )


def _metadata(root: etree._Element) -> Metadata:
    meta = _meta(root)
    header = _gutenberg_header(root)
    body = islice(elements_named(root, "body"), 1)
    languages = (
        *map(language_of, (root, *body)),
        *map(language_tag, _first_present(meta, _LANGUAGES)),
        header.language,
    )
    return Metadata(
        title=header.title or _title(root, meta),
        authors=header.authors or _authors(meta),
        language=next(filter(None, languages), ""),
        cover=_cover(root),
    )


def _authors(meta: dict[str, list[str]]) -> tuple[str, ...]:
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
        len("".join(map(str, each.itertext()))) for each in elements_named(root, "pre")
    ]
    longest = max(lengths, default=0)
    return (
        longest >= _LEAST_PLAIN_TEXT
        and longest >= len(plain_text(root)) * _LEAST_PLAIN_SHARE
    )


def _read_plain_text(root: etree._Element, name: str) -> Book:
    removed = remove_boilerplate(root)
    scripts = [each for each in root.iter() if local_name(each) in SCRIPTS]
    left_out = {SCRIPT_WORDS: sum(map(words_in, scripts)), _MENU_WORDS: removed}
    book = read_text(_plain_text(root).encode("utf-8", errors="replace"), name)
    notices = (*book.notices, *left_out_notices(left_out))
    return replace(book, source_format="html", notices=notices)


def _plain_text(root: etree._Element) -> str:
    """The words of a page in order, with the lines of each <pre> as they are."""
    parts: list[str] = []
    for body in (child for child in root if local_name(child) != "head"):
        _add_plain_text(body, parts)
        parts.append("\n\n")
    return "".join(parts)


def _add_plain_text(element: etree._Element, parts: list[str]) -> None:
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
    if 0 < int(number) <= len(pictures):
        return (pictures[int(number) - 1].get("src") or "").strip()
    return ""


def _embedded(root: etree._Element) -> list[etree._Element]:
    return [
        each
        for each in elements_named(root, "img")
        if (each.get("src") or "").lstrip()[:5].lower() == "data:"
    ]


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
    frames = {"word(s) of embedded pages": sum(map(_words_of_page, pages[1:]))}
    return _read_page(decoded, name, frames)


def _words_of_page(page: Message) -> int:
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
    header = next(root.iterfind(".//*[@id='pg-header']"), None)
    if header is None:
        return Metadata()
    parts = (each for each in header.iter() if local_name(each) in ("p", "div"))
    return strip_gutenberg("\n".join(map(plain_text, parts))).header


def _meta(root: etree._Element) -> dict[str, list[str]]:
    """The contents of <meta> elements by name in lower case."""
    values: dict[str, list[str]] = {}
    for element in elements_named(root, "meta"):
        key = (
            element.get("name")
            or element.get("property")
            or element.get("http-equiv")
            or ""
        )
        value = one_line(element.get("content") or "")
        if key and value:
            values.setdefault(key.lower(), []).append(value)
    return values


def _first_present(meta: dict[str, list[str]], keys: Iterable[str]) -> list[str]:
    return next((meta[key] for key in keys if key in meta), [])


def _title(root: etree._Element, meta: dict[str, list[str]]) -> str:
    named = _first_present(meta, _TITLES[:3])
    if named:
        return named[0]
    titles = (
        each
        for each in elements_named(root, "title")
        if "svg" not in map(local_name, each.iterancestors())
    )
    title = next(map(plain_text, titles), "") or next(
        iter(_first_present(meta, _TITLES)), ""
    )
    headings = [plain_text(each) for each in elements_named(root, "h1")]
    parts = _SITE.split(title)
    if len(headings) == 1 and len(parts) > 1 and headings[0] in (parts[0], parts[-1]):
        return headings[0]
    return title


def _names(value: str) -> list[str]:
    """Names in reading order: catalogues write "Tolstoy, Leo, graf, 1828-1910"."""
    if ";" in value:
        return [name for part in value.split(";") for name in _names(part.strip())]
    parts = [
        part.strip() for part in _AUTHOR_DATES.sub("", value).split(",") if part.strip()
    ]
    if len(parts) > 1 and all(" " in part for part in parts):
        return parts
    if len(parts) in (2, 3):
        return [f"{parts[1]} {parts[0]}"]
    if parts:
        return [", ".join(parts)]
    return []


def _cover(root: etree._Element) -> str:
    for element in root.iter():
        name = local_name(element)
        if (
            name == "link"
            and set((element.get("rel") or "").lower().split()) & _COVER_RELATIONS
        ):
            return element.get("href") or ""
        if name == "img" and (element.get("id") or "").lower() in (
            "coverpage",
            "cover",
        ):
            return element.get("src") or ""
    return ""


_ROLES = frozenset(
    ("navigation", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar")
)
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
_NEVER = frozenset(
    ("html", "body", "main", "article", "img", "br", "hr", "td", "th", "tr")
)

_PROSE_WORDS = 40  # A paragraph with this many words outside links is prose
_LARGE_SHARE = 0.3  # Of the words of the page: such an element holds the text
_MOST_HIDDEN_WORDS = 30  # In an aria-hidden element that is removed
_MOST_CONSENT_WORDS = 600
_WORDS_FOR_ONE_LINKED = 3  # In a bar of links, a larger share of the words is linked

# Contents of an element: "words", "linked" words, "headings", "main headings", and paragraphs
# of "prose".
_Measure = Counter[str]


def remove_boilerplate(root: etree._Element) -> int:
    """Remove menus, cookie notices and the like. Returns the number of words removed."""
    measured = list(_measured(root))
    page_words = measured[-1][1]["words"] if measured else 0
    for element, measure in measured[:-1]:
        if _is_boilerplate(element, measure, page_words):
            _remove(element)
        elif local_name(element) in ("nav", "noscript", "canvas"):
            # It contains the text, so it is read as a block.
            element.tag = "div"
    return page_words - sum(count_words(str(text)) for text in root.itertext())


def _measured(root: etree._Element) -> Iterator[tuple[etree._Element, _Measure]]:
    open_ones: list[_Measure] = [Counter()]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            open_ones.append(Counter(words=count_words(element.text or "")))
            continue
        measure = open_ones.pop()
        name = local_name(element)
        if name == "a":
            measure["linked"] = measure["words"]
        elif name == "p":
            measure["prose"] += measure["words"] - measure["linked"] > _PROSE_WORDS
        elif name in HEADINGS:
            measure["headings"] += 1
            measure["main headings"] += name == "h1"
        if element is root or (
            name not in _NEVER and (name in _CANDIDATES or element.attrib)
        ):
            yield element, measure
        open_ones[-1].update(measure)
        open_ones[-1]["words"] += count_words(element.tail or "")


def _is_boilerplate(
    element: etree._Element, measure: _Measure, words_of_page: int
) -> bool:
    name = local_name(element)
    classes = classes_of(element)
    is_large = measure["words"] > words_of_page * _LARGE_SHARE
    if _is_permalink(element, name, classes):
        return True
    if name == "noscript" or _is_closed_dialog(element, name):
        return not is_large
    if _is_hidden_from_readers(element, name):
        return measure["words"] <= _MOST_HIDDEN_WORDS and not measure["headings"]
    if name == "nav" or _is_for_screen(element, classes):
        return not is_large and not measure["prose"]
    if _is_about_consent(element, classes):
        return not is_large and _is_notice(measure)
    return name in _BARS and _is_of_links(measure)


def _is_closed_dialog(element: etree._Element, name: str) -> bool:
    return name == "dialog" and element.get("open") is None


def _is_hidden_from_readers(element: etree._Element, name: str) -> bool:
    """Whether screen readers leave it out, and not only because it is a picture."""
    return element.get("aria-hidden") == "true" and name not in ("img", "svg")


def _is_about_consent(element: etree._Element, classes: frozenset[str]) -> bool:
    """Whether an element's names are those of a cookie notice."""
    identifier = element.get("id") or ""
    return _CONSENT.search(f"{identifier} {' '.join(classes)}") is not None


def _is_notice(measure: _Measure) -> bool:
    return measure["words"] <= _MOST_CONSENT_WORDS and not measure["main headings"]


def _is_of_links(measure: _Measure) -> bool:
    """Whether it has hardly more than links."""
    if measure["headings"] or measure["prose"]:
        return False
    return measure["linked"] * _WORDS_FOR_ONE_LINKED > measure["words"]


def _is_for_screen(element: etree._Element, classes: frozenset[str]) -> bool:
    """Whether an element is said not to be printed, or to be a menu, a dialogue or the like."""
    return not classes.isdisjoint(_NOT_PRINTED) or (element.get("role") or "") in _ROLES


def _is_permalink(link: etree._Element, name: str, classes: frozenset[str]) -> bool:
    """Whether a link is the sign beside a heading that links to it."""
    if name != "a" or not (link.get("href") or "").startswith("#"):
        return False
    text = plain_text(link)
    return text in _PERMALINKS or (
        not text and not classes.isdisjoint(_PERMALINK_CLASSES)
    )


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is None:
        return
    left = etree.Element("span")
    for inner in element.iter():
        for key in ("id", "name"):
            if inner.get(key):
                etree.SubElement(left, "span").set("id", inner.get(key) or "")
    tail, element.tail = element.tail, None
    parent.replace(element, left)
    left.tail = tail


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
_ARROWS = re.compile(
    r"\(?[↩↑⤴⏎↵^←▲\ufe0e\ufe0f]+(?:\d+|[a-z])?\)?|\[?(?:back|return|zurück|retour)\]?",
    re.IGNORECASE,
)
_AROUND = frozenset(("sup", "span", "small", "b", "i", "em", "strong"))


def mark_backlinks(root: etree._Element) -> None:
    """Mark back references as `backlink` and Markdown's references as `noteref`.

    Remove rules above notes.
    """
    for element in list(root.iter()):
        name = local_name(element)
        parent = element.getparent()
        if name == "a" and "#" in (element.get("href") or ""):
            _mark_link(element)
        elif name == "hr" and parent is not None and _is_above_notes(element, parent):
            append_text_before(element, element.tail)
            parent.remove(element)
        elif name in _AROUND and "mw-cite-backlink" in classes_of(element):
            element.set(EPUB_TYPE, "backlink")
            if parent is not None and local_name(parent) == "li":
                # The reference may be a letter although the list counts in digits.
                parent.set(EPUB_TYPE, "footnote")


def _mark_link(link: etree._Element) -> None:
    outer = link.getparent()
    if classes_of(link) & _BACK_CLASSES or _ARROWS.fullmatch(plain_text(link)):
        link.set(EPUB_TYPE, "backlink")
    elif outer is not None and "footnote-ref" in classes_of(outer):
        # Its words may be `1:1`: the second reference to note 1.
        link.set(EPUB_TYPE, "noteref")


def _is_above_notes(rule: etree._Element, parent: etree._Element) -> bool:
    around = (rule, parent, rule.getnext())
    return any(
        each is not None and classes_of(each) & _NOTES_CLASSES for each in around
    )
