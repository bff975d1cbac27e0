"""The Unicode Bidirectional Algorithm (UAX #9), for terminals that do not apply it.

Fonts join the letters.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

from gistread.config import Bidi

_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_PAIRS = "()[]{}<>«»‹›⁅⁆⁽⁾₍₎≤≥⟨⟩⟪⟫⦅⦆〈〉《》「」『』【】〔〕〖〗（）［］｛｝＜＞"
_CLOSING_OF = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
_OPENING_OF = {closing: opening for opening, closing in _CLOSING_OF.items()}
_MIRRORED = str.maketrans(_CLOSING_OF | _OPENING_OF)
# Brackets, without quotation marks and comparisons
_OPENING = {
    opening: closing
    for opening, closing in _CLOSING_OF.items()
    if unicodedata.category(opening) == "Ps"
}
_CLOSING = frozenset(_OPENING.values())
_MOST_OPEN = 63  # Brackets (BD16)
# One letter for each bidirectional class; O for all neutral ones.
_KINDS = {
    "L": "L",
    "R": "R",
    "AL": "A",
    "EN": "E",
    "AN": "N",
    "ES": "S",
    "ET": "T",
    "CS": "C",
    "NSM": "M",
    "BN": "M",
}
_DIRECTIONS = {"L": "L", "R": "R", "E": "R", "N": "R"}  # Of kinds that are not neutral
# I1 and I2, by base level
_LEVELS = (
    {"L": 0, "R": 1, "E": 2, "N": 2},
    {"L": 2, "R": 1, "E": 2, "N": 2},
)


def runs_right_to_left(text: str) -> bool:
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def base_level(text: str) -> int:
    """1 for a paragraph whose first letter runs from right to left, else 0 (P2, P3)."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return int(kind != "L")
    return 0


def mirrored(text: str) -> str:
    return text.translate(_MIRRORED)


def visual_order(levels: bytes) -> list[int]:
    """Indices from left to right on the screen, given the levels (L2)."""
    order = list(range(len(levels)))
    highest = max(levels, default=0)
    lowest_odd = min((level for level in levels if level % 2), default=highest + 1)
    for level in range(highest, lowest_odd - 1, -1):
        # A byte 1 for each character of this level or a higher one
        is_reversed = bytes(levels[index] >= level for index in order)
        for run in re.finditer(b"\x01+", is_reversed):
            part = slice(*run.span())
            order[part] = reversed(order[part])
    return order


@lru_cache(maxsize=64)
def levels_of(text: str, base: int) -> bytes:
    """The embedding level of each character, given the lines' base level.

    Odd levels run from right to left.
    """
    line_feed_level = bytes((base,))
    return line_feed_level.join(_line_levels(line, base) for line in text.split("\n"))


def _line_levels(line: str, base: int) -> bytes:
    """`levels_of` for one line: classes become kinds, which the rules replace one by one."""
    outer = "R" if base else "L"
    classes = [unicodedata.bidirectional(character) or "L" for character in line]
    strong_and_weak = "".join(_KINDS.get(class_, "O") for class_ in classes)
    kinds = list(_weak(strong_and_weak, outer))
    _brackets(line, kinds, outer)
    _neutral(kinds, outer)
    levels = bytearray(_LEVELS[base][kind] for kind in kinds)
    # L1: white space at the end of a line has the base level.
    end = len(line.rstrip())
    levels[end:] = bytes((base,)) * (len(line) - end)
    return bytes(levels)


