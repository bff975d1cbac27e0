"""Finds regular expressions within a time limit, kept by the package `regex` and limits on their size."""

import re
from collections.abc import Iterator

from gistread.errors import UsageError

LIMIT_S = 1.5
LONGEST = 500
_MOST_COUNTED = 10_000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_COUNTED = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}")


class PatternError(UsageError):
    """An invalid regular expression, or one that takes too long."""


def find_pattern(text: str, expression: str, *, seconds: float = LIMIT_S) -> Iterator[tuple[int, int]]:
    """Ranges of non-empty matches; a capital makes case count. Raises PatternError, also past `seconds`."""
    if not expression:
        return
    import regex  # imported here: only a search for an expression needs it

    _check_size(expression)
    plain = _ESCAPED.sub("", expression)
    flags = regex.MULTILINE | (0 if plain != plain.lower() else regex.IGNORECASE)
    try:
        pattern = regex.compile(expression, flags)
    except regex.error as error:
        where = "" if error.pos is None else f", at character {error.pos + 1}"
        raise PatternError(f"Not a regular expression: {error.msg}{where}.") from None
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise PatternError(f"Unusable regular expression: {error or type(error).__name__}.") from None
    try:
        for match in pattern.finditer(text, timeout=seconds, concurrent=True):
            start, end = match.span()
            if end > start:
                yield start, end
    except TimeoutError:
        raise PatternError(f"This expression takes longer than {seconds:g} s; try a simpler one.") from None
    except (MemoryError, RecursionError):
        raise PatternError("This expression needs too much memory.") from None


def _check_size(expression: str) -> None:
    if len(expression) > LONGEST:
        raise PatternError(f"Regular expressions may have at most {LONGEST} characters.")
    counted = 1
    for least, most in _COUNTED.findall(_ESCAPED.sub("", expression)):
        counted *= max(1, *(int(number[:9]) for number in (least, most) if number), 1)
    if counted > _MOST_COUNTED:
        raise PatternError(f"The repetitions of this expression multiply to more than {_MOST_COUNTED:,}.")
