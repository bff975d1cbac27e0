"""Parses untrusted markup into trees.

XHTML is parsed as XML first, since HTML parsers misread it (`<title/>` swallows the page).
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from html.entities import html5

from lxml import etree, html

from gistread.book.formats.archive import Archive, ArchiveError
from gistread.book.formats.elements.damaged_tags import mend_tags
from gistread.book.formats.encoding import decode_declared

# "&nbsp;"
_NAMED_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{0,40});")
# The "&" of "War & Peace"
_BARE_AMPERSAND = re.compile(rb"&(?!#?\w{1,41};)")
# "&#233;", "&#xE9;"
_CHARACTER_REFERENCE = re.compile(r"&#([xX][0-9A-Fa-f]{1,8}|[0-9]{1,8});?")
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_XML_ENTITIES = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
# A tag of raw text. A value in quotation marks may hold ">". No "<" outside values, for speed.
_RAW_TEXT = re.compile(
    rb"""<(/?)(noframes|noembed|iframe)\b(?:(?:[^"'<>]++|"[^"]*+"|'[^']*+')*|[^<>]*)>"""
    rb"""(\s*</\2\s*>)?""",
    re.IGNORECASE,
)
_CDATA_START, _CDATA_END = b"<![CDATA[", b"]]>"
_EMPTY_LINE = 2  # Line ends in a row
# "{http://www.w3.org/1999/xhtml}", "w:"
_NAMESPACE = re.compile(r".*[}:]")
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")

# War and Peace in one file has about 60,000. A kilobyte of an archive can unpack to millions, which
# fill the memory.
_MOST_TAGS = 400_000
# A longer text may have more tags: one for this many characters.
_CHARACTERS_OF_A_TAG = 12

# "<a id='x'/>"
_SELF_CLOSED = re.compile(rb"<([A-Za-z][A-Za-z0-9:_-]*+)((?:\s[^<>]*?)?)\s*/>")
# Elements that are void in HTML too.
_VOID = frozenset(
    b"area base br col embed hr img image input link meta param source track wbr".split()
)

# Levels of a tree: below Python's recursion limit from any caller, so that every caller reads the
# same book.
MOST_NESTED = 100  # Up to seven frames each, of the thousand that Python allows
_MOST_NESTED_TAGS = 75  # Fewer, since parsers add levels such as <tbody>
_TAG = re.compile(rb"<(/?)([A-Za-z][A-Za-z0-9:_-]*+)[^<>]*>")
# A tag with its attributes. Each character is read once, whatever quotes are missing. Only single
# characters are repeated possessively: Python before 3.11.5 then misses groups.
_ATTRIBUTES = re.compile(rb"""<[A-Za-z](?:[^"'<>]++|"[^"]*+"|'[^']*+')*""")
_QUOTED = re.compile(rb""""[^"]*"|'[^']*'""")
_MOST_ATTRIBUTES = 200  # Of one tag: the time of parsers grows with their square
_WORD = re.compile(r"\w+")
_COMMENT = re.compile(rb"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_XML_TAG = re.compile(rb"<(/?)([A-Za-z_][\w:.-]*+)[^<>]*?(/?)>")
# Word's paragraphs, runs and texts, which must stay.
_WORD_TEXT = frozenset((b"w:p", b"w:r", b"w:t"))
_UNNESTED = frozenset(
    b"html head body title style script textarea p li dt dd tr td th option".split()
)
_HEADINGS = frozenset(b"h1 h2 h3 h4 h5 h6".split())
_PHRASES = frozenset(
    b"""a abbr b bdi bdo big cite code del dfn em emphasis font i ins kbd label mark q ruby
    s samp small span strike strong sub sup tt u var""".split()
)


@dataclass(frozen=True, slots=True)
class Tree:
    root: etree._Element
    is_repaired: bool
    lost: int = 0  # Words of XML that could not be repaired


def parse(data: bytes) -> Tree | None:
    """Parse XHTML; None if there is nothing to parse."""
    decoded = decode_declared(data)
    if not decoded:
        return None
    return parse_xhtml(decoded.text)


def parse_xhtml(text: str) -> Tree | None:
    """Parse the text of an XHTML file; None if it is empty or far too large."""
    if has_too_many_tags(text):
        return None
    text = _XML_DECLARATION.sub("", text, count=1).lstrip()
    data = text.encode("utf-8", errors="replace")
    root = _xml_root(_replace_entities(data))
    if root is not None and not _is_too_deep(root):
        return Tree(root, is_repaired=False)
    root = _html_root(_SELF_CLOSED.sub(_expand_self_closed, data))
    if root is None:
        return None
    return Tree(root, is_repaired=True)


def is_too_dense(characters: int, tags: int) -> bool:
    """Whether markup has more tags than any book of its length."""
    return tags > max(_MOST_TAGS, characters // _CHARACTERS_OF_A_TAG)


def has_too_many_tags(text: str) -> bool:
    return is_too_dense(len(text), text.count("<"))


def parse_page(text: str) -> etree._Element | None:
    """Parse HTML as a browser would; None if it is empty or far too large."""
    if has_too_many_tags(text):
        return None
    return _html_root(_remove_invalid(text).encode("utf-8", errors="replace"))


def parse_recovering(data: bytes) -> etree._Element | None:
    """Parse a package or contents file, repairing it if necessary."""
    tree = parse_declared(data)
    if tree is None:
        return None
    return tree.root


def parse_declared(data: bytes) -> Tree | None:
    """Parse XML in the encoding that it declares; None if it is not text or has no element."""
    decoded = decode_declared(data)
    if decoded is None:
        return None
    return parse_xml(decoded.text)


def each_named(root: etree._Element | None, name: str) -> Iterator[etree._Element]:
    """The elements of this name in a tree; none without a tree."""
    if root is not None:
        yield from root.iter(name)


def parse_entry(archive: Archive, path: str) -> etree._Element | None:
    """`parse_recovering` for a file of an archive; None if it is missing or damaged."""
    try:
        return parse_recovering(archive.read(path))
    except ArchiveError:
        return None


def parse_xml(text: str) -> Tree | None:
    """Parse XML other than XHTML, repairing it if necessary; None if it is empty or far too large.

    Names of elements and attributes are in lower case and without namespace. Repairs that lose
    nothing are tried first.
    """
    if has_too_many_tags(text):
        return None
    text = _remove_invalid(_XML_DECLARATION.sub("", text, count=1)).lstrip()
    data = _replace_entities(text.encode("utf-8", errors="replace"))
    root = _xml_root(data)
    if root is None:
        data = _escape_bare_ampersands(data)
        root = _xml_root(data)
    if root is None or _is_too_deep(root):
        data = _drop_deep_tags(data)
        root = _xml_root(data)
    if root is not None:
        return Tree(_simply_named(root), is_repaired=False)
    root = _xml_root(data, recover=True)
    if root is None:
        return None
    lost = _count_lost_words(data, root)
    return Tree(_simply_named(root), is_repaired=True, lost=lost)


def _count_lost_words(data: bytes, root: etree._Element) -> int:
    """The number of words of a file that its repaired tree lacks."""
    without_tags = _XML_TAG.sub(b" ", _COMMENT.sub(b"", data))
    source = unescape(without_tags.decode("utf-8"))
    recovered = " ".join(map(str, root.itertext()))
    lost = Counter(_WORD.findall(source)) - Counter(_WORD.findall(recovered))
    return lost.total()


def _simply_named(root: etree._Element) -> etree._Element:
    """The tree with names of elements and attributes in lower case and without namespace."""
    for element in root.iter(etree.Element):
        with suppress(ValueError):  # Some names of damaged files are invalid in parts
            element.tag = _NAMESPACE.sub("", str(element.tag)).lower()
            # A brace in a damaged namespace hides the attribute from a look-up by its name.
            for key, value in element.items():
                name = _NAMESPACE.sub("", str(key)).lower()
                if name != key and name not in element.attrib:
                    element.set(name, value)
    return root


def local_name(element: etree._Element) -> str:
    """Lower-case name without namespace; empty for comments, instructions and entities."""
    tag = element.tag
    if not isinstance(tag, str):
        return ""
    return _without_namespace(tag)


@lru_cache
def _without_namespace(tag: str) -> str:
    return tag.rpartition("}")[2].lower()


def elements_named(root: etree._Element, name: str) -> Iterator[etree._Element]:
    return (element for element in root.iter() if local_name(element) == name)


def plain_text(element: etree._Element | None) -> str:
    if element is None:
        return ""
    text = "".join(map(str, element.itertext()))
    return " ".join(text.split())


def text_without(
    element: etree._Element,
    names: frozenset[str],
    separate: frozenset[str] | None = None,
) -> str:
    """The text of an element in one line, without elements of these names.

    White space is added around `separate` elements; around all elements if it is None.
    """
    text = "".join(_parts_without(element, names, separate))
    return " ".join(text.split())


def _parts_without(
    element: etree._Element, names: frozenset[str], separate: frozenset[str] | None
) -> Iterator[str]:
    """The pieces of text in an element, as `text_without` joins them."""
    name = local_name(element)
    if not name or name in names:
        return
    gap = " " if separate is None or name in separate else ""
    yield gap + (element.text or "")
    for child in element:
        yield from _parts_without(child, names, separate)
        yield child.tail or ""
    yield gap


def append_text(element: etree._Element, text: str | None) -> None:
    """Add text at the end of an element, after its last child."""
    if not text:
        return
    # `len` would count all children
    last = next(element.iterchildren(reversed=True), None)
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        element.text = (element.text or "") + text


def split_at_empty_lines(root: etree._Element) -> None:
    """Replace every run of two or more <br> by an empty block, which ends the paragraph."""
    for element in list(root.iter("br", "{*}br")):
        parent = element.getparent()
        if parent is None:  # Removed with the run before
            continue
        run = _line_ends_from(element)
        is_empty_line = len(run) >= _EMPTY_LINE and not any(map(plain_text, run))
        if not is_empty_line:
            continue
        if any(local_name(outer) == "pre" for outer in element.iterancestors()):
            continue
        empty_block = etree.Element("div")
        empty_block.tail = run[-1].tail
        parent.replace(element, empty_block)
        for other in run[1:]:
            other.tail = None
            parent.remove(other)


def mark_as_navigation(root: etree._Element) -> None:
    """Put the content of a page into a <nav>, which is read unless it is a list of links."""
    bodies = [child for child in root if local_name(child) == "body"]
    for body in bodies:
        navigation = etree.Element("nav")
        navigation.text = body.text
        navigation.extend(list(body))
        body.text = None
        body.append(navigation)


def _line_ends_from(element: etree._Element) -> list[etree._Element]:
    """A <br>, and those after it with only white space between them."""
    run = [element]
    while not (run[-1].tail or "").strip():
        following = run[-1].getnext()
        if following is None or local_name(following) != "br":
            break
        run.append(following)
    return run


def append_text_before(element: etree._Element, text: str | None) -> None:
    """Put text where an element stands, before it, so that the element can be removed."""
    previous = element.getprevious()
    parent = element.getparent()
    if text and previous is not None:
        previous.tail = (previous.tail or "") + text
    elif text and parent is not None:
        parent.text = (parent.text or "") + text


def _xml_root(data: bytes, *, recover: bool = False) -> etree._Element | None:
    """Parse XML; None if it is not well-formed and, with `recover`, cannot be repaired."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(_drop_many_attributes(data), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _html_root(data: bytes) -> etree._Element | None:
    """Parse and repair HTML; None if it has no element."""
    parser = html.HTMLParser(
        encoding="utf-8",
        no_network=True,
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
    )
    data = mend_tags(_escape_cdata(data))
    data = _RAW_TEXT.sub(_close_raw_text, _drop_many_attributes(data))
    try:
        root = html.document_fromstring(data, parser)
        if not _is_too_deep(root):
            return root
        return html.document_fromstring(_flatten(data), parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def _drop_many_attributes(data: bytes) -> bytes:
    """Remove the attributes of tags that have more than any book's."""
    if not any(map(_has_many_attributes, _ATTRIBUTES.findall(data))):
        return data

    def without_many(match: re.Match[bytes]) -> bytes:
        before_bracket = match[0]  # The tag up to its ">", which stays
        if _has_many_attributes(before_bracket):
            return before_bracket.split()[0]
        return before_bracket

    return _ATTRIBUTES.sub(without_many, data)


def _has_many_attributes(tag: bytes) -> bool:
    if len(tag) <= 2 * _MOST_ATTRIBUTES:
        return False
    without_values = _QUOTED.sub(b"", tag)
    return len(without_values.split()) > _MOST_ATTRIBUTES


def _escape_cdata(data: bytes) -> bytes:
    """Write CDATA sections as text: HTML parsers would take them for comments."""
    before, *parts = data.split(_CDATA_START)
    written = [before]
    for part in parts:
        section, end, markup = part.partition(_CDATA_END)
        if not end:  # The section is never closed
            written += [_CDATA_START, part]
            continue
        text = section.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        written += [text, markup]
    return b"".join(written)


def _close_raw_text(match: re.Match[bytes]) -> bytes:
    """Close an element whose content parsers treat as raw text, so that the content is parsed.

    `<iframe>words</iframe>` becomes `<iframe></iframe><div>words</div>`.
    """
    slash, name, closing_tag = match.groups()
    if closing_tag:
        return match[0]
    if slash:
        return b"</div>"
    return match[0] + b"</%b><div>" % name


def _is_too_deep(root: etree._Element) -> bool:
    return bool(root.getroottree().xpath(f"boolean({'/*' * MOST_NESTED})"))


def _flatten(data: bytes) -> bytes:
    """Replace elements nested too deeply by paragraphs: parsers would cut them off.

    (Pages may never close <font>.)
    """
    open_names: list[bytes] = []

    def flat(match: re.Match[bytes]) -> bytes:
        slash = match[1]
        name = match[2].lower()
        if name in _VOID or name in _UNNESTED:
            return match[0]
        if slash and name in open_names:
            # This also closes the elements inside that are still open.
            while open_names.pop() != name:
                pass
            return match[0]
        if not slash and len(open_names) < _MOST_NESTED_TAGS:
            open_names.append(name)
            return match[0]
        # The element is too deep.
        if name in _HEADINGS:
            # As a sibling of the heading around it, not inside it.
            return b"</%b><%b%b>" % (name, slash, name)
        if name in _PHRASES:
            return b""
        return b"<p>"

    return _TAG.sub(flat, data)


def _drop_deep_tags(data: bytes) -> bytes:
    """Remove the tags nested too deeply for parsers, but keep their text."""
    open_tags: list[tuple[bytes, bool]] = []  # Names, and whether the tags are kept
    open_counts = Counter[bytes]()  # By name

    def close(name: bytes) -> bool:
        """Close the elements up to one with this name; whether its tags are kept."""
        while True:
            last_name, is_kept = open_tags.pop()
            open_counts[last_name] -= 1
            if last_name == name:
                return is_kept

    def rewritten(match: re.Match[bytes]) -> bytes:
        slash, name, end_slash = match.groups()
        if slash:
            if not open_counts[name]:
                return b""
            is_kept = close(name)
        else:
            is_kept = len(open_tags) < MOST_NESTED or name in _WORD_TEXT
            if not end_slash:
                open_tags.append((name, is_kept))
                open_counts[name] += 1
        if is_kept:
            return match[0]
        if name.lower() in _PHRASES:
            return b""
        return b" "

    return _XML_TAG.sub(rewritten, data)


def _replace_entities(data: bytes) -> bytes:
    """Replace HTML's named entities by numbers: XML without a DTD knows only five."""
    return _NAMED_ENTITY.sub(_numeric_reference, data)


def _escape_bare_ampersands(data: bytes) -> bytes:
    """Escape each `&` that begins no reference: "War & Peace" in a package."""
    return _BARE_AMPERSAND.sub(b"&amp;", data)


def _numeric_reference(match: re.Match[bytes]) -> bytes:
    """`&#233;` for `&eacute;`; names that every XML parser knows stay."""
    name = match[1]
    if name in _XML_ENTITIES:
        return match[0]
    value = html5.get(name.decode("ascii") + ";")
    if not value:  # Unknown names stay visible
        return b"&amp;" + match[0][1:]
    return "".join(f"&#{ord(char)};" for char in value).encode("ascii")


def _remove_invalid(text: str) -> str:
    """Remove characters that are invalid in a tree.

    A repairing parser would accept them and fail later.
    """
    text = NOT_IN_XML.sub("", text)
    return _CHARACTER_REFERENCE.sub(_valid_reference, text)


def _valid_reference(match: re.Match[str]) -> str:
    """A reference to a character, or the sign of an unreadable one if XML cannot contain it."""
    digits = match[1]
    is_hexadecimal = digits[0] in "xX"
    code = int(digits[1:], 16) if is_hexadecimal else int(digits)
    is_valid = code <= sys.maxunicode and not NOT_IN_XML.match(chr(code))
    if not is_valid:
        return "\ufffd"
    return match[0]


def _expand_self_closed(match: re.Match[bytes]) -> bytes:
    """`<a id="x"></a>` for `<a id="x"/>`, which HTML parsers would leave open."""
    name, attributes = match.groups()
    if name.lower() in _VOID:
        return match[0]
    return b"<%b%b></%b>" % (name, attributes, name)