def _weak(kinds: str, outer: str) -> str:
    """The kinds after the rules for marks and numbers, W1 to W7."""
    kinds = outer + kinds
    # W1: marks have the kind of the character before them.
    kinds = re.sub("(.)M+", lambda run: run[1] * len(run[0]), kinds)
    # W2: European numbers after an Arabic letter are Arabic ones.
    kinds = re.sub("A[^LRA]*", lambda run: run[0].replace("E", "N"), kinds)
    # W3: Arabic letters are right-to-left.
    kinds = kinds.replace("A", "R")
    # W4: a single separator between two numbers belongs to them.
    kinds = re.sub("(?<=E)[SC](?=E)", "E", kinds)
    kinds = re.sub("(?<=N)C(?=N)", "N", kinds)
    # W5: signs such as % belong to the European number beside them.
    kinds = re.sub("T+(?=E)|(?<=E)T+", lambda run: "E" * len(run[0]), kinds)
    # W6: other separators and signs are neutral.
    kinds = re.sub("[STC]", "O", kinds)
    # W7: European numbers after a left-to-right letter are left-to-right.
    kinds = re.sub("L[^LR]*", lambda run: run[0].replace("E", "L"), kinds)
    return kinds.removeprefix(outer)


def _neutral(kinds: list[str], outer: str) -> None:
    """N1 and N2: set neutral characters to the direction on both sides, or else the outer one."""
    for run in re.finditer("O+", "".join(kinds)):
        start, end = run.span()
        before = _DIRECTIONS[kinds[start - 1]] if start else outer
        after = _DIRECTIONS[kinds[end]] if end < len(kinds) else outer
        direction = before if before == after else outer
        kinds[start:end] = [direction] * (end - start)


def _brackets(line: str, kinds: list[str], outer: str) -> None:
    """N0: set both brackets of a pair to the direction of what they enclose."""
    for first, last in sorted(_bracket_pairs(line, kinds)):
        direction = _direction_of_pair(kinds, first, last, outer)
        if direction is not None:
            kinds[first] = kinds[last] = direction


def _bracket_pairs(line: str, kinds: list[str]) -> list[tuple[int, int]]:
    """Indices of opening brackets with their closing ones; none if too many are open.

    A closing bracket also ends the search for brackets opened after its partner.
    """
    # (the closing bracket that each open one needs, index of the open one)
    opened: list[tuple[str, int]] = []
    pairs: list[tuple[int, int]] = []
    for index, character in enumerate(line):
        if kinds[index] != "O":
            continue
        if character in _OPENING:
            if len(opened) == _MOST_OPEN:
                return []
            opened.append((_OPENING[character], index))
        elif character in _CLOSING:
            for depth in range(len(opened) - 1, -1, -1):
                needed, opening_index = opened[depth]
                if needed == character:
                    pairs.append((opening_index, index))
                    del opened[depth:]
                    break
    return pairs


def _direction_of_pair(
    kinds: list[str], first: int, last: int, outer: str
) -> str | None:
    """The direction of the text in the brackets, or before them where it is not the outer one.

    None if no text with a direction stands in them.
    """
    inside = {
        _DIRECTIONS[kind] for kind in kinds[first + 1 : last] if kind in _DIRECTIONS
    }
    if not inside:
        return None
    if outer in inside:
        return outer
    before = (
        _DIRECTIONS[kind] for kind in reversed(kinds[:first]) if kind in _DIRECTIONS
    )
    return next(before, outer)


_EXPLICIT_ORDER, _IMPLICIT_ORDER = "\x1b[8l", "\x1b[8h"


def reorders(bidi: Bidi, environ: Mapping[str, str]) -> bool:
    """Whether to order text here: as set, or by default unless the terminal does so."""
    if bidi != "auto":
        return bidi == "on"
    is_apple = environ.get("TERM_PROGRAM") == "Apple_Terminal"
    does_terminal = is_apple or "KONSOLE_VERSION" in environ or "MLTERM" in environ
    return not does_terminal


@contextmanager
def terminal_order_off(bidi: Bidi, environ: Mapping[str, str]) -> Iterator[None]:
    """Tell VTE terminals not to order text while the program runs."""
    orders_itself = reorders(bidi, environ) and "VTE_VERSION" in environ
    if orders_itself:
        print(_EXPLICIT_ORDER, end="", file=sys.__stdout__, flush=True)
    try:
        yield
    finally:
        if orders_itself:
            print(_IMPLICIT_ORDER, end="", file=sys.__stdout__, flush=True)
