"""Encodings that a reader may choose for a plain text, with a line of it in each."""

from dataclasses import dataclass

from gistread.book.formats.encoding import decode, decode_as
from gistread.book.formats.encoding_guess import decode_damaged, likely_codecs
from gistread.units import ELLIPSIS

_MOST_CHOICES = 24
_LINE_BYTES = 400
_SAMPLE_CHARACTERS = 70
_CHARACTERS_BEFORE = 24  # Of the sample before the first letter beyond ASCII
_FIRST_BEYOND_ASCII = 0x80


@dataclass(frozen=True, slots=True)
class EncodingChoice:
    codec: str
    sample: str  # A line of the text
    unreadable: int  # Characters of the text that it cannot read


def encoding_choices(data: bytes) -> list[EncodingChoice]:
    """Likely encodings, the likeliest first; empty if the bytes themselves tell the encoding.

    Of several encodings in which the line reads the same, only the likeliest is offered.
    """
    decoded = decode(data)
    if decoded is None or not decoded.is_guess:
        return []
    line = _telling_line(data)
    choices: dict[str, EncodingChoice] = {}
    for codec in (decoded.encoding, *likely_codecs(data)):
        sample = decode_damaged(line, codec)
        if sample not in choices and len(choices) < _MOST_CHOICES:
            unreadable = decode_as(data, codec).replaced
            choices[sample] = EncodingChoice(codec, _shortened(sample), unreadable)
    return list(choices.values())


def _telling_line(data: bytes) -> bytes:
    """The line with most bytes beyond ASCII, where encodings differ."""
    lines = (line.strip()[:_LINE_BYTES] for line in data.splitlines())
    return max(lines, key=_count_beyond_ascii, default=b"")


def _count_beyond_ascii(line: bytes) -> int:
    return sum(byte >= _FIRST_BEYOND_ASCII for byte in line)


def _shortened(sample: str) -> str:
    """The part of a line around its first letter beyond ASCII."""
    first = 0
    while first < len(sample) and sample[first].isascii():
        first += 1
    if first == len(sample):
        first = 0
    start = max(0, first - _CHARACTERS_BEFORE)
    if start:
        # At the beginning of a word, if there is one before the letter.
        space = sample.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    end = start + _SAMPLE_CHARACTERS
    part = " ".join(sample[start:end].split())
    opening = "… " if start else ""
    closing = ELLIPSIS if end < len(sample) else ""
    return f"{opening}{part}{closing}"
