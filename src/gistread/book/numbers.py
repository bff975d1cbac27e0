"""Parses numbers in headings (12, XII, twelve, the Second, 第十二) and in running text."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})$")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SMALL_NUMBERS, _TENS, _OTHER_LANGUAGES = (
    [row.split() for row in _TABLES[name]] for name in ("small", "tens", "other_languages")
)
_HEBREW = {letter: value for value, letter in enumerate("אבגדהוזחט", 1)} | {
    letter: 10 * value for value, letter in enumerate("יכלמנסעפצ", 1)
}
_CJK_DIGITS = {
    c: value
    for row in ("〇一二三四五六七八九", "０１２３４５６７８９")
    for value, c in enumerate(row)
}
_CJK_UNITS = {"十": 10, "百": 100, "千": 1000}

# In running text: "4", "four", "the fourth", "half a dozen".
_FACTORS = {
    "dozen": 12,
    "score": 20,
    "hundred": 100,
    "hundredth": 100,
    "thousand": 1000,
    "million": 10**6,
}
_SMALL = {
    **{word: number for row in _SMALL_NUMBERS for number, word in enumerate(row, 1)},
    **{word: 10 * number for row in _TENS for number, word in enumerate(row, 2)},
    **{
        "couple": 2,
        "pair": 2,
        "twice": 2,
        "both": 2,
        "thrice": 3,
        "fortnight": 14,
        "half": 0,
        "zero": 0,
        "zeroth": 0,
    },
}
_WORD = re.compile(r"\d+(?:,\d{3})+|\d+|[a-z]+")
_JOINED = re.compile(r"[\s-]+(?:and\s+|a\s+)?\Z")


_WORDS = {
    **{
        w: n for row in reversed((*_SMALL_NUMBERS, *_OTHER_LANGUAGES)) for n, w in enumerate(row, 1)
    },
    **{word: tens * 10 for row in _TENS for tens, word in enumerate(row, 2)},
    **{
        f"{word}-{unit}": tens * 10 + n
        for tens, word in enumerate(_TENS[0], 2)
        for row in _SMALL_NUMBERS
        for n, unit in enumerate(row[:9], 1)
    },
    **{"last": 999, "dernier": 999, "letztes": 999, "último": 999},
}


def parse_number(word: str) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= 4 else None
    return (
        parse_roman(word)
        or _WORDS.get(word.lower().replace("ё", "е"))
        or _cjk(word)
        or _hebrew(word)
    )


def _hebrew(word: str) -> int | None:
    """Value of a Hebrew numeral below a hundred, written in letters: י״ב is 12."""
    letters = word.strip("׳״'\"").replace("״", "").replace("׳", "")
    values = [_HEBREW[letter] for letter in letters if letter in _HEBREW]
    return sum(values) if 0 < len(letters) == len(values) <= 2 else None


def parse_roman(word: str) -> int | None:
    """Value of a Roman numeral in one case ("XIV", "xiv"), or None.

    Accepts "IIII" and "XXXX" of old books.
    """
    upper = word.upper()
    if not upper or (word not in (upper, word.lower())) or not _ROMAN.match(upper):
        return None
    total = 0
    for char, after in zip(upper, [*upper[1:], ""], strict=True):
        value = _ROMAN_VALUES[char]
        total += -value if after and _ROMAN_VALUES[after] > value else value
    return total


def _cjk(word: str) -> int | None:
    total = digit = 0
    for char in word:
        if char in _CJK_DIGITS:
            digit = digit * 10 + _CJK_DIGITS[char]
        elif char in _CJK_UNITS:
            total += (digit or 1) * _CJK_UNITS[char]
            digit = 0
        else:
            return None
    return total + digit or None


def numbers_in(text: str) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each number as (value, parts): "a hundred and twenty" is 120, of 100 and 20."""
    thousands, value, parts, until = 0, 0, list[int](), 0
    text = text.lower()
    for match in _WORD.finditer(text):
        word = match[0].removesuffix("s") if match[0].removesuffix("s") in _FACTORS else match[0]
        number = (
            int(word.replace(",", ""))
            if word[0].isdigit()
            else _SMALL.get(word, _FACTORS.get(word))
        )
        if number is None:
            continue
        if parts and not (_JOINED.match(text[until : match.start()]) and not word[0].isdigit()):
            yield thousands + value, frozenset((thousands + value, *parts))
            thousands, value, parts = 0, 0, []
        value = max(1, value) * number if word in _FACTORS else value + number
        if number >= 1000 and word in _FACTORS:
            thousands, value = thousands + value, 0
        parts.append(number)
        until = match.end()
    if parts:
        yield thousands + value, frozenset((thousands + value, *parts))
