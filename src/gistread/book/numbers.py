"""Parses numbers in headings (12, XII, twelve, the Second, 第十二) and in running text."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# "MCMXCIX"; also "IIII" and "XXXX", as old books have them.
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,4})(?:XC|XL|L?X{0,4})(?:IX|IV|V?I{0,4})$")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _rows(name: str) -> list[list[str]]:
    """The words of each row of a table."""
    return [row.split() for row in _TABLES[name]]


def _letter_values(units: str, tens: str) -> dict[str, int]:
    """The values of the letters that stand for 1 to 9 and for 10 to 90."""
    values: dict[str, int] = {}
    for number, (unit, ten) in enumerate(zip(units, tens, strict=True), start=1):
        values[unit] = number
        values[ten] = 10 * number
    return values


_SMALL_NUMBERS = _rows("small")
_TENS = _rows("tens")
_OTHER_LANGUAGES = _rows("other_languages")
_HEBREW = _letter_values("אבגדהוזחט", "יכלמנסעפצ")
_GREEK = _letter_values("ΑΒΓΔΕϚΖΗΘ", "ΙΚΛΜΝΞΟΠϞ")
_FULL_WIDTH = re.compile("[０-９]")
_DOT_OF_I = "\u0307"  # In the lower case of İ, after the i
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
_OTHER_WORDS = {
    "couple": 2,
    "pair": 2,
    "twice": 2,
    "both": 2,
    "thrice": 3,
    "fortnight": 14,
    "half": 0,
    "zero": 0,
    "zeroth": 0,
}


def _numbers_of_running_text() -> dict[str, int]:
    """The values of words that are no factors: "four", "fourth", "forty", "twice"."""
    values = dict(_OTHER_WORDS)
    for row in _SMALL_NUMBERS:
        values |= {word: number for number, word in enumerate(row, start=1)}
    for row in _TENS:
        values |= {word: 10 * tens for tens, word in enumerate(row, start=2)}
    return values


_SMALL = _numbers_of_running_text()
# "12,000", "12", "twelve"
_WORD = re.compile(r"\d+(?:,\d{3})+|\d+|[a-z]+")
# Between two words of one number: "twenty-one", "a hundred and one", "half a dozen".
_JOINED = re.compile(r"[\s-]+(?:and\s+|a\s+)?\Z")
# From this factor on, the words after it are added: "nineteen thousand and five".
_FINISHING_FACTOR = 1000

# In headings.
_UNITS = 9
_LAST = 999  # "Chapter the last" follows all others
_MOST_DIGITS = 4


def _numbers_of_headings() -> dict[str, int]:
    """The values of words: "twelve", "second", "thirty-first", "douze", "last"."""
    values: dict[str, int] = {}
    # Reversed: a word of several languages gets its value from the first row.
    for row in reversed((*_SMALL_NUMBERS, *_OTHER_LANGUAGES)):
        values |= {word: number for number, word in enumerate(row, start=1)}
    for row in _TENS:
        values |= {word: 10 * tens for tens, word in enumerate(row, start=2)}
    cardinal_tens = _TENS[0]
    for tens, word in enumerate(cardinal_tens, start=2):
        for row in _SMALL_NUMBERS:
            for number, unit in enumerate(row[:_UNITS], start=1):
                values[f"{word}-{unit}"] = 10 * tens + number
    for word in ("last", "dernier", "letztes", "último"):
        values[word] = _LAST
    return values


_WORDS = _numbers_of_headings()


def parse_number(word: str) -> int | None:
    """Value of a number in a heading: 12, XII, twelve, 十二 or י״ב; None for other words."""
    # Full-width digits may stand beside Japanese units: `_cjk` reads them.
    if word.isdecimal() and not _FULL_WIDTH.match(word):
        if len(word) > _MOST_DIGITS:
            return None
        return int(word)
    # Russian books may print е for ё.
    plain = word.lower().replace("ё", "е").replace(_DOT_OF_I, "")
    return (
        parse_roman(word)
        or _WORDS.get(plain)
        or _cjk(word)
        or _letters(word, _HEBREW)
        or _letters(word.upper(), _GREEK)
    )


def _letters(word: str, values_of: Mapping[str, int]) -> int | None:
    """Value of a Hebrew or Greek numeral below a hundred, written in letters: י״ב is 12."""
    letters = word.strip("׳״'\"΄ʹ").replace("״", "").replace("׳", "")
    if len(letters) not in (1, 2):
        return None
    if not all(letter in values_of for letter in letters):
        return None
    return sum(values_of[letter] for letter in letters)


def parse_roman(word: str) -> int | None:
    """Value of a Roman numeral in one case ("XIV", "xiv"), or None.

    Accepts "IIII" and "XXXX" of old books.
    """
    upper = word.upper()
    is_one_case = word in (upper, word.lower())
    if not word or not is_one_case or not _ROMAN.match(upper):
        return None
    values = [_ROMAN_VALUES[letter] for letter in upper]
    total = 0
    for value, next_value in zip(values, [*values[1:], 0], strict=True):
        # The I of IV counts as -1.
        total += -value if value < next_value else value
    return total


def _cjk(word: str) -> int | None:
    """Value of a Chinese or Japanese numeral: 三十二 and 三二 are 32."""
    total = 0
    digits = 0  # Since the last unit
    for char in word:
        if char in _CJK_DIGITS:
            digits = digits * 10 + _CJK_DIGITS[char]
        elif char in _CJK_UNITS:
            total += (digits or 1) * _CJK_UNITS[char]
            digits = 0
        else:
            return None
    return (total + digits) or None


@dataclass(slots=True)
class _SpelledNumber:
    """A number that is being read word by word."""

    parts: list[int] = field(default_factory=list)
    _finished: int = 0  # Thousands and millions
    _unfinished: int = 0  # What a factor may still multiply

    def add(self, number: int, *, is_factor: bool) -> None:
        """Add the value of the next word. `is_factor`: it is one such as "dozen" or "hundred"."""
        self.parts.append(number)
        if not is_factor:
            self._unfinished += number
            return
        self._unfinished = max(1, self._unfinished) * number
        if number >= _FINISHING_FACTOR:
            self._finished += self._unfinished
            self._unfinished = 0

    def finish(self) -> tuple[int, frozenset[int]]:
        """The number; and the set of it and its parts."""
        value = self._finished + self._unfinished
        return value, frozenset((value, *self.parts))


def numbers_in(text: str) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each number with the set of itself and its parts.

    >>> next(numbers_in("a hundred and twenty")) == (120, {100, 20, 120})
    True
    """
    text = text.lower()
    number = _SpelledNumber()
    last_end = 0
    for match in _WORD.finditer(text):
        word = _singular(match[0])
        value = _value_of(word)
        if value is None:
            continue
        is_digits = word[0].isdigit()
        gap = text[last_end : match.start()]
        continues_number = not is_digits and _JOINED.match(gap)
        if number.parts and not continues_number:
            yield number.finish()
            number = _SpelledNumber()
        number.add(value, is_factor=word in _FACTORS)
        last_end = match.end()
    if number.parts:
        yield number.finish()


def _singular(word: str) -> str:
    """ "dozen" of "dozens"; other words as they are."""
    singular = word.removesuffix("s")
    return singular if singular in _FACTORS else word


def _value_of(word: str) -> int | None:
    if word[0].isdigit():
        return int(word.replace(",", ""))
    return _SMALL.get(word, _FACTORS.get(word))
