"""Characters in the terminal.

Cell widths (Rich's), replacement of unsafe ones, raised and lowered ones.
"""

import re
from bisect import bisect_right
from itertools import accumulate

from rich.cells import cell_len, get_character_cell_size, split_graphemes

from gistread.units import whole_words

__all__ = [
    "cell_len",
    "clean",
    "crop",
    "crop_words",
    "fit",
    "get_character_cell_size",
    "index_at",
    "is_narrow",
]

NARROW = (
    "\\x20-\\x7e\\xa0-\\xac\\xae-\\u02ff\\u0370-\\u0482\\u048a-\\u052f\\u1e00-\\u1fff"
    "\\u2010-\\u2027\\u202f-\\u205e\\u20a0-\\u20c0\\u2100-\\u218b\\u2190-\\u2319\\u2460-\\u25fc"
)
"""Characters of one cell that never join others, for a regular expression.

Of breaking spaces only U+0020.
"""

_BEYOND_NARROW = re.compile(f"[^\n{NARROW}]")
_UNSAFE = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u200e\\u200f"
    "\\u2028-\\u202e\\u2066-\\u206f\\ud800-\\udfff\\ufeff"
    "\\ufff9-\\ufffb]|\\u200d(?![\\u2190-\\u2bff\\U0001f000-\\U0001faff])"
)
_JOINED = re.compile("[\\u200d\\ufe0f\\U0001f1e6-\\U0001f1ff]")
_SPACE_LIKE = "\t\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_INVISIBLE = "\u00ad\u061c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff\ufff9\ufffa\ufffb"
_WORD_JOINER = "\u2060"
# The size of a window in which glyphs of several characters are likely to end
_CHARACTERS_A_CELL = 4
_LONGEST_GLYPH = 32


def _replacement(match: re.Match[str]) -> str:
    """What stands for an unsafe character: one character, so that offsets stay the same."""
    character = match.group()
    if character in _SPACE_LIKE:
        return " "
    if character in _INVISIBLE or "\u2066" <= character <= "\u206f":
        return _WORD_JOINER
    return "\ufffd"


def clean(text: str) -> str:
    """Replace every character that a terminal might obey; the length stays the same.

    Controls and lone surrogates become U+FFFD, control-like white space a space, direction marks
    and soft hyphens (which terminals disagree about) a word joiner of no width. A zero-width joiner
    is kept only between emoji: Rich joins any character after it to the glyph before it.
    """
    if _BEYOND_NARROW.search(text) is None:
        return text
    return _UNSAFE.sub(_replacement, text)


def is_narrow(text: str) -> bool:
    """Whether every character (except line feeds) takes one cell and joins no other."""
    return text.isascii() or _BEYOND_NARROW.search(text) is None


def fit(text: str, start: int, end: int, width: int) -> int:
    """End of the longest run of whole glyphs from `start` that fits `width` cells.

    At least one glyph.
    """
    # Characters without width may fill the window: then a larger one is tried.
    size = width + 1
    while True:
        stop = min(end, start + size)
        window = text[start:stop]
        if _JOINED.search(window):
            return _fit_joined(text, start, end, width)
        # The cells up to the end of each character
        used = list(accumulate(map(get_character_cell_size, window)))
        fitting = start + bisect_right(used, width)
        if fitting < stop or stop == end:
            break
        size *= 2
    if fitting > start:
        return fitting
    # The first glyph is wider than that: take it with the marks of no width after it.
    fitting = start + 1
    while fitting < end and not get_character_cell_size(text[fitting]):
        fitting += 1
    return fitting


def _fit_joined(text: str, start: int, end: int, width: int) -> int:
    """`fit` for glyphs of several characters: joined emoji, variation selectors, flags."""
    size = _CHARACTERS_A_CELL * width + _LONGEST_GLYPH
    while True:
        stop = min(end, start + size)
        fitting = start + _glyphs_within(text[start:stop], width)
        # A glyph at the window's end may continue after it.
        if fitting < stop or stop == end:
            break
        size *= 2
    # Two letters make a flag: it is not parted.
    parts_flag = fitting < end and _is_within_flag(text, start, fitting)
    if parts_flag and fitting - 1 > start:
        return fitting - 1
    return fitting


def _glyphs_within(text: str, width: int) -> int:
    """Characters of the first whole glyphs that fit `width` cells; at least one glyph."""
    graphemes, _ = split_graphemes(text)
    end = 0
    used = 0
    for _, glyph_end, cells in graphemes:
        if used + cells > width and end:
            break
        end = glyph_end
        used += cells
    return end


def _is_within_flag(text: str, start: int, place: int) -> bool:
    """Whether a place is between the two letters of a flag, counted from `start`."""
    letters = 0
    while place - letters > start and _is_flag_letter(text[place - letters - 1]):
        letters += 1
    return letters % 2 == 1 and _is_flag_letter(text[place])


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def crop(text: str, width: int) -> str:
    """Cut to `width` cells, with an ellipsis."""
    if cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    end = fit(text, 0, len(text), max(1, width - 1))
    beginning = text[:end].rstrip()
    # A first glyph that is wider than the space leaves no cell for the ellipsis.
    if cell_len(beginning) < width:
        return f"{beginning}…"
    return "…"


def crop_words(line: str, width: int) -> str:
    """Cut to `width` cells between words, with an ellipsis.

    >>> crop_words("You asked: Who? · “the lawyer’s name", 30)
    'You asked: Who? · “the…'
    """
    cropped = crop(line, width)
    if cropped == line:
        return line
    end = len(cropped.removesuffix("…"))
    return f"{whole_words(line, end)}…"


def index_at(text: str, cell: int) -> int:
    """Index of the character in a cell (from 0) of a drawn text.

    The text's length for cells after its end.
    """
    if cell <= 0:
        return 0
    if is_narrow(text):
        return min(cell, len(text))
    position = 0
    while position < len(text):
        glyph_end = fit(text, position, len(text), 1)
        cell -= cell_len(text[position:glyph_end])
        if cell < 0:
            return position
        position = glyph_end
    return position


_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")
_LOWERED = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"
)
# The translation table of each style
TABLES = {"superscript": _RAISED, "subscript": _LOWERED}


def can_shift(text: str, style: str) -> bool:
    """Whether every character can be raised (style `superscript`) or lowered (`subscript`)."""
    table = TABLES.get(style)
    if table is None or not text:
        return False
    return all(ord(character) in table for character in text)
