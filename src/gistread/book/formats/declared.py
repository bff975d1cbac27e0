"""Text whose encoding its file declares, as HTML and XML do: what the declaration means, and when it is not believed.

Goes to `encoding.py` where nothing is declared or the declaration is wrong.
"""

import codecs
import re

from gistread.book.formats.encoding import Decoded, decode

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
# Python knows codecs that decode no text (zip, hex), and some that take quadratic time (punycode).
_OF_TEXT = re.compile(r"(?:utf-?8|utf-7|ascii|cp\d|iso|koi8|gb|big5|shift|euc|mac|hz|tis|johab|ptcp|kz|hp-)")
# What these names mean to everybody who writes them.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# Encodings in which text is ASCII bytes, so that it passes for UTF-8.
_ESCAPED = ("iso2022", "hz", "utf-7")
_MOST_REPLACED = 0.001


def decode_declared(data: bytes, declaration: re.Pattern[bytes], head_bytes: int = 16 * 1024) -> Decoded | None:
    """The text of `data`, whose start may declare its encoding in a group of `declaration`; None where it is no text.

    A byte order mark comes first, then UTF-8 where the bytes are that: what a program saves is often UTF-8 whatever
    it copied the declaration from, and hardly any other text can be read as UTF-8 by chance.
    """
    head = data[:head_bytes]
    found = declaration.search(head)
    codec = codec_of(next(group for group in found.groups() if group).decode("ascii", "replace")) if found else ""
    if not codec or data.startswith(_MARKS) or b"\0" in head:
        return decode(data)
    if codec.startswith(_ESCAPED) if data.isascii() else not _is_utf8(data):
        text = data.decode(codec, errors="replace")
        replaced = text.count("\ufffd")
        if replaced <= len(text) * _MOST_REPLACED:
            return Decoded(text, codec, replaced)
    return decode(data)


def codec_of(name: str) -> str:
    """Python's codec for an encoding as files name it; empty where there is none that decodes text."""
    try:
        codec = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return ""
    codec = _MEANT.get(codec, codec)
    return codec if _OF_TEXT.match(codec) else ""


def encoding_notices(decoded: Decoded) -> tuple[str, ...]:
    """What the person should hear of how a text was decoded."""
    if not decoded.replaced:
        return ()
    characters = (
        "1 unreadable character is" if decoded.replaced == 1 else f"{decoded.replaced} unreadable characters are"
    )
    return (f"{characters} shown as \ufffd (read as {decoded.encoding}).",)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
