"""Mends tags of HTML whose quotation marks or `>` are missing: parsers would swallow the text."""

import re

from lxml.html.defs import tags

_NAME = rb"""[A-Za-z][^\s<>/"'=]*+"""
_VALUE = rb"""(?:"[^"]*+"(?=[\s/>])|'[^']*+'(?=[\s/>])|[^\s"'<>]++)"""
_ATTRIBUTE_NAME = rb"""[^\s<>/"'=]++"""
_ATTRIBUTE = rb"(?:%b(?:\s*+=\s*+%b)?+)" % (_ATTRIBUTE_NAME, _VALUE)
_SOUND_TAG = rb"</?+%b(?:[\s/]++%b?+)*+>" % (_NAME, _ATTRIBUTE)
# Text, tags that browsers read alike, comments and what else "<" may begin.
_SOUND = re.compile(rb"(?:[^<]++|%b|<(?!/?[A-Za-z]))*+" % _SOUND_TAG)
_TAG_START = re.compile(rb"</?([A-Za-z][A-Za-z0-9]*)(?![\w:.-])")
_QUOTED_ATTRIBUTES = re.compile(
    rb"""(?:\s++%b\s*+=\s*+(?:"[^"<>]*"|'[^'<>]*'))*+""" % _ATTRIBUTE_NAME
)
_UNTIL_NEXT = re.compile(rb"<[^<>]*")
_QUOTES = (b'"', b"'")
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
    data = _close_title(_MANY_SLASHES.sub(b"</", _without_open_comment(data)))
    mended: list[bytes] = []
    position = 0
    while True:
        sound = _SOUND.match(data, position)
        end = sound.end() if sound is not None else position
        mended.append(data[position:end])
        if end == len(data):
            return b"".join(mended)
        tag, position = _mended_tag(data, end)
        mended.append(tag)


def _without_open_comment(data: bytes) -> bytes:
    """The markup without the beginning of a comment that does not end: all after it is text."""
    last_end = max(0, data.rfind(_COMMENT_END))
    before, start, after = data[last_end:].partition(_COMMENT_START)
    if not start:
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
    written = _UNTIL_NEXT.match(data, start)
    end = written.end() if written is not None else len(data)
    if data[end : end + 1] == b">":
        return _without_odd_quotes(data[start:end]) + b">", end + 1
    name = _TAG_START.match(data, start, end)
    if name is None or name[1].decode("ascii").lower() not in tags:
        return b"&lt;", start + 1
    attributes = _QUOTED_ATTRIBUTES.match(data, name.end(), end)
    end = attributes.end() if attributes is not None else name.end()
    return data[start:end] + b">", end


def _without_odd_quotes(tag: bytes) -> bytes:
    """A tag without the quotation marks of a kind of which some have no other."""
    for quote in _QUOTES:
        if tag.count(quote) % 2:
            tag = tag.replace(quote, b"")
    return tag
