"""Maps the names of encodings in files to the codecs that read them."""

import codecs
import re
import tomllib
from functools import cache
from pathlib import Path

# Excludes Python codecs that decode no text (zip, hex) or take quadratic time (punycode).
_TEXT_CODECS = re.compile(
    r"(?:utf-?8|utf-7|ascii|cp\d|iso|koi8|gb|big5|shift|euc|mac|hz|tis|johab|ptcp|kz|hp-)"
)


@cache
def encoding_tables() -> dict[str, dict[str, str]]:
    """From `encoding.toml`: the `letters` of each language, and the `actual_codecs` of names."""
    return tomllib.loads(Path(__file__).with_name("encoding.toml").read_text("utf-8"))


def codec_of(name: str) -> str:
    """Python's codec for an encoding name in a file; empty if unknown or not for text.

    >>> codec_of("ISO-8859-1"), codec_of("zip")
    ('cp1252', '')
    """
    try:
        codec = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return ""
    codec = encoding_tables()["actual_codecs"].get(codec, codec)
    if not _TEXT_CODECS.match(codec):
        return ""
    return codec
