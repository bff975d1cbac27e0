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
# The line of a Project Gutenberg header: "Character set encoding: ISO-8859-1"
_DECLARED = re.compile(
    rb"^Character set encoding:\s*([A-Za-z0-9_. -]+)", re.IGNORECASE | re.MULTILINE
)
_SAMPLE_BYTES = 48 * 1024

# Broken sequences rarer than one in ten are damage in UTF-8, not another encoding.
_SOUND_FOR_ONE_BROKEN = 10
# UTF-16 in the right order of bytes has few scripts (Japanese has three) and almost no controls.
_FEWEST_LETTERS = 20
_SCRIPTS_OF_JAPANESE = 3
_SHARE_OF_SCRIPTS = 0.95  # Share of the letters in these scripts
_MOST_ODD = 0.001  # Share of the characters
_ROW_BITS = 8  # A row of Unicode has 256 characters
_SURELY_UTF8 = 8  # Continuation bytes in a line; so many are not valid by chance
# A character of several bytes in UTF-8
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]{1,3}")

# Encodings of East Asian text in ASCII, by their escape sequences.
_KOREAN = b"\x1b$)C"
_ASIAN_IN_ASCII = ((_KOREAN, "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"~{", "hz"))

# Python's cp932 reads invalid bytes as these characters.
_UNREADABLE = dict.fromkeys(range(0xF8F0, 0xF8F4), "\ufffd")

# Controls that occur in plain text: tab, line ends, form feed, backspace (old typescripts), escape,
# end of file.
_TEXT_CONTROLS = b"\t\n\x0b\x0c\r\x08\x1b\x1a"
_OTHER_CONTROLS = bytes(c for c in range(32) if c not in _TEXT_CONTROLS) + b"\x7f"
# Single-byte or UTF-8 text has at most one control character in fifty bytes.
_MOST_CONTROLS = 0.02
_FEWEST_CONTROLS = 2
# Chinese in UTF-16 has few bytes that are 0: those of spaces and line ends.
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
    if is_binary or has_nuls:
        encoding = _unmarked_utf16(data, is_binary=is_binary)
        if encoding:
            return _decode_leniently(data, encoding)
    if is_binary:
        return None
    return _decode_surely(data) or _decode_guessed(data)


def _has_many_controls(data: bytes) -> bool:
    """Whether `data` is neither text of single bytes nor UTF-8."""
    if _KOREAN in data:
        return False
    controls = len(data) - len(data.translate(None, _OTHER_CONTROLS))
    return controls > max(_FEWEST_CONTROLS, len(data) * _MOST_CONTROLS)


def _decode_surely(data: bytes) -> Decoded | None:
    """Decode by what the bytes or a header state; None if only letters can tell."""
    for sign, codec in _ASIAN_IN_ASCII:
        if data.isascii() and sign in data and _is_encoded(data, codec):
            return Decoded(data.decode(codec), codec)
    if _is_encoded(data, "utf-8"):
        return Decoded(data.decode("utf-8"), "utf-8")
    with contextlib.suppress(UnicodeDecodeError):
        # Some programs write a character beyond U+FFFF as two surrogates.
        with_surrogates = data.decode("utf-8", "surrogatepass")
        in_utf16 = with_surrogates.encode("utf-16-le", "surrogatepass")
        text = in_utf16.decode("utf-16-le", "replace")
        return Decoded(text, "utf-8", text.count("\ufffd"))
    declared = _DECLARED.search(data[:_HEADER_BYTES])
    codec = codec_of(declared[1].decode("ascii")) if declared else ""
    if codec and _is_encoded(data, codec):
        return Decoded(data.decode(codec), codec)
    lenient = _decode_leniently(data, "utf-8")
    sound = len(_MULTIBYTE.findall(data))
    broken = lenient.text.count("\ufffd")
    if sound >= broken * _SOUND_FOR_ONE_BROKEN:
        return lenient
    return None


def decode_as(data: bytes, codec: str) -> Decoded:
    """Decode with the codec that the user chose."""
    text = data.decode(codec, "replace")
    return Decoded(text, codec, text.count("\ufffd"))


def _decode_guessed(data: bytes) -> Decoded:
    """Decode by letters; lines that another program added in UTF-8 are read as such."""
    # Rarely needed
    from gistread.book.formats.encoding_guess import decode_damaged, guess_codec

    lines = data.split(b"\n")
    utf8_numbers = [n for n, line in enumerate(lines) if _is_surely_utf8(line)]
    in_utf8 = frozenset(utf8_numbers)
    other_lines = [line for n, line in enumerate(lines) if n not in in_utf8]
    codec = guess_codec(b"\n".join(other_lines))
    for number in utf8_numbers:
        lines[number] = lines[number].decode("utf-8").encode(codec, "replace")
    text = decode_damaged(b"\n".join(lines), codec).translate(_UNREADABLE)
    return Decoded(text, codec, text.count("\ufffd"), is_guess=True)


def _is_surely_utf8(line: bytes) -> bool:
    """Whether a line is valid UTF-8, and not by chance: it has many letters beyond ASCII."""
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
    without_letters = data.translate(None, string.ascii_lowercase.encode())
    letters = len(data) - len(without_letters)
    # In UTF-16, every other byte of Latin letters is 0.
    if len(data) % 2 or letters * 2 > len(data):
        return ""
    sample = data[: 2 * _SAMPLE_BYTES]
    # Number of rows of Unicode in use, by codec: the wrong order of bytes uses many.
    row_counts: dict[str, int] = {}
    for encoding in ("utf-16-le", "utf-16-be"):
        text = sample.decode(encoding, "ignore")
        if _is_encoded(data, encoding) and _is_plain_text(text, is_binary=is_binary):
            rows = {ord(character) >> _ROW_BITS for character in text}
            row_counts[encoding] = len(rows)
    return min(row_counts, key=row_counts.__getitem__, default="")


def _is_plain_text(text: str, *, is_binary: bool) -> bool:
    """Whether `text` has spaces, and almost no controls and unassigned characters.

    The wrong order of bytes turns spaces and line ends into unassigned characters. If no other
    encoding can fit, text without spaces is enough.
    """
    odd_characters = sum(
        category(character) in ("Cc", "Cn", "Co") and character not in "\t\n\r\f\x1a"
        for character in text
    )
    if odd_characters > len(text) * _MOST_ODD:
        return False
    has_spaces = any(space in text for space in (" ", "\n", "\u3000"))
    return has_spaces or (is_binary and _has_few_scripts(text))


def _has_few_scripts(text: str) -> bool:
    """Whether nearly all letters are of three scripts, as in Japanese, or fewer."""
    # The script is the first word of a letter's name: "CYRILLIC SMALL LETTER A".
    scripts = Counter(
        name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()
    )
    if scripts.total() < _FEWEST_LETTERS:
        return False
    in_usual = sum(count for _, count in scripts.most_common(_SCRIPTS_OF_JAPANESE))
    return in_usual >= scripts.total() * _SHARE_OF_SCRIPTS


# '<?xml version="1.0" encoding="koi8-r"?>', '<meta charset="koi8-r">'
_DECLARATION = re.compile(
    rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)"""
    rb"""|<meta\b[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""",
    re.IGNORECASE,
)

_DECLARATION_BYTES = 16 * 1024
_MOST_REPLACED = 0.001  # A declaration that makes more characters unreadable is wrong


def decode_declared(data: bytes) -> Decoded | None:
    """Decode XML or HTML; None if it is not text.

    The byte order mark counts first, then whether it is valid UTF-8, then its declaration.
    """
    codec = _declared_codec(data)
    is_marked = data.startswith(tuple(mark for mark, _ in _MARKS))
    if not codec or is_marked:
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


def _declared_codec(data: bytes) -> str:
    """The codec that XML or HTML declares; empty if it declares none, or is UTF-16 or UTF-32."""
    head = data[:_DECLARATION_BYTES]
    declaration = _DECLARATION.search(head)
    if declaration is None or b"\0" in head:
        return ""
    in_xml, in_html = declaration.groups(default=b"")
    declared_name = in_xml or in_html
    return codec_of(declared_name.decode("ascii", "replace"))


def encoding_notices(decoded: Decoded) -> tuple[str, ...]:
    """Sentences about an encoding that was guessed and characters that could not be read."""
    notices: list[str] = []
    if decoded.is_guess:
        notices.append(
            f"The text is not UTF-8; it was read as {decoded.encoding} ({CHOOSE_ENCODING})."
        )
    if decoded.replaced:
        characters = agreeing(decoded.replaced, "character is", "characters are")
        notices.append(
            f"{decoded.replaced} unreadable {characters} shown as \ufffd"
            f" (read as {decoded.encoding})."
        )
    return tuple(notices)
