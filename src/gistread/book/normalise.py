"""Normalises text, and names its language.

Removes characters that control a terminal, or hide or split words.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_UNWANTED = re.compile(
    # Line ends: vertical tab, form feed, and Unicode's own.
    "(?P<end>[\x0b\x0c\x1c-\x1e\x85\u2028\u2029])"
    # Unusual spaces, such as non-breaking ones: they hide words from searches and cost rare tokens.
    "|(?P<space>[\u00a0\u1680\u2000-\u200a\u202f\u205f])"
    "|(?P<surrogate>[\ud800-\udfff])"
    # Dropped: C0 and C1 controls, zero-width space, word joiner and soft hyphen, byte order marks,
    # bidirectional controls, interlinear marks, tag characters and noncharacters. The joiners
    # U+200C and U+200D stay: Persian and Indic words are spelled with them.
    "|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u00ad\u200b\u2060-\u2064\u202a-\u202e\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f]"
)
# A single class scans four times as fast as the groups above, and most books have no match.
_ANY_UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\u00ad\u1680\u2000-\u200b\u2028-\u202f\u205f-\u206f"
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
_ANY_UNWANTED_ASCII = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_REPLACEMENTS = {"end": "\n", "space": " ", "surrogate": "\ufffd", None: ""}
_COLUMNS_OF_A_TAB = 4
_INNER_SPACE_RUN = re.compile(r"(?<=\S)[ \t]+")


def clean(text: str) -> str:
    """Text in NFC, without controls, invisible characters and odd spaces.

    Lines end with line feeds. Tabs stay.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    any_unwanted = _ANY_UNWANTED_ASCII if text.isascii() else _ANY_UNWANTED
    if any_unwanted.search(text):
        text = _UNWANTED.sub(lambda match: _REPLACEMENTS[match.lastgroup], text)
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


def one_line(text: str) -> str:
    """`text` with every run of white space as one space."""
    return " ".join(text.split())


def letters(text: str) -> str:
    """The letters and digits of `text`, to compare it with others."""
    return "".join(filter(str.isalnum, text.casefold()))


def clean_line(text: str) -> str:
    """Cleaned text on one line."""
    return one_line(clean(text))


_ENDS_TITLE_PART = ".:;,—–-!?…"  # After these signs no full stop is needed


def join_title(parts: Sequence[str]) -> str:
    """Join the parts of a title, such as a number and a name, in one line."""
    text = parts[0]
    for part in parts[1:]:
        gap = " " if text[-1:] in _ENDS_TITLE_PART else ". "
        text += gap + part
    return text


def keep_lines(text: str, *, keep_spacing: bool) -> str:
    """`text` with its line ends, without empty lines and common indent.

    `keep_spacing` keeps gaps inside lines.
    """
    source_lines = text.expandtabs(_COLUMNS_OF_A_TAB).split("\n")
    all_lines = [line.rstrip() for line in source_lines]
    lines = [line for line in all_lines if line]
    if not lines:
        return ""
    shared_indent = min(len(line) - len(line.lstrip(" ")) for line in lines)
    lines = [line[shared_indent:] for line in lines]
    if not keep_spacing:
        lines = [_INNER_SPACE_RUN.sub(" ", line) for line in lines]
    return "\n".join(lines)


def word_set(text: str) -> frozenset[str]:
    """The words of a string constant."""
    return frozenset(text.split())


# "de", "zh-Hant", "sl-rozaj-biske"
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
# Undetermined, none, uncoded, several.
_NO_LANGUAGES = ("und", "zxx", "mis", "mul")


def language_tag(text: str) -> str:
    """The BCP 47 tag in `text`; empty if it is invalid or names no language."""
    tag = text.strip().replace("_", "-")
    if _LANGUAGE_TAG.fullmatch(tag) and tag.lower() not in _NO_LANGUAGES:
        return tag
    return ""


_SAMPLE_CHARACTERS = 30_000
_LEAST_WORDS = 60  # In fewer words, the shares are chance
# Share of words that are frequent in the language; running text has 0.25 to 0.5
_LEAST_SHARE = 0.12
# The likeliest language's share must be this many times that of the next one.
_CLEAR_LEAD = 1.3
_LEAST_LETTERS = 0.2  # Share of the letters in a script that names its language
_WORD = re.compile(r"[^\W\d_]+")


@cache
def _languages() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))


def language_named(name: str) -> str:
    """BCP 47 code of a language by its English name; empty if unknown."""
    return _languages()["names"].get(name.lower(), "")


def guess_language(text: str) -> str:
    """BCP 47 code of a text's language; empty for English, and where it is unclear."""
    sample = text[:_SAMPLE_CHARACTERS]
    language = _language_of_script(sample)
    if language:
        return language
    shares = language_shares(sample)
    if not shares:
        return ""
    best, second = sorted(shares, key=lambda name: -shares[name])[:2]
    is_likely = shares[best] >= _LEAST_SHARE
    is_clear = shares[best] >= _CLEAR_LEAD * shares[second]
    if is_likely and is_clear and best != "en":
        return best
    return ""


def _language_of_script(sample: str) -> str:
    """The language of a script that serves only one, such as Greek; else empty."""
    letter_count = sum(map(str.isalpha, sample))
    if not letter_count:
        return ""
    for language, script in _languages()["scripts"].items():
        script_letters = len(re.findall(script, sample))
        if script_letters > _LEAST_LETTERS * letter_count:
            return language
    return ""


def language_shares(text: str) -> dict[str, float]:
    """The share of words that are frequent in a language, by its code; empty for short texts."""
    words = Counter(_WORD.findall(text[:_SAMPLE_CHARACTERS].lower()))
    total = words.total()
    if total < _LEAST_WORDS:
        return {}
    shares: dict[str, float] = {}
    for language, frequent_words in _languages()["frequent"].items():
        occurrences = sum(words[word] for word in word_set(frequent_words))
        shares[language] = occurrences / total
    return shares
