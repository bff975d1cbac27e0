"""Mends tags of HTML whose quotation marks or `>` are missing: parsers would swallow the text."""

import re

from lxml.html.defs import tags

# No group here is repeated possessively: Python before 3.11.5 then misses matches.
_NAME = rb"""[A-Za-z][^\s<>/"'=]*+"""
_VALUE = rb"""(?:"[^"]*+"(?=[\s/>])|'[^']*+'(?=[\s/>])|[^\s"'<>]++)"""
_ATTRIBUTE_NAME = rb"""[^\s<>/"'=]++"""
_ATTRIBUTE = rb"(?:%b(?:\s*+=\s*+%b)?)" % (_ATTRIBUTE_NAME, _VALUE)
_AFTER_BRACKET = rb"/?%b(?:[\s/]++%b?)*>" % (_NAME, _ATTRIBUTE)
# An undamaged tag, or the "<" of a damaged one. Another "<" is text.
_TAG = re.compile(rb"<(?:%b|(?P<is_damaged>(?=/?[A-Za-z])))" % _AFTER_BRACKET)
# "<p", "</em"
_TAG_START = re.compile(rb"</?([A-Za-z][A-Za-z0-9]*)(?![\w:.-])")
# ' class="a" id="b"'
_QUOTED_ATTRIBUTES = re.compile(
    rb"""(?:\s++%b\s*+=\s*+(?:"[^"<>]*"|'[^'<>]*'))*""" % _ATTRIBUTE_NAME
)
_UNTIL_BRACKET = re.compile(rb"<[^<>]*")
_QUOTES = (b'"', b"'")
# "<//" of "<//em>"
_MANY_SLASHES = re.compile(rb"<//++(?=[A-Za-z])")
_COMMENT_START, _COMMENT_END = b"<!--", b"-->"
_TITLE = re.compile(rb"<title\b[^<>]*>[^<]*", re.IGNORECASE)
_AFTER_TITLE = re.compile(rb"</title\b|</head\b|<body\b", re.IGNORECASE)


def mend_tags(data: bytes) -> bytes:
    """The same markup with each damaged tag as its author most likely meant it.

    >>> mend_tags(b'<p class="a>Rain</p><p class="b">')
    b'<p class=a>Rain</p><p class="b">'
    >>> mend_tags(b"</em, but <pRain</p>")
    b'</em>, but &lt;pRain</p>'
    """
    data = _without_open_comment(data)
    data = _MANY_SLASHES.sub(b"</", data)
    data = _close_title(data)
    mended: list[bytes] = []
    position = 0
    while position < len(data):
        damaged = _next_damaged(data, position)
        mended.append(data[position:damaged])
        position = damaged
        if position < len(data):
            tag, position = _mended_tag(data, position)
            mended.append(tag)
    return b"".join(mended)


def _next_damaged(data: bytes, position: int) -> int:
    """Where the next damaged tag begins; the end of the markup without one."""
    for tag in _TAG.finditer(data, position):
        if tag["is_damaged"] is not None:
            return tag.start()
    return len(data)


def _end_of(match: re.Match[bytes] | None, default: int) -> int:
    if match is None:
        return default
    return match.end()


def _without_open_comment(data: bytes) -> bytes:
    """The markup without the `<!--` of a comment that does not end: the rest is text."""
    last_end = max(0, data.rfind(_COMMENT_END))
    before, comment_start, after = data[last_end:].partition(_COMMENT_START)
    if not comment_start:
        return data
    return data[:last_end] + before + after


def _close_title(data: bytes) -> bytes:
    """Close a title that is not closed: the whole page would belong to it."""
    title = _TITLE.search(data)
    if title is None:
        return data
    end = title.end()
    following = _AFTER_TITLE.search(data, end)
    if following is not None and following[0].lower() == b"</title":
        return data
    return data[:end] + b"</title>" + data[end:]


def _mended_tag(data: bytes, start: int) -> tuple[bytes, int]:
    """The damaged tag at `start`, mended, and where the text after it begins."""
    end = _end_of(_UNTIL_BRACKET.match(data, start), default=len(data))
    is_closed = data[end : end + 1] == b">"
    if is_closed:
        return _without_odd_quotes(data[start:end]) + b">", end + 1
    # No ">": the tag ends after the attributes that have both quotation marks.
    tag_start = _TAG_START.match(data, start, end)
    if tag_start is None or tag_start[1].decode("ascii").lower() not in tags:
        return b"&lt;", start + 1
    name_end = tag_start.end()
    attributes = _QUOTED_ATTRIBUTES.match(data, name_end, end)
    tag_end = _end_of(attributes, default=name_end)
    return data[start:tag_end] + b">", tag_end


def _without_odd_quotes(tag: bytes) -> bytes:
    """A tag without the quotation marks of a kind (" or ') if one of them has no partner."""
    for quote in _QUOTES:
        if tag.count(quote) % 2:
            tag = tag.replace(quote, b"")
    return tag
