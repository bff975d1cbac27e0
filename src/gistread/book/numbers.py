"""Parses numbers in headings (12, XII, twelve, the Second, 第十二) and in running text."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})$")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SMALL_NUMBERS, _TENS, _OTHER_LANGUAGES = (
    [row.split() for row in _TABLES[name]]
    for name in ("small", "tens", "other_languages")
)
_HEBREW = {letter: value for value, letter in enumerate("אבגדהוזחט", 1)} | {
    letter: 10 * value for value, letter in enumerate("יכלמנסעפצ", 1)
}
_GREEK = {letter: value for value, letter in enumerate("ΑΒΓΔΕϚΖΗΘ", 1)} | {
    letter: 10 * value for value, letter in enumerate("ΙΚΛΜΝΞΟΠϞ", 1)
}
_FULL_WIDTH = re.compile("[０-９]")
_DOT_OF_I = "\u0307"  # What the lower case of İ has
_CJK_DIGITS = {
    digit: value
    for row in ("〇一二三四五六七八九", "０１２３４５６７８９")
    for value, digit in enumerate(row)
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
# "nineteen thousand": the words before a factor from this on are finished by it.
_FINISHING_FACTOR = 1000

# In headings.
_UNITS = 9
_LAST = 999
_MOST_DIGITS = 4
_WORDS = {
    **{
        word: number
        for row in reversed((*_SMALL_NUMBERS, *_OTHER_LANGUAGES))
        for number, word in enumerate(row, 1)
    },
    **{word: 10 * tens for row in _TENS for tens, word in enumerate(row, 2)},
    **{
        f"{word}-{unit}": 10 * tens + number
        for tens, word in enumerate(_TENS[0], 2)
        for row in _SMALL_NUMBERS
        for number, unit in enumerate(row[:_UNITS], 1)
    },
    **dict.fromkeys(("last", "dernier", "letztes", "último"), _LAST),
}


def parse_number(word: str) -> int | None:
    if word.isdecimal() and not _FULL_WIDTH.match(word):
        if len(word) <= _MOST_DIGITS:
            return int(word)
        return None
    return (
        parse_roman(word)
        or _WORDS.get(word.lower().replace("ё", "е").replace(_DOT_OF_I, ""))
        or _cjk(word)
        or _letters(word, _HEBREW)
        or _letters(word.upper(), _GREEK)
    )


def _letters(word: str, values_of: Mapping[str, int]) -> int | None:
    """Value of a Hebrew or Greek numeral below a hundred, written in letters: י״ב is 12."""
    letters = word.strip("׳״'\"΄ʹ").replace("״", "").replace("׳", "")
    values = [values_of[letter] for letter in letters if letter in values_of]
    if 0 < len(letters) == len(values) <= 2:
        return sum(values)
    return None


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


@dataclass(slots=True)
class _SpelledNumber:
    """A number that is being read word by word."""

    parts: list[int] = field(default_factory=list)
    _finished: int = 0  # Thousands and millions
    _rest: int = 0

    def add(self, number: int, *, is_factor: bool) -> None:
        self.parts.append(number)
        if not is_factor:
            self._rest += number
            return
        self._rest = max(1, self._rest) * number
        if number >= _FINISHING_FACTOR:
            self._finished += self._rest
            self._rest = 0

    def finish(self) -> tuple[int, frozenset[int]]:
        """The number, and with it all its parts."""
        value = self._finished + self._rest
        return value, frozenset((value, *self.parts))


def numbers_in(text: str) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each number as (value, parts): "a hundred and twenty" is 120, of 100 and 20."""
    text = text.lower()
    number = _SpelledNumber()
    end = 0
    for match in _WORD.finditer(text):
        word = match[0]
        if word.removesuffix("s") in _FACTORS:
            word = word.removesuffix("s")
        value = _value_of(word)
        if value is None:
            continue
        is_digits = word[0].isdigit()
        is_joined = not is_digits and _JOINED.match(text[end : match.start()])
        if number.parts and not is_joined:
            yield number.finish()
            number = _SpelledNumber()
        number.add(value, is_factor=word in _FACTORS)
        end = match.end()
    if number.parts:
        yield number.finish()


def _value_of(word: str) -> int | None:
    if word[0].isdigit():
        return int(word.replace(",", ""))
    return _SMALL.get(word, _FACTORS.get(word))
