"""Decodes text by its byte order mark, as valid UTF-16 or UTF-8, by declaration or by letters."""

import codecs
import contextlib
import re
import string
from collections import Counter
from dataclasses import dataclass
from unicodedata import category, name

from gistread.book.formats.encoding_names import codec_of as codec_of
from gistread.units import agreeing

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
_SAMPLE_BYTES = 48 * 1024

# Broken sequences rarer than one in ten are damage in UTF-8, not another encoding.
_SOUND_FOR_ONE_BROKEN = 10
_FEWEST_LETTERS = 20
_SCRIPTS_OF_JAPANESE = 3
# Of letters in few scripts; in a wrong order there are many scripts
_SHARE_OF_SCRIPTS = 0.95
_ROW_BITS = 8
_MOST_ODD = 0.001
_SURELY_UTF8 = 8  # Continuation bytes in a line; so many are not valid by chance
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")

# Encodings of East Asian text in ASCII, by their escape sequences.
_KOREAN = b"\x1b$)C"
_ASIAN_IN_ASCII = ((_KOREAN, "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"~{", "hz"))

# Bytes that are no characters become these in cp932.
_UNREADABLE = dict.fromkeys(range(0xF8F0, 0xF8F4), "\ufffd")

# Controls that occur in plain text: tab, line ends, form feed, backspace (old typescripts), escape,
# end of file.
_TEXT_CONTROLS = b"\t\n\x0b\x0c\r\x08\x1b\x1a"
_OTHER_CONTROLS = bytes(c for c in range(32) if c not in _TEXT_CONTROLS) + b"\x7f"
# Single-byte or UTF-8 text has at most one control character in fifty bytes.
_MOST_CONTROLS = 0.02
_FEWEST_CONTROLS = 2
# UTF-16 of Chinese has few bytes that are 0: those of spaces and line ends.
_SHARE_OF_NULS = 0.002
_FEWEST_NULS = 2
_HEADER_BYTES = 8192  # Where Project Gutenberg's header declares the encoding

CHOOSE_ENCODING = "`--encoding` names another"  # In a notice; the screen names its key


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    replaced: int = 0  # Number of unreadable characters, each replaced by U+FFFD
    # Whether neither a declaration nor the bytes determine the encoding
    is_guess: bool = False


def decode(data: bytes) -> Decoded | None:
    """The text of `data`; None if no encoding fits well enough to call it text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_leniently(data[len(mark) :], encoding)
    is_binary = _has_many_controls(data)
    has_nuls = data.count(0) >= max(_FEWEST_NULS, len(data) * _SHARE_OF_NULS)
    if (is_binary or has_nuls) and (wide := _unmarked_utf16(data, is_binary=is_binary)):
        return _decode_leniently(data, wide)
    if is_binary:
        return None
    return _decode_surely(data) or _decode_guessed(data)


def _has_many_controls(data: bytes) -> bool:
    """Whether `data` is no text of single bytes and no UTF-8."""
    if _KOREAN in data:
        return False
    controls = len(data) - len(data.translate(None, _OTHER_CONTROLS))
    return controls > max(_FEWEST_CONTROLS, len(data) * _MOST_CONTROLS)


def _decode_surely(data: bytes) -> Decoded | None:
    """Decode by what the bytes or a header say; None if only letters can tell."""
    if data.isascii():
        for sign, codec in _ASIAN_IN_ASCII:
            if sign in data and _is_encoded(data, codec):
                return Decoded(data.decode(codec), codec)
    if _is_encoded(data, "utf-8"):
        return Decoded(data.decode("utf-8"), "utf-8")
    with contextlib.suppress(UnicodeDecodeError):
        # Some programs write a character beyond U+FFFF as two surrogates.
        pairs = data.decode("utf-8", "surrogatepass").encode(
            "utf-16-le", "surrogatepass"
        )
        text = pairs.decode("utf-16-le", "replace")
        return Decoded(text, "utf-8", text.count("\ufffd"))
    declared = _DECLARED.search(data[:_HEADER_BYTES])
    codec = codec_of(declared[1].decode("ascii")) if declared else ""
    if codec and _is_encoded(data, codec):
        return Decoded(data.decode(codec), codec)
    lenient = _decode_leniently(data, "utf-8")
    if (
        len(_MULTIBYTE.findall(data))
        >= lenient.text.count("\ufffd") * _SOUND_FOR_ONE_BROKEN
    ):
        return lenient
    return None


def decode_as(data: bytes, codec: str) -> Decoded:
    """Decode as the user chose."""
    text = data.decode(codec, "replace")
    return Decoded(text, codec, text.count("\ufffd"))


def _decode_guessed(data: bytes) -> Decoded:
    """Decode by letters; lines that another program added in UTF-8 are read as such."""
    # Rarely needed
    from gistread.book.formats.encoding_guess import decode_damaged, guess_codec

    lines = data.split(b"\n")
    in_utf8 = {number for number, line in enumerate(lines) if _is_surely_utf8(line)}
    others = [line for number, line in enumerate(lines) if number not in in_utf8]
    codec = guess_codec(b"\n".join(others))
    for number in in_utf8:
        lines[number] = lines[number].decode("utf-8").encode(codec, "replace")
    text = decode_damaged(b"\n".join(lines), codec).translate(_UNREADABLE)
    return Decoded(text, codec, text.count("\ufffd"), is_guess=True)


def _is_surely_utf8(line: bytes) -> bool:
    """Whether a line is valid UTF-8 and has so many letters beyond ASCII that no other is."""
    continuations = sum(len(character) - 1 for character in _MULTIBYTE.findall(line))
    return continuations >= _SURELY_UTF8 and _is_encoded(line, "utf-8")


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
    # In UTF-16, every other byte of Latin letters is 0.
    if len(data) % 2 or letters * 2 > len(data):
        return ""
    sample = data[: 2 * _SAMPLE_BYTES]
    rows_in_use: dict[str, int] = {}  # Of Unicode, by codec: the wrong order uses many
    for encoding in ("utf-16-le", "utf-16-be"):
        text = sample.decode(encoding, "ignore")
        if _is_encoded(data, encoding) and _is_plain_text(text, is_binary=is_binary):
            rows_in_use[encoding] = len(
                {ord(character) >> _ROW_BITS for character in text}
            )
    return min(rows_in_use, key=rows_in_use.__getitem__, default="")


def _is_plain_text(text: str, *, is_binary: bool) -> bool:
    """Whether `text` has almost no controls and unassigned characters.

    The wrong order of bytes turns spaces and line ends into such.
    """
    odd = sum(
        category(character) in ("Cc", "Cn", "Co") and character not in "\t\n\r\f\x1a"
        for character in text
    )
    has_spaces = not {" ", "\n", "\u3000"}.isdisjoint(text)
    return odd <= len(text) * _MOST_ODD and (
        has_spaces or (is_binary and _has_few_scripts(text))
    )


def _has_few_scripts(text: str) -> bool:
    scripts = Counter(
        name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()
    )
    usual = sum(count for _, count in scripts.most_common(_SCRIPTS_OF_JAPANESE))
    return (
        scripts.total() >= _FEWEST_LETTERS
        and usual >= scripts.total() * _SHARE_OF_SCRIPTS
    )


_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)"""
    rb"""|<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)

_DECLARATION_BYTES = 16 * 1024
_MOST_REPLACED = 0.001  # A declaration that makes more characters unreadable is wrong


def decode_declared(data: bytes) -> Decoded | None:
    """Decode XML or HTML: byte order mark, then valid UTF-8, then its declaration.

    None if it is not text.
    """
    head = data[:_DECLARATION_BYTES]
    declaration = _DECLARATION.search(head)
    names = declaration.groups() if declaration else ()
    codec = codec_of(
        next((name for name in names if name), b"").decode("ascii", "replace")
    )
    is_marked = data.startswith(tuple(mark for mark, _ in _MARKS))
    if not codec or is_marked or b"\0" in head:
        return decode(data)
    if data.isascii():
        # Some encodings use only ASCII bytes, and so look like UTF-8.
        trusts_declaration = codec.startswith(("iso2022", "hz", "utf-7"))
    else:
        trusts_declaration = not _is_encoded(data, "utf-8")
    if trusts_declaration:
        text = data.decode(codec, errors="replace")
        replaced = text.count("\ufffd")
        if replaced <= len(text) * _MOST_REPLACED:
            return Decoded(text, codec, replaced)
    return decode(data)


def encoding_notices(decoded: Decoded) -> tuple[str, ...]:
    notices: list[str] = []
    if decoded.is_guess:
        notices.append(
            f"The text is not UTF-8; it was read as {decoded.encoding} ({CHOOSE_ENCODING})."
        )
    if decoded.replaced:
        characters = agreeing(decoded.replaced, "character is", "characters are")
        notices.append(
            f"{decoded.replaced} unreadable {characters} shown as \ufffd (read as "
            f"{decoded.encoding})."
        )
    return tuple(notices)
