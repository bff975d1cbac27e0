"""Decodes text by its byte order mark, as valid UTF-16 or UTF-8, by declaration or by letters."""

import codecs
import contextlib
import re
import string
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from unicodedata import category, name

_MARKS: tuple[tuple[bytes, str], ...] = (
    # UTF-32 little-endian comes first: its mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"^Character set encoding:\s*([A-Za-z0-9_. -]+)", re.IGNORECASE | re.MULTILINE
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff][^\n]{0,400}")
_SAMPLE_BYTES = 48 * 1024

# Broken sequences rarer than one in ten are damage in UTF-8, not another encoding.
_SOUND_FOR_ONE_BROKEN = 10
_FEWEST_LETTERS = 20
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")

# Encodings of East Asian text in ASCII, by their escape sequences.
_KOREAN = b"\x1b$)C"
_ASIAN_IN_ASCII = ((_KOREAN, "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"~{", "hz"))

# Controls that occur in plain text: tab, line ends, form feed, backspace (old typescripts), escape,
# end of file.
_TEXT_CONTROLS = b"\t\n\x0b\x0c\r\x08\x1b\x1a"
_OTHER_CONTROLS = bytes(c for c in range(32) if c not in _TEXT_CONTROLS) + b"\x7f"
_MOST_CONTROLS = 0.02

_PUNCTUATION = "‘’‚“”„«»‹›–—…·•°§©®™£€¢†‡½¼¾²³¹×ªº¡¿´`\u00a0\u00ad"
# Letters beyond ASCII used by these languages; text whose letters fit one of them is cp1252.
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_WESTERN = tuple(_TABLES["letters"].values())
# Letters in DOS and Macintosh encodings, and signs in cp1252, which never stand inside a word.
_SIGN_IN_WORD = re.compile(rb"(?<=[a-z])[\x81-\x84\x87-\x90\x93-\x95\x9f\xa1-\xa4](?=[a-z])")
_CAPITAL_IN_WORD = re.compile("(?<=[a-z])[À-ÞŒŠŸ](?=[a-z])")
_LETTER_IN_WORD = re.compile(rb"(?<=[a-z])[\xc0-\xff](?=[a-z])")


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    replaced: int = 0  # Number of unreadable characters, each replaced by U+FFFD
    is_guess: bool = False  # Whether neither a declaration nor the bytes determine the encoding


def decode(data: bytes) -> Decoded | None:
    """The text of `data`; None if no encoding fits well enough to call it text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_leniently(data[len(mark) :], encoding)
    # Single-byte or UTF-8 text has at most one control character in fifty bytes.
    controls = len(data) - len(data.translate(None, _OTHER_CONTROLS)) if _KOREAN not in data else 0
    is_binary = controls > max(2, len(data) * _MOST_CONTROLS)
    has_nuls = data.count(0) >= max(2, len(data) * 0.002)
    if (is_binary or has_nuls) and (wide := _unmarked_utf16(data, is_binary=is_binary)):
        return _decode_leniently(data, wide)
    if is_binary:
        return None
    for sign, codec in _ASIAN_IN_ASCII if data.isascii() else ():
        if sign in data and _is_encoded(data, codec):
            return Decoded(data.decode(codec), codec)
    if _is_encoded(data, "utf-8"):
        return Decoded(data.decode("utf-8"), "utf-8")
    with contextlib.suppress(UnicodeDecodeError):
        # Some programs write a character beyond U+FFFF as two surrogates.
        pairs = data.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        text = pairs.decode("utf-16-le", "replace")
        return Decoded(text, "utf-8", text.count("\ufffd"))
    declared = _DECLARED.search(data[:8192])
    codec = codec_of(declared[1].decode("ascii")) if declared else ""
    if codec and _is_encoded(data, codec):
        return Decoded(data.decode(codec), codec)
    lenient = _decode_leniently(data, "utf-8")
    if len(_MULTIBYTE.findall(data)) >= lenient.text.count("\ufffd") * _SOUND_FOR_ONE_BROKEN:
        return lenient
    # Only bytes beyond ASCII distinguish encodings: sample them, each with the rest of its line.
    found = (match[0] for match in _BEYOND_ASCII.finditer(data))
    sample = b"\n".join(islice(found, 5000))[:_SAMPLE_BYTES]
    return replace(_decode_leniently(data, _guessed_codec(sample)), is_guess=True)


def _guessed_codec(sample: bytes) -> str:
    if len(_SIGN_IN_WORD.findall(sample)) > len(_LETTER_IN_WORD.findall(sample)):
        for codec in ("cp850", "cp437", "mac_roman"):
            text = sample.decode(codec)
            if _is_western("".join(filter(str.isalpha, text))) and not _CAPITAL_IN_WORD.search(
                text
            ):
                return codec
    if _is_western(sample.decode("cp1252", errors="replace")):
        return "cp1252"
    from charset_normalizer import (
        from_bytes,
    )  # imported here: most books are UTF-8 and need none of it

    best = from_bytes(sample, enable_fallback=False).best()
    return best.encoding if best else "cp1252"


def _decode_leniently(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, errors="replace")
    replaced = text.count("\ufffd")
    if replaced and encoding.startswith("utf"):
        # A replacement character in the file itself is not damage.
        replaced = max(0, replaced - data.count("\ufffd".encode(encoding)))
    return Decoded(text, encoding, replaced)


def _is_encoded(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _unmarked_utf16(data: bytes, *, is_binary: bool) -> str:
    """The codec of UTF-16 without a mark; empty if none fits.

    `is_binary`: no other encoding can fit.
    """
    letters = len(data) - len(data.translate(None, string.ascii_lowercase.encode()))
    if len(data) % 2 or letters * 2 > len(
        data
    ):  # In UTF-16, every other byte of Latin letters is 0
        return ""
    sample = data[: 2 * _SAMPLE_BYTES]
    fitting: dict[int, str] = {}  # By the number of Unicode rows in use: the wrong order uses many
    for encoding in ("utf-16-le", "utf-16-be"):
        if _is_encoded(data, encoding):
            text = sample.decode(encoding, "ignore")
            # Text has almost no other controls and unassigned characters. The wrong order turns
            # spaces and line ends into such.
            odd = sum(
                category(character) in ("Cc", "Cn", "Co") and character not in "\t\n\r\f\x1a"
                for character in text
            )
            has_spaces = not {" ", "\n", "\u3000"}.isdisjoint(text)
            if odd <= len(text) * 0.001 and (has_spaces or (is_binary and _has_few_scripts(text))):
                fitting[len({ord(character) >> 8 for character in text})] = encoding
    return fitting[min(fitting)] if fitting else ""


def _has_few_scripts(text: str) -> bool:
    scripts = Counter(name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    usual = sum(count for _, count in scripts.most_common(3))  # Japanese has three
    return scripts.total() >= _FEWEST_LETTERS and usual >= scripts.total() * 0.95


def _is_western(text: str) -> bool:
    """Whether the letters fit one western language.

    (charset-normalizer mistakes French in cp1252 for cp1250.)
    """
    letters = [char for char in text if char > "\x7f" and char not in _PUNCTUATION]
    enough = len(letters) * 0.97
    return any(sum(char in alphabet for char in letters) >= enough for alphabet in _WESTERN)


# Excludes Python codecs that decode no text (zip, hex) or take quadratic time (punycode).
_TEXT_CODECS = re.compile(
    r"(?:utf-?8|utf-7|ascii|cp\d|iso|koi8|gb|big5|shift|euc|mac|hz|tis|johab|ptcp|kz|hp-)"
)
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)|<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)


def decode_declared(data: bytes) -> Decoded | None:
    """Decode XML or HTML: byte order mark, then valid UTF-8, then its declaration.

    None if it is not text.
    """
    head = data[: 16 * 1024]
    found = _DECLARATION.search(head)
    codec = (
        codec_of(next(group for group in found.groups() if group).decode("ascii", "replace"))
        if found
        else ""
    )
    if not codec or data.startswith(tuple(mark for mark, _ in _MARKS)) or b"\0" in head:
        return decode(data)
    # Some encodings use only ASCII bytes, and so look like UTF-8.
    if (
        codec.startswith(("iso2022", "hz", "utf-7"))
        if data.isascii()
        else not _is_encoded(data, "utf-8")
    ):
        text = data.decode(codec, errors="replace")
        replaced = text.count("\ufffd")
        if replaced <= len(text) * 0.001:
            return Decoded(text, codec, replaced)
    return decode(data)


def codec_of(name: str) -> str:
    """Python's codec for an encoding name in a file; empty if unknown or not for text."""
    try:
        codec = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return ""
    codec = _TABLES["actual_codecs"].get(codec, codec)
    return codec if _TEXT_CODECS.match(codec) else ""


def encoding_notices(decoded: Decoded) -> tuple[str, ...]:
    notices = (
        [f"The text is not UTF-8; it was read as {decoded.encoding}."] if decoded.is_guess else []
    )
    if decoded.replaced:
        characters = "character is" if decoded.replaced == 1 else "characters are"
        notices.append(
            f"{decoded.replaced} unreadable {characters} shown as \ufffd (read as "
            f"{decoded.encoding})."
        )
    return tuple(notices)
